/**
 * Sends bodies of this realm to the host: small ones whole, in one op with their head, and others in chunks as fast as the other side takes
 * them. Calls and answers use the same rule, which is in this file.
 */

import { HostBody, HostSink } from './host-body.ts';
import { failCall } from './open-calls.ts';
import { mayLeave } from './output-gate.ts';
import { stringSlice, typedArrayLength, typedArraySubarray } from './primordials.ts';
import { isUint8Array } from './web/base/buffers.ts';
import { type Body, streamLength, streamOf, takeSource } from './web/fetch/body.ts';
import { blobBytes, isBlob } from './web/file/blob.ts';
import { ByteReader } from './web/streams/byte-streams.ts';
import type { ReadableStream } from './web/streams/streams.ts';

/** A larger body is not handed over at once, so that its copy on the host's side stays small. */
const MAX_WHOLE_BYTES = 1024 * 1024;

/** The most that one write carries. */
const MAX_PIECE_BYTES = 128 * 1024;

/** A body to be sent. Its bytes must not be shared with code that could change them, unless it is sent whole. */
export type BodyToSend = string | Uint8Array | HostBody | ReadableStream;

/** Takes what a body is made of; the caller has checked that it is usable. */
export function takeOutgoing(body: Body): BodyToSend {
  const source = takeSource(body);
  if (source === undefined) return streamOf(body);
  return isBlob(source) ? blobBytes(source) : source;
}

/** Whether the op that sends the head takes the body along. */
export function goesWhole(body: BodyToSend): body is string | Uint8Array {
  return typeof body === 'string' || (isUint8Array(body) && typedArrayLength(body) <= MAX_WHOLE_BYTES);
}

/** The length of a body that does not go whole, where it is known. */
export function outgoingLength(body: Uint8Array | HostBody | ReadableStream): number | undefined {
  if (body instanceof HostBody) return body.isComplete ? body.size : body.expectedSize;
  return isUint8Array(body) ? typedArrayLength(body) : streamLength(body);
}

/**
 * Sends a body that does not go whole, after its head. A body that came from the host goes back to it without passing this realm, and there is
 * nothing to wait for; else answers a promise of its end, which never rejects.
 *
 * @param isHeld whether the output gate holds bytes
 */
export function sendBody(
  body: Uint8Array | HostBody | ReadableStream,
  exchange: number,
  isHeld = true,
): Promise<void> | undefined {
  if (body instanceof HostBody) {
    body.pipeTo(exchange);
    return undefined;
  }
  return isUint8Array(body) ? sendBytes(body, exchange, isHeld) : sendStream(new ByteReader(body), exchange);
}

/**
 * Writes to the end of the stream. Never rejects: a failure of the stream reaches the other side as one of the body, and the call that the
 * body belongs to fails with what the stream has failed with.
 */
async function sendStream(reader: ByteReader, exchange: number): Promise<void> {
  const sink = new HostSink(exchange);
  sink.onStop = reason => reader.cancel(reason);
  let isSource = true;
  try {
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
      isSource = false;
      await writeAll(sink, chunk);
      isSource = true;
    }
    isSource = false;
    const end = sink.end();
    if (end !== undefined) await end;
  } catch (error) {
    fail(sink, error);
    // Why nothing can be written the host says itself.
    if (isSource) failCall(exchange, error);
    else reader.cancel(error);
  }
}

/** Writes bytes that are all there. Never rejects. */
async function sendBytes(bytes: Uint8Array, exchange: number, isHeld: boolean): Promise<void> {
  const sink = new HostSink(exchange, isHeld);
  try {
    await writeAll(sink, bytes);
    const end = sink.end();
    if (end !== undefined) await end;
  } catch (error) {
    fail(sink, error);
  }
}

/** Resolves when the next chunk may be written. The bytes must stay as they are until then. */
export async function writeAll(sink: HostSink, bytes: Uint8Array): Promise<void> {
  const length = typedArrayLength(bytes);
  if (length > 0 && length <= MAX_PIECE_BYTES) {
    await sink.write(bytes);
    return;
  }
  for (let at = 0; at < length; at += MAX_PIECE_BYTES) {
    await sink.write(typedArraySubarray(bytes, at, at + MAX_PIECE_BYTES));
  }
}

function fail(sink: HostSink, error: unknown): void {
  try {
    sink.fail(mayLeave() ? describeBriefly(error) : 'The body failed');
  } catch {
    // The exchange is over, so the failure can no longer be sent.
  }
}

/** "Name: message" of anything, without trusting it. */
function describeBriefly(error: unknown): string {
  try {
    return stringSlice(`${error}`, 0, 1000);
  } catch {
    return 'The body failed';
  }
}
