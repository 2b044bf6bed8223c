/** Begins, fills, completes and ends the multipart uploads of one bucket. */
import { randomBytes } from 'node:crypto';
import { type CallWork, OWN_WORK } from '../../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../../storage/accounts/account-sum.js';
import { type BlobSegment, encodeBlobList } from '../../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../../storage/records/counts.js';
import { afterPrefix, type LevelOperation } from '../../../../storage/records/level-database.js';
import { recordKeys } from '../../../../storage/records/record-keys.js';
import type { StorageContext } from '../../../../storage/storage-context.js';
import type { ServiceBody } from '../../../service.js';
import { commitChange } from '../../../stored-values/commit-change.js';
import { writeBody } from '../../../stored-values/write-body.js';
import { conditionHolds } from '../../conditions.js';
import type {
  BucketEngine,
  ObjectRecord,
  PartRecord,
  PutOptions,
  UploadOptions,
  UploadRecord,
  UploadRules,
} from '../../engine.js';
import { BucketError, type BucketMethod } from '../../errors.js';
import { DEFAULT_PLAN_LIMITS } from '../../limits.js';
import { normalKey } from '../../normal-key.js';
import { bucketKeys } from '../bucket-keys.js';
import { type BodyHashes, bucketBody } from '../hash-body.js';
import { indexInsertOps } from '../listing-index.js';
import { decodeObject, encodeObject, newVersion, type StoredBody } from '../object-codec.js';
import { checkParts, multipartEtag, type NamedPart } from './check-parts.js';
import {
  decodePart,
  decodeUpload,
  encodePart,
  encodeUpload,
  type StoredPart,
  type StoredUpload,
} from './upload-codec.js';
import { UploadRecords } from './upload-records.js';

/** The multipart uploads of one bucket. The caller has normalised and checked the keys. */
export class MultipartUploads {
  readonly #storage: StorageContext;
  readonly records: UploadRecords;
  readonly #bucketId: string;
  readonly #bucketName: string;
  readonly #minPartBytes: number;
  readonly #sum: StoredAccounting;

  /** `sum` is the account's stored sum: an open upload counts as an object, and so do the bytes of its parts. */
  constructor(options: {
    readonly storage: StorageContext;
    readonly bucket: { readonly id: string; readonly name: string };
    readonly minPartBytes: number;
    readonly sum: StoredAccounting;
  }) {
    this.#storage = options.storage;
    this.records = new UploadRecords(options.storage, options.bucket.id);
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
      { type: 'put', key: this.records.key(key, uploadId), value: encodeUpload({ state: 'open', upload, expires }) },
    ];
    if (expires !== null) operations.push(this.records.expiryOp(expires, uploadId, key));
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
    const storage = this.#storage;
    const recordKey = bucketKeys.part(uploadId, partNumber);
    return writeBody<PartRecord, BodyHashes>(body, {
      storage,
      sum: this.#sum,
      recordKey,
      lockKey: this.records.key(key, uploadId),
      canEmbed: false,
      rules: bucketBody('uploadPart', options, work),
      signal: options.signal,
      bounds: options.bounds,
      work,
      subject: () => this.#subject(`store part ${partNumber} of`, key),
      sizeOf: record => decodePart(record).part.size,
      plan: async ({ size, seen: { md5, transferChecksum } }, ref, record) => {
        await this.#checkOpen('uploadPart', key, uploadId, work);
        const previous = record === undefined ? undefined : decodePart(record);
        const part: PartRecord = {
          partNumber,
          etag: md5,
          size,
          uploaded: storage.now(),
          ...(transferChecksum === undefined ? undefined : { transferChecksum }),
        };
        // Never undefined, because the value of a part is not embedded.
        const blob = ref?.kind === 'file' ? ref : { kind: 'inline' as const, id: ref?.id ?? '' };
        return {
          kind: 'write',
          operations: [{ type: 'put', key: recordKey, value: encodePart({ part, body: blob }) }],
          drops: previous?.body,
          added: { bytes: size - (previous?.part.size ?? 0), objects: 0 },
          result: part,
        };
      },
    });
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
    return storage.mutex.run(this.records.key(key, uploadId), async () => {
      await storage.records.awaitRecovery(work);
      const stored = await this.records.read(key, uploadId, work);
      if (stored === undefined) throw unknownUpload('completeMultipartUpload');
      if (stored.state !== 'open') throw noSuchUpload('completeMultipartUpload', stored.state);
      const uploaded = await this.records.parts(uploadId, work);
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
        ...this.records.endOps(key, stored, {
          state: 'completed',
          made: { etag: object.etag, ...(transferChecksum === undefined ? undefined : { transferChecksum }) },
        }),
      ];
      const dropped = this.records.dropParts(uploadId, uploaded.values(), new Set(chosen), operations);
      const objectKey = bucketKeys.objects(this.#bucketId) + key;
      // The lock of the upload comes before the lock of the object: no call takes them in the other order.
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
    await this.#storage.mutex.run(this.records.key(key, uploadId), async () => {
      await this.#storage.records.awaitRecovery(work);
      const stored = await this.records.read(key, uploadId, work);
      if (stored === undefined) throw unknownUpload('abortMultipartUpload');
      if (stored.state === 'open') await this.#end(key, stored, work);
    });
  }

  /** For the sweep, when an upload has expired: aborts it when it is open, and deletes its record when it ended before. */
  async expire(key: string, uploadId: string, expiryKey: string): Promise<void> {
    await this.#storage.mutex.run(this.records.key(key, uploadId), async () => {
      await this.#storage.records.awaitRecovery();
      const record = await this.#storage.records.get(this.records.key(key, uploadId));
      const stored = record === undefined ? undefined : decodeUpload(record);
      if (stored?.state === 'open') await this.#end(key, stored, OWN_WORK, [{ type: 'del', key: expiryKey }]);
      else {
        await this.#storage.records.commit([
          { type: 'del', key: this.records.key(key, uploadId) },
          { type: 'del', key: expiryKey },
        ]);
      }
    });
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
    const operations = [...more, ...this.records.endOps(key, stored, { state: 'aborted' })];
    const uploaded = await this.records.parts(uploadId, work);
    const dropped = this.records.dropParts(uploadId, uploaded.values(), new Set(), operations);
    await this.#sum.ready();
    const change = this.#sum.change({ bytes: -sizeOfParts(uploaded.values()), objects: -1 });
    await commitChange(this.#storage.records, operations, change, work);
    for (const body of dropped) this.#storage.collector.afterCommit(body, work);
  }

  #subject(what: string, key: string): string {
    return `${what} an upload of ${JSON.stringify(key)} into bucket "${this.#bucketName}"`;
  }

  async #checkOpen(method: BucketMethod, key: string, uploadId: string, work: CallWork): Promise<void> {
    const stored = await this.records.read(key, uploadId, work);
    if (stored?.state !== 'open') throw noSuchUpload(method, stored?.state ?? 'unknown');
  }
}

function sizeOfParts(parts: Iterable<StoredPart>): number {
  let bytes = 0;
  for (const { part } of parts) bytes += part.size;
  return bytes;
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
