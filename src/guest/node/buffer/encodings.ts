/** The encodings of buffers: text to bytes and back. */
import { TextDecoder, TextEncoder } from '../../web/encoding/encoding.ts';

export type Encoding = 'utf8' | 'utf16le' | 'latin1' | 'ascii' | 'base64' | 'base64url' | 'hex';

const NAMES: { readonly [name: string]: Encoding | undefined } = Object.assign(Object.create(null), {
  utf8: 'utf8',
  'utf-8': 'utf8',
  ucs2: 'utf16le',
  'ucs-2': 'utf16le',
  utf16le: 'utf16le',
  'utf-16le': 'utf16le',
  latin1: 'latin1',
  binary: 'latin1',
  ascii: 'ascii',
  base64: 'base64',
  base64url: 'base64url',
  hex: 'hex',
});

/** The encoding that a name stands for; undefined for an unknown name. */
export function encodingOf(name: unknown): Encoding | undefined {
  if (name === undefined || name === null || name === '') return 'utf8';
  return NAMES[`${name}`] ?? NAMES[`${name}`.toLowerCase()];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_ALPHABET = `${ALPHABET.slice(0, 62)}-_`;
const NO_DIGIT = 255;
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (let at = 0; at < 64; at++) {
  DIGITS[ALPHABET.charCodeAt(at)] = at;
  DIGITS[URL_ALPHABET.charCodeAt(at)] = at;
}
const HEX = '0123456789abcdef';
const PAIRS = Array.from({ length: 256 }, (_, byte) => `${HEX[byte >> 4]}${HEX[byte & 15]}`);
/** Characters that are joined at a time. */
const CHUNK = 4096;

/** The text of bytes. */
export function decode(bytes: Uint8Array, encoding: Encoding): string {
  switch (encoding) {
    case 'utf8':
      return decoder.decode(bytes);
    case 'utf16le':
      return fromUnits(bytes.length >> 1, at => (bytes[2 * at] ?? 0) | ((bytes[2 * at + 1] ?? 0) << 8));
    case 'latin1':
      return fromUnits(bytes.length, at => bytes[at] ?? 0);
    case 'ascii':
      return fromUnits(bytes.length, at => (bytes[at] ?? 0) & 127);
    case 'hex': {
      let text = '';
      for (let at = 0; at < bytes.length; at++) text += PAIRS[bytes[at] ?? 0];
      return text;
    }
    default:
      return toBase64(bytes, encoding === 'base64url');
  }
}

function fromUnits(length: number, unitAt: (at: number) => number): string {
  let text = '';
  for (let start = 0; start < length; start += CHUNK) {
    const end = Math.min(start + CHUNK, length);
    const units = new Array<number>(end - start);
    for (let at = start; at < end; at++) units[at - start] = unitAt(at);
    text += String.fromCharCode(...units);
  }
  return text;
}

function toBase64(bytes: Uint8Array, isUrl: boolean): string {
  const alphabet = isUrl ? URL_ALPHABET : ALPHABET;
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text += alphabet.charAt(bits >> 18) + alphabet.charAt((bits >> 12) & 63);
    if (left > 1) text += alphabet.charAt((bits >> 6) & 63);
    else if (!isUrl) text += '=';
    if (left > 2) text += alphabet.charAt(bits & 63);
    else if (!isUrl) text += '=';
  }
  return text;
}

/** The bytes of a text. */
export function encode(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case 'utf8':
      return encoder.encode(text);
    case 'utf16le': {
      const bytes = new Uint8Array(text.length * 2);
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        bytes[2 * at] = unit;
        bytes[2 * at + 1] = unit >> 8;
      }
      return bytes;
    }
    case 'latin1':
    case 'ascii': {
      const bytes = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
      return bytes;
    }
    case 'hex':
      return fromHex(text);
    default:
      return fromBase64(text);
  }
}

/** Up to the first pair that is no byte. */
function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >> 1);
  for (let at = 0; at < bytes.length; at++) {
    const pair = text.slice(2 * at, 2 * at + 2);
    if (!/^[0-9a-fA-F]{2}$/.test(pair)) return bytes.slice(0, at);
    bytes[at] = Number.parseInt(pair, 16);
  }
  return bytes;
}

/** Both alphabets; characters of neither are skipped, and the first `=` ends it. */
function fromBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let length = 0;
  let bits = 0;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 61) break;
    const digit = unit < 128 ? (DIGITS[unit] ?? NO_DIGIT) : NO_DIGIT;
    if (digit === NO_DIGIT) continue;
    bits = (bits << 6) | digit;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes[length++] = bits >> count;
    }
  }
  return bytes.subarray(0, length);
}

/** The number of bytes that the text takes; for base64 as Node counts it, by the length of the text. */
export function byteLengthOf(text: string, encoding: Encoding): number {
  switch (encoding) {
    case 'utf8':
      return encoder.encode(text).length;
    case 'utf16le':
      return text.length * 2;
    case 'hex':
      return text.length >>> 1;
    case 'base64':
    case 'base64url': {
      let { length } = text;
      if (text.endsWith('=')) length--;
      if (length > 1 && text[length - 1] === '=') length--;
      return (length * 3) >>> 2;
    }
    default:
      return text.length;
  }
}
