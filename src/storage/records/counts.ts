import type { LevelOperation } from './level-database.js';

/** Adds `by` to the number in a record. The record exists while the number is above 0. */
export interface CountOperation {
  readonly type: 'count';
  readonly key: string;
  readonly by: number;
}

/** Adds to both numbers of the record of a sum, which neither falls below 0. The record stays. */
export interface SumOperation {
  readonly type: 'sum';
  readonly key: string;
  readonly bytes: number;
  readonly objects: number;
}

/** The operations of a commit. A count or sum is computed when nothing else is being written, so it needs no lock. */
export type RecordOperation = LevelOperation | CountOperation | SumOperation;

/** Whether the operations can be written as they are. */
export function arePlain(operations: RecordOperation[]): operations is LevelOperation[] {
  return operations.every(({ type }) => type !== 'count' && type !== 'sum');
}

/**
 * The operations as the database takes them. Counts and sums become one operation for each record whose numbers change. Nothing else may be written
 * between the call of `read` and the write of the result.
 */
export async function withCounts(
  operations: readonly RecordOperation[],
  read: (keys: string[]) => Promise<(Buffer | undefined)[]>,
): Promise<LevelOperation[]> {
  const written: LevelOperation[] = [];
  const counts = new Map<string, number>();
  const sums = new Map<string, { bytes: number; objects: number }>();
  for (const operation of operations) {
    if (operation.type === 'count') counts.set(operation.key, (counts.get(operation.key) ?? 0) + operation.by);
    else if (operation.type === 'sum') {
      const sum = sums.get(operation.key);
      if (sum === undefined) sums.set(operation.key, { bytes: operation.bytes, objects: operation.objects });
      else {
        sum.bytes += operation.bytes;
        sum.objects += operation.objects;
      }
    } else written.push(operation);
  }
  for (const [key, by] of counts) if (by === 0) counts.delete(key);
  for (const [key, { bytes, objects }] of sums) if (bytes === 0 && objects === 0) sums.delete(key);
  const records = counts.size + sums.size === 0 ? [] : await read([...counts.keys(), ...sums.keys()]);
  let index = 0;
  for (const [key, by] of counts) {
    const number = parseCount(records[index++]) + by;
    written.push(number > 0 ? { type: 'put', key, value: countRecord(number) } : { type: 'del', key });
  }
  for (const [key, by] of sums) {
    const { bytes, objects } = parseSum(records[index++]);
    const value = sumRecord({ bytes: Math.max(0, bytes + by.bytes), objects: Math.max(0, objects + by.objects) });
    written.push({ type: 'put', key, value });
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

export function sumRecord({ bytes, objects }: Pick<SumOperation, 'bytes' | 'objects'>): Buffer {
  return Buffer.from(`${bytes} ${objects}`);
}

/** Both 0 for a record that does not exist. */
export function parseSum(record: Buffer | undefined): Pick<SumOperation, 'bytes' | 'objects'> {
  const [bytes, objects] = record === undefined ? [] : record.toString().split(' ', 2);
  return { bytes: Number(bytes ?? 0), objects: Number(objects ?? 0) };
}
