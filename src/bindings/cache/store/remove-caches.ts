/** The caches of accounts that were removed, or of which everything was purged: nothing finds them, and their records go page by page. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import { deletion, keyPages, recordPages, removeBelow } from '../../../storage/records/fresh-pages.js';
import type { LevelOperation } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { cacheKeys, hashOf } from './cache-keys.js';
import { decodeEntry } from './entry-codec.js';

/** An account of this id has no caches when it resolves. */
export async function detachCaches({ records }: StorageContext, account: string): Promise<void> {
  const key = cacheKeys.store(account);
  const store = (await records.get(key))?.toString();
  if (store === undefined) return;
  await records.commit([
    { type: 'put', key: cacheKeys.removed(store), value: NO_BYTES },
    { type: 'del', key },
    { type: 'del', key: cacheKeys.sum(store) },
  ]);
}

/** One at a time in each storage. */
const clearing = new WeakMap<StorageContext, Promise<void>>();

/** @param check throws when it must stop; the next call removes the rest */
export function clearRemovedCaches(storage: StorageContext, check: () => void): Promise<void> {
  const before = clearing.get(storage) ?? Promise.resolve();
  const run = before.then(() => clearAll(storage, check));
  clearing.set(
    storage,
    run.catch(() => {}),
  );
  return run;
}

async function clearAll(storage: StorageContext, check: () => void): Promise<void> {
  // In the queues of the storage it takes turns with accounts as one of them.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const prefix = cacheKeys.allRemoved();
  for await (const page of keyPages(storage.records, prefix, work)) {
    for (const key of page) {
      const store = key.slice(prefix.length);
      await clearEntries(storage, store, work, check);
      for (const range of [cacheKeys.orders, cacheKeys.uses, cacheKeys.urls, cacheKeys.tags]) {
        await removeBelow(storage.records, range(store), { work, check });
      }
      await storage.records.commit([deletion(key), deletion(cacheKeys.sum(store))], work);
    }
  }
}

async function clearEntries(storage: StorageContext, store: string, work: CallWork, check: () => void): Promise<void> {
  const { records, collector } = storage;
  for await (const page of recordPages(records, cacheKeys.entries(store), work)) {
    check();
    const operations: LevelOperation[] = [];
    const dropped: BlobRef[] = [];
    for (const [key, record] of page) {
      const { staleUntil, blob } = decodeEntry(record).head;
      operations.push({ type: 'del', key }, { type: 'del', key: cacheKeys.expiry(staleUntil, store, hashOf(key)) });
      if (blob === undefined) continue;
      operations.push(collector.tombstoneOp(blob));
      dropped.push(blob);
    }
    await records.commit(operations, work);
    for (const blob of dropped) collector.afterCommit(blob, work);
  }
}

/** Everything of all accounts, after a repair: a lost response is fetched again. */
export async function clearAllCaches(storage: StorageContext): Promise<void> {
  const prefix = cacheKeys.stores();
  for await (const page of keyPages(storage.records, prefix, OWN_WORK)) {
    for (const key of page) await detachCaches(storage, decodeURIComponent(key.slice(prefix.length)));
  }
  await clearRemovedCaches(storage, () => {});
}
