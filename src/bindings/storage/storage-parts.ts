import type { Bodies } from './bodies.js';
import type { KeyValueStore } from './key-value-store.js';
import type { KeyedMutex } from './keyed-mutex.js';
import type { Reclaimer } from './reclaimer.js';

/** What the buckets of a storage are made of. */
export interface StorageParts {
  readonly records: KeyValueStore;
  readonly bodies: Bodies;
  readonly reclaimer: Reclaimer;
  /** One for the whole storage, so that every door to a key meets the others. Locked by record key. */
  readonly mutex: KeyedMutex;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Never the same twice, also across openings: for bodies kept in records, and for buckets. */
  readonly newId: () => string;
}
