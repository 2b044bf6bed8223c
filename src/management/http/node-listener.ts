/** From `node:http` to the fetch handler and back. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { guarded } from '../../quotas/guarded.js';
import { checkWhole, endsWithHead, fieldsOf, onClosed, refuseRest } from '../../quotas/requests/both-protocols.js';
import {
  type EndpointListener,
  endpointListener,
  readAway,
  targetOf,
} from '../../quotas/requests/endpoint-listener.js';
import { ApiError, envelopeResponse, failure } from './envelope.js';

type FetchHandler = (request: Request, info: { readonly clientAddress?: string }) => Promise<Response>;

/** After an early answer the rest of a body is read for at most this long, so that the sender gets to see the answer. */
const LINGER_MS = 1000;
const LINGER_BYTES = 1024 ** 2;

export function nodeListener(fetch: FetchHandler): EndpointListener {
  return endpointListener((incoming, outgoing) => answer(fetch, incoming, outgoing));
}

async function answer(fetch: FetchHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  onClosed(
    outgoing,
    guarded(() => gone.abort()),
  );
  const request = toRequest(incoming, gone.signal);
  const { remoteAddress } = incoming.socket;
  const response =
    request instanceof Request
      ? await fetch(request, remoteAddress === undefined ? {} : { clientAddress: remoteAddress })
      : envelopeResponse(failure(request.errors), request.status, new Headers());
  for (const [name, value] of response.headers) outgoing.setHeader(name, value);
  outgoing.statusCode = response.status;
  const isUnread =
    incoming.httpVersionMajor > 1 ? !incoming.readableEnded && !endsWithHead(incoming) : !incoming.complete;
  if (isUnread) linger(incoming, outgoing);
  if (response.body === null) {
    outgoing.end();
    return;
  }
  await pipeline(Readable.fromWeb(nodeStream(response.body)), outgoing);
}

/** An ApiError when no Request can be made of the head (an invalid host or target). */
function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | ApiError {
  try {
    const headers = new Headers();
    // The object `headers` drops repeated headers.
    const fields = fieldsOf(incoming);
    for (let at = 0; at + 1 < fields.length; at += 2) headers.append(fields[at] ?? '', fields[at + 1] ?? '');
    const method = incoming.method ?? 'GET';
    const url = new URL(targetOf(incoming), `http://${headers.get('host') ?? 'localhost'}`);
    if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
    return new Request(url, { method, headers, signal, body: bodyOf(incoming), duplex: 'half' });
  } catch (error) {
    return new ApiError('HEADER_INVALID', 'The request line or the headers are not valid', { cause: error });
  }
}

/** Chunk by chunk as it is read. Cancelling leaves the socket open: the answer must still go over it. */
function bodyOf(incoming: IncomingMessage): globalThis.ReadableStream<Uint8Array> {
  const chunks = incoming.iterator({ destroyOnReturn: false });
  return new globalThis.ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) await checkWhole(incoming);
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        // Not awaited: it waits for a read that may never end.
        void chunks.return?.().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** Ends the connection, or the stream of HTTP/2, after the answer, once the sender has had a moment to read it. */
function linger(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.httpVersionMajor < 2) outgoing.setHeader('connection', 'close');
  readAway(incoming, LINGER_BYTES);
  const timer = setTimeout(
    guarded(() => refuseRest(incoming)),
    LINGER_MS,
  );
  timer.unref();
  incoming.once('close', () => clearTimeout(timer));
}

/** The same class in Node; its types stand in two places. */
function nodeStream(stream: globalThis.ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return stream;
}
