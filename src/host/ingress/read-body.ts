/**
 * Bodies that the application, or its framework, has read before the listener got the request. A parsed body differs from the sent one: only the exact bytes
 * replace it, and a missing body is never silently empty.
 */
import type { IncomingMessage } from 'node:http';
import { EdgeError } from '../../quotas/errors.js';
import { fieldsOf } from '../../quotas/requests/both-protocols.js';
import type { Invocation } from '../invocation/invocation.js';
import type { RequestBodySource } from '../invocation/response-sink.js';

/** Bytes written to the exchange at once. */
const CHUNK_BYTES = 64 * 1024;

/**
 * The body when the application has read it and has kept it: `request.rawBody` (NestJS with `rawBody: true`, the `verify` of body parsers), or
 * `request.body` where that is a Buffer (`express.raw()`). Undefined when nothing has been read yet.
 *
 * @throws EdgeError EDGE_BODY_READ when some of it has been read, and nothing has the same bytes
 */
export function bodyReadBefore(request: IncomingMessage): Buffer | undefined {
  // A body that ended without any data was empty, so nothing is lost.
  if (!request.readableDidRead) return undefined;
  const length = sentHeader(request, 'content-length');
  const isEncoded = (sentHeader(request, 'content-encoding') ?? 'identity').toLowerCase() !== 'identity';
  for (const key of ['rawBody', 'body']) {
    const bytes: unknown = Reflect.get(request, key);
    if (!(bytes instanceof Uint8Array) || !request.readableEnded) continue;
    // A parser also decodes the content coding: then the body has other bytes than the headers say.
    const isExact = length === undefined ? !isEncoded : Number(length) === bytes.byteLength;
    if (isExact) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  throw bodyIsRead(request);
}

export function bodyIsRead({ method }: IncomingMessage): EdgeError {
  return new EdgeError(
    'EDGE_BODY_READ',
    `Cannot pass the body of the ${method} request on: the application has read it already. Mount host.listener() before what parses bodies (express.json(), content type parsers of Fastify), or keep the bytes in request.rawBody, as a Buffer of all that was sent`,
  );
}

/** A header as the function receives it, even when a parser has changed `request.headers`. */
function sentHeader(request: IncomingMessage, name: string): string | undefined {
  const rawHeaders = fieldsOf(request);
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) return rawHeaders[at + 1];
  }
  return undefined;
}

/** Feeds a body that is there as a whole, as fast as the function reads it. */
export class ReadBody implements RequestBodySource {
  readonly #bytes: Buffer;
  readonly #invocation: Invocation;
  #sentBytes = 0;
  #isFinished = false;

  constructor(bytes: Buffer, invocation: Invocation) {
    this.#bytes = bytes;
    this.#invocation = invocation;
    invocation.bodyBytes = bytes.length;
  }

  resume(): void {
    const { exchange } = this.#invocation;
    while (!this.#isFinished && !exchange.isOutgoingOver && exchange.credit > 0) {
      // No more than is sent at once: bytes that wait would charge the account for the whole buffer, which is the application's.
      const length = Math.min(CHUNK_BYTES, exchange.credit);
      const chunk = this.#bytes.subarray(this.#sentBytes, this.#sentBytes + length);
      this.#sentBytes += chunk.length;
      exchange.write(chunk);
      if (this.#sentBytes < this.#bytes.length) continue;
      this.#isFinished = true;
      exchange.end();
    }
  }

  stop(): void {
    this.#isFinished = true;
  }
}
