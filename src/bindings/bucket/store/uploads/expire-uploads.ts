import { UNCOUNTED } from '../../../../storage/accounts/account-sum.js';
import type { StorageContext } from '../../../../storage/storage-context.js';
import type { Owned } from '../../../stored-values/named-records.js';
import { BUCKET_LIMITS } from '../../limits.js';
import { bucketKeys } from '../bucket-keys.js';
import { BUCKETS, type StoredBucket } from '../stored-buckets.js';
import { MultipartUploads } from './multipart-uploads.js';

/** Aborts the uploads of all buckets that are too old, and frees the space of their parts. */
export async function expireUploads(storage: StorageContext): Promise<void> {
  const range = { gte: bucketKeys.expiryBound(0), lt: bucketKeys.expiryBound(storage.now() + 1) };
  let buckets: ReadonlyMap<string, Owned<StoredBucket>> | undefined;
  for await (const page of storage.records.pages(range, 100, storage.records.passingOver)) {
    for (const [expiryKey, key] of page) {
      const [, bucketId = '', uploadId = ''] = expiryKey.split('/');
      buckets ??= await bucketsById(storage);
      const bucket = buckets.get(bucketId);
      const uploads = new MultipartUploads({
        storage,
        bucket: { id: bucketId, name: bucket?.name ?? '' },
        minPartBytes: BUCKET_LIMITS.minPartBytes,
        // A bucket that is not listed was deleted, so its account has these uploads no more.
        sum: bucket === undefined ? UNCOUNTED : storage.sums.of(bucket.account),
      });
      await uploads.expire(key.toString(), uploadId, expiryKey);
    }
  }
}

async function bucketsById(storage: StorageContext): Promise<Map<string, Owned<StoredBucket>>> {
  const buckets = new Map<string, Owned<StoredBucket>>();
  for await (const bucket of BUCKETS.all(storage)) buckets.set(bucket.id, bucket);
  return buckets;
}
