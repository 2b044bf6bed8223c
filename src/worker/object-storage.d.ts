/** The storage of stateful objects: `ctx.storage`. */

interface StatefulObjectState {
  readonly storage: StatefulObjectStorage;
}

interface StatefulReadOptions {
  /** Other events of the object may begin while it waits. @default false */
  allowConcurrency?: boolean;
  /** What is read is not kept in the memory of the isolate. @default false */
  noCache?: boolean;
}

interface StatefulWriteOptions extends StatefulReadOptions {
  /** What leaves the object does not wait until this is on disk. @default false */
  allowUnconfirmed?: boolean;
}

interface StatefulListOptions extends StatefulReadOptions {
  /** The first key. */
  start?: string;
  /** The key before the first; not together with `start`. */
  startAfter?: string;
  /** The key behind the last. */
  end?: string;
  prefix?: string;
  reverse?: boolean;
  /** The most entries: at least 1. */
  limit?: number;
}

/** What the storage and its transactions have. Keys are texts of at most 2,048 bytes, values structured clones of at most 128 KiB. */
interface StatefulStorageOperations {
  get<T = unknown>(key: string, options?: StatefulReadOptions): Promise<T | undefined>;
  /** The keys that are there, at most 128, in their order. */
  get<T = unknown>(keys: string[], options?: StatefulReadOptions): Promise<Map<string, T>>;
  /** Entries in the order of their keys' UTF-8 bytes. */
  list<T = unknown>(options?: StatefulListOptions): Promise<Map<string, T>>;
  /** Resolves at once: what leaves the object waits for the disk. */
  put<T>(key: string, value: T, options?: StatefulWriteOptions): Promise<void>;
  /** At most 128 entries. */
  put<T>(entries: Record<string, T>, options?: StatefulWriteOptions): Promise<void>;
  /** Whether it was there. */
  delete(key: string, options?: StatefulWriteOptions): Promise<boolean>;
  /** How many of them were there. */
  delete(keys: string[], options?: StatefulWriteOptions): Promise<number>;
  /** Milliseconds since the epoch; null while there is none, and while its handler runs. */
  getAlarm(options?: StatefulReadOptions): Promise<number | null>;
  /** Replaces the alarm. The class must have a method `alarm`. */
  setAlarm(scheduledTime: number | Date, options?: StatefulWriteOptions): Promise<void>;
  deleteAlarm(options?: StatefulWriteOptions): Promise<void>;
}

interface StatefulTransaction extends StatefulStorageOperations {
  /** Undoes what the transaction has written. Nothing more can be done with it. */
  rollback(): void;
}

interface StatefulObjectStorage extends StatefulStorageOperations {
  /** Deletes all entries. Not within a transaction. */
  deleteAll(options?: StatefulWriteOptions): Promise<void>;
  /** All that the closure writes is stored, or nothing when it throws. No other event of the object begins meanwhile. */
  transaction<T>(closure: (txn: StatefulTransaction) => T | Promise<T>): Promise<T>;
  /** The same for a function that does not wait. */
  transactionSync<T>(closure: () => T): T;
  /** Resolves when all that was written is on disk. */
  sync(): Promise<void>;
}

/** The names on the hosted platform. */
type DurableObjectStorage = StatefulObjectStorage;
type DurableObjectTransaction = StatefulTransaction;
