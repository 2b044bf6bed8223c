/** The stores that are in use: one object for each, so that all callers share its state. */
import { EdgeError } from '../../../quotas/errors.js';
import { AccountSum } from '../../../storage/accounts/account-sum.js';
import { parseSum } from '../../../storage/records/counts.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { cacheKeys } from './cache-keys.js';
import { EntryStore } from './entry-store.js';

const stores = new WeakMap<StorageContext, Map<string, EntryStore>>();

export function entryStore(storage: StorageContext, account: string, id: string): EntryStore {
  const known = stores.get(storage) ?? new Map<string, EntryStore>();
  stores.set(storage, known);
  let store = known.get(id);
  if (store === undefined) {
    const sum = new AccountSum(cacheKeys.sum(id), async () => {
      await storage.records.awaitRecovery();
      return parseSum(await storage.records.get(cacheKeys.sum(id)));
    });
    store = new EntryStore(storage, id, { store: sum, account: storage.sums.of(account) });
    known.set(id, store);
  }
  return store;
}

/** Nothing finds it any more. */
export function forgetStore(storage: StorageContext, id: string): void {
  stores.get(storage)?.delete(id);
}

/** Changes of a store reject with this error as soon as a purge of everything begins. */
export const PURGED = new EdgeError('EDGE_CANCELED', 'Everything in the caches of the account was purged meanwhile');
