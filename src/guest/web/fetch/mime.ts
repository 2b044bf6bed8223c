/** MIME types. @see https://mimesniff.spec.whatwg.org/#parsing-a-mime-type */

import {
  MapCtor,
  mapForEach,
  mapGet,
  mapHas,
  mapSet,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
} from '../../primordials.ts';
import { isToken, normalizeValue } from './header-list.ts';

export interface MimeType {
  /** "type/subtype" in lower case. */
  readonly essence: string;
  readonly parameters: Map<string, string>;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SEMICOLON = 0x3b;

export function parseMimeType(input: string): MimeType | undefined {
  const text = normalizeValue(input);
  const slash = stringIndexOf(text, '/');
  if (slash <= 0) return undefined;
  const typeEnd = indexOrEnd(text, ';', slash);
  const type = stringSlice(text, 0, slash);
  const subtype = normalizeValue(stringSlice(text, slash + 1, typeEnd));
  if (!isToken(type) || !isToken(subtype)) return undefined;
  const parameters = new MapCtor<string, string>();
  let at = typeEnd;
  while (at < text.length) {
    at = skipWhitespace(text, at + 1);
    const nameEnd = endOf(text, at);
    const name = stringToLowerCase(stringSlice(text, at, nameEnd));
    at = nameEnd;
    if (at >= text.length) break;
    if (stringCharCodeAt(text, at) === SEMICOLON) continue;
    at++;
    let value: string;
    if (stringCharCodeAt(text, at) === QUOTE) {
      const quoted = readQuoted(text, at);
      value = quoted.value;
      at = indexOrEnd(text, ';', quoted.end);
    } else {
      const valueEnd = indexOrEnd(text, ';', at);
      value = trimEnd(stringSlice(text, at, valueEnd));
      at = valueEnd;
      if (value === '') continue;
    }
    if (isToken(name) && isQuotable(value) && !mapHas(parameters, name)) mapSet(parameters, name, value);
  }
  return { essence: stringToLowerCase(`${type}/${subtype}`), parameters };
}

/** @see https://mimesniff.spec.whatwg.org/#serialize-a-mime-type */
export function serializeMimeType(type: MimeType): string {
  let text = type.essence;
  mapForEach(type.parameters, (value, name) => {
    text += `;${name}=${isToken(value) ? value : quote(value)}`;
  });
  return text;
}

/** "Extract a MIME type" from the combined value of content-type. @see https://fetch.spec.whatwg.org/#concept-header-extract-mime-type */
export function extractMimeType(header: string | null): MimeType | undefined {
  if (header === null) return undefined;
  let found: MimeType | undefined;
  let charset: string | undefined;
  for (let at = 0; at <= header.length; ) {
    const end = endOfListItem(header, at);
    const type = parseMimeType(stringSlice(header, at, end));
    at = end + 1;
    if (type === undefined || type.essence === '*/*') continue;
    if (type.essence !== found?.essence) charset = mapGet(type.parameters, 'charset');
    else if (!mapHas(type.parameters, 'charset') && charset !== undefined) mapSet(type.parameters, 'charset', charset);
    found = type;
  }
  return found;
}

/** The end of an item of a comma-separated list with quoted strings. */
function endOfListItem(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = stringCharCodeAt(text, at);
    if (code === COMMA) return at;
    if (code === QUOTE) at = readQuoted(text, at).end - 1;
  }
  return text.length;
}

function readQuoted(text: string, start: number): { value: string; end: number } {
  let value = '';
  let at = start + 1;
  for (; at < text.length; at++) {
    const code = stringCharCodeAt(text, at);
    if (code === QUOTE) return { value, end: at + 1 };
    if (code === BACKSLASH && at + 1 < text.length) at++;
    value += stringSlice(text, at, at + 1);
  }
  return { value, end: at };
}

function quote(value: string): string {
  let text = '"';
  for (let i = 0; i < value.length; i++) {
    const code = stringCharCodeAt(value, i);
    if (code === QUOTE || code === BACKSLASH) text += '\\';
    text += stringSlice(value, i, i + 1);
  }
  return `${text}"`;
}

/** Only HTTP quoted-string token code points. */
function isQuotable(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = stringCharCodeAt(value, i);
    if (!(code === 9 || (code >= 0x20 && code <= 0x7e) || (code >= 0x80 && code <= 0xff))) return false;
  }
  return true;
}

/** Without trailing HTTP whitespace. */
function trimEnd(text: string): string {
  const trimmed = normalizeValue(`.${text}`);
  return stringSlice(trimmed, 1);
}

function indexOrEnd(text: string, mark: string, from: number): number {
  const index = stringIndexOf(text, mark, from);
  return index < 0 ? text.length : index;
}

/** The first ";" or "=" from there on. */
function endOf(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = stringCharCodeAt(text, at);
    if (code === SEMICOLON || code === 0x3d) break;
    at++;
  }
  return at;
}

function skipWhitespace(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const code = stringCharCodeAt(text, at);
    if (code !== 0x20 && code !== 9 && code !== 10 && code !== 13) break;
    at++;
  }
  return at;
}
