/**
 * Bodies of the content type `v8`: a structured clone as bytes. Values are encoded as in callbacks (bindings/callbacks/wire.ts):
 *
 *     u32 length of the JSON, little-endian | JSON of [value, [length of each byte sequence]] | the byte sequences
 */

import { decodeValue } from '../callbacks/decode.js';
import { encodeValue } from '../callbacks/encode.js';
import { MAX_SEQUENCES } from '../callbacks/wire.js';

/** A value of the application. @throws TypeError for a value that cannot be copied, RangeError for one that is too large */
export function encodeStructured(value: unknown): Uint8Array {
  const { json, bytes, stream } = encodeValue(value, 'The body of the message');
  if (stream !== undefined) throw new TypeError('The body of the message has a stream, which cannot be stored');
  const text = Buffer.from(JSON.stringify([json, bytes.map(({ byteLength }) => byteLength)]));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, ...bytes]);
}

/** A value that a function or the application has encoded. @throws TypeError, RangeError or SyntaxError for what neither does */
export function decodeStructured(body: Uint8Array): unknown {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = 4 + (buffer.length < 4 ? 0 : buffer.readUInt32LE(0));
  const parsed: unknown = JSON.parse(buffer.toString('utf8', 4, start));
  if (!Array.isArray(parsed) || !Array.isArray(parsed[1])) throw new TypeError('The body of the message is malformed');
  const lengths: readonly unknown[] = parsed[1];
  // Each takes more memory than its length in the JSON.
  if (lengths.length > MAX_SEQUENCES)
    throw new RangeError(
      `The body of the message has ${lengths.length} byte sequences, at most ${MAX_SEQUENCES} are allowed`,
    );
  let at = start;
  const bytes = lengths.map((length: unknown) => {
    const end = at + Number(length);
    if (!(end >= at && end <= buffer.length)) throw new TypeError('The body of the message is malformed');
    const part = new Uint8Array(buffer.subarray(at, end));
    at = end;
    return part;
  });
  // A message has at most 128 KB, and is decoded when it is read.
  return decodeValue(parsed[0], { bytes, stream: undefined });
}
