/** Writes rows to the storage, each as its whole sum. */
import type { LevelOperation } from '../storage/records/level-database.js';
import { usageKeys } from './usage-keys.js';
import type { UsageRow } from './usage-row.js';
import { addSlots, decodeSlots, encodeSlots } from './usage-slots.js';
import type { UsageStore } from './usage-store.js';

/** Functions of one account that have a row of their own on a day. A customer may deploy under ever new names; usage beyond is added up in one row. */
export const MAX_FUNCTIONS_A_DAY = 2000;

/** The rows of one batch: a batch is made in one go, on the thread of the application. */
const BATCH_ROWS = 200;

type RowStore = Pick<UsageStore, 'getMany' | 'commit'>;

export interface RowPort {
  /** Moves the usage added since the last call into the total. */
  settle(row: UsageRow): void;
  /** The row that a row adds to that may not be one of its own. */
  overflow(row: UsageRow): UsageRow;
}

/** Rejects like the storage. Rows of which it is not known whether they were written can be written again. */
export async function writeRows(store: RowStore, rows: readonly UsageRow[], port: RowPort): Promise<void> {
  const overflows = new Set<UsageRow>();
  for (let at = 0; at < rows.length; at += BATCH_ROWS) {
    await writeBatch(store, rows.slice(at, at + BATCH_ROWS), port, overflows);
  }
  if (overflows.size > 0) await writeBatch(store, [...overflows], port, overflows);
}

async function writeBatch(
  store: RowStore,
  rows: readonly UsageRow[],
  port: RowPort,
  overflows: Set<UsageRow>,
): Promise<void> {
  const indexes = await addBases(store, rows, port);
  const operations: LevelOperation[] = [];
  for (const row of rows) {
    port.settle(row);
    row.isChanged = false;
    if (row.overflow !== undefined) {
      // The overflow row may have left memory since, and must be written again if this write fails.
      row.overflow = port.overflow(row);
      addSlots(row.overflow.total, row.total);
      row.total.fill(0);
      overflows.add(row.overflow);
      continue;
    }
    const key = usageKeys.functionDay(row.account, row.day, row.name);
    operations.push({ type: 'put', key, value: encodeSlots(row.total) });
  }
  for (const [key, count] of indexes) operations.push({ type: 'put', key, value: Buffer.from(String(count)) });
  if (operations.length > 0) await store.commit(operations);
}

/** Adds what the storage has of the rows. Answers the new counts of functions by account and day. */
async function addBases(store: RowStore, rows: readonly UsageRow[], port: RowPort): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const unread = rows.filter(row => !row.isBased && row.overflow === undefined);
  if (unread.length === 0) return counts;
  const keys = unread.flatMap(row => [
    usageKeys.functionDay(row.account, row.day, row.name),
    usageKeys.dayIndex(row.day, row.account),
  ]);
  const records = await store.getMany(keys);
  for (const [index, row] of unread.entries()) {
    const base = records[index * 2];
    if (base !== undefined) {
      addSlots(row.total, decodeSlots(base));
      row.isBased = true;
      continue;
    }
    const key = keys[index * 2 + 1] ?? '';
    const count = counts.get(key) ?? countOf(records[index * 2 + 1]);
    const other = count < MAX_FUNCTIONS_A_DAY ? row : port.overflow(row);
    if (other === row) {
      row.isBased = true;
      counts.set(key, count + 1);
    } else {
      row.overflow = other;
    }
  }
  return counts;
}

function countOf(record: Buffer | undefined): number {
  const count = record === undefined ? 0 : Number(record.toString());
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
