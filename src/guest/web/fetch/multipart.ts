/** multipart/form-data and application/x-www-form-urlencoded, both ways. @see https://fetch.spec.whatwg.org/#multipart-form-data-parser */
import {
  arrayPush,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
  TypeErrorCtor,
  typedArrayLength,
  typedArraySubarray,
} from '../../primordials.ts';
import { decodeUtf8WithBom, encodeUtf8 } from '../../utf8.ts';
import { type Blob, blobBytes, blobType, createBlob, File } from '../file/blob.ts';
import { FormData, type FormEntry, formEntries } from './form-data.ts';
import { normalizeName, normalizeValue } from './header-list.ts';

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

/** The most parts of one form. */
const MAX_PARTS = 65_536;

/** The body of a form, its content type included. @see https://html.spec.whatwg.org/#multipart-form-data */
export function serializeForm(form: FormData, boundary: string): Blob {
  const pieces: Uint8Array[] = [];
  let text = '';
  const entries = formEntries(form);
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i];
    if (entry === undefined) continue;
    const name = entry[0];
    const value = entry[1];
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(withCrLf(name))}"`;
    if (typeof value === 'string') {
      text += `\r\n\r\n${withCrLf(value)}\r\n`;
      continue;
    }
    text += `; filename="${escapeName(value.name)}"\r\nContent-Type: ${blobType(value) || 'application/octet-stream'}\r\n\r\n`;
    arrayPush(pieces, encodeUtf8(text));
    arrayPush(pieces, blobBytes(value));
    text = '\r\n';
  }
  arrayPush(pieces, encodeUtf8(`${text}--${boundary}--\r\n`));
  return createBlob(pieces, `multipart/form-data; boundary=${boundary}`);
}

export function parseMultipart(body: Uint8Array, boundary: string): FormData {
  const form = new FormData();
  const entries = formEntries(form);
  const delimiter = encodeUtf8(`--${boundary}`);
  let at = skipPreamble(body, delimiter);
  for (;;) {
    if (!startsWith(body, delimiter, at)) throw malformed('a boundary is missing');
    at += typedArrayLength(delimiter);
    if (body[at] === DASH && body[at + 1] === DASH) return form;
    if (body[at] !== CR || body[at + 1] !== LF) throw malformed('a boundary is not followed by a line break');
    if (entries.length >= MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
    const head = parseHead(body, at + 2);
    const end = findDelimiter(body, delimiter, head.end);
    if (end < 0) throw malformed('the closing boundary is missing');
    entries[entries.length] = toEntry(head, typedArraySubarray(body, head.end, end));
    at = end + 2;
  }
}

interface PartHead {
  name: string | undefined;
  filename: string | undefined;
  type: string;
  end: number;
}

function toEntry({ name, filename, type }: PartHead, bytes: Uint8Array): FormEntry {
  if (name === undefined) throw malformed('a part has no name');
  if (filename === undefined) return [name, decodeUtf8WithBom(bytes)];
  return [name, new File([bytes], filename, { __proto__: null, type: type === '' ? 'text/plain' : type })];
}

function parseHead(body: Uint8Array, start: number): PartHead {
  const head: PartHead = { name: undefined, filename: undefined, type: '', end: 0 };
  let at = start;
  for (;;) {
    const end = findLineEnd(body, at);
    if (end < 0) throw malformed('the head of a part has no end');
    if (end === at) {
      head.end = end + 2;
      return head;
    }
    parseHeader(decodeUtf8WithBom(typedArraySubarray(body, at, end)), head);
    at = end + 2;
  }
}

function parseHeader(line: string, head: PartHead): void {
  const colon = stringIndexOf(line, ':');
  if (colon < 0) throw malformed('a header of a part has no colon');
  const name = normalizeName(normalizeValue(stringSlice(line, 0, colon)));
  if (name === undefined) throw malformed('a header of a part has no valid name');
  const value = normalizeValue(stringSlice(line, colon + 1));
  if (name === 'content-type') head.type = value;
  if (name !== 'content-disposition') return;
  if (stringToLowerCase(stringSlice(value, 0, 9)) !== 'form-data') throw malformed('a part is not form-data');
  let at = 9;
  while (at < value.length) {
    const mark = stringCharCodeAt(value, at);
    if (mark === 0x3b || mark === 0x20 || mark === 9) {
      at++;
      continue;
    }
    const equals = stringIndexOf(value, '=', at);
    if (equals < 0) throw malformed('a content-disposition cannot be parsed');
    const key = stringToLowerCase(normalizeValue(stringSlice(value, at, equals)));
    let end: number;
    let text: string;
    if (stringCharCodeAt(value, equals + 1) === 0x22) {
      end = stringIndexOf(value, '"', equals + 2);
      if (end < 0) throw malformed('a quoted name has no end');
      text = unescapeName(stringSlice(value, equals + 2, end++));
    } else {
      end = stringIndexOf(value, ';', equals);
      if (end < 0) end = value.length;
      text = normalizeValue(stringSlice(value, equals + 1, end));
    }
    at = end;
    if (key === 'name') head.name = text;
    if (key === 'filename') head.filename = text;
  }
}

function skipPreamble(body: Uint8Array, delimiter: Uint8Array): number {
  let at = 0;
  while (body[at] === CR && body[at + 1] === LF) at += 2;
  return startsWith(body, delimiter, at) ? at : 0;
}

function startsWith(body: Uint8Array, prefix: Uint8Array, at: number): boolean {
  const length = typedArrayLength(prefix);
  if (at + length > typedArrayLength(body)) return false;
  for (let i = 0; i < length; i++) if (body[at + i] !== prefix[i]) return false;
  return true;
}

/** Where the line break before the next boundary stands. */
function findDelimiter(body: Uint8Array, delimiter: Uint8Array, from: number): number {
  const last = typedArrayLength(body) - typedArrayLength(delimiter) - 2;
  for (let at = from; at <= last; at++) {
    if (body[at] === CR && body[at + 1] === LF && startsWith(body, delimiter, at + 2)) return at;
  }
  return -1;
}

function findLineEnd(body: Uint8Array, from: number): number {
  const last = typedArrayLength(body) - 2;
  for (let at = from; at <= last; at++) if (body[at] === CR && body[at + 1] === LF) return at;
  return -1;
}

function malformed(why: string): TypeError {
  return new TypeErrorCtor(`The body cannot be parsed as multipart/form-data: ${why}`);
}

/** Line breaks of any kind become CR LF. */
function withCrLf(text: string): string {
  if (stringIndexOf(text, '\n') < 0 && stringIndexOf(text, '\r') < 0) return text;
  let result = '';
  for (let i = 0; i < text.length; i++) {
    const code = stringCharCodeAt(text, i);
    if (code === CR || code === LF) {
      result += '\r\n';
      if (code === CR && stringCharCodeAt(text, i + 1) === LF) i++;
    } else result += stringSlice(text, i, i + 1);
  }
  return result;
}

function escapeName(name: string): string {
  let result = '';
  for (let i = 0; i < name.length; i++) {
    const code = stringCharCodeAt(name, i);
    result += code === LF ? '%0A' : code === CR ? '%0D' : code === 0x22 ? '%22' : stringSlice(name, i, i + 1);
  }
  return result;
}

function unescapeName(name: string): string {
  if (stringIndexOf(name, '%') < 0) return name;
  let result = '';
  for (let i = 0; i < name.length; i++) {
    const code = stringSlice(name, i, i + 3);
    const mark = code === '%0A' ? '\n' : code === '%0D' ? '\r' : code === '%22' ? '"' : undefined;
    result += mark ?? stringSlice(name, i, i + 1);
    if (mark !== undefined) i += 2;
  }
  return result;
}
