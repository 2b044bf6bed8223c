/** Answers a request with a response that is kept. */

import { cancelBody } from '../../../bindings/bodies/cancel-body.js';
import type { CacheHit } from '../../../bindings/cache/engine.js';
import { EdgeError } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { onClosed } from '../../../quotas/requests/both-protocols.js';
import type { AnswerBody } from '../../invocation/response-sink.js';
import { MIN_COMPRESSED_BYTES } from '../compression/compressible.js';
import { isNullBodyStatus } from '../http-head.js';
import { NodeSink } from '../node-sink.js';
import { withoutLength } from '../response-head.js';
import { sendWhole } from '../whole-answer.js';
import { FrontKeptBody } from './kept-body.js';
import type { Visit } from './visit.js';

const EMPTY = Buffer.alloc(0);
/** The body of an answer that has none, or all of it at once. */
const NO_BODY: AnswerBody = { read: () => undefined, incoming: 'ended', stopReading: () => {} };

/** The response is neither closed nor begun. */
export function sendHit({ request, response, runner, next, codings }: Visit, hit: CacheHit, work: CallWork): void {
  const { context } = runner;
  const { body, status, statusText } = hit;
  const isHead = request.method === 'HEAD';
  const whole = wholeOf(body);
  context.onFronted?.(hit.isStale ? 'stale' : 'hit', isHead ? 0 : (whole?.length ?? 0));
  work.charge(HOST_COSTS.callMs);
  const added = ['age', String(hit.ageSeconds), 'cache-status', `EdgeHost; hit; ttl=${hit.ttlSeconds}`];
  // Most hits: nothing about them can change any more, so they need no sink.
  if (whole !== undefined && whole.length < MIN_COMPRESSED_BYTES && !isHead && !isNullBodyStatus(status)) {
    sendWhole(response, context.share, status, statusText, [...withoutLength(hit.headers), ...added], whole);
    return;
  }
  const head = { statusText, headers: [...hit.headers, ...added] };
  const sink = new NodeSink(request, response, context, next, codings);
  if (body === null || body instanceof Uint8Array || isHead) {
    cancelBody(body);
    sink.answer(status, head, whole ?? EMPTY, true, NO_BODY);
    return;
  }
  const source = new FrontKeptBody(
    body,
    () => sink.bodyReady(),
    cause =>
      sink.fail(new EdgeError('EDGE_INTERNAL', `A kept response could not be read: ${String(cause)}`, { cause })),
    bytes => context.onFrontedBytes?.(bytes),
  );
  onClosed(
    response,
    guarded(() => source.stopReading()),
  );
  sink.answer(status, head, EMPTY, false, source);
  source.start();
}

/** Undefined when it comes as a stream. */
function wholeOf(body: CacheHit['body']): Buffer | undefined {
  if (body === null) return EMPTY;
  if (body instanceof Buffer) return body;
  return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : undefined;
}
