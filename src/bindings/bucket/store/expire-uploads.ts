import type { StorageContext } from '../../../storage/storage-context.js';
import { BUCKET_LIMITS } from '../limits.js';
import { bucketKeys } from './bucket-keys.js';
import { MultipartUploads } from './multipart-uploads.js';

/** Aborts the uploads of all buckets that are too old, and frees the space of their parts. */
export async function expireUploads(storage: StorageContext): Promise<void> {
  const range = { gte: bucketKeys.expiryBound(0), lt: bucketKeys.expiryBound(storage.now() + 1) };
  for await (const page of storage.records.pages(range, 100)) {
    for (const [expiryKey, key] of page) {
      const [, bucketId = '', uploadId = ''] = expiryKey.split('/');
      const uploads = new MultipartUploads(storage, bucketId, BUCKET_LIMITS.minPartBytes);
      await uploads.expire(key.toString(), uploadId, expiryKey);
    }
  }
}
