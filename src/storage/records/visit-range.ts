/** Reads a range in pages while the page before is being decoded. */
import type { CallWork } from '../../quotas/host/call-work.js';
import type { LevelRange, LevelView } from './level-database.js';
import type { RecordStore } from './record-store.js';

/** Entries in one read. The next read runs on LevelDB's thread while these are decoded. */
const PAGE_READ = 334;

export interface RangeVisitor {
  /** How many more entries are wanted at most; asked before each read. */
  wanted(): number;
  /** An entry, in the order of the keys. @returns false to stop */
  visit(key: string, record: Buffer): boolean;
}

/** Resolves to whether all of the range was visited. */
export async function visitRange(
  records: RecordStore,
  range: LevelRange,
  visitor: RangeVisitor,
  work: CallWork,
  view?: LevelView,
): Promise<boolean> {
  const iterator = await records.iterator(range, view, work);
  let ahead: Promise<[string, Buffer][]> | undefined;
  try {
    for (;;) {
      const wanted = visitor.wanted();
      if (ahead === undefined && wanted <= 0) return false;
      const entries: [string, Buffer][] = await (ahead ?? iterator.nextv(Math.min(wanted, PAGE_READ)));
      if (entries.length === 0) return true;
      const left = visitor.wanted() - entries.length;
      ahead = left > 0 ? iterator.nextv(Math.min(left, PAGE_READ)) : undefined;
      for (const [key, record] of entries) {
        if (!visitor.visit(key, record)) return false;
      }
    }
  } finally {
    // The pending read must end before the iterator is closed.
    await ahead?.catch(() => {});
    await iterator.close();
  }
}
