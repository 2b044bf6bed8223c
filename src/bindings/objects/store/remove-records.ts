/** Removes records page by page, so that the calls of other accounts come in between. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { freshPages } from '../../../storage/records/fresh-pages.js';
import { afterPrefix, type LevelOperation } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';

const PAGE = 100;

/** @param check throws when the storage is being closed */
export async function removeAll(
  storage: StorageContext,
  prefix: string,
  work: CallWork,
  check: () => void,
): Promise<void> {
  for await (const page of keyPages(storage, prefix, work)) {
    check();
    await storage.records.commit(page.map(deletion), work);
  }
}

/** Keys alone: values would be read for nothing. */
export function keyPages({ records }: StorageContext, prefix: string, work: CallWork): AsyncGenerator<string[]> {
  return freshPages(
    prefix,
    PAGE,
    gte => records.keys({ gte, lt: afterPrefix(prefix) }, undefined, work),
    key => key,
  );
}

export function deletion(key: string): LevelOperation {
  return { type: 'del', key };
}
