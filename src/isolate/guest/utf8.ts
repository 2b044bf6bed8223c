/** UTF-8, both ways: short texts in this realm, long ones by the host realm's codec. */
import {
  reflectApply,
  stringCharCodeAt,
  stringFromCharCode,
  typedArrayLength,
  typedArraySubarray,
  Uint8ArrayCtor,
} from './primordials.ts';

/** Encodes; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const { length } = text;
  let size = length;
  for (let i = 0; i < length; i++) {
    const code = stringCharCodeAt(text, i);
    if (code < 0x80) continue;
    size += code < 0x800 ? 1 : 2;
  }
  const bytes = new Uint8ArrayCtor(size);
  if (size === length) {
    for (let i = 0; i < length; i++) bytes[i] = stringCharCodeAt(text, i);
    return bytes;
  }
  let at = 0;
  for (let i = 0; i < length; i++) {
    let code = stringCharCodeAt(text, i);
    if (code < 0x80) {
      bytes[at++] = code;
      continue;
    }
    if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6);
      bytes[at++] = 0x80 | (code & 63);
      continue;
    }
    if (code >= 0xd800 && code <= 0xdfff) {
      const low = code < 0xdc00 && i + 1 < length ? stringCharCodeAt(text, i + 1) : 0;
      if (low >= 0xdc00 && low <= 0xdfff) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        i++;
        bytes[at++] = 0xf0 | (code >> 18);
        bytes[at++] = 0x80 | ((code >> 12) & 63);
        bytes[at++] = 0x80 | ((code >> 6) & 63);
        bytes[at++] = 0x80 | (code & 63);
        continue;
      }
      code = 0xfffd;
    }
    bytes[at++] = 0xe0 | (code >> 12);
    bytes[at++] = 0x80 | ((code >> 6) & 63);
    bytes[at++] = 0x80 | (code & 63);
  }
  return at === size ? bytes : typedArraySubarray(bytes, 0, at);
}

/** "UTF-8 decode": without the BOM, malformed sequences become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  const hasBom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return decodeUtf8WithBom(hasBom ? typedArraySubarray(bytes, 3) : bytes);
}

/** "UTF-8 decode without BOM": a BOM stays. @see https://encoding.spec.whatwg.org/#utf-8-decoder */
export function decodeUtf8WithBom(bytes: Uint8Array): string {
  const length = typedArrayLength(bytes);
  let text = '';
  let units: number[] = [];
  let needed = 0;
  let seen = 0;
  let lower = 0x80;
  let upper = 0xbf;
  let point = 0;
  for (let i = 0; i < length; i++) {
    const byte = bytes[i] ?? 0;
    if (needed === 0) {
      if (byte < 0x80) units[units.length] = byte;
      else if (byte >= 0xc2 && byte <= 0xdf) {
        needed = 1;
        point = byte & 0x1f;
      } else if (byte >= 0xe0 && byte <= 0xef) {
        if (byte === 0xe0) lower = 0xa0;
        if (byte === 0xed) upper = 0x9f;
        needed = 2;
        point = byte & 0xf;
      } else if (byte >= 0xf0 && byte <= 0xf4) {
        if (byte === 0xf0) lower = 0x90;
        if (byte === 0xf4) upper = 0x8f;
        needed = 3;
        point = byte & 7;
      } else units[units.length] = 0xfffd;
    } else if (byte < lower || byte > upper) {
      point = needed = seen = 0;
      lower = 0x80;
      upper = 0xbf;
      units[units.length] = 0xfffd;
      i--;
    } else {
      lower = 0x80;
      upper = 0xbf;
      point = (point << 6) | (byte & 0x3f);
      if (++seen === needed) {
        if (point > 0xffff) {
          units[units.length] = 0xd7c0 + (point >> 10);
          units[units.length] = 0xdc00 | (point & 0x3ff);
        } else units[units.length] = point;
        point = needed = seen = 0;
      }
    }
    if (units.length >= FLUSH_UNITS) {
      text += reflectApply(stringFromCharCode, undefined, units);
      units = [];
    }
  }
  if (needed !== 0) units[units.length] = 0xfffd;
  return text + reflectApply(stringFromCharCode, undefined, units);
}

const FLUSH_UNITS = 4096;
