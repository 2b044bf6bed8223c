/** The bytes of calls and answers: in bodies, and as base64 in the JSON of a ledger. */
import type { ServiceBody } from '../../../bindings/service.js';

/** For JSON. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** In memory of their own: a decoded value gets it. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** No body where there are no bytes. */
export function bodyOf(bytes: Uint8Array): Uint8Array | null {
  return bytes.length === 0 ? null : bytes;
}

/** @throws TypeError for a body that has more than `most` bytes */
export async function wholeOf(body: ServiceBody, most: number): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > most) throw new TypeError('The call is malformed');
    chunks.push(new Uint8Array(chunk));
  }
  return new Uint8Array(Buffer.concat(chunks));
}
