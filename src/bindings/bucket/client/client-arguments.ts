/** Turns the arguments of bucket calls into plain data and bytes. They are not checked here: wrong ones go to the service unchanged. */

import { isArrayBuffer } from '../../client-arguments.js';
import type { ClientStream } from '../../client-platform.js';
import { isRecord } from '../../is-record.js';
import type { WireHeaders } from './calls.js';
import { HTTP_FIELDS } from './client-object.js';
import type { ClientHeaders } from './client-platform.js';

const CONDITION_HEADERS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;

const METADATA_HEADERS = [
  'content-type',
  'content-language',
  'content-disposition',
  'content-encoding',
  'cache-control',
  'expires',
] as const;

/** A Blob up to this many bytes is read as a whole. */
const WHOLE_BLOB_BYTES = 256 * 1024;

export function bodyOf<Stream extends ClientStream>(
  method: 'put' | 'uploadPart',
  value: unknown,
): string | Uint8Array | Stream | null | Promise<Uint8Array> {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (isArrayBuffer(value)) return new Uint8Array(value);
  if (isStream<Stream>(value)) {
    if (value.locked) throw new TypeError(`${method}: the stream given is locked to a reader, give one that is not`);
    return value;
  }
  if (isBlob(value)) {
    if (value.size <= WHOLE_BLOB_BYTES) return value.arrayBuffer().then(buffer => new Uint8Array(buffer));
    const stream = value.stream();
    if (isStream<Stream>(stream)) return stream;
  }
  throw new TypeError(`${method}: ${badValue(value)}`);
}

export function badValue(value: unknown): string {
  const found = value === null ? 'null' : typeof value === 'object' ? 'another object' : `${typeof value}`;
  return `the value is ${found}, it must be a ReadableStream, ArrayBuffer, ArrayBufferView, string or Blob`;
}

/** Any implementation of streams counts, as long as it can be read. */
function isStream<Stream extends ClientStream>(value: unknown): value is Stream {
  return isRecord(value) && typeof value.getReader === 'function';
}

interface BlobLike {
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
  stream(): unknown;
}

function isBlob(value: unknown): value is BlobLike {
  return (
    isRecord(value) &&
    typeof value.size === 'number' &&
    typeof value.arrayBuffer === 'function' &&
    typeof value.stream === 'function'
  );
}

export function fields(method: string, options: unknown): Record<string, unknown> {
  if (isRecord(options)) return options;
  throw new TypeError(`${method}: the options are of type ${typeof options}, they must be an object`);
}

function isHeaders(value: unknown): value is ClientHeaders {
  return isRecord(value) && typeof value.get === 'function' && typeof value.set === 'function';
}

function plainHeaders(headers: ClientHeaders, names: readonly string[]): WireHeaders {
  const plain: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) plain[name] = `${value}`;
  }
  return { headers: plain };
}

export function plainCondition(value: unknown): unknown {
  if (isHeaders(value)) return plainHeaders(value, CONDITION_HEADERS);
  return plainFields(value, ['etagMatches', 'etagDoesNotMatch', 'uploadedBefore', 'uploadedAfter']);
}

export function plainRange(value: unknown): unknown {
  if (isHeaders(value)) return plainHeaders(value, ['range']);
  return plainFields(value, ['offset', 'length', 'suffix']);
}

export function takeMetadata(
  args: { httpMetadata?: unknown; customMetadata?: unknown; storageClass?: unknown },
  given: Record<string, unknown>,
): void {
  const { httpMetadata, customMetadata, storageClass } = given;
  if (httpMetadata !== undefined) {
    args.httpMetadata = isHeaders(httpMetadata)
      ? plainHeaders(httpMetadata, METADATA_HEADERS)
      : plainFields(httpMetadata, [...HTTP_FIELDS.map(([field]) => field), 'cacheExpiry']);
  }
  if (customMetadata !== undefined) args.customMetadata = plainRecord(customMetadata);
  if (storageClass !== undefined) args.storageClass = storageClass;
}

/** The named fields, with dates as milliseconds. A value that is not an object is passed unchanged, for the service to refuse. */
function plainFields(value: unknown, names: readonly string[]): unknown {
  if (!isRecord(value)) return value;
  const plain: Record<string, unknown> = {};
  for (const name of names) {
    const field = value[name];
    if (field !== undefined) plain[name] = isDate(field) ? { date: field.getTime() } : plainNumber(field);
  }
  return plain;
}

/** NaN and the infinities by name: JSON has null for them. */
export function plainNumber(value: unknown): unknown {
  return typeof value === 'number' && value - value !== 0 ? { number: `${value}` } : value;
}

function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]';
}

/** Pairs instead of an object, so that no name has a special meaning. Values become strings as everywhere on the web. */
function plainRecord(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.entries(value).map(([name, entry]) => [name, `${entry}`]);
}

export function plainHash(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return hexOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  return isArrayBuffer(value) ? hexOf(new Uint8Array(value)) : value;
}

/** A part on the wire: a pair, as ten thousand objects take the service long to parse. */
export function wirePart(part: unknown): unknown {
  if (Array.isArray(part)) return {};
  return isRecord(part) ? [plainNumber(part.partNumber), part.etag] : part;
}

function hexOf(bytes: Uint8Array): string {
  let hex = '';
  // No hash is longer; one that is given so is refused for its length.
  for (const byte of bytes.subarray(0, 65)) hex += byte.toString(16).padStart(2, '0');
  return hex;
}
