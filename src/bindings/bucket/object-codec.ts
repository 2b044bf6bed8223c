import type { BlobRef } from '../../storage/blob-ref.js';
import type { HashName, HttpMetadata, ListQuery, ObjectRecord, TransferChecksum } from './engine.js';

/** A record of an object: its metadata, and its value or where that is. */
export interface StoredObject {
  readonly object: ObjectRecord;
  readonly body: StoredBody;
}

export type StoredBody = { readonly kind: 'embedded'; readonly bytes: Uint8Array } | BlobRef;

/**
 * Where a record has what. What every object has stands in fixed places, so that a listing reads a thousand records
 * without a parser; the rest, the details, is JSON. The value follows when it is embedded. Numbers are little-endian.
 */
const PLACE = {
  /** u24, 0 when there are none. */
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

/** In all records but those of storage version 1. */
const FLAG_FIXED = 0x80;
/** A listing shows some of the details, whatever it is asked for. */
const FLAG_LISTED = 0x01;

/** In short names because a bucket has millions. */
interface Details {
  /** Version and etag when they are not 16 bytes in hex, as the etag of a multipart object. */
  v?: string;
  e?: string;
  /** As it was last uploaded, when that is not the key of the record (its NFC form). */
  k?: string;
  h?: HttpMetadata;
  m?: Record<string, string>;
  /** Without the MD5 that is the etag. */
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
 * `key`: of the record. The bytes of an embedded value are a view of `record`. `partSizes` can be left out: it is as long
 * as the object has parts.
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
        ? { kind: 'embedded', bytes: current.subarray(PLACE.details + metadataBytes(current)) }
        : { kind: ref[0], id: ref[1] },
  };
}

/**
 * The object as a page of a listing holds it: without the sizes of its parts, of which a page could have millions, and
 * without metadata that was not asked for.
 */
export function decodeListed(
  record: Buffer,
  key: string,
  { includeHttpMetadata, includeCustomMetadata }: Pick<ListQuery, 'includeHttpMetadata' | 'includeCustomMetadata'>,
): ObjectRecord {
  const current = currentForm(record);
  const isPlain = current[PLACE.flags] === FLAG_FIXED && !includeHttpMetadata && !includeCustomMetadata;
  const object = objectOf(current, isPlain ? NO_DETAILS : detailsOf(current), key);
  if (!includeHttpMetadata) object.httpMetadata = NO_METADATA;
  if (!includeCustomMetadata) object.customMetadata = NO_METADATA;
  return object;
}

/** How many bytes of metadata a record holds, besides what every object has. */
export function metadataBytes(record: Buffer): number {
  return record.readUIntLE(PLACE.detailsBytes, 3);
}

function detailsOf(record: Buffer): Details {
  const bytes = metadataBytes(record);
  return bytes === 0 ? NO_DETAILS : JSON.parse(record.toString('utf8', PLACE.details, PLACE.details + bytes));
}

function objectOf(
  record: Buffer,
  details: Details,
  key: string,
): { -readonly [Field in keyof ObjectRecord]: ObjectRecord[Field] } {
  // One text for both: a call of the buffer takes longer than two cuts.
  const hashes = record.toString('hex', PLACE.version, PLACE.size);
  const etag = details.e ?? hashes.slice(32);
  const md5 = details.p === undefined ? { md5: etag } : undefined;
  const object: ReturnType<typeof objectOf> = {
    key: details.k ?? key,
    version: details.v ?? hashes.slice(0, 32),
    size: record.readUIntLE(PLACE.size, 6),
    etag,
    uploaded: record.readUIntLE(PLACE.uploaded, 6),
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
  const end = PLACE.details + Buffer.byteLength(json);
  const record = Buffer.allocUnsafe(end + (value?.byteLength ?? 0));
  record.writeUIntLE(end - PLACE.details, PLACE.detailsBytes, 3);
  const isListed = LISTED_DETAILS.some(name => details[name] !== undefined);
  record.writeUInt8(isListed ? FLAG_FIXED | FLAG_LISTED : FLAG_FIXED, PLACE.flags);
  record.write(
    (details.v === undefined ? version : NO_HASH) + (details.e === undefined ? etag : NO_HASH),
    PLACE.version,
    'hex',
  );
  record.writeUIntLE(size, PLACE.size, 6);
  record.writeUIntLE(uploaded, PLACE.uploaded, 6);
  record.write(json, PLACE.details, 'utf8');
  if (value !== undefined) record.set(value, end);
  return record;
}

const NO_HASH = '0'.repeat(32);

/** In version 1 of the storage a record was `u32 length of the JSON | JSON of everything | the value`. */
type OldDetails = Details & Record<'v' | 'e', string> & Record<'s' | 'u', number>;

function currentForm(record: Buffer): Buffer {
  if (record[PLACE.flags] !== 0) return record;
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
