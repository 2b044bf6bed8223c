/**
 * The buckets of an account that was removed. Their records become removals, by the ids of the buckets: nothing finds their objects then, which go page by
 * page. Each step can be repeated.
 */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { UNCOUNTED } from '../../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import { deletion, keyPages, recordPages } from '../../../storage/records/fresh-pages.js';
import type { LevelOperation } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { BUCKET_LIMITS } from '../limits.js';
import { bucketKeys } from './bucket-keys.js';
import { decodeObject } from './object-codec.js';
import { removeIndex } from './rebuild-index.js';
import { BUCKETS } from './stored-buckets.js';
import { MultipartUploads } from './uploads/multipart-uploads.js';

/** An account of this id has no buckets when it resolves. */
export function detachBuckets(storage: StorageContext, account: string): Promise<void> {
  return BUCKETS.detach(storage, account, ({ id }) => ({ type: 'put', key: bucketKeys.removed(id), value: NO_BYTES }));
}

/** @param check throws when the storage is being closed */
export async function clearRemovedBuckets(storage: StorageContext, check: () => void): Promise<void> {
  // In the queues of the storage it takes turns with accounts as one of them.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const prefix = bucketKeys.removedBuckets();
  for await (const page of keyPages(storage.records, prefix, work)) {
    for (const key of page) {
      const id = key.slice(prefix.length);
      await clearObjects(storage, id, work, check);
      check();
      const bucket = { id, name: '' };
      await new MultipartUploads({
        storage,
        bucket,
        minPartBytes: BUCKET_LIMITS.minPartBytes,
        sum: UNCOUNTED,
      }).clear(check);
      await removeIndex(storage.records, id);
      await storage.records.commit([deletion(key)], work);
    }
  }
}

async function clearObjects(storage: StorageContext, id: string, work: CallWork, check: () => void): Promise<void> {
  const { records, collector } = storage;
  for await (const page of recordPages(records, bucketKeys.objects(id), work)) {
    check();
    const operations: LevelOperation[] = [];
    const dropped: BlobRef[] = [];
    for (const [key, record] of page) {
      operations.push({ type: 'del', key });
      const { body } = decodeObject(record, '', false);
      if (body.kind === 'embedded') continue;
      operations.push(collector.tombstoneOp(body));
      dropped.push(body);
    }
    await records.commit(operations, work);
    for (const blob of dropped) collector.afterCommit(blob, work);
  }
}
