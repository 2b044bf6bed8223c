/** The records of a storage, as usage reads and writes them. */
import type { CallWork } from '../quotas/host/call-work.js';
import type { LevelIterator, LevelOperation } from '../storage/records/level-database.js';

/** Keys from `gte` to before `lt`, in the order of their UTF-8 bytes. */
export interface KeyRange {
  readonly gte: string;
  readonly lt: string;
}

/** Errors are EdgeErrors of the storage. */
export interface UsageRecords {
  /** `undefined`: there is no such record. */
  getMany(keys: string[]): Promise<(Buffer | undefined)[]>;
  /** All or none; on disk when it resolves. */
  commit(operations: readonly LevelOperation[]): Promise<void>;
  /** The records of the range, in pages of at most `size`. @default 1000 */
  pages(range: KeyRange, size?: number, view?: undefined, work?: CallWork): AsyncIterable<[string, Buffer][]>;
  keys(range: KeyRange): Promise<Pick<LevelIterator<string>, 'nextv' | 'close'>>;
}
