import { EdgeError } from '../../../quotas/errors.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { BodyReservation, StoredAccounting } from '../../../storage/accounts/account-sum.js';
import { type BlobRef, type BlobSegment, decodeBlobList } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { recordKeys } from '../../../storage/records/record-keys.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ServiceBody } from '../../service.js';
import { type ResolvedRange, resolveRange } from '../byte-range.js';
import { conditionHolds } from '../conditions.js';
import type {
  BucketEngine,
  ByteRange,
  CompletedUpload,
  Condition,
  GetOutcome,
  ListPage,
  ListQuery,
  ObjectContent,
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
import { listObjects } from './list-objects.js';
import { indexInsertOps, indexRemoveOps } from './listing-index.js';
import { MultipartUploads } from './multipart-uploads.js';
import { decodeObject, encodeObject, type StoredObject, sizeOf } from './object-codec.js';
import { commitChange, commitReceived, newVersion } from './object-writer.js';
import { bytesContent, segmentsContent } from './read-content.js';
import { removeIndex } from './rebuild-index.js';
import { receiveBody } from './receive-body.js';

/** A bucket in a storage. */
export class BucketStore implements BucketEngine {
  readonly name: string;
  readonly storageClass: StoreStorageClass;
  readonly #storage: StorageContext;
  readonly #id: string;
  readonly #objects: string;
  readonly #uploads: MultipartUploads;
  readonly #sum: StoredAccounting;
  /** Used by calls that give no `work`. */
  readonly #ownWork: CallWork;
  #writing = 0;
  #isClosed = false;
  #whenIdle: (() => void) | undefined;

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
    this.storageClass = options.storageClass;
    this.#storage = options.storage;
    this.#id = options.id;
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
    for (;;) {
      const record = await this.#storage.records.get(this.#objects + normal, work);
      if (record === undefined) return { kind: 'missing' };
      const stored = decodeObject(record, normal);
      const { object } = stored;
      if (!conditionHolds(options.condition, object)) return { kind: 'failed', object };
      const range = resolveRange(options.range, object.size);
      if (range === undefined) throw unsatisfiable(options.range, object.size);
      const content = await this.#content(stored, range, normal, work);
      // undefined: the object was replaced in between, so read it again.
      if (content !== undefined) return { kind: 'found', object, content };
    }
  }

  async put(key: string, body: ServiceBody, options: PutOptions, work = this.#ownWork): Promise<ObjectRecord | null> {
    const normal = checkKey('put', key);
    checkMetadata('put', options);
    return this.#write('put', async () => {
      const storage = this.#storage;
      const recordKey = this.#objects + normal;
      const subject = () => `put ${JSON.stringify(key)} into bucket "${this.name}"`;
      const { bounds } = options;
      const held: { reservation?: BodyReservation } = {};
      let isLocked = false;
      try {
        const received = await receiveBody('put', body, {
          blobs: storage.blobs,
          hashes: options.hashes,
          signal: options.signal,
          transferChecksum: options.transferChecksum,
          reserve: async () => {
            const wait = this.#sum.ready();
            if (wait !== undefined) await wait;
            const record = await storage.records.get(recordKey, work);
            const replaced = { key: recordKey, bytes: record === undefined ? 0 : sizeOf(record) };
            held.reservation = this.#sum.reserveBody(replaced, bounds, subject);
            return held.reservation;
          },
          work,
        });
        const { transferChecksum } = received;
        const version = newVersion();
        await storage.mutex.lock(recordKey);
        isLocked = true;
        const object = await commitReceived(
          storage,
          received,
          true,
          async blob => {
            const wait = this.#sum.ready();
            if (wait !== undefined) await wait;
            const record = await storage.records.get(recordKey, work);
            const previous = record === undefined ? undefined : decodeObject(record, normal, false);
            if (!conditionHolds(options.condition, previous?.object)) return undefined;
            const object: ObjectRecord = {
              key,
              version,
              size: received.size,
              etag: received.md5,
              uploaded: storage.now(),
              httpMetadata: options.httpMetadata ?? {},
              customMetadata: options.customMetadata ?? {},
              checksums: { md5: received.md5, ...received.hashes },
              storageClass: options.storageClass ?? this.storageClass,
              ...(transferChecksum === undefined ? undefined : { transferChecksum }),
            };
            const { content } = received;
            const stored: StoredObject = {
              object,
              body: blob ?? { kind: 'embedded', bytes: content.kind === 'small' ? content.bytes : new Uint8Array(0) },
            };
            // Between the two nothing else can take the room.
            held.reservation?.release();
            const added = {
              bytes: received.size - (previous?.object.size ?? 0),
              objects: previous === undefined ? 1 : 0,
            };
            return {
              change: this.#sum.change(added, bounds, subject),
              operations: [
                { type: 'put', key: recordKey, value: encodeObject(stored, normal) },
                ...(previous === undefined ? indexInsertOps(this.#id, normal) : []),
              ],
              drops: blobOf(previous),
              result: object,
            };
          },
          work,
        );
        return object ?? null;
      } finally {
        held.reservation?.release();
        if (isLocked) storage.mutex.unlock(recordKey);
      }
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
    await this.#write('delete', () =>
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
        for (const operation of indexRemoveOps(this.#id, removed)) operations.push(operation);
        const change = this.#sum.change({ bytes: -bytes, objects: -removed.length });
        await commitChange(records, operations, change, work);
        for (const blob of dropped) collector.afterCommit(blob, work);
      }),
    );
  }

  list(query: ListQuery, work = this.#ownWork): Promise<ListPage> {
    return listObjects(this.#storage.records, this.#id, query, work);
  }

  async createUpload(key: string, options: UploadOptions & UploadRules, work = this.#ownWork): Promise<UploadRecord> {
    const normal = checkKey('createMultipartUpload', key);
    checkMetadata('createMultipartUpload', options);
    return this.#write('createMultipartUpload', () =>
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
    return this.#write('uploadPart', () => this.#uploads.uploadPart(normal, uploadId, partNumber, body, options, work));
  }

  async completeUpload(
    key: string,
    uploadId: string,
    parts: Parameters<BucketEngine['completeUpload']>[2],
    options: NonNullable<Parameters<BucketEngine['completeUpload']>[3]> = {},
    work = this.#ownWork,
  ): Promise<ObjectRecord> {
    const normal = checkKey('completeMultipartUpload', key);
    return this.#write('completeMultipartUpload', () =>
      this.#uploads.complete(normal, key, uploadId, parts, options, work),
    );
  }

  async abortUpload(key: string, uploadId: string, work = this.#ownWork): Promise<void> {
    const normal = checkKey('abortMultipartUpload', key);
    await this.#write('abortMultipartUpload', () => this.#uploads.abort(normal, uploadId, work));
  }

  async findCompleted(key: string, uploadId: string): Promise<CompletedUpload | null> {
    return this.#uploads.findCompleted(normalKey(key), uploadId);
  }

  async findUpload(key: string, uploadId: string): Promise<UploadRecord | null> {
    return this.#uploads.find(normalKey(key), uploadId);
  }

  listParts(uploadId: string, after: number, limit: number): Promise<{ parts: PartRecord[]; truncated: boolean }> {
    return this.#uploads.listParts(uploadId, after, limit);
  }

  listUploads(
    query: Parameters<BucketEngine['listUploads']>[0],
  ): Promise<{ uploads: UploadRecord[]; truncated: boolean }> {
    return this.#uploads.list(query);
  }

  /**
   * Refuses writes from now on, waits for those under way, and calls `remove` when the bucket is empty. Open uploads do not count and are aborted.
   * Rejects with 10008 when the bucket is not empty, which then accepts writes again.
   */
  async closeAndRemove(remove: () => Promise<void>): Promise<void> {
    if (this.#isClosed) throw gone('deleteBucket', this.name);
    this.#isClosed = true;
    try {
      if (this.#writing > 0) {
        await new Promise<void>(resolve => {
          this.#whenIdle = resolve;
        });
      }
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
      await removeIndex(this.#storage.records, this.#id);
      await remove();
    } catch (error) {
      this.#isClosed = false;
      throw error;
    }
  }

  async #write<T>(method: BucketMethod, task: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw gone(method, this.name);
    this.#writing++;
    try {
      return await task();
    } finally {
      this.#writing--;
      if (this.#writing === 0) this.#whenIdle?.();
    }
  }

  async #content(
    stored: StoredObject,
    range: ResolvedRange,
    key: string,
    work: CallWork,
  ): Promise<ObjectContent | undefined> {
    const { body, object } = stored;
    const { records, collector } = this.#storage;
    if (body.kind === 'embedded') return bytesContent(body.bytes, range);
    if (range.length === 0) return bytesContent(new Uint8Array(0), range);
    if (body.kind === 'inline') {
      const bytes = await records.get(recordKeys.inlineBlob(body.id), work);
      if (bytes !== undefined) return bytesContent(bytes, range);
      if (await this.#isReplaced(key, object.version, work)) return undefined;
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the value of the object is missing in the storage');
    }
    // Pinned before the check that it still exists: from now on it stays until it is unpinned.
    collector.pin(body.id);
    let segments: BlobSegment[];
    try {
      if (await this.#isReplaced(key, object.version, work)) {
        collector.unpin(body.id);
        return undefined;
      }
      segments = await this.#segments(body, object.size, work);
    } catch (error) {
      collector.unpin(body.id);
      throw error;
    }
    return segmentsContent(this.#storage, body.id, segments, range, work);
  }

  async #segments(body: BlobRef, size: number, work: CallWork): Promise<BlobSegment[]> {
    if (body.kind !== 'list') return [{ kind: body.kind, id: body.id, size }];
    const list = await this.#storage.records.get(recordKeys.blobList(body.id), work);
    if (list === undefined) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the list of parts of the object is missing in the storage');
    }
    return decodeBlobList(list);
  }

  async #isReplaced(key: string, version: string, work: CallWork): Promise<boolean> {
    const record = await this.#storage.records.get(this.#objects + key, work);
    return record === undefined || decodeObject(record, key, false).object.version !== version;
  }
}

/** The key in the form in which it is compared. Throws 10020 when it is too long. */
function checkKey(method: BucketMethod, key: string): string {
  const normal = normalKey(key);
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (normal.length * 3 > BUCKET_LIMITS.keyBytes) {
    const bytes = Math.max(Buffer.byteLength(normal), Buffer.byteLength(key));
    if (bytes > BUCKET_LIMITS.keyBytes) {
      throw new BucketError(
        method,
        10020,
        `the key has ${bytes} bytes of UTF-8, the limit is ${BUCKET_LIMITS.keyBytes}`,
      );
    }
  }
  return normal;
}

function checkMetadata(method: BucketMethod, options: Pick<PutOptions, 'customMetadata' | 'httpMetadata'>): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(options.customMetadata ?? {})) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  checkBytes(method, 'customMetadata', bytes, BUCKET_LIMITS.customMetadataBytes);
  bytes = 0;
  for (const value of Object.values(options.httpMetadata ?? {})) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
  }
  checkBytes(method, 'httpMetadata', bytes, BUCKET_LIMITS.httpMetadataBytes);
}

function checkBytes(method: BucketMethod, name: string, bytes: number, most: number): void {
  if (bytes > most) throw new BucketError(method, 10012, `${name} has ${bytes} bytes of UTF-8, the limit is ${most}`);
}

function blobOf(stored: StoredObject | undefined): BlobRef | undefined {
  return stored === undefined || stored.body.kind === 'embedded' ? undefined : stored.body;
}

function unsatisfiable(range: ByteRange | undefined, size: number): BucketError {
  const asked =
    range?.kind === 'suffix'
      ? `suffix ${range.suffix}`
      : `offset ${range?.offset}, length ${range?.length ?? 'to the end'}`;
  return new BucketError('get', 10039, `the range (${asked}) has no byte of an object of ${size} bytes`);
}

function gone(method: BucketMethod, name: string): BucketError {
  return new BucketError(method, 10006, `the bucket "${name}" was deleted`);
}
