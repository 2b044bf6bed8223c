/** Sends an answer from the files to a client of node:http. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { EdgeError, errorCode, isEdgeErrorCode, messageOf } from '../../../quotas/errors.js';
import { detached, guarded } from '../../../quotas/guarded.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { cutOff, isClosed, onClosed } from '../../../quotas/requests/both-protocols.js';
import type { AssetSite } from '../../assets/asset-site.js';
import { AssetReader, FIRST_CHUNK_BYTES, readChunk } from '../../assets/index/read-asset.js';
import type { AssetAnswer } from '../../assets/serve/asset-answer.js';
import type { InvocationContext } from '../../invocation/invocation-context.js';
import { type Deadline, TimerList } from '../../invocation/limits/timer-list.js';
import type { AnswerBody } from '../../invocation/response-sink.js';
import type { Coding } from '../compression/accepted-coding.js';
import { FrontKeptBody } from '../front/kept-body.js';
import { type Next, NodeSink } from '../node-sink.js';

export interface AssetVisit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly next: Next | undefined;
  readonly codings: readonly Coding[];
  readonly context: InvocationContext;
}

const EMPTY = Buffer.alloc(0);
/** The body of an answer that has none, or all of it at once. */
const NO_BODY: AnswerBody = { read: () => undefined, incoming: 'ended', stopReading: () => {} };

/** Clients that have read nothing for `idleHttpMs`, as invocations without progress are ended. */
const stalled = new TimerList<ServerResponse>(response => cutOff(response));

/** The response is neither closed nor begun. @throws EdgeError EDGE_OVERLOADED when the account has too many open answers */
export function sendAsset(visit: AssetVisit, site: AssetSite, answer: AssetAnswer): void {
  const { request, response, context } = visit;
  const { share } = context;
  const { status, body, headers } = answer;
  share.charge(HOST_COSTS.callMs);
  const head = { statusText: STATUS_CODES[status] ?? '', headers };
  if (body !== undefined) {
    share.checkInvocation();
    share.beginInvocation();
    onClosed(
      response,
      once(() => share.endInvocation()),
    );
  }
  const sink = new NodeSink(request, response, context, visit.next, visit.codings);
  if (body === undefined) sink.answer(status, head, EMPTY, true, NO_BODY);
  else if (body.length <= FIRST_CHUNK_BYTES) {
    const read = readChunk(site.source, body.entry, body.offset, body.length).then(
      chunk => {
        if (!isClosed(response)) sink.answer(status, head, chunk, true, NO_BODY);
      },
      (error: unknown) => sink.fail(site.noted(asEdgeError(error))),
    );
    detached(read);
  } else {
    const reader = new AssetReader(site.source, body.entry, body.offset, body.length);
    stream(visit, sink, site, reader, answer, head.statusText);
  }
}

function stream(
  { response, context }: AssetVisit,
  sink: NodeSink,
  site: AssetSite,
  reader: AssetReader,
  { status, headers }: AssetAnswer,
  statusText: string,
): void {
  let deadline: Deadline<ServerResponse> | undefined;
  const progress = (isOver = false): void => {
    if (deadline !== undefined) stalled.cancel(deadline);
    deadline = isOver ? undefined : stalled.add(response, context.idleHttpMs);
  };
  const source = new FrontKeptBody(
    reader,
    () => sink.bodyReady(),
    error => sink.fail(site.noted(asEdgeError(error))),
    () => progress(),
  );
  onClosed(
    response,
    guarded(() => {
      progress(true);
      source.stopReading();
    }),
  );
  progress();
  sink.answer(status, { statusText, headers }, EMPTY, false, source);
  source.start();
}

/** A connection may close after its stream was reset: both are reported. */
function once(action: () => void): () => void {
  let isDone = false;
  return guarded(() => {
    if (isDone) return;
    isDone = true;
    action();
  });
}

function asEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError && isEdgeErrorCode(errorCode(error) ?? '')) return error;
  return new EdgeError('EDGE_INTERNAL', `Cannot send an asset: ${messageOf(error)}`, { cause: error });
}
