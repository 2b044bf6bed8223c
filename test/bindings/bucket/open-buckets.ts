/** A storage with buckets, as a host opens it. Programs that run without ava import it, too. */

import type { BucketDirectory } from '../../../src/bindings/bucket/engine.js';
import { BucketDirectories } from '../../../src/bindings/bucket/store/bucket-directories.js';
import { bucketStorage } from '../../../src/bindings/bucket/store/bucket-storage.js';
import { Storage, type StorageOptions } from '../../../src/storage/storage.js';

export interface BucketsOptions extends StorageOptions {
  readonly minPartBytes?: number;
}

const directories = new WeakMap<Storage, BucketDirectories>();

export async function openBuckets(location: string, options: BucketsOptions = {}): Promise<Storage> {
  const { minPartBytes, ...storageOptions } = options;
  const storage = await Storage.open(location, { owners: [bucketStorage], ...storageOptions });
  directories.set(storage, new BucketDirectories(storage.context, { minPartBytes }));
  return storage;
}

/** The buckets of an account, in a storage that `openBuckets` opened. */
export function bucketsOf(storage: Storage, accountId: string): BucketDirectory {
  const buckets = directories.get(storage);
  if (buckets === undefined) throw new Error('The storage was not opened by openBuckets()');
  return buckets.of(accountId);
}
