/** The realm of the application itself, for the clients of bindings: they call the service in its own process. */
import { setMaxListeners } from 'node:events';
import * as streams from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { OWN_WORK } from '../quotas/host/call-work.js';
import { cancelQuietly } from './bodies/external-stream.js';
import { type ClientBodies, UNTIMED } from './bodies/given-bodies.js';
import type { ClientPlatform, ClientStream } from './client-platform.js';
import type { Service, ServiceBody } from './service.js';

/** Up to this many bytes are copied at once; larger buffers are copied in chunks. */
const WHOLE_BYTES = 64 * 1024;

export function hostPlatform(
  service: Service,
  given: ClientBodies = UNTIMED,
): ClientPlatform<ReadableStream<Uint8Array>, Blob> {
  return {
    call: async (method, args, body) => {
      const owned = body === null ? null : ownedBody(body);
      const reply = await service({ method, args, body: owned, signal: NEVER, work: OWN_WORK });
      const { headText } = reply;
      return { head: headText === undefined ? reply.head : JSON.parse(headText), body: answerBody(reply.body, given) };
    },
    ReadableStream,
    Blob,
    TextDecoder,
    isDisturbed,
  };
}

/** The signal of the application's own calls: it never fires, so it need not be listened to. */
export const NEVER: AbortSignal = new AbortController().signal;
setMaxListeners(0, NEVER);

/** The application may change its buffer while it is read, so it is read from a copy. */
function ownedBody(body: string | Uint8Array | ClientStream): ServiceBody {
  if (typeof body === 'string') return Buffer.from(body);
  if (!(body instanceof Uint8Array)) return chunksOf(body);
  return body.byteLength <= WHOLE_BYTES ? new Uint8Array(body) : copies(body);
}

const COPY_BYTES = 256 * 1024;

async function* copies(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += COPY_BYTES) yield new Uint8Array(bytes.subarray(at, at + COPY_BYTES));
}

/** Reads a stream of any make. Left early, it is cancelled. */
async function* chunksOf(stream: ClientStream): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        isDone = true;
        return;
      }
      yield bytesOf(value);
    }
  } finally {
    if (!isDone) await cancelQuietly(stream, reader);
    reader.releaseLock();
  }
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError(`The stream given as the value has a chunk of type ${typeof chunk}, its chunks must be bytes`);
}

function answerBody(
  body: ServiceBody | null | undefined,
  { bodies, of }: ClientBodies,
): Uint8Array | ReadableStream<Uint8Array> | null {
  if (body === null || body === undefined) return null;
  return body instanceof Uint8Array ? body : bodies.stream(of, body);
}

function isDisturbed(stream: ReadableStream): boolean {
  // Node answers for web streams too, which its types do not say.
  const ask: unknown = Reflect.get(streams, 'isDisturbed');
  return typeof ask === 'function' && ask(stream) === true;
}
