/** Checks the arguments of the calls of caches, which functions have written. */

export interface CheckedResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
}

type Fields = { readonly [name: string]: unknown };

const MAX_HEADERS_BYTES = 128 * 1024;
/** Longer names are refused by `caches.open()`. */
const MAX_NAME_LENGTH = 1023;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Bytes as characters, no line break and no NUL (Fetch standard, header value). */
const HEADER_VALUE = /^[^\0\r\n\u0100-\uffff]*$/;

export function checkFields(args: unknown): Fields {
  if (typeof args === 'object' && args !== null && !Array.isArray(args))
    return Object.fromEntries(Object.entries(args));
  throw new TypeError('The arguments of a call of a cache are not an object');
}

/** The name of a cache that was opened by name; undefined for the default one. */
export function checkCacheName(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new TypeError('The name of the cache is not a string');
  if (value.length > MAX_NAME_LENGTH) throw new TypeError('Cache name is too long.');
  return value;
}

/** The URL as the parser writes it, without its fragment. */
export function checkUrl(value: unknown): string {
  let url: URL | undefined;
  try {
    if (typeof value === 'string') url = new URL(value);
  } catch {
    // The error below names the expected form.
  }
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new TypeError('Invalid URL. Cache API keys must be fully-qualified, valid URLs.');
  if (url.href.includes('#')) url.hash = '';
  return url.href;
}

/** Names and values in turn. */
export function checkHeaders(value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length % 2 !== 0)
    throw new TypeError('The headers are not a list of names and values');
  let bytes = 0;
  const headers: string[] = [];
  for (const [at, text] of value.entries()) {
    if (typeof text !== 'string' || !(at % 2 === 0 ? TOKEN : HEADER_VALUE).test(text))
      throw new TypeError('The headers have a name or a value that HTTP does not allow');
    bytes += text.length;
    if (bytes > MAX_HEADERS_BYTES) throw new TypeError(`The headers are longer than ${MAX_HEADERS_BYTES} bytes`);
    headers.push(at % 2 === 0 ? text.toLowerCase() : text);
  }
  return headers;
}

/** @throws TypeError for a response that no cache keeps, whatever its headers say */
export function checkResponse({ status, statusText, headers }: Fields): CheckedResponse {
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError(`The status of the response is ${String(status).slice(0, 20)}, expected 200 to 599`);
  if (status === 206) throw new TypeError('Cannot cache response to a range request (206 Partial Content).');
  if (status === 304) throw new TypeError('Cannot cache a response of status 304, which has no body.');
  if (typeof statusText !== 'string' || statusText.length > 1024 || !HEADER_VALUE.test(statusText))
    throw new TypeError('The status text of the response is not a line of text');
  const list = checkHeaders(headers);
  for (let at = 0; at < list.length; at += 2) {
    if (list[at] === 'vary' && (list[at + 1] ?? '').split(',').some(name => name.trim() === '*'))
      throw new TypeError("Cannot cache response with 'Vary: *' header.");
  }
  return { status, statusText, headers: list };
}
