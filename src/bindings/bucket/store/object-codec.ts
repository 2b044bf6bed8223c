import { randomUUID } from 'node:crypto';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import type { HashName, HttpMetadata, ListQuery, ObjectRecord, TransferChecksum } from '../engine.js';

/** A record of an object: its metadata, and its value or a reference to it. */
export interface StoredObject {
  readonly object: ObjectRecord;
  readonly body: StoredBody;
}

export type StoredBody = { readonly kind: 'embedded'; readonly bytes: Uint8Array } | BlobRef;

/** The version of an object that is written now: 32 hex digits. */
export function newVersion(): string {
  return randomUUID().replaceAll('-', '');
}

/**
 * The layout of a record. The fields of every object have fixed offsets, so that a listing reads a thousand records without a parser. The others, the
 * details, are JSON. An embedded value follows. Numbers are little-endian.
 */
const OFFSET = {
  /** u24, 0 when the object has no details. */
  detailsBytes: 0,
  /** u8 */
  flags: 3,
  /** 16 bytes */
  version: 4,
  /** 16 bytes */
  etag: 20,
  /** u48 */
  size: 36,
  /** u48 */
  uploaded: 42,
  details: 48,
} as const;

/** In all records but the ones of storage version 1. */
const FLAG_FIXED = 0x80;
/** The details have fields that every listing shows, not only one that includes metadata. */
const FLAG_LISTED = 0x01;

/** The names are short because a bucket can have millions of records. */
interface Details {
  /** Version and etag, when they are not 16 bytes in hex. The etag of a multipart object is not. */
  v?: string;
  e?: string;
  /** The key of the last upload, when it is not in NFC as the key of the record is. */
  k?: string;
  h?: HttpMetadata;
  m?: Record<string, string>;
  /** Without an MD5 that is the etag. */
  c?: Partial<Record<HashName, string>>;
  /** 1: InfrequentAccess. */
  a?: 1;
  t?: TransferChecksum;
  /** Number of parts, size of all but the last, size of the last. */
  p?: [number, number, number];
  /** Absent: the value follows. */
  b?: [BlobRef['kind'], string];
}

const LISTED_DETAILS = ['v', 'e', 'k', 'c', 'a', 't', 'p'] as const;
const NO_DETAILS: Details = {};
const NO_METADATA = {} as const;
const HASH = /^[0-9a-f]{32}$/;

export function encodeObject({ object, body }: StoredObject, key: string): Buffer {
  const details: Details = {};
  if (object.key !== key) details.k = object.key;
  if (!isEmpty(object.httpMetadata)) details.h = object.httpMetadata;
  if (!isEmpty(object.customMetadata)) details.m = object.customMetadata;
  if (object.partSizes !== undefined) {
    details.p = [object.partSizes.length, object.partSizes[0] ?? 0, object.partSizes.at(-1) ?? 0];
    if (!isEmpty(object.checksums)) details.c = object.checksums;
  } else {
    const { md5: _, ...others } = object.checksums;
    if (!isEmpty(others)) details.c = others;
  }
  if (object.storageClass === 'InfrequentAccess') details.a = 1;
  if (object.transferChecksum !== undefined) details.t = object.transferChecksum;
  if (body.kind !== 'embedded') details.b = [body.kind, body.id];
  return assemble(object, details, body.kind === 'embedded' ? body.bytes : undefined);
}

/**
 * `key` is the key of the record. The bytes of an embedded value are a view of `record`. `withPartSizes` can be false, because the array has an entry for each
 * part.
 */
export function decodeObject(record: Buffer, key: string, withPartSizes = true): StoredObject {
  const current = currentForm(record);
  const details = detailsOf(current);
  const object = objectOf(current, details, key);
  const { p: parts, b: ref } = details;
  return {
    object: parts === undefined || !withPartSizes ? object : { ...object, partSizes: partSizes(parts) },
    body:
      ref === undefined
        ? { kind: 'embedded', bytes: current.subarray(OFFSET.details + metadataBytes(current)) }
        : { kind: ref[0], id: ref[1] },
  };
}

/**
 * The object as a listing shows it: without the sizes of its parts, because a page could have millions of them, and without metadata that was not requested.
 */
export function decodeListed(
  record: Buffer,
  key: string,
  { includeHttpMetadata, includeCustomMetadata }: Pick<ListQuery, 'includeHttpMetadata' | 'includeCustomMetadata'>,
): ObjectRecord {
  const current = currentForm(record);
  const isPlain = current[OFFSET.flags] === FLAG_FIXED && !includeHttpMetadata && !includeCustomMetadata;
  const object = objectOf(current, isPlain ? NO_DETAILS : detailsOf(current), key);
  if (!includeHttpMetadata) object.httpMetadata = NO_METADATA;
  if (!includeCustomMetadata) object.customMetadata = NO_METADATA;
  return object;
}

/** The size of the value in bytes. */
export function sizeOf(record: Buffer): number {
  return currentForm(record).readUIntLE(OFFSET.size, 6);
}

/** The size of the details in bytes. */
export function metadataBytes(record: Buffer): number {
  return record.readUIntLE(OFFSET.detailsBytes, 3);
}

function detailsOf(record: Buffer): Details {
  const bytes = metadataBytes(record);
  return bytes === 0 ? NO_DETAILS : JSON.parse(record.toString('utf8', OFFSET.details, OFFSET.details + bytes));
}

function objectOf(
  record: Buffer,
  details: Details,
  key: string,
): { -readonly [Field in keyof ObjectRecord]: ObjectRecord[Field] } {
  // One call for both, because a call of the buffer takes longer than two slices of a string.
  const hashes = record.toString('hex', OFFSET.version, OFFSET.size);
  const etag = details.e ?? hashes.slice(32);
  const md5 = details.p === undefined ? { md5: etag } : undefined;
  const object: ReturnType<typeof objectOf> = {
    key: details.k ?? key,
    version: details.v ?? hashes.slice(0, 32),
    size: record.readUIntLE(OFFSET.size, 6),
    etag,
    uploaded: record.readUIntLE(OFFSET.uploaded, 6),
    httpMetadata: details.h ?? {},
    customMetadata: details.m ?? {},
    checksums: details.c === undefined ? (md5 ?? {}) : { ...md5, ...details.c },
    storageClass: details.a === 1 ? 'InfrequentAccess' : 'Standard',
  };
  if (details.t !== undefined) object.transferChecksum = details.t;
  return object;
}

function assemble(
  { version, etag, size, uploaded }: Pick<ObjectRecord, 'version' | 'etag' | 'size' | 'uploaded'>,
  details: Details,
  value: Uint8Array | undefined,
): Buffer {
  if (!HASH.test(version)) details.v = version;
  if (!HASH.test(etag)) details.e = etag;
  const json = isEmpty(details) ? '' : JSON.stringify(details);
  const end = OFFSET.details + Buffer.byteLength(json);
  const record = Buffer.allocUnsafe(end + (value?.byteLength ?? 0));
  record.writeUIntLE(end - OFFSET.details, OFFSET.detailsBytes, 3);
  const isListed = LISTED_DETAILS.some(name => details[name] !== undefined);
  record.writeUInt8(isListed ? FLAG_FIXED | FLAG_LISTED : FLAG_FIXED, OFFSET.flags);
  record.write(
    (details.v === undefined ? version : NO_HASH) + (details.e === undefined ? etag : NO_HASH),
    OFFSET.version,
    'hex',
  );
  record.writeUIntLE(size, OFFSET.size, 6);
  record.writeUIntLE(uploaded, OFFSET.uploaded, 6);
  record.write(json, OFFSET.details, 'utf8');
  if (value !== undefined) record.set(value, end);
  return record;
}

const NO_HASH = '0'.repeat(32);

/** Version 1 of the storage has records of the form `u32 length of the JSON | JSON of everything | the value`. */
type OldDetails = Details & Record<'v' | 'e', string> & Record<'s' | 'u', number>;

function currentForm(record: Buffer): Buffer {
  if (record[OFFSET.flags] !== 0) return record;
  const end = 4 + metadataBytes(record);
  const old: OldDetails = JSON.parse(record.toString('utf8', 4, end));
  const { v: version, e: etag, s: size, u: uploaded, ...details } = old;
  return assemble({ version, etag, size, uploaded }, details, record.subarray(end));
}

function partSizes([count, size, last]: readonly [number, number, number]): number[] {
  const sizes = new Array<number>(count).fill(size);
  if (count > 0) sizes[count - 1] = last;
  return sizes;
}

function isEmpty(fields: object): boolean {
  for (const _ in fields) return false;
  return true;
}
