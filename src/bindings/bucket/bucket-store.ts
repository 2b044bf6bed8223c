import { EdgeError } from '../../quotas/errors.js';
import type { CallWork, ServiceBody } from '../service.js';
import type { RecordOperation } from '../storage/counts.js';
import { type BodyRef, type BodySegment, parseBodyList } from '../storage/reclaimer.js';
import { recordKeys } from '../storage/record-keys.js';
import type { StorageParts } from '../storage/storage-parts.js';
import { type ResolvedRange, resolveRange } from './byte-range.js';
import { conditionHolds } from './conditions.js';
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
  UploadAge,
  UploadOptions,
  UploadRecord,
} from './engine.js';
import { BucketError, type BucketMethod } from './errors.js';
import { BUCKET_LIMITS, EMBEDDED_BYTES } from './limits.js';
import { listObjects } from './list-objects.js';
import { comingOperations, goingOperations } from './listing-index.js';
import { MultipartUploads } from './multipart-uploads.js';
import { normalKey } from './normal-key.js';
import { decodeObject, encodeObject, type StoredObject } from './object-codec.js';
import { commitReceived, newVersion } from './object-writer.js';
import { bytesContent, segmentsContent } from './read-content.js';
import { removeIndex } from './rebuild-index.js';
import { receiveBody } from './receive-body.js';
import type { StoreStorageClass } from './types.js';

/** A bucket on the records and bodies of a storage. */
export class BucketStore implements BucketEngine {
  readonly name: string;
  readonly storageClass: StoreStorageClass;
  readonly #parts: StorageParts;
  readonly #id: string;
  readonly #objects: string;
  readonly #uploads: MultipartUploads;
  /** Of calls that come without. */
  readonly #ownWork: CallWork;
  #writing = 0;
  #isClosed = false;
  #whenIdle: (() => void) | undefined;

  constructor(options: {
    parts: StorageParts;
    id: string;
    name: string;
    storageClass: StoreStorageClass;
    minPartBytes: number;
    work: CallWork;
  }) {
    this.name = options.name;
    this.storageClass = options.storageClass;
    this.#parts = options.parts;
    this.#id = options.id;
    this.#objects = recordKeys.objects(options.id);
    this.#ownWork = options.work;
    this.#uploads = new MultipartUploads(options.parts, options.id, options.minPartBytes);
  }

  async head(key: string, work = this.#ownWork): Promise<ObjectRecord | null> {
    const normal = checkKey('head', key);
    const record = await this.#parts.records.get(this.#objects + normal, work);
    return record === undefined ? null : decodeObject(record, normal).object;
  }

  async get(
    key: string,
    options: { readonly condition?: Condition; readonly range?: ByteRange },
    work = this.#ownWork,
  ): Promise<GetOutcome> {
    const normal = checkKey('get', key);
    for (;;) {
      const record = await this.#parts.records.get(this.#objects + normal, work);
      if (record === undefined) return { kind: 'missing' };
      const stored = decodeObject(record, normal);
      const { object } = stored;
      if (!conditionHolds(options.condition, object)) return { kind: 'failed', object };
      const range = resolveRange(options.range, object.size);
      if (range === undefined) throw unsatisfiable(options.range, object.size);
      const content = await this.#content(stored, range, normal, work);
      // undefined: replaced in between, so look again.
      if (content !== undefined) return { kind: 'found', object, content };
    }
  }

  async put(key: string, body: ServiceBody, options: PutOptions, work = this.#ownWork): Promise<ObjectRecord | null> {
    const normal = checkKey('put', key);
    checkMetadata('put', options);
    return this.#write('put', async () => {
      const parts = this.#parts;
      const received = await receiveBody('put', body, {
        bodies: parts.bodies,
        hashes: options.hashes,
        signal: options.signal,
        transferChecksum: options.transferChecksum,
        work,
      });
      const { transferChecksum } = received;
      const version = newVersion();
      const recordKey = this.#objects + normal;
      let object: ObjectRecord | null = null;
      await parts.mutex.lock(recordKey);
      try {
        await commitReceived(
          parts,
          received,
          async ref => {
            const before = await parts.records.get(recordKey, work);
            const previous = before === undefined ? undefined : decodeObject(before, normal, false);
            if (!conditionHolds(options.condition, previous?.object)) return undefined;
            object = {
              key,
              version,
              size: received.size,
              etag: received.md5,
              uploaded: parts.now(),
              httpMetadata: options.httpMetadata ?? {},
              customMetadata: options.customMetadata ?? {},
              checksums: { md5: received.md5, ...received.hashes },
              storageClass: options.storageClass ?? this.storageClass,
              ...(transferChecksum === undefined ? undefined : { transferChecksum }),
            };
            const { content } = received;
            const stored: StoredObject = {
              object,
              body: ref ?? { kind: 'embedded', bytes: content.kind === 'small' ? content.bytes : new Uint8Array(0) },
            };
            return {
              operations: [
                { type: 'put', key: recordKey, value: encodeObject(stored, normal) },
                ...(previous === undefined ? comingOperations(this.#id, normal) : []),
              ],
              drops: bodyRef(previous),
            };
          },
          EMBEDDED_BYTES,
          work,
        );
      } finally {
        parts.mutex.unlock(recordKey);
      }
      return object;
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
    const recordKeys = [...new Set(keys.map(key => this.#objects + checkKey('delete', key)))];
    await this.#write('delete', () =>
      this.#parts.mutex.runAll(recordKeys, async () => {
        const { records, reclaimer } = this.#parts;
        await records.settled(work);
        const found = await records.getMany(recordKeys, undefined, work);
        const operations: RecordOperation[] = [];
        const dropped: BodyRef[] = [];
        const removed: string[] = [];
        for (const [index, key] of recordKeys.entries()) {
          const record = found[index];
          if (record === undefined) continue;
          operations.push({ type: 'del', key });
          removed.push(key.slice(this.#objects.length));
          const body = bodyRef(decodeObject(record, '', false));
          if (body !== undefined) {
            operations.push(reclaimer.dropping(body));
            dropped.push(body);
          }
        }
        if (operations.length === 0) return;
        for (const operation of goingOperations(this.#id, removed)) operations.push(operation);
        await records.commit(operations, work);
        for (const body of dropped) reclaimer.dropped(body, work);
      }),
    );
  }

  list(query: ListQuery, work = this.#ownWork): Promise<ListPage> {
    return listObjects(this.#parts.records, this.#id, query, work);
  }

  async createUpload(key: string, options: UploadOptions & UploadAge, work = this.#ownWork): Promise<UploadRecord> {
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
    options: Pick<PutOptions, 'hashes' | 'transferChecksum' | 'signal'>,
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
   * Refuses writes from now on, waits for those under way, and calls `remove` when the bucket is empty; open uploads do
   * not count, and are aborted. 10008 when it is not empty: it goes on then as before.
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
      await this.#parts.records.settled();
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
      await removeIndex(this.#parts.records, this.#id);
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
    const { records, reclaimer } = this.#parts;
    if (body.kind === 'embedded') return bytesContent(body.bytes, range);
    if (range.length === 0) return bytesContent(new Uint8Array(0), range);
    if (body.kind === 'inline') {
      const bytes = await records.get(recordKeys.inlineBody(body.id), work);
      if (bytes !== undefined) return bytesContent(bytes, range);
      if (await this.#isReplaced(key, object.version, work)) return undefined;
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the value of the object is missing in the storage');
    }
    // Held before it is known to be there still; what is dropped from now on stays until it is released.
    reclaimer.hold(body.id);
    let segments: BodySegment[];
    try {
      if (await this.#isReplaced(key, object.version, work)) {
        reclaimer.release(body.id);
        return undefined;
      }
      segments = await this.#segments(body, object.size, work);
    } catch (error) {
      reclaimer.release(body.id);
      throw error;
    }
    return segmentsContent(this.#parts, body.id, segments, range, work);
  }

  async #segments(body: BodyRef, size: number, work: CallWork): Promise<BodySegment[]> {
    if (body.kind !== 'list') return [{ kind: body.kind, id: body.id, size }];
    const list = await this.#parts.records.get(recordKeys.bodyList(body.id), work);
    if (list === undefined) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'get: the list of parts of the object is missing in the storage');
    }
    return parseBodyList(list);
  }

  async #isReplaced(key: string, version: string, work: CallWork): Promise<boolean> {
    const record = await this.#parts.records.get(this.#objects + key, work);
    return record === undefined || decodeObject(record, key, false).object.version !== version;
  }
}

/** The form that the key is compared in; 10020 when it is too long. */
function checkKey(method: BucketMethod, key: string): string {
  const normal = normalKey(key);
  // No character takes more than three bytes a UTF-16 unit.
  if (normal.length * 3 > BUCKET_LIMITS.keyBytes) {
    const bytes = Math.max(Buffer.byteLength(normal), Buffer.byteLength(key));
    if (bytes > BUCKET_LIMITS.keyBytes) {
      throw new BucketError(
        method,
        10020,
        `the key has ${bytes} bytes of UTF-8, the most is ${BUCKET_LIMITS.keyBytes}`,
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
  if (bytes > most) throw new BucketError(method, 10012, `${name} has ${bytes} bytes of UTF-8, the most is ${most}`);
}

function bodyRef(stored: StoredObject | undefined): BodyRef | undefined {
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
  return new BucketError(method, 10006, `the bucket "${name}" does not exist any more`);
}
