/** Removes many keys of one namespace at once, when they have expired or their namespace was deleted. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import { blobOf, expirationOf, sizeOf } from './entry-codec.js';
import { kvKeys } from './kv-keys.js';

export interface EntryRemoval {
  readonly namespaceId: string;
  readonly keys: readonly string[];
  /** Whether the record, as it is now, is to be removed. */
  readonly isDue: (record: Buffer) => boolean;
  /**
   * The sum of the account that the keys count to, asked with their locks held; undefined when nothing is to be removed. Nothing is awaited between its
   * answer and the change of the sum, so an account that is removed meanwhile refuses the change.
   */
  readonly sum: () => Promise<StoredAccounting | undefined>;
  /** To be part of the commit. */
  readonly also?: readonly RecordOperation[];
}

export async function removeEntries(storage: StorageContext, removal: EntryRemoval, work: CallWork): Promise<void> {
  const { records, collector, mutex } = storage;
  const { namespaceId, keys, isDue } = removal;
  const root = kvKeys.entries(namespaceId);
  const recordKeys = keys.map(key => root + key);
  await mutex.runAll(recordKeys, async () => {
    await records.awaitRecovery(work);
    const found = await records.getMany(recordKeys, undefined, work);
    const operations: RecordOperation[] = [...(removal.also ?? [])];
    const dropped: BlobRef[] = [];
    let bytes = 0;
    let objects = 0;
    for (const [index, key] of keys.entries()) {
      const record = found[index];
      if (record === undefined || !isDue(record)) continue;
      bytes += sizeOf(record);
      objects++;
      operations.push({ type: 'del', key: root + key });
      const expiration = expirationOf(record);
      if (expiration !== undefined) {
        operations.push({ type: 'del', key: kvKeys.expiry(expiration, namespaceId, key) });
      }
      const blob = blobOf(record);
      if (blob === undefined) continue;
      operations.push(collector.tombstoneOp(blob));
      dropped.push(blob);
    }
    const sum = await removal.sum();
    if (sum === undefined || operations.length === 0) return;
    await commitChange(records, operations, sum.change({ bytes: -bytes, objects: -objects }), work);
    for (const blob of dropped) collector.afterCommit(blob, work);
  });
}
