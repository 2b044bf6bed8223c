/** Reads the messages of a queue from disk, in the order of their places. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { RecordStore } from '../../../storage/records/record-store.js';

/** The end of all places. */
export const LAST = '';

export interface PageRange {
  /** The first place. */
  readonly from: string;
  /** The place that it ends before, or LAST. */
  readonly end: string;
  readonly size: number;
}

/** `prefix`: of the keys of the queue's messages. */
export async function readPage(
  records: RecordStore,
  prefix: string,
  { from, end, size }: PageRange,
  work: CallWork,
): Promise<[string, Buffer][]> {
  const lt = end === LAST ? afterPrefix(prefix) : `${prefix}${end}`;
  const iterator = await records.iterator({ gte: `${prefix}${from}`, lt }, undefined, work);
  try {
    return await iterator.nextv(size);
  } finally {
    await iterator.close();
  }
}
