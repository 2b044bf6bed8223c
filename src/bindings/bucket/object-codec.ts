import type { BodyRef } from '../storage/reclaimer.js';
import type { HashName, HttpMetadata, ListQuery, ObjectRecord, TransferChecksum } from './engine.js';

/** A record of an object: its metadata, and its value or where that is. */
export interface StoredObject {
  readonly object: ObjectRecord;
  readonly body: StoredBody;
}

export type StoredBody = { readonly kind: 'embedded'; readonly bytes: Uint8Array } | BodyRef;

/** Metadata as JSON, in short names because every object has them. */
interface Wire {
  v: string;
  s: number;
  e: string;
  u: number;
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
  b?: [BodyRef['kind'], string];
}

/** `u32 length of the JSON, little-endian | JSON | the value, when it is embedded`. */
export function encodeObject(stored: StoredObject, key: string): Buffer {
  const { object, body } = stored;
  const wire: Wire = { v: object.version, s: object.size, e: object.etag, u: object.uploaded };
  if (object.key !== key) wire.k = object.key;
  if (!isEmpty(object.httpMetadata)) wire.h = object.httpMetadata;
  if (!isEmpty(object.customMetadata)) wire.m = object.customMetadata;
  if (object.partSizes !== undefined) {
    wire.p = [object.partSizes.length, object.partSizes[0] ?? 0, object.partSizes.at(-1) ?? 0];
    if (!isEmpty(object.checksums)) wire.c = object.checksums;
  } else {
    const { md5: _, ...others } = object.checksums;
    if (!isEmpty(others)) wire.c = others;
  }
  if (object.storageClass === 'InfrequentAccess') wire.a = 1;
  if (object.transferChecksum !== undefined) wire.t = object.transferChecksum;
  if (body.kind !== 'embedded') wire.b = [body.kind, body.id];
  const json = JSON.stringify(wire);
  const value = body.kind === 'embedded' ? body.bytes : undefined;
  const jsonBytes = Buffer.byteLength(json);
  const record = Buffer.allocUnsafe(4 + jsonBytes + (value?.byteLength ?? 0));
  record.writeUInt32LE(jsonBytes, 0);
  record.write(json, 4, jsonBytes, 'utf8');
  if (value !== undefined) record.set(value, 4 + jsonBytes);
  return record;
}

/**
 * `key`: of the record. The bytes of an embedded value are a view of `record`. `partSizes` can be left out: it is as long
 * as the object has parts.
 */
export function decodeObject(record: Buffer, key: string, withPartSizes = true): StoredObject {
  const end = 4 + record.readUInt32LE(0);
  const wire = parseWire(record, end);
  const object = objectOf(wire, key);
  return {
    object: wire.p === undefined || !withPartSizes ? object : { ...object, partSizes: partSizes(wire.p) },
    body: wire.b === undefined ? { kind: 'embedded', bytes: record.subarray(end) } : { kind: wire.b[0], id: wire.b[1] },
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
  const object = objectOf(parseWire(record, 4 + record.readUInt32LE(0)), key);
  if (!includeHttpMetadata) object.httpMetadata = NO_METADATA;
  if (!includeCustomMetadata) object.customMetadata = NO_METADATA;
  return object;
}

const NO_METADATA = {} as const;

function parseWire(record: Buffer, end: number): Wire {
  return JSON.parse(record.toString('utf8', 4, end));
}

function objectOf(wire: Wire, key: string): { -readonly [Field in keyof ObjectRecord]: ObjectRecord[Field] } {
  const object: ReturnType<typeof objectOf> = {
    key: wire.k ?? key,
    version: wire.v,
    size: wire.s,
    etag: wire.e,
    uploaded: wire.u,
    httpMetadata: wire.h ?? {},
    customMetadata: wire.m ?? {},
    checksums:
      wire.p === undefined ? (wire.c === undefined ? { md5: wire.e } : { md5: wire.e, ...wire.c }) : (wire.c ?? {}),
    storageClass: wire.a === 1 ? 'InfrequentAccess' : 'Standard',
  };
  if (wire.t !== undefined) object.transferChecksum = wire.t;
  return object;
}

/** How many bytes of metadata a record holds. */
export function metadataBytes(record: Buffer): number {
  return record.readUInt32LE(0);
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
