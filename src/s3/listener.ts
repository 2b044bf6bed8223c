import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceBody } from '../bindings/service.js';
import { guarded } from '../quotas/guarded.js';
import { closeWithConnection } from '../quotas/pipelined-responses.js';
import type { S3RawRequest, S3RawResponse } from './wire/request.js';

/** The endpoint for node:http, the exact one: the request target and the headers are those of the wire. */

/** After an answer the rest of a refused body is read away up to this size, so that the connection stays usable. */
const DRAIN_BYTES = 64 * 1024 * 1024;

export function createListener(
  handle: (request: S3RawRequest) => Promise<S3RawResponse>,
  options: { readonly awaitsContinue: boolean },
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    closeWithConnection(request, response);
    serve(handle, request, response, options.awaitsContinue).catch(() => {
      // The status is sent or the client is gone: a cut connection is the only way left to say that the body failed.
      response.destroy();
    });
  };
}

async function serve(
  handle: (request: S3RawRequest) => Promise<S3RawResponse>,
  request: IncomingMessage,
  response: ServerResponse,
  awaitsContinue: boolean,
): Promise<void> {
  const gone = new AbortController();
  response.once(
    'close',
    guarded(() => {
      if (!response.writableFinished) gone.abort();
    }),
  );
  let isContinued = !awaitsContinue;
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
    await send(answer.body, response);
  } finally {
    // Closes the files of the object, whether it was read to its end, the client went away, or the head could not be written.
    if (answer.body !== null && !(answer.body instanceof Uint8Array))
      await answer.body[Symbol.asyncIterator]().return?.();
  }
  if (!request.readableEnded) drain(request);
}

/** Routers such as express cut the mount path off `url` and keep what came in `originalUrl`. */
function targetOf(request: IncomingMessage): string {
  const original = 'originalUrl' in request ? request.originalUrl : undefined;
  return typeof original === 'string' ? original : (request.url ?? '/');
}

function headersOf(request: IncomingMessage): readonly string[] {
  const { rawHeaders } = request;
  // HTTP/2 names the host by a pseudo header.
  return rawHeaders.some(name => name === ':authority')
    ? rawHeaders.map((text, i) => (i % 2 === 0 && text === ':authority' ? 'host' : text))
    : rawHeaders;
}

/** Reading stops without destroying the request: its connection still has to carry the answer. */
async function* bodyOf(request: IncomingMessage, onRead: () => void): AsyncGenerator<Uint8Array, void, undefined> {
  onRead();
  const chunks: AsyncIterable<unknown> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}

async function send(body: ServiceBody | null, response: ServerResponse): Promise<void> {
  if (body === null || body instanceof Uint8Array) {
    response.end(body ?? undefined);
    return;
  }
  for await (const chunk of body) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await writable(response);
  }
  response.end();
}

function writable(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = guarded(() => {
      response.off('drain', done).off('close', done);
      resolve();
    });
    response.once('drain', done).once('close', done);
  });
}

function drain(request: IncomingMessage): void {
  let bytes = 0;
  request.on(
    'data',
    guarded((chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > DRAIN_BYTES) request.destroy();
    }),
  );
  request.on('error', () => {});
  request.resume();
}
