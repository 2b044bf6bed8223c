import { objectFrom } from '../../quotas/host/chosen-names.js';
import { isObject } from '../../quotas/schema/describe.js';
import { EXPIRES_FORMS, parseExpires, parseHttpDate } from '../http-date.js';
import type { UncheckedFields } from '../service.js';
import { parseRangeHeader } from './byte-range.js';
import type { BucketWireArguments } from './client/calls.js';
import type { ByteRange, Condition, EtagPattern, HashName, HttpMetadata, UploadOptions } from './engine.js';
import { BucketError, type BucketMethod } from './errors.js';
import { HASH_NAMES } from './hash-names.js';
import { BUCKET_LIMITS } from './limits.js';
import type { StoreStorageClass } from './types.js';

/**
 * Checks the arguments of a bucket's methods as the function sent them, without relying on the client. Wrong shapes are TypeErrors, numbers
 * out of bounds RangeErrors, and errors with a code of their own BucketErrors.
 */

export function checkFields(method: BucketMethod, what: string, value: unknown): UncheckedFields {
  if (isObject(value)) return value;
  throw new TypeError(`${method}: ${what} is ${describe(value)}, it must be an object`);
}

export function checkString(method: BucketMethod, what: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError(`${method}: ${what} is ${describe(value)}, it must be a string`);
}

export function checkKeys(value: unknown): string[] {
  if (!Array.isArray(value))
    throw new TypeError(`delete: keys is ${describe(value)}, it must be a string or an array of strings`);
  if (value.length < 1 || value.length > BUCKET_LIMITS.deleteKeys) {
    throw new BucketError(
      'delete',
      10027,
      `${value.length} keys were given, one call takes 1 to ${BUCKET_LIMITS.deleteKeys}`,
    );
  }
  return value.map(key => checkString('delete', 'a key', key));
}

export function checkPartNumber(method: BucketMethod, sent: unknown): number {
  const value = receivedNumber(sent);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= BUCKET_LIMITS.partNumber)
    return value;
  throw new TypeError(
    `${method}: the part number is ${describe(value)}, it must be a whole number from 1 to ${BUCKET_LIMITS.partNumber}`,
  );
}

export function checkNamedParts(value: unknown): { partNumber: number; etag: string }[] {
  const method = 'completeMultipartUpload';
  if (!Array.isArray(value)) throw new TypeError(`${method}: the parts are ${describe(value)}, they must be an array`);
  if (value.length > BUCKET_LIMITS.partNumber) {
    throw new TypeError(`${method}: ${value.length} parts were given, the most is ${BUCKET_LIMITS.partNumber}`);
  }
  return value.map((part: unknown) => {
    if (!Array.isArray(part)) throw new TypeError(`${method}: a part is ${describe(part)}, it must be an object`);
    const [partNumber, etag]: unknown[] = part;
    return {
      partNumber: checkPartNumber(method, partNumber ?? undefined),
      etag: checkString(method, 'the etag of a part', etag ?? undefined),
    };
  });
}

export function checkHashes(
  given: BucketWireArguments['put'] | UncheckedFields,
): Partial<Record<HashName, string>> | undefined {
  let hashes: Partial<Record<HashName, string>> | undefined;
  for (const name of HASH_NAMES) {
    const value = given[name];
    if (value === undefined) continue;
    const digits = HASH_BYTES[name] * 2;
    if (typeof value !== 'string') {
      throw new TypeError(
        `put: ${name} is ${describe(value)}, it must be ${digits} hex digits, an ArrayBuffer or a view of one`,
      );
    }
    if (value.length !== digits || !/^[0-9a-f]*$/i.test(value)) {
      throw new TypeError(
        `put: ${name} is ${describe(value)}, it must be ${digits} hex digits (${HASH_BYTES[name]} bytes)`,
      );
    }
    hashes ??= {};
    hashes[name] = value.toLowerCase();
  }
  return hashes;
}

const HASH_BYTES: Readonly<Record<HashName, number>> = { md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 };

export function checkMetadata(method: BucketMethod, given: UncheckedFields): Omit<UploadOptions, 'transferChecksum'> {
  const { httpMetadata, customMetadata, storageClass } = given;
  return {
    ...(httpMetadata === undefined ? undefined : { httpMetadata: checkHttpMetadata(method, httpMetadata) }),
    ...(customMetadata === undefined ? undefined : { customMetadata: checkCustomMetadata(method, customMetadata) }),
    ...(storageClass === undefined ? undefined : { storageClass: checkStorageClass(method, storageClass) }),
  };
}

function checkStorageClass(method: BucketMethod, value: unknown): StoreStorageClass {
  if (value === 'Standard' || value === 'InfrequentAccess') return value;
  throw new TypeError(`${method}: storageClass is ${describe(value)}, it must be "Standard" or "InfrequentAccess"`);
}

function checkHttpMetadata(method: BucketMethod, value: unknown): HttpMetadata {
  const given = checkFields(method, 'httpMetadata', value);
  const headers = headersOf(given);
  const metadata: { -readonly [Field in keyof HttpMetadata]: HttpMetadata[Field] } = {};
  for (const [field, name] of METADATA_HEADERS) {
    const text = headers === undefined ? given[field] : headers[name];
    if (text !== undefined) metadata[field] = checkHeaderText(method, `httpMetadata.${field}`, text);
  }
  const expiry = headers === undefined ? given.cacheExpiry : headers.expires;
  if (expiry !== undefined)
    metadata.cacheExpiry =
      headers === undefined ? checkDate(method, 'httpMetadata.cacheExpiry', expiry) : checkExpires(method, expiry);
  return metadata;
}

const METADATA_HEADERS = [
  ['contentType', 'content-type'],
  ['contentLanguage', 'content-language'],
  ['contentDisposition', 'content-disposition'],
  ['contentEncoding', 'content-encoding'],
  ['cacheControl', 'cache-control'],
] as const;

function checkHeaderText(method: BucketMethod, what: string, value: unknown): string {
  const text = checkString(method, what, value);
  // It becomes a header again: a line break would be a header of the function's choosing.
  if (/[\0\r\n]/.test(text))
    throw new TypeError(`${method}: ${what} contains a line break or NUL, which a header cannot`);
  return text;
}

function checkExpires(method: BucketMethod, value: unknown): number {
  const date = parseExpires(checkString(method, 'the Expires header', value));
  if (date === undefined)
    throw new TypeError(`${method}: the Expires header is ${describe(value)}, expected ${EXPIRES_FORMS}`);
  return date;
}

function checkCustomMetadata(method: BucketMethod, value: unknown): Record<string, string> {
  if (!Array.isArray(value))
    throw new TypeError(`${method}: customMetadata is ${describe(value)}, it must be an object of strings`);
  return objectFrom(
    value.map((pair): [string, string] => {
      const [name, text]: unknown[] = Array.isArray(pair) ? pair : [];
      return [
        checkString(method, 'a name of customMetadata', name),
        checkString(method, 'a value of customMetadata', text),
      ];
    }),
  );
}

/** The condition in `onlyIf`; undefined when it has none. */
export function checkCondition(method: BucketMethod, value: unknown): Condition | undefined {
  if (value === undefined) return undefined;
  const given = checkFields(method, 'onlyIf', value);
  const headers = headersOf(given);
  return headers === undefined ? checkConditional(method, given) : checkConditionHeaders(method, headers);
}

function checkConditional(method: BucketMethod, given: UncheckedFields): Condition {
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter } = given;
  return {
    ...(etagMatches === undefined ? undefined : { etagMatches: [bareEtag(method, 'etagMatches', etagMatches)] }),
    ...(etagDoesNotMatch === undefined
      ? undefined
      : { etagDoesNotMatch: [bareEtag(method, 'etagDoesNotMatch', etagDoesNotMatch)] }),
    ...(uploadedBefore === undefined
      ? undefined
      : { uploadedBefore: checkDate(method, 'onlyIf.uploadedBefore', uploadedBefore) }),
    ...(uploadedAfter === undefined
      ? undefined
      : { uploadedAfter: checkDate(method, 'onlyIf.uploadedAfter', uploadedAfter) }),
  };
}

function bareEtag(method: BucketMethod, field: string, value: unknown): EtagPattern {
  const etag = checkString(method, `onlyIf.${field}`, value);
  if (etag.length >= 2 && etag.startsWith('"') && etag.endsWith('"')) {
    throw new TypeError(`${method}: onlyIf.${field} is ${describe(etag)}, an etag is given without the quotes`);
  }
  return etag === '*' ? { kind: 'any' } : { kind: 'strong', value: etag };
}

function checkConditionHeaders(method: BucketMethod, headers: UncheckedFields): Condition {
  const match = headers['if-match'];
  const noneMatch = headers['if-none-match'];
  const before = headerDate(headers['if-unmodified-since']);
  const after = headerDate(headers['if-modified-since']);
  return {
    ...(match === undefined ? undefined : { etagMatches: parseEtagList(method, 'If-Match', match) }),
    ...(noneMatch === undefined ? undefined : { etagDoesNotMatch: parseEtagList(method, 'If-None-Match', noneMatch) }),
    ...(before === undefined ? undefined : { uploadedBefore: before }),
    ...(after === undefined ? undefined : { uploadedAfter: after }),
    secondsGranularity: true,
  };
}

/** RFC 9110 sections 13.1.3 and 13.1.4: an invalid date is ignored. */
function headerDate(value: unknown): number | undefined {
  return typeof value === 'string' ? parseHttpDate(value) : undefined;
}

/** `*`, or entity tags with commas between them (RFC 7232 section 2.3). */
function parseEtagList(method: BucketMethod, name: string, value: unknown): EtagPattern[] {
  const list = checkString(method, name, value).trim();
  if (list === '*') return [{ kind: 'any' }];
  const patterns: EtagPattern[] = [];
  // Sticky, and each step takes one etag with its comma: linear in the length of the header.
  const etag = /\s*(W\/)?"([^"]*)"\s*(,|$)/y;
  for (;;) {
    const match = etag.exec(list);
    if (match === null) break;
    patterns.push({ kind: match[1] === undefined ? 'strong' : 'weak', value: match[2] ?? '' });
    if (match[3] === '') return patterns;
  }
  throw new TypeError(`${method}: the ${name} header is ${describe(list)}, it must be * or a list of etags in quotes`);
}

/** `isHeader`: what cannot be satisfied is ignored then, and no error. */
export function checkRange(method: BucketMethod, value: unknown): { range: ByteRange | undefined; isHeader: boolean } {
  if (value === undefined) return { range: undefined, isHeader: false };
  const given = checkFields(method, 'range', value);
  const headers = headersOf(given);
  if (headers !== undefined) {
    const header = headers.range;
    return { range: typeof header === 'string' ? parseRangeHeader(header) : undefined, isHeader: true };
  }
  const offset = checkCount(method, 'range.offset', given.offset);
  const length = checkCount(method, 'range.length', given.length);
  const suffix = checkCount(method, 'range.suffix', given.suffix);
  if (suffix !== undefined) {
    if (offset !== undefined || length !== undefined) {
      throw new TypeError(`${method}: range has a suffix together with an offset or length, give one or the other`);
    }
    return { range: { kind: 'suffix', suffix }, isHeader: false };
  }
  if (offset === undefined && length === undefined) return { range: undefined, isHeader: false };
  const range = { kind: 'offset', offset: offset ?? 0, ...(length === undefined ? undefined : { length }) } as const;
  return { range, isHeader: false };
}

function checkCount(method: BucketMethod, what: string, sent: unknown): number | undefined {
  if (sent === undefined) return undefined;
  const value = receivedNumber(sent);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  const message = `${method}: ${what} is ${describe(value)}, it must be a whole number of at least 0`;
  throw typeof value === 'number' ? new RangeError(message) : new TypeError(message);
}

/** A number as the client sends it: what JSON cannot write comes by its name. */
export function receivedNumber(value: unknown): unknown {
  const name = isObject(value) ? value.number : undefined;
  return name === 'NaN' || name === 'Infinity' || name === '-Infinity' ? Number(name) : value;
}

/** A date as the client sends it. */
function checkDate(method: BucketMethod, what: string, value: unknown): number {
  const date = isObject(value) ? value.date : undefined;
  if (typeof date === 'number' && Number.isFinite(date)) return date;
  throw new TypeError(
    `${method}: ${what} is ${isObject(value) ? 'an invalid Date' : describe(value)}, it must be a Date`,
  );
}

/** The fields of a Headers object, in the form in which the client sends it. */
function headersOf(given: UncheckedFields): UncheckedFields | undefined {
  return isObject(given.headers) ? given.headers : undefined;
}

/** Describes a value for a message: its type, and the value itself when it is short. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean')
    return `${value}`;
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
