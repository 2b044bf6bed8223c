/** Removes entries that have expired, of all accounts. */
import { errorCode } from '../../../quotas/errors.js';
import { OWN_WORK } from '../../../quotas/host/call-work.js';
import { freshPages } from '../../../storage/records/fresh-pages.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { cacheKeys, hashOf } from './cache-keys.js';
import { BATCH } from './entry-store.js';
import { entryStore, PURGED } from './entry-stores.js';

/** @param most where it stops: the next sweep continues */
export async function expireEntries(storage: StorageContext, most: number): Promise<void> {
  const { records } = storage;
  const nowMs = storage.now();
  const work = { ...OWN_WORK, owner: {} };
  const lt = cacheKeys.expiryBound(nowMs + 1);
  let accounts: ReadonlyMap<string, string> | undefined;
  let left = most;
  const pages = freshPages(
    cacheKeys.expiries(),
    BATCH,
    gte => records.keys({ gte, lt }, undefined, work),
    key => key,
  );
  for await (const page of pages) {
    accounts ??= await accountsByStore(storage);
    for (const [id, hashes] of byStore(page)) {
      const account = accounts.get(id);
      // One that is not found is being removed with all that it has.
      if (account === undefined) continue;
      try {
        await entryStore(storage, account, id).remove(hashes, head => head.staleUntil <= nowMs, work);
      } catch (error) {
        if (error !== PURGED && errorCode(error) !== 'EDGE_ACCOUNT_REMOVED') throw error;
      }
    }
    left -= page.length;
    if (left <= 0) return;
  }
}

function byStore(keys: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const key of keys) {
    const [, id = ''] = key.split('/');
    const hashes = found.get(id);
    if (hashes === undefined) found.set(id, [hashOf(key)]);
    else hashes.push(hashOf(key));
  }
  return found;
}

async function accountsByStore({ records }: StorageContext): Promise<Map<string, string>> {
  const accounts = new Map<string, string>();
  const prefix = cacheKeys.stores();
  const range = { gte: prefix, lt: afterPrefix(prefix) };
  for await (const page of records.pages(range, undefined, records.passingOver)) {
    for (const [key, id] of page) accounts.set(id.toString(), decodeURIComponent(key.slice(prefix.length)));
  }
  return accounts;
}
