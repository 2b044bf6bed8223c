import type { BlobRef } from '../../../storage/blobs/blob-ref.js';

/** The record of a key: its metadata, its expiry, and its value or where that is. */
export interface StoredKvEntry {
  /** The size of the value, in bytes. */
  readonly size: number;
  /** JSON. */
  readonly metadata: string | undefined;
  /** Seconds since 1970. */
  readonly expiration: number | undefined;
  readonly body: { readonly kind: 'embedded'; readonly bytes: Uint8Array } | BlobRef;
}

/** The layout: these fields, little-endian; the metadata; then the value itself or the id of its blob. */
const OFFSET = {
  /** u8 */
  format: 0,
  /** u8, an index of BODY_KINDS */
  body: 1,
  /** u16: bytes of the metadata, 0 for a key without metadata. */
  metadata: 2,
  /** u48: seconds since 1970, 0 when the key does not expire. */
  expiration: 4,
  /** u48 */
  size: 10,
  end: 16,
} as const;

const FORMAT = 1;
/** On disk: the order never changes. */
const BODY_KINDS = ['embedded', 'inline', 'file', 'list'] as const;

export function encodeEntry({ size, metadata = '', expiration = 0, body }: StoredKvEntry): Buffer {
  const metadataBytes = Buffer.byteLength(metadata);
  const tail = body.kind === 'embedded' ? body.bytes : Buffer.from(body.id);
  const record = Buffer.allocUnsafe(OFFSET.end + metadataBytes + tail.byteLength);
  record[OFFSET.format] = FORMAT;
  record[OFFSET.body] = BODY_KINDS.indexOf(body.kind);
  record.writeUInt16LE(metadataBytes, OFFSET.metadata);
  record.writeUIntLE(expiration, OFFSET.expiration, 6);
  record.writeUIntLE(size, OFFSET.size, 6);
  record.write(metadata, OFFSET.end, 'utf8');
  record.set(tail, OFFSET.end + metadataBytes);
  return record;
}

/** The bytes of an embedded value are a view of `record`. */
export function decodeEntry(record: Buffer): StoredKvEntry {
  return {
    size: sizeOf(record),
    metadata: metadataOf(record),
    expiration: expirationOf(record),
    body: bodyOf(record),
  };
}

export function sizeOf(record: Buffer): number {
  return record.readUIntLE(OFFSET.size, 6);
}

export function expirationOf(record: Buffer): number | undefined {
  const seconds = record.readUIntLE(OFFSET.expiration, 6);
  return seconds === 0 ? undefined : seconds;
}

export function metadataOf(record: Buffer): string | undefined {
  const bytes = record.readUInt16LE(OFFSET.metadata);
  return bytes === 0 ? undefined : record.toString('utf8', OFFSET.end, OFFSET.end + bytes);
}

/** The blob of a value that is not in the record. */
export function blobOf(record: Buffer): BlobRef | undefined {
  const kind = BODY_KINDS[record[OFFSET.body] ?? 0] ?? 'embedded';
  return kind === 'embedded' ? undefined : { kind, id: record.toString('latin1', tailAt(record)) };
}

function bodyOf(record: Buffer): StoredKvEntry['body'] {
  return blobOf(record) ?? { kind: 'embedded', bytes: record.subarray(tailAt(record)) };
}

function tailAt(record: Buffer): number {
  return OFFSET.end + record.readUInt16LE(OFFSET.metadata);
}
