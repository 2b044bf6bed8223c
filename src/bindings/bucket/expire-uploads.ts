import { recordKeys } from '../storage/record-keys.js';
import type { StorageParts } from '../storage/storage-parts.js';
import { BUCKET_LIMITS } from './limits.js';
import { MultipartUploads } from './multipart-uploads.js';

/** Aborts the uploads that are past their age, of all buckets, and gives the space of their parts back. */
export async function expireUploads(parts: StorageParts): Promise<void> {
  const range = { gte: recordKeys.expiryBound(0), lt: recordKeys.expiryBound(parts.now() + 1) };
  for await (const page of parts.records.pages(range, 100)) {
    for (const [expiryKey, key] of page) {
      const [, bucketId = '', uploadId = ''] = expiryKey.split('/');
      const uploads = new MultipartUploads(parts, bucketId, BUCKET_LIMITS.minPartBytes);
      await uploads.expire(key.toString(), uploadId, expiryKey);
    }
  }
}
