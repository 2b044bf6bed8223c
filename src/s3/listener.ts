import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceBody } from '../bindings/service.js';
import { guarded } from '../quotas/guarded.js';
import {
  checkWhole,
  cutOff,
  endsWithHead,
  fieldsOf,
  isClosed,
  isDelivered,
  onClosed,
} from '../quotas/requests/both-protocols.js';
import { type EndpointListener, endpointListener, readAway, targetOf } from '../quotas/requests/endpoint-listener.js';
import type { S3RawRequest, S3RawResponse } from './wire/request.js';

/** The endpoint for node:http, the exact one: it sees the request target and the headers exactly as sent. */

/** After an answer the rest of a refused body is read away up to this size, so that the connection stays usable. */
const DRAIN_BYTES = 64 * 1024 * 1024;

/** A client that takes nothing for this long is cut off: its unread answer stays in memory meanwhile. S3 does the same. */
const STALLED_MS = 60_000;

export interface S3ListenerOptions {
  readonly awaitsContinue: boolean;
  /** @default 60,000 */
  readonly stalledMs?: number;
}

export function createListener(
  handle: (request: S3RawRequest) => Promise<S3RawResponse>,
  options: S3ListenerOptions,
): EndpointListener {
  return endpointListener((request, response) => serve(handle, request, response, options));
}

async function serve(
  handle: (request: S3RawRequest) => Promise<S3RawResponse>,
  request: IncomingMessage,
  response: ServerResponse,
  options: S3ListenerOptions,
): Promise<void> {
  const gone = new AbortController();
  onClosed(
    response,
    guarded(() => {
      if (!isDelivered(response)) gone.abort();
    }),
  );
  let isContinued = !options.awaitsContinue;
  const answer = await handle({
    method: request.method ?? '',
    target: targetOf(request),
    headers: headersOf(request),
    body: bodyOf(request, () => {
      if (!isContinued) response.writeContinue();
      isContinued = true;
    }),
    signal: gone.signal,
  });
  try {
    response.statusCode = answer.status;
    for (const [name, value] of answer.headers) response.setHeader(name, value);
    // The client waits for a word to send its body, and may or may not send it after this answer.
    if (!isContinued && request.httpVersionMajor < 2) response.setHeader('Connection', 'close');
    await send(answer.body, response, options.stalledMs ?? STALLED_MS);
  } finally {
    // Closes the files of the object, whether it was read to its end, the client went away, or the head could not be written.
    if (answer.body !== null && !(answer.body instanceof Uint8Array))
      await answer.body[Symbol.asyncIterator]().return?.();
  }
  if (!request.readableEnded) drain(request);
}

function headersOf(request: IncomingMessage): readonly string[] {
  const fields = fieldsOf(request);
  const isUnannounced =
    request.httpVersionMajor > 1 && request.headers['content-length'] === undefined && !endsWithHead(request);
  // HTTP/2 frames all bodies, and only HTTP/1.1 must say so.
  return isUnannounced ? [...fields, 'transfer-encoding', 'chunked'] : fields;
}

/** Reading stops without destroying the request: its connection must still carry the answer. */
async function* bodyOf(request: IncomingMessage, onRead: () => void): AsyncGenerator<Uint8Array, void, undefined> {
  onRead();
  const chunks: AsyncIterable<unknown> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
  await checkWhole(request);
}

async function send(body: ServiceBody | null, response: ServerResponse, stalledMs: number): Promise<void> {
  if (body === null || body instanceof Uint8Array) {
    response.end(body ?? undefined);
    return;
  }
  for await (const chunk of body) {
    if (isClosed(response)) return;
    if (!response.write(chunk) && !(await isTaken(response, stalledMs))) {
      cutOff(response);
      return;
    }
  }
  response.end();
}

/** Resolves with true when the client has taken everything that was written or is gone, and with false when it took nothing for `stalledMs`. */
function isTaken(response: ServerResponse, stalledMs: number): Promise<boolean> {
  return new Promise(resolve => {
    const end = (taken: boolean): void => {
      clearTimeout(timer);
      response.off('drain', done);
      remove();
      resolve(taken);
    };
    const done = guarded(() => end(true));
    const timer = setTimeout(
      guarded(() => end(false)),
      stalledMs,
    ).unref();
    response.once('drain', done);
    const remove = onClosed(response, done);
  });
}

function drain(request: IncomingMessage): void {
  readAway(request, DRAIN_BYTES);
  request.on('error', () => {});
  request.resume();
}
