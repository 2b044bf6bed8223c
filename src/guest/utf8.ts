/** UTF-8 for short strings in this realm, for long ones in the host's. */
import { DecodeFlag, Op } from '../isolate/ops/table.ts';
import { op, opNumber, opString } from './bridge.ts';
import { stringCharCodeAt, typedArrayLength, Uint8ArrayCtor } from './primordials.ts';

/** Up to this length a loop here is faster than a call of the bridge, when nothing else must be determined. */
const SHORT = 48;
/** Up to this length it also is when the bytes have to be counted, for which the bridge would be called twice. */
const ENCODED_HERE = 160;
/** The bytes of a short text before their number is known. No code of the function runs while it is in use. */
const scratch = new Uint8ArrayCtor(3 * ENCODED_HERE);

/** The UTF-8 bytes of a string; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const { length } = text;
  if (length <= ENCODED_HERE) {
    const bytes = encodeHere(text, length, scratch);
    const target = new Uint8ArrayCtor(bytes);
    for (let i = 0; i < bytes; i++) target[i] = scratch[i] ?? 0;
    return target;
  }
  // Most long texts are ASCII, and then one call is enough.
  const target = new Uint8ArrayCtor(length);
  if (opNumber(Op.TextEncode, text, target) === length) return target;
  const exact = new Uint8ArrayCtor(opNumber(Op.TextLength, text));
  op(Op.TextEncode, text, exact);
  return exact;
}

/** Answers how many bytes it has written. */
function encodeHere(text: string, length: number, target: Uint8Array): number {
  let at = 0;
  for (let i = 0; i < length; i++) {
    let code = stringCharCodeAt(text, i);
    if (code < 0x80) {
      target[at++] = code;
      continue;
    }
    if (code < 0x800) {
      target[at++] = 0xc0 | (code >> 6);
    } else {
      if ((code & 0xf800) === 0xd800) {
        if (startsPair(text, i, code)) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (stringCharCodeAt(text, ++i) & 0x3ff);
          target[at++] = 0xf0 | (code >> 18);
        } else code = 0xfffd;
      }
      target[at++] = code < 0x10000 ? 0xe0 | (code >> 12) : 0x80 | ((code >> 12) & 0x3f);
      target[at++] = 0x80 | ((code >> 6) & 0x3f);
    }
    target[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

/** Whether a pair of surrogates begins here: the second half of one is never come by, since it is read with the first. */
function startsPair(text: string, index: number, code: number): boolean {
  return code < 0xdc00 && (stringCharCodeAt(text, index + 1) & 0xfc00) === 0xdc00; // NaN after the end
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
