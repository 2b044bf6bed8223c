import type { CallWork } from '../../../quotas/host/call-work.js';
import { afterPrefix, compareKeys } from '../../../storage/records/level-database.js';
import { type RangeVisitor, visitRange } from '../../../storage/records/visit-range.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { KvEntry, KvPage, KvQuery } from '../engine.js';
import { KV_LIMITS } from '../limits.js';
import { expirationOf, metadataOf } from './entry-codec.js';

/** @param root the prefix of the records of the namespace */
export async function listEntries(
  { records, now }: StorageContext,
  root: string,
  query: KvQuery,
  work: CallWork,
): Promise<KvPage> {
  const from = root + (query.prefix ?? '');
  // U+0000 is the smallest text that can follow.
  const next = query.after === undefined ? from : `${root}${query.after}\0`;
  const gte = compareKeys(next, from) > 0 ? next : from;
  const lt = afterPrefix(from);
  if (compareKeys(gte, lt) >= 0) return { entries: [] };
  const page = new PageBuilder(root, query.limit, now());
  const isOver = await visitRange(records, { gte, lt }, page, work);
  return isOver ? { entries: page.entries } : { entries: page.entries, last: page.last };
}

class PageBuilder implements RangeVisitor {
  readonly entries: KvEntry[] = [];
  /** The key of the last record that the page is done with. */
  last = '';
  readonly #root: string;
  readonly #limit: number;
  readonly #now: number;
  #expired = 0;
  #metadataBytes = 0;

  constructor(root: string, limit: number, now: number) {
    this.#root = root;
    this.#limit = limit;
    this.#now = now;
  }

  /** One more than the page has room for shows whether there is another page. */
  wanted(): number {
    return this.#expired >= KV_LIMITS.listExpiredKeys ? 0 : this.#limit + 1 - this.entries.length;
  }

  visit(recordKey: string, record: Buffer): boolean {
    const key = recordKey.slice(this.#root.length);
    const expiration = expirationOf(record);
    if (expiration !== undefined && expiration * 1000 <= this.#now) {
      this.#expired++;
      this.last = key;
      return true;
    }
    const metadata = metadataOf(record);
    this.#metadataBytes += metadata?.length ?? 0;
    const isFull = this.entries.length >= this.#limit || this.#metadataBytes > KV_LIMITS.listMetadataBytes;
    if (isFull && this.entries.length > 0) return false;
    this.last = key;
    this.entries.push(entryOf(key, metadata, expiration));
    return true;
  }
}

function entryOf(key: string, metadata: string | undefined, expiration: number | undefined): KvEntry {
  if (metadata === undefined) return expiration === undefined ? { key } : { key, expiration };
  return expiration === undefined ? { key, metadata } : { key, metadata, expiration };
}
