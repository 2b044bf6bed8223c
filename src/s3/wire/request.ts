import type { ServiceBody } from '../../bindings/service.js';
import { percentDecode } from './encoding.js';
import { S3Error } from './errors.js';

/**
 * Requests and responses in the shape of node:http, and the parsed request. The target is never given to `new URL()`, which would merge
 * keys: it removes dot segments, and with them `//` and `/../` of keys change place.
 */

export interface S3RawRequest {
  readonly method: string;
  /** The target of the request line as it came: `/bucket/key?query`, or in absolute form. */
  readonly target: string;
  /** Name, value, name, value, as `rawHeaders` of node:http: values are strings of bytes. */
  readonly headers: readonly string[];
  /** Read at most once, and not at all when the request is refused before. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** Fires when the client is gone. */
  readonly signal?: AbortSignal;
}

export interface S3RawResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** null: no body. A stream must be read to its end or cancelled by `return()` of its iterator. */
  readonly body: ServiceBody | null;
}

/** The request taken apart. Names of headers are lower-case; values of repeated ones are joined by a comma. */
export interface S3Request {
  readonly method: string;
  /** The path as it came, percent-encoded, with the base path: what the client signed. */
  readonly rawPath: string;
  /** Decoded, in the order they came. No name comes twice. */
  readonly query: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
  readonly bucket: string | undefined;
  readonly key: string | undefined;
  readonly body: AsyncIterable<Uint8Array> | null;
  readonly signal: AbortSignal | undefined;
}

export interface RoutingOptions {
  /** Lower-case, without port. */
  readonly domain: string | undefined;
  /** `''`, or a path that begins with a slash and does not end with one. */
  readonly basePath: string;
}

/** Whether the body is an HTML form, which has its credentials in its fields. */
export function isFormUpload({ method, headers, key }: S3Request): boolean {
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  return method === 'POST' && key === undefined && type.startsWith('multipart/form-data');
}

const HEADER_BYTES = 32 * 1024;
const TARGET_BYTES = 16 * 1024;

/** Throws S3Error: InvalidURI, InvalidArgument, InvalidRequest, RequestHeaderSectionTooLarge. */
export function parseRequest(raw: S3RawRequest, routing: RoutingOptions): S3Request {
  const headers = parseHeaders(raw.headers);
  // RFC 9112, 6.1: something in between may have read another body. Node's parser refuses them, unless it is configured to be lenient.
  if (headers.has('transfer-encoding') && headers.has('content-length')) {
    throw new S3Error('InvalidRequest', 'A request must not carry both Transfer-Encoding and Content-Length.', {
      headers: { Connection: 'close' },
    });
  }
  if (raw.target.length > TARGET_BYTES) {
    throw new S3Error('InvalidURI', `The request target has ${raw.target.length} bytes; allowed are ${TARGET_BYTES}.`);
  }
  const target = raw.target.replace(/^https?:\/\/[^/?#]*/i, '');
  const mark = target.indexOf('?');
  const rawPath = (mark < 0 ? target : target.slice(0, mark)) || '/';
  if (!rawPath.startsWith('/')) throw new S3Error('InvalidURI', 'The request target must begin with a slash.');
  return {
    method: raw.method,
    rawPath,
    query: parseQuery(mark < 0 ? '' : target.slice(mark + 1)),
    headers,
    ...locate(rawPath, headers.get('host') ?? '', routing),
    body: raw.body,
    signal: raw.signal,
  };
}

function parseHeaders(list: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  let bytes = 0;
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = (list[i] ?? '').toLowerCase();
    const value = trimBlanks(list[i + 1] ?? '');
    bytes += name.length + value.length;
    const before = headers.get(name);
    if (before !== undefined && name === 'host') throw new S3Error('InvalidRequest', 'The Host header came twice.');
    headers.set(name, before === undefined ? value : `${before},${value}`);
  }
  if (bytes > HEADER_BYTES) {
    throw new S3Error('RequestHeaderSectionTooLarge', `The headers have ${bytes} bytes; allowed are ${HEADER_BYTES}.`);
  }
  return headers;
}

/** By hand: a pattern for the end of a value takes quadratic time in the blanks inside of it, and the client has not been authenticated yet. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function parseQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const item of text.split('&')) {
    if (item === '') continue;
    const equals = item.indexOf('=');
    const name = decode((equals < 0 ? item : item.slice(0, equals)).replaceAll('+', ' '));
    const value = equals < 0 ? '' : decode(item.slice(equals + 1).replaceAll('+', ' '));
    // Two values would be two requests in one: which of them counts must not depend on who reads.
    if (query.has(name))
      throw new S3Error('InvalidArgument', `The query parameter ${JSON.stringify(name)} came twice.`);
    query.set(name, value);
  }
  return query;
}

function locate(
  rawPath: string,
  host: string,
  { domain, basePath }: RoutingOptions,
): Pick<S3Request, 'bucket' | 'key'> {
  if (basePath !== '' && rawPath !== basePath && !rawPath.startsWith(`${basePath}/`)) {
    throw new S3Error('InvalidURI', `The request target must begin with ${basePath}/.`);
  }
  const path = rawPath.slice(basePath.length + 1);
  const hostBucket = bucketOfHost(host, domain);
  if (hostBucket !== undefined) return { bucket: hostBucket, key: path === '' ? undefined : decode(path) };
  const slash = path.indexOf('/');
  const bucket = slash < 0 ? path : path.slice(0, slash);
  const key = slash < 0 ? '' : path.slice(slash + 1);
  if (bucket === '' && key !== '') throw new S3Error('InvalidURI', 'The request target names a key without a bucket.');
  return {
    bucket: bucket === '' ? undefined : decode(bucket),
    key: key === '' ? undefined : decode(key),
  };
}

function bucketOfHost(host: string, domain: string | undefined): string | undefined {
  if (domain === undefined) return undefined;
  const name = host.toLowerCase().replace(/:\d*$/, '');
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : undefined;
}

function decode(text: string): string {
  const decoded = percentDecode(text);
  if (decoded === undefined) {
    throw new S3Error(
      'InvalidURI',
      `The request target has a bad percent-encoding: ${JSON.stringify(text.slice(0, 200))}.`,
    );
  }
  return decoded;
}
