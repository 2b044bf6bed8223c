import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ServiceBody } from '../../service.js';
import { commitChange } from '../../stored-values/commit-change.js';
import { writeBody } from '../../stored-values/write-body.js';
import { WriteGate } from '../../stored-values/write-gate.js';
import { resolveRange } from '../byte-range.js';
import { conditionHolds } from '../conditions.js';
import type {
  BucketEngine,
  ByteRange,
  CompletedUpload,
  Condition,
  GetOutcome,
  ListPage,
  ListQuery,
  ObjectRecord,
  PartRecord,
  PutOptions,
  UploadOptions,
  UploadRecord,
  UploadRules,
} from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import { BUCKET_LIMITS } from '../limits.js';
import { normalKey } from '../normal-key.js';
import type { StoreStorageClass } from '../types.js';
import { bucketKeys } from './bucket-keys.js';
import { checkKey, checkMetadata, unsatisfiable } from './check-object.js';
import { type BodyHashes, bucketBody } from './hash-body.js';
import { listObjects } from './list-objects.js';
import { indexInsertOps, indexRemoveOps } from './listing-index.js';
import { decodeObject, encodeObject, newVersion, type StoredObject, sizeOf } from './object-codec.js';
import { objectContent } from './object-content.js';
import { removeIndex } from './rebuild-index.js';
import { MultipartUploads } from './uploads/multipart-uploads.js';

/** A bucket in a storage. */
export class BucketStore implements BucketEngine {
  readonly id: string;
  readonly name: string;
  readonly storageClass: StoreStorageClass;
  readonly #storage: StorageContext;
  readonly #objects: string;
  readonly #uploads: MultipartUploads;
  readonly #sum: StoredAccounting;
  /** Used by calls that give no `work`. */
  readonly #ownWork: CallWork;
  readonly #gate: WriteGate<BucketMethod>;

  constructor(options: {
    storage: StorageContext;
    id: string;
    name: string;
    storageClass: StoreStorageClass;
    minPartBytes: number;
    sum: StoredAccounting;
    work: CallWork;
  }) {
    this.name = options.name;
    this.#gate = new WriteGate(method => gone(method, options.name));
    this.storageClass = options.storageClass;
    this.#storage = options.storage;
    this.id = options.id;
    this.#objects = bucketKeys.objects(options.id);
    this.#ownWork = options.work;
    this.#sum = options.sum;
    this.#uploads = new MultipartUploads({
      storage: options.storage,
      bucket: options,
      minPartBytes: options.minPartBytes,
      sum: options.sum,
    });
  }

  async head(key: string, work = this.#ownWork): Promise<ObjectRecord | null> {
    const normal = checkKey('head', key);
    const record = await this.#storage.records.get(this.#objects + normal, work);
    return record === undefined ? null : decodeObject(record, normal).object;
  }

  async get(
    key: string,
    options: { readonly condition?: Condition; readonly range?: ByteRange },
    work = this.#ownWork,
  ): Promise<GetOutcome> {
    const normal = checkKey('get', key);
    const recordKey = this.#objects + normal;
    for (;;) {
      const record = await this.#storage.records.get(recordKey, work);
      if (record === undefined) return { kind: 'missing' };
      const stored = decodeObject(record, normal);
      const { object } = stored;
      if (!conditionHolds(options.condition, object)) return { kind: 'failed', object };
      const range = resolveRange(options.range, object.size);
      if (range === undefined) throw unsatisfiable(options.range, object.size);
      const content = await objectContent(this.#storage, recordKey, stored, range, work);
      // undefined: the object was replaced in between, so read it again.
      if (content !== undefined) return { kind: 'found', object, content };
    }
  }

  async put(key: string, body: ServiceBody, options: PutOptions, work = this.#ownWork): Promise<ObjectRecord | null> {
    const normal = checkKey('put', key);
    checkMetadata('put', options);
    return this.#gate.run('put', () => this.#put(key, normal, body, options, work));
  }

  #put(
    key: string,
    normal: string,
    body: ServiceBody,
    options: PutOptions,
    work: CallWork,
  ): Promise<ObjectRecord | null> {
    const storage = this.#storage;
    const recordKey = this.#objects + normal;
    return writeBody<ObjectRecord | null, BodyHashes>(body, {
      storage,
      sum: this.#sum,
      recordKey,
      lockKey: recordKey,
      canEmbed: true,
      rules: bucketBody('put', options, work),
      signal: options.signal,
      bounds: options.bounds,
      work,
      subject: () => `put ${JSON.stringify(key)} into bucket "${this.name}"`,
      sizeOf,
      plan: ({ size, seen: { md5, hashes, transferChecksum }, content }, blob, record) => {
        const previous = record === undefined ? undefined : decodeObject(record, normal, false);
        if (!conditionHolds(options.condition, previous?.object)) return { kind: 'nothing', result: null };
        const object: ObjectRecord = {
          key,
          version: newVersion(),
          size,
          etag: md5,
          uploaded: storage.now(),
          httpMetadata: options.httpMetadata ?? {},
          customMetadata: options.customMetadata ?? {},
          checksums: { md5, ...hashes },
          storageClass: options.storageClass ?? this.storageClass,
          ...(transferChecksum === undefined ? undefined : { transferChecksum }),
        };
        const embedded = content.kind === 'small' ? content.bytes : NO_BYTES;
        const stored: StoredObject = { object, body: blob ?? { kind: 'embedded', bytes: embedded } };
        const isNew = previous === undefined;
        return {
          kind: 'write',
          operations: [
            { type: 'put', key: recordKey, value: encodeObject(stored, normal) },
            ...(isNew ? indexInsertOps(this.id, normal) : []),
          ],
          drops: blobOf(previous),
          added: { bytes: size - (previous?.object.size ?? 0), objects: isNew ? 1 : 0 },
          result: object,
        };
      },
    });
  }

  async delete(keys: readonly string[], work = this.#ownWork): Promise<void> {
    if (keys.length < 1 || keys.length > BUCKET_LIMITS.deleteKeys) {
      throw new BucketError(
        'delete',
        10027,
        `${keys.length} keys were given, one call takes 1 to ${BUCKET_LIMITS.deleteKeys}`,
      );
    }
    const objectKeys = [...new Set(keys.map(key => this.#objects + checkKey('delete', key)))];
    await this.#gate.run('delete', () =>
      this.#storage.mutex.runAll(objectKeys, async () => {
        const { records, collector } = this.#storage;
        await records.awaitRecovery(work);
        await this.#sum.ready();
        const found = await records.getMany(objectKeys, undefined, work);
        const operations: RecordOperation[] = [];
        const dropped: BlobRef[] = [];
        const removed: string[] = [];
        let bytes = 0;
        for (const [index, key] of objectKeys.entries()) {
          const record = found[index];
          if (record === undefined) continue;
          operations.push({ type: 'del', key });
          removed.push(key.slice(this.#objects.length));
          const stored = decodeObject(record, '', false);
          bytes += stored.object.size;
          const blob = blobOf(stored);
          if (blob !== undefined) {
            operations.push(collector.tombstoneOp(blob));
            dropped.push(blob);
          }
        }
        if (operations.length === 0) return;
        for (const operation of indexRemoveOps(this.id, removed)) operations.push(operation);
        const change = this.#sum.change({ bytes: -bytes, objects: -removed.length });
        await commitChange(records, operations, change, work);
        for (const blob of dropped) collector.afterCommit(blob, work);
      }),
    );
  }

  list(query: ListQuery, work = this.#ownWork): Promise<ListPage> {
    return listObjects(this.#storage.records, this.id, query, work);
  }

  async createUpload(key: string, options: UploadOptions & UploadRules, work = this.#ownWork): Promise<UploadRecord> {
    const normal = checkKey('createMultipartUpload', key);
    checkMetadata('createMultipartUpload', options);
    return this.#gate.run('createMultipartUpload', () =>
      this.#uploads.create(normal, key, { ...options, storageClass: options.storageClass ?? this.storageClass }, work),
    );
  }

  async uploadPart(
    key: string,
    uploadId: string,
    partNumber: number,
    body: ServiceBody,
    options: Pick<PutOptions, 'hashes' | 'transferChecksum' | 'signal' | 'bounds'>,
    work = this.#ownWork,
  ): Promise<PartRecord> {
    const normal = checkKey('uploadPart', key);
    return this.#gate.run('uploadPart', () =>
      this.#uploads.uploadPart(normal, uploadId, partNumber, body, options, work),
    );
  }

  async completeUpload(
    key: string,
    uploadId: string,
    parts: Parameters<BucketEngine['completeUpload']>[2],
    options: NonNullable<Parameters<BucketEngine['completeUpload']>[3]> = {},
    work = this.#ownWork,
  ): Promise<ObjectRecord> {
    const normal = checkKey('completeMultipartUpload', key);
    return this.#gate.run('completeMultipartUpload', () =>
      this.#uploads.complete(normal, key, uploadId, parts, options, work),
    );
  }

  async abortUpload(key: string, uploadId: string, work = this.#ownWork): Promise<void> {
    const normal = checkKey('abortMultipartUpload', key);
    await this.#gate.run('abortMultipartUpload', () => this.#uploads.abort(normal, uploadId, work));
  }

  async findCompleted(key: string, uploadId: string): Promise<CompletedUpload | null> {
    return this.#uploads.records.findCompleted(normalKey(key), uploadId);
  }

  async findUpload(key: string, uploadId: string): Promise<UploadRecord | null> {
    return this.#uploads.records.find(normalKey(key), uploadId);
  }

  listParts(uploadId: string, after: number, limit: number): Promise<{ parts: PartRecord[]; truncated: boolean }> {
    return this.#uploads.records.listParts(uploadId, after, limit);
  }

  listUploads(
    query: Parameters<BucketEngine['listUploads']>[0],
  ): Promise<{ uploads: UploadRecord[]; truncated: boolean }> {
    return this.#uploads.records.list(query);
  }

  /**
   * Refuses writes from now on, waits for the ones in flight, and calls `remove` when the bucket is empty. Open uploads do not count and are aborted. Rejects
   * with 10008 when the bucket is not empty, which then accepts writes again.
   */
  async closeAndRemove(remove: () => Promise<void>): Promise<void> {
    await this.#gate.close('deleteBucket', async () => {
      await this.#storage.records.awaitRecovery();
      const query = { limit: 1, includeHttpMetadata: false, includeCustomMetadata: false };
      const { objects } = await this.list(query);
      if (objects.length > 0) {
        throw new BucketError(
          'deleteBucket',
          10008,
          `the bucket "${this.name}" is not empty, delete its objects first`,
        );
      }
      await this.#uploads.clear();
      await removeIndex(this.#storage.records, this.id);
      await remove();
    });
  }
}

function blobOf(stored: StoredObject | undefined): BlobRef | undefined {
  return stored === undefined || stored.body.kind === 'embedded' ? undefined : stored.body;
}

function gone(method: BucketMethod, name: string): BucketError {
  return new BucketError(method, 10006, `the bucket "${name}" was deleted`);
}
