/** Removes the entries that a purge names. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { keyPages } from '../../../storage/records/fresh-pages.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { CachePurge } from '../engine.js';
import { cacheKeys, hashOf, withoutScheme } from './cache-keys.js';
import type { EntryHead } from './entry-codec.js';
import { BATCH, type EntryStore } from './entry-store.js';

/** @returns how many responses are gone. Those that come meanwhile may stay. */
export async function purgeEntries(
  storage: StorageContext,
  entries: EntryStore,
  { urls = [], prefixes = [], tags = [] }: CachePurge,
  work: CallWork,
): Promise<number> {
  let purged = 0;
  const remove = async (prefix: string, isGone: (head: EntryHead) => boolean): Promise<void> => {
    for await (const page of keyPages(storage.records, prefix, work, BATCH)) {
      const gone = await entries.remove(page.map(hashOf), isGone, work);
      purged += gone.filter(({ status }) => status !== 0).length;
    }
  };
  const { id } = entries;
  for (const url of urls) await remove(`${cacheKeys.urlsFrom(id, withoutScheme(url))}\0`, head => head.url === url);
  for (const prefix of prefixes) {
    const hasScheme = prefix.includes('://');
    await remove(
      cacheKeys.urlsFrom(id, hasScheme ? withoutScheme(prefix) : prefix),
      head => !hasScheme || head.url.startsWith(prefix),
    );
  }
  for (const tag of tags) {
    const lower = tag.toLowerCase();
    await remove(cacheKeys.tagged(id, lower), head => head.tags?.includes(lower) === true);
  }
  return purged;
}
