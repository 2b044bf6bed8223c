import { LRUCache } from 'lru-cache';
import type { LevelOperation } from './level-database.js';

/** When a read of the database began. Its result is cached only if no batch began or ended since. */
export type ReadingTicket = number;

/**
 * The small records that were read most recently, so that reading them again needs no round trip to LevelDB's thread. A record is not in the cache
 * while a batch with its key is being written: once a caller has read the new value, no caller reads the old one. This needs a database that only
 * this process writes, one batch at a time.
 */
export class RecordCache {
  /** Keys and values together, in bytes. As much as LevelDB's own block cache. */
  static readonly MAX_BYTES = 8 * 2 ** 20;
  /** Larger than most records, which hold small values and ordinary metadata. */
  static readonly MAX_RECORD_BYTES = 8 * 1024;

  readonly #records = new LRUCache<string, Buffer>({
    maxSize: RecordCache.MAX_BYTES,
    sizeCalculation: (value, key) => value.byteLength + key.length * 2 + ENTRY_BYTES,
  });
  /** The keys of the batch that is being written, and whether the cache had them. */
  readonly #changing = new Map<string, boolean>();
  /** Counts the beginnings and the ends of batches. */
  #turns = 0;

  /** The bytes must not be changed. */
  get(key: string): Buffer | undefined {
    return this.#records.get(key);
  }

  get bytes(): number {
    return this.#records.calculatedSize;
  }

  /** To be called before the database is read. */
  startReading(): ReadingTicket {
    return this.#turns;
  }

  keep(ticket: ReadingTicket, key: string, value: Buffer): void {
    if (ticket !== this.#turns || this.#changing.has(key)) return;
    if (value.byteLength <= RecordCache.MAX_RECORD_BYTES) this.#records.set(key, value);
  }

  /** To be called before each attempt to write a batch. */
  changing(operations: readonly LevelOperation[]): void {
    this.#turns++;
    for (const { key } of operations) {
      this.#changing.set(key, this.#records.delete(key) || this.#changing.get(key) === true);
    }
  }

  /** The batch is on disk. Records that were cached before are cached with their new values; others when they are read. */
  changed(operations: readonly LevelOperation[]): void {
    this.#turns++;
    for (const operation of operations) {
      const { key } = operation;
      if (this.#changing.get(key) !== true) continue;
      this.#records.delete(key);
      if (operation.type === 'del' || operation.value.byteLength > RecordCache.MAX_RECORD_BYTES) continue;
      // A copy, because the buffer is the writer's and may be a small view of a large one.
      const copy = Buffer.allocUnsafeSlow(operation.value.byteLength);
      copy.set(operation.value);
      this.#records.set(key, copy);
    }
    this.#changing.clear();
  }

  /** The database was opened again, and may have found a failed batch in its log. */
  clear(): void {
    this.#turns++;
    this.#changing.clear();
    this.#records.clear();
  }
}

/** About what an entry costs beside its key and value. */
const ENTRY_BYTES = 200;
