/** Bytes in the clients of bindings. */
import type { ClientStream } from './client-platform.js';

/** All of a stream, into one buffer of the length that is known. */
export async function readAll(stream: ClientStream, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(length);
  const reader = stream.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value === undefined) continue;
    if (at + value.byteLength > length) {
      await reader.cancel();
      throw new TypeError(`The value is longer than the ${length} bytes announced`);
    }
    whole.set(value, at);
    at += value.byteLength;
  }
  reader.releaseLock();
  if (at < length) throw new TypeError(`The value ended after ${at} of ${length} bytes`);
  return whole;
}

/** The bytes as all of a buffer, without a copy where they are. */
export function wholeBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}
