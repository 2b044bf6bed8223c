import { randomBytes } from 'node:crypto';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { BodyReservation, StoredAccounting } from '../../../storage/accounts/account-sum.js';
import { type BlobRef, type BlobSegment, encodeBlobList } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { afterPrefix, compareKeys, type LevelOperation } from '../../../storage/records/level-database.js';
import { recordKeys } from '../../../storage/records/record-keys.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ServiceBody } from '../../service.js';
import { conditionHolds } from '../conditions.js';
import type {
  BucketEngine,
  CompletedUpload,
  ObjectRecord,
  PartRecord,
  PutOptions,
  UploadOptions,
  UploadRecord,
  UploadRules,
} from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import { BUCKET_LIMITS, DEFAULT_PLAN_LIMITS } from '../limits.js';
import { normalKey } from '../normal-key.js';
import { bucketKeys } from './bucket-keys.js';
import { checkParts, multipartEtag, type NamedPart } from './check-parts.js';
import { indexInsertOps } from './listing-index.js';
import { decodeObject, encodeObject, type StoredBody } from './object-codec.js';
import { commitChange, commitReceived, newVersion } from './object-writer.js';
import { receiveBody } from './receive-body.js';
import {
  decodePart,
  decodeUpload,
  encodePart,
  encodeUpload,
  type StoredPart,
  type StoredUpload,
} from './upload-codec.js';

/** The multipart uploads of one bucket. The caller has normalised and checked the keys. */
export class MultipartUploads {
  readonly #storage: StorageContext;
  readonly #bucketId: string;
  readonly #bucketName: string;
  readonly #minPartBytes: number;
  readonly #sum: StoredAccounting;

  /** `sum` is that of the account: an open upload counts as an object, and so do the bytes of its parts. */
  constructor(options: {
    readonly storage: StorageContext;
    readonly bucket: { readonly id: string; readonly name: string };
    readonly minPartBytes: number;
    readonly sum: StoredAccounting;
  }) {
    this.#storage = options.storage;
    this.#bucketId = options.bucket.id;
    this.#bucketName = options.bucket.name;
    this.#minPartBytes = options.minPartBytes;
    this.#sum = options.sum;
  }

  async create(
    key: string,
    givenKey: string,
    { ageMs = DEFAULT_PLAN_LIMITS.multipartUploadMs, bounds, ...options }: UploadOptions & UploadRules,
    work: CallWork,
  ): Promise<UploadRecord> {
    const initiated = this.#storage.now();
    const uploadId = randomBytes(24).toString('base64url');
    const upload: UploadRecord = { ...options, key: givenKey, uploadId, initiated };
    const expires = Number.isFinite(ageMs) ? initiated + ageMs : null;
    const operations: RecordOperation[] = [
      { type: 'put', key: this.#recordKey(key, uploadId), value: encodeUpload({ state: 'open', upload, expires }) },
    ];
    if (expires !== null) operations.push(this.#expiryOp(expires, uploadId, key));
    await this.#storage.records.reserveSpace(operations);
    await this.#sum.ready();
    const change = this.#sum.change({ bytes: 0, objects: 1 }, bounds, () => this.#subject('begin', givenKey));
    await commitChange(this.#storage.records, operations, change, work);
    return upload;
  }

  async uploadPart(
    key: string,
    uploadId: string,
    partNumber: number,
    body: ServiceBody,
    options: Pick<PutOptions, 'hashes' | 'transferChecksum' | 'signal' | 'bounds'>,
    work: CallWork,
  ): Promise<PartRecord> {
    await this.#checkOpen('uploadPart', key, uploadId, work);
    const held: { reservation?: BodyReservation } = {};
    const subject = () => this.#subject(`store part ${partNumber} of`, key);
    const storage = this.#storage;
    const recordKey = bucketKeys.part(uploadId, partNumber);
    const stored = async (): Promise<StoredPart | undefined> => {
      const record = await storage.records.get(recordKey, work);
      return record === undefined ? undefined : decodePart(record);
    };
    try {
      const received = await receiveBody('uploadPart', body, {
        blobs: storage.blobs,
        hashes: options.hashes,
        signal: options.signal,
        transferChecksum: options.transferChecksum,
        reserve: async () => {
          await this.#sum.ready();
          const replaced = { key: recordKey, bytes: (await stored())?.part.size ?? 0 };
          held.reservation = this.#sum.reserveBody(replaced, options.bounds, subject);
          return held.reservation;
        },
        work,
      });
      const { transferChecksum } = received;
      const part: PartRecord = {
        partNumber,
        etag: received.md5,
        size: received.size,
        uploaded: storage.now(),
        ...(transferChecksum === undefined ? undefined : { transferChecksum }),
      };
      await storage.mutex.run(this.#recordKey(key, uploadId), () =>
        commitReceived(
          storage,
          received,
          false,
          async ref => {
            await this.#checkOpen('uploadPart', key, uploadId, work);
            await this.#sum.ready();
            const replaced = await stored();
            // Never undefined, because the value of a part is not embedded.
            const blob = ref?.kind === 'file' ? ref : { kind: 'inline' as const, id: ref?.id ?? '' };
            held.reservation?.release();
            const added = { bytes: part.size - (replaced?.part.size ?? 0), objects: 0 };
            return {
              change: this.#sum.change(added, options.bounds, subject),
              operations: [{ type: 'put', key: recordKey, value: encodePart({ part, body: blob }) }],
              drops: replaced?.body,
              result: part,
            };
          },
          work,
        ),
      );
      return part;
    } finally {
      held.reservation?.release();
    }
  }

  async complete(
    key: string,
    givenKey: string,
    uploadId: string,
    named: readonly NamedPart[],
    options: NonNullable<Parameters<BucketEngine['completeUpload']>[3]>,
    work: CallWork,
  ): Promise<ObjectRecord> {
    const storage = this.#storage;
    return storage.mutex.run(this.#recordKey(key, uploadId), async () => {
      await storage.records.awaitRecovery(work);
      const stored = await this.#stored(key, uploadId, work);
      if (stored === undefined) throw unknownUpload('completeMultipartUpload');
      if (stored.state !== 'open') throw noSuchUpload('completeMultipartUpload', stored.state);
      const uploaded = await this.#allParts(uploadId, work);
      const chosen = checkParts(named, uploaded, this.#minPartBytes);
      const { upload } = stored;
      const { transferChecksum } = options;
      const object: ObjectRecord = {
        key: givenKey,
        version: newVersion(),
        size: chosen.reduce((sum, { part }) => sum + part.size, 0),
        etag: multipartEtag(chosen.map(({ part }) => part)),
        uploaded: storage.now(),
        httpMetadata: upload.httpMetadata ?? {},
        customMetadata: upload.customMetadata ?? {},
        checksums: {},
        storageClass: upload.storageClass ?? 'Standard',
        ...(transferChecksum === undefined ? undefined : { transferChecksum }),
        partSizes: chosen.map(({ part }) => part.size),
      };
      const listId = storage.newId();
      const operations: RecordOperation[] = [
        { type: 'put', key: recordKeys.blobList(listId), value: encodeBlobList(chosen.map(segment)) },
        ...this.#endOps(key, stored, {
          state: 'completed',
          made: { etag: object.etag, ...(transferChecksum === undefined ? undefined : { transferChecksum }) },
        }),
      ];
      const dropped = this.#dropParts(uploadId, uploaded.values(), new Set(chosen), operations);
      const objectKey = bucketKeys.objects(this.#bucketId) + key;
      // The lock of the upload before that of the object: no call takes them in the other order.
      await storage.mutex.run(objectKey, async () => {
        await storage.records.awaitRecovery(work);
        const record = await storage.records.get(objectKey, work);
        const previous = record === undefined ? undefined : decodeObject(record, key, false);
        if (!conditionHolds(options.condition, previous?.object))
          throw new BucketError('completeMultipartUpload', 10031);
        const body: StoredBody = { kind: 'list', id: listId };
        operations.push({ type: 'put', key: objectKey, value: encodeObject({ object, body }, key) });
        if (previous !== undefined && previous.body.kind !== 'embedded') {
          operations.push(storage.collector.tombstoneOp(previous.body));
          dropped.push(previous.body);
        }
        if (previous === undefined) operations.push(...indexInsertOps(this.#bucketId, key));
        await storage.records.reserveSpace(operations);
        await this.#sum.ready();
        // The upload counts as an object already, and its parts have their bytes: this never adds.
        const before = sizeOfParts(uploaded.values()) + (previous?.object.size ?? 0);
        const change = this.#sum.change({ bytes: object.size - before, objects: previous === undefined ? 0 : -1 });
        await commitChange(storage.records, operations, change, work);
      });
      for (const body of dropped) storage.collector.afterCommit(body, work);
      return object;
    });
  }

  /** Does nothing when the upload has ended. */
  async abort(key: string, uploadId: string, work: CallWork): Promise<void> {
    await this.#storage.mutex.run(this.#recordKey(key, uploadId), async () => {
      await this.#storage.records.awaitRecovery(work);
      const stored = await this.#stored(key, uploadId, work);
      if (stored === undefined) throw unknownUpload('abortMultipartUpload');
      if (stored.state === 'open') await this.#end(key, stored, work);
    });
  }

  /** For the sweep, when an upload has expired: aborts it when it is open, and deletes its record when it ended before. */
  async expire(key: string, uploadId: string, expiryKey: string): Promise<void> {
    await this.#storage.mutex.run(this.#recordKey(key, uploadId), async () => {
      await this.#storage.records.awaitRecovery();
      const record = await this.#storage.records.get(this.#recordKey(key, uploadId));
      const stored = record === undefined ? undefined : decodeUpload(record);
      if (stored?.state === 'open') await this.#end(key, stored, OWN_WORK, [{ type: 'del', key: expiryKey }]);
      else {
        await this.#storage.records.commit([
          { type: 'del', key: this.#recordKey(key, uploadId) },
          { type: 'del', key: expiryKey },
        ]);
      }
    });
  }

  /** null: no upload that was completed. */
  async findCompleted(key: string, uploadId: string): Promise<CompletedUpload | null> {
    return (await this.#stored(key, uploadId))?.made ?? null;
  }

  /** null: no such open upload. */
  async find(key: string, uploadId: string): Promise<UploadRecord | null> {
    const stored = await this.#stored(key, uploadId);
    return stored?.state === 'open' ? stored.upload : null;
  }

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

  /**
   * Aborts the open uploads and deletes the records of the others, when the bucket is deleted.
   *
   * @param check throws when the storage is being closed
   */
  async clear(check = () => {}): Promise<void> {
    const root = bucketKeys.uploads(this.#bucketId);
    for await (const page of this.#storage.records.pages({ gte: root, lt: afterPrefix(root) }, 100)) {
      for (const [recordKey, record] of page) {
        check();
        const { key, uploadId } = decodeUpload(record).upload;
        await this.#storage.mutex.run(recordKey, async () => {
          const current = await this.#storage.records.get(recordKey);
          const stored = current === undefined ? undefined : decodeUpload(current);
          if (stored?.state === 'open') await this.#end(normalKey(key), stored, OWN_WORK);
        });
        const ended = await this.#storage.records.get(recordKey);
        const expires = ended === undefined ? null : decodeUpload(ended).expires;
        const operations: LevelOperation[] = [{ type: 'del', key: recordKey }];
        if (expires !== null)
          operations.push({ type: 'del', key: bucketKeys.expiry(expires, this.#bucketId, uploadId) });
        await this.#storage.records.commit(operations);
      }
    }
  }

  async #end(key: string, stored: StoredUpload, work: CallWork, more: readonly LevelOperation[] = []): Promise<void> {
    const { uploadId } = stored.upload;
    const operations = [...more, ...this.#endOps(key, stored, { state: 'aborted' })];
    const uploaded = await this.#allParts(uploadId, work);
    const dropped = this.#dropParts(uploadId, uploaded.values(), new Set(), operations);
    await this.#sum.ready();
    const change = this.#sum.change({ bytes: -sizeOfParts(uploaded.values()), objects: -1 });
    await commitChange(this.#storage.records, operations, change, work);
    for (const body of dropped) this.#storage.collector.afterCommit(body, work);
  }

  #subject(what: string, key: string): string {
    return `${what} an upload of ${JSON.stringify(key)} into bucket "${this.#bucketName}"`;
  }

  /** Ends the upload. Its record stays for a while. */
  #endOps(key: string, stored: StoredUpload, how: Pick<StoredUpload, 'state' | 'made'>): LevelOperation[] {
    const { uploadId } = stored.upload;
    const expires = this.#storage.now() + BUCKET_LIMITS.uploadMemoryMs;
    const operations: LevelOperation[] = [];
    if (stored.expires !== null) {
      operations.push({ type: 'del', key: bucketKeys.expiry(stored.expires, this.#bucketId, uploadId) });
    }
    operations.push(
      { type: 'put', key: this.#recordKey(key, uploadId), value: encodeUpload({ ...stored, ...how, expires }) },
      this.#expiryOp(expires, uploadId, key),
    );
    return operations;
  }

  /** The sweep expires the upload at this time. */
  #expiryOp(time: number, uploadId: string, key: string): LevelOperation {
    return { type: 'put', key: bucketKeys.expiry(time, this.#bucketId, uploadId), value: Buffer.from(key) };
  }

  /** Removes the records of all parts. The blobs of the kept ones become part of the object. */
  #dropParts(
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

  async #allParts(uploadId: string, work: CallWork): Promise<Map<number, StoredPart>> {
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

  async #checkOpen(method: BucketMethod, key: string, uploadId: string, work: CallWork): Promise<void> {
    const stored = await this.#stored(key, uploadId, work);
    if (stored?.state !== 'open') throw noSuchUpload(method, stored?.state ?? 'unknown');
  }

  /** undefined: unknown, or of another key. */
  async #stored(key: string, uploadId: string, work = OWN_WORK): Promise<StoredUpload | undefined> {
    if (!isUploadId(uploadId)) return undefined;
    const record = await this.#storage.records.get(this.#recordKey(key, uploadId), work);
    return record === undefined ? undefined : this.#aged(decodeUpload(record));
  }

  /** An expired upload counts as aborted even before the sweep has aborted it. */
  #aged(stored: StoredUpload): StoredUpload {
    const isOver = stored.expires !== null && stored.expires <= this.#storage.now();
    return isOver && stored.state === 'open' ? { ...stored, state: 'aborted' } : stored;
  }

  #recordKey(key: string, uploadId: string): string {
    return bucketKeys.upload(this.#bucketId, key, uploadId);
  }
}

function sizeOfParts(parts: Iterable<StoredPart>): number {
  let bytes = 0;
  for (const { part } of parts) bytes += part.size;
  return bytes;
}

/** Other text must not become part of a key of the database. */
function isUploadId(uploadId: string): boolean {
  return /^[A-Za-z0-9_-]{32}$/.test(uploadId);
}

function segment({ part, body }: StoredPart): BlobSegment {
  return { kind: body.kind, id: body.id, size: part.size };
}

function unknownUpload(method: BucketMethod): BucketError {
  return new BucketError(method, 10001, 'there was never an upload with this uploadId for this key');
}

function noSuchUpload(method: BucketMethod, state: string): BucketError {
  return new BucketError(
    method,
    10024,
    state === 'unknown'
      ? 'there is no upload with this uploadId for this key'
      : `the upload has ended: it was ${state} before, or because of its age`,
  );
}
