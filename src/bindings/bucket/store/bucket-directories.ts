import type { StorageContext } from '../../../storage/storage-context.js';
import { DirectoriesByAccount } from '../../stored-values/directories-by-account.js';
import type { BucketDirectory } from '../engine.js';
import { BUCKET_LIMITS } from '../limits.js';
import { createBucketDirectory } from './bucket-directory.js';

/** The buckets of all accounts in one storage, which was opened with `bucketStorage` among its owners. One for each storage. */
export class BucketDirectories extends DirectoriesByAccount<BucketDirectory> {
  /** @param options.minPartBytes the smallest part, but the last, of a multipart upload. @default 5 MiB */
  constructor(storage: StorageContext, options: { readonly minPartBytes?: number | undefined } = {}) {
    const minPartBytes = options.minPartBytes ?? BUCKET_LIMITS.minPartBytes;
    super(account => createBucketDirectory(storage, account, minPartBytes));
  }
}
