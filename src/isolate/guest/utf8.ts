/** UTF-8 for short strings in this realm, for long ones in the host's. */
import { DecodeFlag, Op } from '../ops/table.ts';
import { op, opNumber, opString } from './bridge.ts';
import { stringCharCodeAt, typedArrayLength, Uint8ArrayCtor } from './primordials.ts';

/** Up to this length a loop here is faster than a call of the bridge. */
const SHORT = 48;

/** The UTF-8 bytes of a string; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const { length } = text;
  const target = new Uint8ArrayCtor(length);
  if (length <= SHORT) {
    let i = 0;
    for (; i < length; i++) {
      const code = stringCharCodeAt(text, i);
      if (code >= 0x80) break;
      target[i] = code;
    }
    if (i === length) return target;
  } else if (opNumber(Op.TextEncode, text, target) === length) {
    return target;
  }
  const exact = new Uint8ArrayCtor(opNumber(Op.TextLength, text));
  op(Op.TextEncode, text, exact);
  return exact;
}

export interface EncodeIntoResult {
  read: number;
  written: number;
}

/** Writes as many whole characters as there is room for. */
export function encodeUtf8Into(text: string, target: Uint8Array, room: number): EncodeIntoResult {
  const { length } = text;
  if (length <= SHORT && room >= length) {
    let i = 0;
    for (; i < length; i++) {
      const code = stringCharCodeAt(text, i);
      if (code >= 0x80) break;
      target[i] = code;
    }
    if (i === length) return { read: i, written: i };
  }
  const read = opNumber(Op.TextEncode, text, target);
  return { read, written: opNumber(Op.TextEncodeWritten) };
}

/** "UTF-8 decode": without the BOM, malformed sequences become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return typedArrayLength(bytes) === 0 ? '' : opString(Op.TextDecode, bytes, 'utf-8', 0);
}

/** "UTF-8 decode without BOM": a BOM stays. @see https://encoding.spec.whatwg.org/#utf-8-decode-without-bom */
export function decodeUtf8WithBom(bytes: Uint8Array): string {
  return typedArrayLength(bytes) === 0 ? '' : opString(Op.TextDecode, bytes, 'utf-8', DecodeFlag.KeepBom);
}
