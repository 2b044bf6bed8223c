import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { type Schema, text } from '../../../quotas/schema/schema.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import { WeakValues } from '../../stored-values/weak-values.js';
import type { BucketDirectory, BucketEngine, BucketInfo } from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import type { StoreStorageClass } from '../types.js';
import { bucketKeys } from './bucket-keys.js';
import { BucketStore } from './bucket-store.js';
import type { StoredBucket } from './stored-buckets.js';

/**
 * The buckets of one account. There is one engine for each bucket in use, shared by all callers, so that deleting the bucket ends all writes to it.
 * So there must be one directory for each account of a storage: see {@link BucketDirectories}.
 */
export function createBucketDirectory(
  storage: StorageContext,
  accountId: string,
  minPartBytes: number,
): BucketDirectory {
  const account = encodeURIComponent(accountId);
  // Bounds are for functions, but in queues the account takes turns with others also for calls of the application.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const sum = storage.sums.of(accountId);
  const engines = new WeakValues<BucketStore>();

  const read = async (name: string): Promise<StoredBucket | undefined> => {
    const record = await storage.records.get(bucketKeys.bucket(account, name), work);
    return record === undefined ? undefined : JSON.parse(record.toString());
  };

  const engine = (name: string, { id, storageClass }: StoredBucket): BucketStore =>
    engines.getOrCreate(id, () => new BucketStore({ storage, id, name, storageClass, minPartBytes, sum, work }));

  /** The bucket, and whether this call created it. */
  const create = (name: string, storageClass: StoreStorageClass): Promise<readonly [StoredBucket, boolean]> => {
    checkName('createBucket', name);
    const recordKey = bucketKeys.bucket(account, name);
    return storage.mutex.run(recordKey, async () => {
      await storage.records.awaitRecovery(work);
      const existing = await read(name);
      if (existing !== undefined) return [existing, false];
      const bucket: StoredBucket = { id: storage.newId(), created: storage.now(), storageClass };
      const operations = [{ type: 'put', key: recordKey, value: Buffer.from(JSON.stringify(bucket)) }] as const;
      await storage.records.reserveSpace(operations);
      await sum.ready();
      await commitChange(storage.records, [...operations], sum.change({ bytes: 0, objects: 0 }), work);
      return [bucket, true];
    });
  };

  return {
    async open(name): Promise<BucketEngine> {
      checkName('createBucket', name);
      return engine(name, (await read(name)) ?? (await create(name, 'Standard'))[0]);
    },
    async find(name) {
      const existing = isBucketName(name) ? await read(name) : undefined;
      return existing === undefined ? null : engine(name, existing);
    },
    async create(name, { storageClass = 'Standard' } = {}) {
      const [, created] = await create(name, storageClass);
      return { created };
    },
    async delete(name) {
      const recordKey = bucketKeys.bucket(account, name);
      await storage.mutex.run(recordKey, async () => {
        const existing = isBucketName(name) ? await read(name) : undefined;
        if (existing === undefined)
          throw new BucketError('deleteBucket', 10006, `there is no bucket "${name.slice(0, 100)}"`);
        await engine(name, existing).closeAndRemove(() =>
          storage.records.commit([{ type: 'del', key: recordKey }], work),
        );
      });
    },
    async list() {
      const prefix = bucketKeys.bucket(account, '');
      const buckets: BucketInfo[] = [];
      for await (const page of storage.records.pages(
        { gte: prefix, lt: afterPrefix(prefix) },
        undefined,
        undefined,
        work,
      )) {
        for (const [key, record] of page) {
          const { created, storageClass }: StoredBucket = JSON.parse(record.toString());
          buckets.push({ name: key.slice(prefix.length), created, storageClass });
        }
      }
      return buckets;
    },
  };
}

const PATTERN = '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$';
const BUCKET_NAME = new RegExp(PATTERN);
const NAME_RULE = '3 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit';

/** The name of a bucket in the configuration of a function. */
export const CONFIGURED_NAME: Schema<string> = text({
  pattern: PATTERN,
  description: `the name of a bucket: ${NAME_RULE}`,
});

export function isBucketName(name: string): boolean {
  return BUCKET_NAME.test(name);
}

function checkName(method: BucketMethod, name: string): void {
  if (isBucketName(name)) return;
  throw new BucketError(method, 10005, `the bucket name ${JSON.stringify(name.slice(0, 100))} is not ${NAME_RULE}`);
}
