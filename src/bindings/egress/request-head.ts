/** The head of an outgoing request, as a function wrote it, checked: method, URL, headers, redirect mode. */

export type RedirectMode = 'follow' | 'error' | 'manual';

/** The head of a function's request. Everything in it is checked before use. */
export interface RequestHead {
  readonly method: string;
  /** Absolute, `http:` or `https:`, without credentials. The fragment is not sent. */
  readonly url: string;
  /** Names and values in turn: `['accept', 'text/html', 'x-a', '1']`. */
  readonly headers: readonly string[];
  /** @default 'follow' */
  readonly redirect?: RedirectMode;
}

export interface CheckedHead {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case and values in turn, without those that belong to the connection. */
  readonly headers: string[];
  readonly redirect: RedirectMode;
  /** The length of the body that the function declared, when it was a whole number of bytes. */
  readonly contentLength: number | undefined;
}

/**
 * Checks the head of an outgoing request.
 *
 * Headers that belong to the connection are left out, as the Fetch standard does with forbidden header names: Host follows from the URL, and the framing is
 * new.
 *
 * @throws TypeError when it is not one that `fetch` could make
 */
export function checkHead(head: unknown): CheckedHead {
  if (typeof head !== 'object' || head === null) throw new TypeError('Cannot fetch: the request has no head');
  const { method, url, headers, redirect }: { method?: unknown; url?: unknown; headers?: unknown; redirect?: unknown } =
    head;
  const { list, contentLength } = checkHeaders(headers);
  return {
    method: checkMethod(method),
    url: checkUrl(url),
    headers: list,
    redirect: checkRedirect(redirect),
    contentLength,
  };
}

/** @throws TypeError for a URL that is not one of `http:` or `https:`, or that carries credentials */
export function checkUrl(text: unknown, base?: URL): URL {
  const url = parseUrl(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`Cannot fetch ${quoted(text)}: the scheme is ${url.protocol}, expected http: or https:`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError(
      `Cannot fetch ${quoted(url.host)}: the URL has credentials, set the Authorization header instead`,
    );
  }
  if (url.href.includes('#')) url.hash = '';
  return url;
}

function parseUrl(text: unknown, base: URL | undefined): URL {
  try {
    if (typeof text === 'string' && text.length <= MAX_URL_LENGTH) return new URL(text, base);
  } catch {
    // The error below names the expected form.
  }
  throw new TypeError(`Cannot fetch ${quoted(text)}: expected a URL of at most ${MAX_URL_LENGTH} characters`);
}

/** The first value of a header in a list of names and values. `name` in lower case. */
export function headerValue(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (headers[i]?.toLowerCase() === name) return headers[i + 1];
  }
  return undefined;
}

/** A list of names and values without the headers of the given names, which are in lower case. */
export function withoutHeaders(headers: readonly string[], names: ReadonlySet<string>): string[] {
  return headers.filter((_, i) => !names.has((headers[i - (i % 2)] ?? '').toLowerCase()));
}

function checkMethod(method: unknown): string {
  if (typeof method !== 'string' || method.length > 100 || !TOKEN.test(method)) {
    throw new TypeError(`Cannot fetch: the method is ${quoted(method)}, expected an HTTP token`);
  }
  const upper = method.toUpperCase();
  if (FORBIDDEN_METHODS.has(upper)) throw new TypeError(`Cannot fetch: the method ${upper} is not allowed`);
  return NORMALIZED_METHODS.has(upper) ? upper : method;
}

function checkRedirect(redirect: unknown): RedirectMode {
  if (redirect === undefined) return 'follow';
  if (redirect === 'follow' || redirect === 'error' || redirect === 'manual') return redirect;
  throw new TypeError(`Cannot fetch: redirect is ${quoted(redirect)}, expected follow, error or manual`);
}

function checkHeaders(headers: unknown): { list: string[]; contentLength: number | undefined } {
  if (!Array.isArray(headers) || headers.length % 2 !== 0) {
    throw new TypeError('Cannot fetch: the headers are not a list of names and values');
  }
  const list: string[] = [];
  let contentLength: number | undefined;
  let bytes = 0;
  for (let i = 0; i < headers.length; i += 2) {
    const name: unknown = headers[i];
    const value: unknown = headers[i + 1];
    if (typeof name !== 'string' || !TOKEN.test(name)) {
      throw new TypeError(`Cannot fetch: a header has the name ${quoted(name)}, expected an HTTP token`);
    }
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      throw new TypeError(`Cannot fetch: the header ${quoted(name)} has a value that HTTP does not allow`);
    }
    bytes += name.length + value.length;
    if (bytes > MAX_HEADERS_BYTES) {
      throw new TypeError(`Cannot fetch: the headers are longer than ${MAX_HEADERS_BYTES} bytes`);
    }
    const lower = name.toLowerCase();
    if (lower === 'content-length' && /^\d{1,15}$/.test(value)) contentLength ??= Number(value);
    if (!CONNECTION_HEADERS.has(lower) && !lower.startsWith('proxy-')) list.push(lower, value);
  }
  return { list, contentLength };
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : typeof value;
}

const MAX_URL_LENGTH = 64 * 1024;
const MAX_HEADERS_BYTES = 128 * 1024;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Bytes as characters, no line break and no NUL (Fetch standard, header value). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
const NORMALIZED_METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']);
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
