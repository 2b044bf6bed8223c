/**
 * Writes the head of a response of node:http, also when the application and its middleware have changed the response before: headers that
 * they set stay, headers that come several times come several times, and the framing of the body is the listener's alone.
 */
import http, { type ServerResponse } from 'node:http';

/** The original method: middleware for sessions or compression replaces it, to learn when the head is written. */
const plainWriteHead = http.ServerResponse.prototype.writeHead;

/** Headers whose lists have entries of both sides: the function's values are added to those that the application has set. */
const ADDED = new Set(['link', 'proxy-authenticate', 'server-timing', 'set-cookie', 'vary', 'via', 'www-authenticate']);

/** The characters that HTTP allows in a field value (RFC 9110, 5.5), one for each byte. */
const NOT_ALLOWED = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * `headers` are names and values in turn.
 *
 * @throws what node:http throws for a header that it does not send; nothing has been written or set then
 */
export function writeHead(response: ServerResponse, status: number, statusText: string, headers: string[]): void {
  if (response.writeHead === plainWriteHead && response.getHeaderNames().length === 0) {
    response.writeHead(status, statusText, headers);
    return;
  }
  const isFirst = response.req.httpVersionMajor < 2;
  // HTTP/2 has no status texts.
  checkHead(isFirst ? statusText : '', headers);
  // One call for each name: Node 20 keeps the last of equal names when it merges a list with headers set before, and so do wrappers of writeHead().
  const valuesOf = new Map<string, string[]>();
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase();
    const values = valuesOf.get(name);
    if (values === undefined) valuesOf.set(name, [headers[at + 1] ?? '']);
    else values.push(headers[at + 1] ?? '');
  }
  for (const framing of ['content-length', 'transfer-encoding']) response.removeHeader(framing);
  for (const [name, own] of valuesOf) {
    const values = ADDED.has(name) ? [...earlierValues(response, name), ...own] : own;
    // A list of values is one value (RFC 9110, 5.3); node:http2 takes several of few headers alone.
    const isList = values.length > 1 && (isFirst || name === 'set-cookie');
    response.setHeader(name, isList ? values : values.join(', '));
  }
  if (isFirst) response.writeHead(status, statusText);
  else response.writeHead(status);
}

/** A head of more bytes than the protocol carries. */
export class HeadTooLongError extends RangeError {}

/** More than this ends the connection of HTTP/2 with its other requests, on a server without a maxSendHeaderBlockLength of its own. */
const MAX_BLOCK_BYTES = 65_536;
/** By which Node's library estimates a block: this for each field, beside its name and its value. */
const FIELD_BYTES = 12;
/** For the status, the date, and what compression and the cache add. */
const OTHER_FIELDS_BYTES = 256;

/**
 * With the headers that the application has set.
 *
 * @throws HeadTooLongError for more than HTTP/2 sends
 */
export function checkHeadLength(response: ServerResponse, headers: readonly string[]): void {
  if (response.req.httpVersionMajor < 2) return;
  let bytes = blockBytes(headers);
  for (const name of response.getHeaderNames())
    for (const value of earlierValues(response, name)) bytes += fieldBytes(name, value);
  if (bytes > MAX_BLOCK_BYTES)
    throw new HeadTooLongError(`its headers take ${bytes} bytes, of which HTTP/2 sends at most ${MAX_BLOCK_BYTES}`);
}

/** Whether HTTP/2 sends a head with these headers. */
export function fitsBlock(headers: readonly string[]): boolean {
  return blockBytes(headers) <= MAX_BLOCK_BYTES;
}

function blockBytes(headers: readonly string[]): number {
  let bytes = OTHER_FIELDS_BYTES;
  for (let at = 0; at < headers.length; at += 2) bytes += fieldBytes(headers[at] ?? '', headers[at + 1] ?? '');
  return bytes;
}

function fieldBytes(name: string, value: string): number {
  return name.length + value.length + FIELD_BYTES;
}

function earlierValues(response: ServerResponse, name: string): readonly string[] {
  const value = response.getHeader(name);
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [String(value)];
}

function checkHead(statusText: string, headers: readonly string[]): void {
  http.validateHeaderValue('status text', statusText);
  for (let at = 0; at < headers.length; at += 2) {
    http.validateHeaderName(headers[at] ?? '');
    http.validateHeaderValue(headers[at] ?? '', headers[at + 1] ?? '');
  }
}

/** Describes the part of a head that HTTP does not allow; undefined when all of it can be sent. fetch() allows control characters, HTTP does not. */
export function unsendablePart(statusText: string, headers: readonly string[]): string | undefined {
  const inStatus = NOT_ALLOWED.exec(statusText);
  if (inStatus !== null) return `its status text has ${named(inStatus[0])}`;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const inValue = NOT_ALLOWED.exec(headers[at + 1] ?? '');
    if (inValue !== null) return `its header ${JSON.stringify(name.slice(0, 100))} has ${named(inValue[0])}`;
    if (!isToken(name)) return `it has a header of the name ${JSON.stringify(name.slice(0, 100))}`;
  }
  return undefined;
}

function isToken(name: string): boolean {
  try {
    http.validateHeaderName(name);
    return true;
  } catch {
    return false;
  }
}

function named(character: string): string {
  return `the character U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The response to HEAD has the length that GET would have; a function may give it, or the body itself. */
export function headOnly(headers: readonly string[], bodyBytes: number): string[] {
  return bodyBytes === 0 ? withPlainLength(headers) : [...withoutLength(headers), 'content-length', String(bodyBytes)];
}

/**
 * Node writes every value that Number() accepts as a length, such as `0x10` or `+16`. A proxy that reads it differently takes the rest of the body for the next
 * response of the connection. So a value that is not a plain row of digits is left out.
 */
export function withPlainLength(headers: readonly string[]): string[] {
  let length: string | undefined;
  let count = 0;
  for (let at = 0; at < headers.length; at += 2) {
    if (!isLength(headers[at] ?? '')) continue;
    count++;
    length = headers[at + 1];
  }
  return count === 0 || (count === 1 && /^\d{1,15}$/.test(length ?? '')) ? [...headers] : withoutLength(headers);
}

/** The length that the headers declare, where it is one. */
export function declaredLength(headers: readonly string[]): number | undefined {
  const plain = withPlainLength(headers);
  for (let at = 0; at < plain.length; at += 2) if (isLength(plain[at] ?? '')) return Number(plain[at + 1]);
  return undefined;
}

function isLength(name: string): boolean {
  return name.length === 14 && name.toLowerCase() === 'content-length';
}

export function withoutLength(headers: readonly string[]): string[] {
  const bare: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!isLength(name)) bare.push(name, headers[at + 1] ?? '');
  }
  return bare;
}
