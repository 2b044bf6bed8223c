/** node:querystring. @see https://nodejs.org/api/querystring.html */
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { codeError } from '../errors.ts';

const DEFAULT_MAX_KEYS = 1000;
const PERCENT = 0x25;

function escape(value: unknown): string {
  const text = typeof value === 'object' ? String(value) : typeof value === 'string' ? value : `${value}`;
  try {
    return encodeURIComponent(text);
  } catch {
    throw codeError(URIError, 'ERR_INVALID_URI', 'URI malformed');
  }
}

function hexDigit(code: number | undefined): number {
  if (code === undefined) return -1;
  const digit = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(digit) ? -1 : digit;
}

/** Decodes as far as the escapes are valid. */
function unescapeBuffer(text: string, decodeSpaces?: boolean): NodeBuffer {
  const bytes = Buffer.from(String(text));
  const out = Buffer.alloc(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x2b && decodeSpaces) {
      out[length++] = 0x20;
      continue;
    }
    const high = byte === PERCENT ? hexDigit(bytes[at + 1]) : -1;
    const low = high < 0 ? -1 : hexDigit(bytes[at + 2]);
    if (low < 0) out[length++] = byte;
    else {
      out[length++] = high * 16 + low;
      at += 2;
    }
  }
  return out.subarray(0, length) as NodeBuffer; // the species of a buffer is a buffer
}

function unescape(text: string, decodeSpaces?: boolean): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescapeBuffer(text, decodeSpaces).toString();
  }
}

function primitiveText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : '';
  return typeof value === 'bigint' || typeof value === 'boolean' ? `${value}` : '';
}

type Coder = (text: string) => string;

function stringify(
  fields: unknown,
  separator?: string,
  equals?: string,
  options?: { readonly encodeURIComponent?: Coder },
): string {
  if (typeof fields !== 'object' || fields === null) return '';
  const encode = typeof options?.encodeURIComponent === 'function' ? options.encodeURIComponent : querystring.escape;
  const pairs: string[] = [];
  for (const [key, value] of Object.entries(fields)) {
    const name = `${encode(primitiveText(key))}${equals || '='}`;
    for (const item of Array.isArray(value) ? value : [value]) pairs.push(`${name}${encode(primitiveText(item))}`);
  }
  return pairs.join(separator || '&');
}

type Fields = { [name: string]: string | string[] };

function parse(
  text: unknown,
  separator?: string,
  equals?: string,
  options?: { readonly decodeURIComponent?: Coder; readonly maxKeys?: number },
): Fields {
  const fields: Fields = Object.create(null);
  if (typeof text !== 'string' || text === '') return fields;
  const decode = typeof options?.decodeURIComponent === 'function' ? options.decodeURIComponent : querystring.unescape;
  const maxKeys = typeof options?.maxKeys === 'number' ? options.maxKeys : DEFAULT_MAX_KEYS;
  const sign = equals || '=';
  let left = maxKeys > 0 ? maxKeys : Number.POSITIVE_INFINITY;
  for (const piece of text.split(separator || '&')) {
    if (left <= 0) break;
    if (piece === '') continue;
    left--;
    const at = piece.indexOf(sign);
    const name = decoded(at < 0 ? piece : piece.slice(0, at), decode);
    const value = at < 0 ? '' : decoded(piece.slice(at + sign.length), decode);
    const existing = fields[name];
    if (existing === undefined) fields[name] = value;
    else if (typeof existing === 'string') fields[name] = [existing, value];
    else existing.push(value);
  }
  return fields;
}

function decoded(text: string, decode: Coder): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decode(spaced);
  } catch {
    return unescape(spaced, true);
  }
}

/** Code replaces `escape` and `unescape` here, as the documentation of Node says. */
const querystring = {
  escape,
  unescape,
  unescapeBuffer,
  stringify,
  encode: stringify,
  parse,
  decode: parse,
};

export default querystring;
