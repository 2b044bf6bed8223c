/** The records of the multipart uploads of one bucket: read, listed, and the operations that end them. */
import { type CallWork, OWN_WORK } from '../../../../quotas/host/call-work.js';
import type { BlobRef } from '../../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../../storage/records/counts.js';
import { afterPrefix, compareKeys, type LevelOperation } from '../../../../storage/records/level-database.js';
import type { StorageContext } from '../../../../storage/storage-context.js';
import type { BucketEngine, CompletedUpload, PartRecord, UploadRecord } from '../../engine.js';
import { BUCKET_LIMITS } from '../../limits.js';
import { normalKey } from '../../normal-key.js';
import { bucketKeys } from '../bucket-keys.js';
import { decodePart, decodeUpload, encodeUpload, type StoredPart, type StoredUpload } from './upload-codec.js';

export class UploadRecords {
  readonly #storage: StorageContext;
  readonly #bucketId: string;

  constructor(storage: StorageContext, bucketId: string) {
    this.#storage = storage;
    this.#bucketId = bucketId;
  }

  /** null: no upload that was completed. */
  async findCompleted(key: string, uploadId: string): Promise<CompletedUpload | null> {
    return (await this.read(key, uploadId))?.made ?? null;
  }

  /** null: no such open upload. */
  async find(key: string, uploadId: string): Promise<UploadRecord | null> {
    const stored = await this.read(key, uploadId);
    return stored?.state === 'open' ? stored.upload : null;
  }

  /** The parts of an upload after one of them, in the order of their numbers. */
  async listParts(
    uploadId: string,
    after: number,
    limit: number,
  ): Promise<{ parts: PartRecord[]; truncated: boolean }> {
    if (!isUploadId(uploadId)) return { parts: [], truncated: false };
    const range = { gte: bucketKeys.part(uploadId, after + 1), lt: afterPrefix(bucketKeys.parts(uploadId)) };
    const found: PartRecord[] = [];
    for await (const page of this.#storage.records.pages(range, Math.min(limit + 1, 1000))) {
      for (const [, record] of page) {
        if (found.length >= limit) return { parts: found, truncated: true };
        found.push(decodePart(record).part);
      }
    }
    return { parts: found, truncated: false };
  }

  /** The open uploads, in the order of their keys. */
  async list(
    query: Parameters<BucketEngine['listUploads']>[0],
  ): Promise<{ uploads: UploadRecord[]; truncated: boolean }> {
    const root = bucketKeys.uploads(this.#bucketId);
    const { afterKey, afterUploadId } = query;
    // After all uploads of the key, or after the given one.
    const start =
      afterKey === undefined
        ? root
        : afterUploadId === undefined
          ? afterPrefix(bucketKeys.upload(this.#bucketId, normalKey(afterKey), ''))
          : `${bucketKeys.upload(this.#bucketId, normalKey(afterKey), afterUploadId)}\0`;
    const prefix = bucketKeys.uploadsOf(this.#bucketId, normalKey(query.prefix ?? ''));
    const uploads: UploadRecord[] = [];
    const gte = compareKeys(start, prefix) > 0 ? start : prefix;
    if (compareKeys(gte, afterPrefix(prefix)) >= 0) return { uploads, truncated: false };
    for await (const page of this.#storage.records.pages({ gte, lt: afterPrefix(prefix) })) {
      for (const [, record] of page) {
        const stored = this.#aged(decodeUpload(record));
        if (stored.state !== 'open') continue;
        if (uploads.length >= query.limit) return { uploads, truncated: true };
        uploads.push(stored.upload);
      }
    }
    return { uploads, truncated: false };
  }

  /** Ends the upload. Its record stays for a while. */
  endOps(key: string, stored: StoredUpload, how: Pick<StoredUpload, 'state' | 'made'>): LevelOperation[] {
    const { uploadId } = stored.upload;
    const expires = this.#storage.now() + BUCKET_LIMITS.uploadMemoryMs;
    const operations: LevelOperation[] = [];
    if (stored.expires !== null) {
      operations.push({ type: 'del', key: bucketKeys.expiry(stored.expires, this.#bucketId, uploadId) });
    }
    operations.push(
      { type: 'put', key: this.key(key, uploadId), value: encodeUpload({ ...stored, ...how, expires }) },
      this.expiryOp(expires, uploadId, key),
    );
    return operations;
  }

  /** The sweep expires the upload at this time. */
  expiryOp(time: number, uploadId: string, key: string): LevelOperation {
    return { type: 'put', key: bucketKeys.expiry(time, this.#bucketId, uploadId), value: Buffer.from(key) };
  }

  /** Removes the records of all parts. The blobs of the kept ones become part of the object. */
  dropParts(
    uploadId: string,
    uploaded: Iterable<StoredPart>,
    kept: ReadonlySet<StoredPart>,
    operations: RecordOperation[],
  ): BlobRef[] {
    const dropped: BlobRef[] = [];
    for (const stored of uploaded) {
      operations.push({ type: 'del', key: bucketKeys.part(uploadId, stored.part.partNumber) });
      if (kept.has(stored)) continue;
      operations.push(this.#storage.collector.tombstoneOp(stored.body));
      dropped.push(stored.body);
    }
    return dropped;
  }

  /** By number. */
  async parts(uploadId: string, work: CallWork): Promise<Map<number, StoredPart>> {
    const prefix = bucketKeys.parts(uploadId);
    const range = { gte: prefix, lt: afterPrefix(prefix) };
    const all = new Map<number, StoredPart>();
    for await (const page of this.#storage.records.pages(range, undefined, undefined, work)) {
      for (const [, record] of page) {
        const stored = decodePart(record);
        all.set(stored.part.partNumber, stored);
      }
    }
    return all;
  }

  /** undefined: unknown, or of another key. */
  async read(key: string, uploadId: string, work = OWN_WORK): Promise<StoredUpload | undefined> {
    if (!isUploadId(uploadId)) return undefined;
    const record = await this.#storage.records.get(this.key(key, uploadId), work);
    return record === undefined ? undefined : this.#aged(decodeUpload(record));
  }

  /** An expired upload counts as aborted even before the sweep has aborted it. */
  #aged(stored: StoredUpload): StoredUpload {
    const isFinished = stored.expires !== null && stored.expires <= this.#storage.now();
    return isFinished && stored.state === 'open' ? { ...stored, state: 'aborted' } : stored;
  }

  key(key: string, uploadId: string): string {
    return bucketKeys.upload(this.#bucketId, key, uploadId);
  }
}

/** Other text must not become part of a key of the database. */
function isUploadId(uploadId: string): boolean {
  return /^[A-Za-z0-9_-]{32}$/.test(uploadId);
}
