import type { AccountSums } from './accounts/account-sums.js';
import type { BlobCollector } from './blobs/blob-collector.js';
import type { BlobStore } from './blobs/blob-store.js';
import type { ProcessWalls } from './process-walls.js';
import type { KeyedMutex } from './records/keyed-mutex.js';
import type { RecordStore } from './records/record-store.js';

/** The parts of an open storage that its owners use. */
export interface StorageContext {
  /** The real path of the directory; undefined for a storage in memory. */
  readonly directory?: string | undefined;
  readonly records: RecordStore;
  readonly blobs: BlobStore;
  readonly collector: BlobCollector;
  /** Locked by record key. One for the whole storage, so that all who write a record exclude each other. */
  readonly mutex: KeyedMutex;
  /** How much each account has stored: every write of an account is counted. */
  readonly sums: AccountSums;
  /** How processes are started that work on files of it. */
  readonly walls: ProcessWalls;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Unique, also across openings. */
  readonly newId: () => string;
}
