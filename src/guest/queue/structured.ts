/** Bodies of the content type `v8`, in the form of bindings/queue/structured.ts. */
import { decodeValue, type GuestDecodeOther } from '../callbacks/decode.ts';
import { type EncodeOther, encodeValue } from '../callbacks/encode.ts';
import {
  arrayPush,
  jsonParse,
  jsonStringify,
  typedArrayLength,
  typedArraySet,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { decodeUtf8, encodeUtf8 } from '../utf8.ts';
import { dataCloneError } from '../web/messaging/structured-clone.ts';

/**
 * @param other encodes more than callbacks take
 * @param verb the verb of messages, such as "sent"
 * @throws DOMException DataCloneError for a value that cannot be cloned, RangeError for one that is too large or nested too deeply
 */
export function encodeStructured(value: unknown, other?: EncodeOther, verb?: string): Uint8Array {
  const { json, bytes, stream } = encodeValue(value, other, verb);
  if (stream !== undefined) throw dataCloneError('A stream cannot be sent to a queue');
  const lengths: number[] = [];
  let total = 0;
  for (let i = 0; i < bytes.length; i++) {
    const length = typedArrayLength(bytes[i]);
    arrayPush(lengths, length);
    total += length;
  }
  const text = encodeUtf8(jsonStringify([json, lengths]));
  const textLength = typedArrayLength(text);
  const body = new Uint8ArrayCtor(4 + textLength + total);
  for (let i = 0; i < 4; i++) body[i] = (textLength >>> (8 * i)) & 0xff;
  typedArraySet(body, text, 4);
  let at = 4 + textLength;
  for (let i = 0; i < bytes.length; i++) {
    const sequence = bytes[i];
    if (sequence === undefined) continue;
    typedArraySet(body, sequence, at);
    at += lengths[i] ?? 0;
  }
  return body;
}

export function decodeStructured(body: Uint8Array, other?: GuestDecodeOther): unknown {
  const textLength = (body[0] ?? 0) + (body[1] ?? 0) * 0x100 + (body[2] ?? 0) * 0x1_0000 + (body[3] ?? 0) * 0x100_0000;
  const text = decodeUtf8(typedArraySubarray(body, 4, 4 + textLength));
  const [json, lengths] = jsonParse(text) as readonly [unknown, readonly number[]]; // written by one of the two encoders
  const bytes: Uint8Array[] = [];
  let at = 4 + textLength;
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i] ?? 0;
    const part = new Uint8ArrayCtor(length);
    typedArraySet(part, typedArraySubarray(body, at, at + length));
    arrayPush(bytes, part);
    at += length;
  }
  return decodeValue(json, { bytes, stream: undefined }, other);
}
