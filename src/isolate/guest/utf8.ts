/** UTF-8 for short strings in this realm, for long ones in the host's. */
import { DecodeFlag, Op } from '../ops/table.ts';
import { op, opNumber, opString } from './bridge.ts';
import { stringCharCodeAt, typedArrayLength, Uint8ArrayCtor } from './primordials.ts';

/** Up to this length a loop here is faster than a call of the bridge. */
const SHORT = 48;
/** Up to this length it is also faster to count the bytes here than to ask the host. */
const COUNTED = 256;

/** The UTF-8 bytes of a string; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const { length } = text;
  if (length <= COUNTED) {
    const bytes = countUtf8(text, length);
    const target = new Uint8ArrayCtor(bytes);
    if (bytes <= SHORT) encodeHere(text, length, target);
    else op(Op.TextEncode, text, target);
    return target;
  }
  // Most long texts are ASCII, and then one call is enough.
  const target = new Uint8ArrayCtor(length);
  if (opNumber(Op.TextEncode, text, target) === length) return target;
  const exact = new Uint8ArrayCtor(opNumber(Op.TextLength, text));
  op(Op.TextEncode, text, exact);
  return exact;
}

function countUtf8(text: string, length: number): number {
  let bytes = length;
  for (let i = 0; i < length; i++) {
    const code = stringCharCodeAt(text, i);
    if (code < 0x80) continue;
    // Each half of a surrogate pair counts two; U+FFFD in place of a lone one counts three.
    bytes += code < 0x800 || isPaired(text, i, code) ? 1 : 2;
  }
  return bytes;
}

function encodeHere(text: string, length: number, target: Uint8Array): void {
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
        if (isPaired(text, i, code)) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (stringCharCodeAt(text, ++i) & 0x3ff);
          target[at++] = 0xf0 | (code >> 18);
        } else code = 0xfffd;
      }
      target[at++] = code < 0x10000 ? 0xe0 | (code >> 12) : 0x80 | ((code >> 12) & 0x3f);
      target[at++] = 0x80 | ((code >> 6) & 0x3f);
    }
    target[at++] = 0x80 | (code & 0x3f);
  }
}

/** Whether a code unit is half of a surrogate pair. */
function isPaired(text: string, index: number, code: number): boolean {
  if ((code & 0xf800) !== 0xd800) return false;
  if (code < 0xdc00) return (stringCharCodeAt(text, index + 1) & 0xfc00) === 0xdc00; // NaN after the end
  return index > 0 && (stringCharCodeAt(text, index - 1) & 0xfc00) === 0xd800;
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
