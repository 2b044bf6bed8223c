import { OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { type NamedOwner, quotedName } from '../../stored-values/named-records.js';
import { WeakValues } from '../../stored-values/weak-values.js';
import type { BucketDirectory, BucketEngine } from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import type { StoreStorageClass } from '../types.js';
import { BucketStore } from './bucket-store.js';
import { BUCKET_NAMES, BUCKETS, type StoredBucket } from './stored-buckets.js';

/**
 * The buckets of one account. There is one engine for each bucket in use, shared by all callers, so that deleting the bucket ends all writes to it.
 * So there must be one directory for each account of a storage: see {@link BucketDirectories}.
 */
export function createBucketDirectory(storage: StorageContext, account: string, minPartBytes: number): BucketDirectory {
  // Bounds are for functions, but in queues the account takes turns with others also for calls of the application.
  const owner: NamedOwner = { storage, account, work: { ...OWN_WORK, owner: {} } };
  const { work } = owner;
  const sum = storage.sums.of(account);
  const engines = new WeakValues<BucketStore>();

  const engine = (name: string, { id, storageClass }: StoredBucket): BucketStore =>
    engines.getOrCreate(id, () => new BucketStore({ storage, id, name, storageClass, minPartBytes, sum, work }));

  const create = (name: string, storageClass: StoreStorageClass): Promise<readonly [StoredBucket, boolean]> => {
    checkName('createBucket', name);
    return BUCKETS.create(owner, name, { storageClass });
  };

  return {
    async open(name): Promise<BucketEngine> {
      checkName('createBucket', name);
      return engine(name, (await BUCKETS.read(owner, name)) ?? (await create(name, 'Standard'))[0]);
    },
    async find(name) {
      const existing = await BUCKETS.read(owner, name);
      return existing === undefined ? null : engine(name, existing);
    },
    async create(name, { storageClass = 'Standard' } = {}) {
      const [, created] = await create(name, storageClass);
      return { created };
    },
    async delete(name) {
      const key = BUCKETS.keyOf(account, name);
      await storage.mutex.run(key, async () => {
        const existing = await BUCKETS.read(owner, name);
        if (existing === undefined)
          throw new BucketError('deleteBucket', 10006, `there is no bucket "${name.slice(0, 100)}"`);
        await engine(name, existing).closeAndRemove(() => storage.records.commit([{ type: 'del', key }], work));
      });
    },
    async list() {
      const buckets = await BUCKETS.list(owner);
      return buckets.map(({ name, created, storageClass }) => ({ name, created, storageClass }));
    },
  };
}

function checkName(method: BucketMethod, name: string): void {
  if (BUCKET_NAMES.allows(name)) return;
  throw new BucketError(method, 10005, `the bucket name ${quotedName(name)} is not ${BUCKET_NAMES.description}`);
}
