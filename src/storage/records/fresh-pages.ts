/** Reads a range in pages while it is being written to, and removes one. */
import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { afterPrefix, type LevelOperation } from './level-database.js';
import type { RecordStore } from './record-store.js';

/** A page is small, so that the calls of other accounts come in between. */
const PAGE = 100;

interface PageIterator<Item> {
  nextv(size: number): Promise<Item[]>;
  close(): Promise<void>;
}

/**
 * Pages of up to `size` items from the key `from` on. Each page has an iterator of its own, because a write between two pages may open the database again.
 *
 * @param open an iterator from the key on, which may be the last one
 */
export async function* freshPages<Item>(
  from: string,
  size: number,
  open: (gte: string) => Promise<PageIterator<Item>>,
  keyOf: (item: Item) => string,
): AsyncGenerator<Item[], void> {
  for (let gte = from; ; ) {
    const iterator = await open(gte);
    let page: Item[];
    try {
      page = await iterator.nextv(size);
    } finally {
      await iterator.close();
    }
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    gte = `${keyOf(last)}\0`;
  }
}

/** Pages of the keys below a prefix alone: values would be read for nothing. */
export function keyPages(
  records: RecordStore,
  prefix: string,
  work: CallWork = OWN_WORK,
  size = PAGE,
): AsyncGenerator<string[], void> {
  const open = (gte: string) => records.keys({ gte, lt: afterPrefix(prefix) }, undefined, work);
  return freshPages(prefix, size, open, key => key);
}

/** Pages of the records below a prefix. */
export function recordPages(
  records: RecordStore,
  prefix: string,
  work: CallWork = OWN_WORK,
): AsyncGenerator<[string, Buffer][], void> {
  const open = (gte: string) => records.iterator({ gte, lt: afterPrefix(prefix) }, undefined, work);
  return freshPages(prefix, PAGE, open, ([key]) => key);
}

interface Removal {
  readonly work?: CallWork;
  /** Throws when the storage is being closed. */
  readonly check?: () => void;
  /** @default 100 */
  readonly size?: number;
}

/** Removes all records below a prefix, page by page. */
export async function removeBelow(
  records: RecordStore,
  prefix: string,
  { work, check, size }: Removal = {},
): Promise<void> {
  for await (const page of keyPages(records, prefix, work, size)) {
    check?.();
    await records.commit(page.map(deletion), work);
  }
}

export function deletion(key: string): LevelOperation {
  return { type: 'del', key };
}
