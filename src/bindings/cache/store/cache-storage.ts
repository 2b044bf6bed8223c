/** Registers the caches with the storage: they are no part of what an account has stored, so there is nothing to count. */
import type { StorageContext } from '../../../storage/storage-context.js';
import type { StorageOwner } from '../../../storage/storage-owner.js';
import { CACHE_KEYSPACE } from './cache-keys.js';
import { expireEntries } from './expire-entries.js';
import { clearAllCaches, clearRemovedCaches, detachCaches } from './remove-caches.js';

/** Storages that are open: the first sweep of each happens during its opening, which should be short. */
const opened = new WeakSet<StorageContext>();
/** Entries that have expired are not used, whether or not they are removed. */
const FIRST_SWEEP = 1000;

export const cacheStorage: StorageOwner = {
  name: 'cache',
  keyspace: CACHE_KEYSPACE,
  detach: detachCaches,
  clear: clearRemovedCaches,
  jobs: [
    { kind: 'rebuild', run: clearAllCaches },
    {
      kind: 'sweep',
      run: async storage => {
        const most = opened.has(storage) ? Number.POSITIVE_INFINITY : FIRST_SWEEP;
        opened.add(storage);
        await expireEntries(storage, most);
      },
    },
  ],
};
