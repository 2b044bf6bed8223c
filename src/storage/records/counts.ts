import type { LevelOperation } from './level-database.js';

/** Adds `by` to the number in a record. The record exists while the number is above 0. */
export interface CountOperation {
  readonly type: 'count';
  readonly key: string;
  readonly by: number;
}

/** The operations of a commit. A count is computed when nothing else is being written, so it needs no lock. */
export type RecordOperation = LevelOperation | CountOperation;

/** Whether the operations can be written as they are. */
export function arePlain(operations: RecordOperation[]): operations is LevelOperation[] {
  return operations.every(({ type }) => type !== 'count');
}

/**
 * The operations as the database takes them. Counts become one operation for each record whose number changes. Nothing else may be written between
 * the call of `read` and the write of the result.
 */
export async function withCounts(
  operations: readonly RecordOperation[],
  read: (keys: string[]) => Promise<(Buffer | undefined)[]>,
): Promise<LevelOperation[]> {
  const written: LevelOperation[] = [];
  const changes = new Map<string, number>();
  for (const operation of operations) {
    if (operation.type !== 'count') written.push(operation);
    else changes.set(operation.key, (changes.get(operation.key) ?? 0) + operation.by);
  }
  for (const [key, by] of changes) if (by === 0) changes.delete(key);
  const records = changes.size === 0 ? [] : await read([...changes.keys()]);
  let index = 0;
  for (const [key, by] of changes) {
    const number = parseCount(records[index++]) + by;
    written.push(number > 0 ? { type: 'put', key, value: countRecord(number) } : { type: 'del', key });
  }
  return written;
}

export function countRecord(number: number): Buffer {
  return Buffer.from(String(number));
}

/** 0 for a record that does not exist. */
export function parseCount(record: Buffer | undefined): number {
  return record === undefined ? 0 : Number(record.toString());
}
