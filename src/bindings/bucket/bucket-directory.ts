import { type CallWork, OWN_WORK } from '../service.js';
import { afterPrefix } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import type { StorageParts } from '../storage/storage-parts.js';
import { BucketStore } from './bucket-store.js';
import type { BucketDirectory, BucketEngine, BucketInfo } from './engine.js';
import { BucketError, type BucketMethod } from './errors.js';
import { BUCKET_LIMITS } from './limits.js';
import type { StoreStorageClass } from './types.js';

interface StoredBucket {
  readonly id: string;
  readonly created: number;
  readonly storageClass: StoreStorageClass;
}

/**
 * The buckets of one account. While anybody holds the engine of a bucket, it is the same for all, so that deleting the
 * bucket ends the writes of everybody.
 */
export function createBucketDirectory(
  parts: StorageParts,
  accountId: string,
  options: { readonly minPartBytes: number | undefined },
): BucketDirectory {
  const account = encodeURIComponent(accountId);
  const minPartBytes = options.minPartBytes ?? BUCKET_LIMITS.minPartBytes;
  // Bounds are for functions; but in queues the account takes its turn among others, whoever calls.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const engines = new Map<string, WeakRef<BucketStore>>();
  const forgotten = new FinalizationRegistry<string>(id => {
    if (engines.get(id)?.deref() === undefined) engines.delete(id);
  });

  const read = async (name: string): Promise<StoredBucket | undefined> => {
    const record = await parts.records.get(recordKeys.bucket(account, name), work);
    return record === undefined ? undefined : JSON.parse(record.toString());
  };

  const engine = (name: string, { id, storageClass }: StoredBucket): BucketStore => {
    const known = engines.get(id)?.deref();
    if (known !== undefined) return known;
    const made = new BucketStore({ parts, id, name, storageClass, minPartBytes, work });
    engines.set(id, new WeakRef(made));
    forgotten.register(made, id);
    return made;
  };

  /** The bucket, and whether it was made by this call. */
  const make = (name: string, storageClass: StoreStorageClass): Promise<readonly [StoredBucket, boolean]> => {
    checkName('createBucket', name);
    const recordKey = recordKeys.bucket(account, name);
    return parts.mutex.run(recordKey, async () => {
      await parts.records.settled(work);
      const known = await read(name);
      if (known !== undefined) return [known, false];
      const bucket: StoredBucket = { id: parts.newId(), created: parts.now(), storageClass };
      const operations = [{ type: 'put', key: recordKey, value: Buffer.from(JSON.stringify(bucket)) }] as const;
      await parts.records.claim(operations);
      await parts.records.commit(operations, work);
      return [bucket, true];
    });
  };

  return {
    async open(name): Promise<BucketEngine> {
      checkName('createBucket', name);
      const known = (await read(name)) ?? (await make(name, 'Standard'))[0];
      return engine(name, known);
    },
    async find(name) {
      const known = isBucketName(name) ? await read(name) : undefined;
      return known === undefined ? null : engine(name, known);
    },
    async create(name, { storageClass = 'Standard' } = {}) {
      const [, created] = await make(name, storageClass);
      return { created };
    },
    async delete(name) {
      const recordKey = recordKeys.bucket(account, name);
      await parts.mutex.run(recordKey, async () => {
        const known = isBucketName(name) ? await read(name) : undefined;
        if (known === undefined)
          throw new BucketError('deleteBucket', 10006, `there is no bucket "${name.slice(0, 100)}"`);
        await engine(name, known).closeAndRemove(() => parts.records.commit([{ type: 'del', key: recordKey }], work));
      });
    },
    async list() {
      const prefix = recordKeys.bucket(account, '');
      const buckets: BucketInfo[] = [];
      for await (const page of parts.records.pages(
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

/** 3 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit. */
export function isBucketName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(name);
}

function checkName(method: BucketMethod, name: string): void {
  if (isBucketName(name)) return;
  throw new BucketError(
    method,
    10005,
    `the bucket name ${JSON.stringify(name.slice(0, 100))} is not 3 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit`,
  );
}
