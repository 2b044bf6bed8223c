/** Which responses may be compressed, and the headers of one that is. */
import type { Coding } from './accepted-coding.js';

/** A shorter body is not worth it: with its head it fits into one packet. */
export const MIN_COMPRESSED_BYTES = 1024;

/** Types whose bodies are text or become shorter like text. Images, video, archives and most fonts are compressed in themselves. */
const COMPRESSIBLE =
  /^\s*(?:text\/|application\/(?:json|javascript|x-javascript|ecmascript|xml|wasm|x-ndjson|jsonl|graphql|rtf|sql|toml|yaml|x-yaml|x-www-form-urlencoded|x-sh|manifest\+json|vnd\.ms-fontobject|vnd\.api\+json|[^;\s]+\+(?:json|xml|text|yaml))\s*(?:;|$)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)\s*(?:;|$)|font\/(?:ttf|otf|collection)\s*(?:;|$)|model\/gltf\+json\s*(?:;|$))/i;

/** Headers that say that the body must stay what it is: it has a coding, is a part, or has a digest of its bytes. */
const EXCLUDING: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-range',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
]);

/**
 * Whether the response may be compressed for clients that take a coding. `headers` are names and values in turn.
 *
 * @param bodyBytes the length of its body; undefined when that is known by its Content-Length alone
 */
export function isCompressible(status: number, headers: readonly string[], bodyBytes: number | undefined): boolean {
  if (status < 200 || status === 204 || status === 205 || status === 206 || status === 304) return false;
  let isTyped = false;
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase();
    const value = headers[at + 1] ?? '';
    if (name === 'content-type') {
      if (!COMPRESSIBLE.test(value)) return false;
      isTyped = true;
    } else if (name === 'content-length') {
      if (bodyBytes === undefined && Number(value) < MIN_COMPRESSED_BYTES) return false;
    } else if (name === 'cache-control') {
      if (/(?:^|[\s,])no-transform(?:$|[\s,;])/i.test(value)) return false;
    } else if (EXCLUDING.has(name)) return false;
  }
  return isTyped && (bodyBytes ?? MIN_COMPRESSED_BYTES) >= MIN_COMPRESSED_BYTES;
}

/** With a Vary that says that the response depends on what codings its client takes. */
export function withVary(headers: readonly string[]): string[] {
  const varied = [...headers];
  let first = -1;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() !== 'vary') continue;
    if (/(?:^|,)\s*(?:\*|accept-encoding)\s*(?:,|$)/i.test(headers[at + 1] ?? '')) return varied;
    first = at;
  }
  const before = first < 0 ? '' : (headers[first + 1] ?? '').trim();
  if (before === '') varied.push('vary', 'Accept-Encoding');
  else varied[first + 1] = `${before}, Accept-Encoding`;
  return varied;
}

/**
 * The headers of the same response with a coding. It is another representation: it has no length yet and no ranges, and an entity tag that promises the
 * same bytes becomes one that promises the same meaning.
 */
export function encodedHeaders(headers: readonly string[], coding: Coding): string[] {
  const encoded: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    const lower = name.toLowerCase();
    if (lower === 'content-length' || lower === 'accept-ranges') continue;
    encoded.push(name, lower === 'etag' && value.startsWith('"') ? `W/${value}` : value);
  }
  encoded.push('content-encoding', coding);
  return encoded;
}
