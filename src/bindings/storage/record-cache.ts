import { LRUCache } from 'lru-cache';
import type { LevelOperation } from './level-database.js';

/** When a read of the database began: what it brings is kept only if no batch began or ended since. */
export type ReadingTicket = number;

/**
 * The small records that were read last, so that reading them again takes no trip to LevelDB's thread. A record is out of
 * the cache from before a batch that holds its key is begun until after it is written: once somebody has read what a batch
 * wrote, nobody reads what was there before. It stands for the database alone, one batch being written at a time.
 */
export class RecordCache {
  /** Keys and values together, in bytes: as much as LevelDB keeps of its own blocks. */
  static readonly MAX_BYTES = 8 * 2 ** 20;
  /** A value embedded in its record and ordinary metadata are less. */
  static readonly MAX_RECORD_BYTES = 8 * 1024;

  readonly #records = new LRUCache<string, Buffer>({
    maxSize: RecordCache.MAX_BYTES,
    sizeCalculation: (value, key) => value.byteLength + key.length * 2 + ENTRY_BYTES,
  });
  /** The keys of the batch that is being written, and whether the cache had them. */
  readonly #changing = new Map<string, boolean>();
  /** Begun and ended, together. */
  #turns = 0;

  /** The caller may not change the bytes. */
  get(key: string): Buffer | undefined {
    return this.#records.get(key);
  }

  get bytes(): number {
    return this.#records.calculatedSize;
  }

  /** Before the database is asked. */
  startReading(): ReadingTicket {
    return this.#turns;
  }

  keep(ticket: ReadingTicket, key: string, value: Buffer): void {
    if (ticket !== this.#turns || this.#changing.has(key)) return;
    if (value.byteLength <= RecordCache.MAX_RECORD_BYTES) this.#records.set(key, value);
  }

  /** Before a batch is begun, also before it is tried again. */
  changing(operations: readonly LevelOperation[]): void {
    this.#turns++;
    for (const { key } of operations) {
      this.#changing.set(key, this.#records.delete(key) || this.#changing.get(key) === true);
    }
  }

  /** The batch is on disk. Records that were kept are kept as they are now; others wait until somebody reads them. */
  changed(operations: readonly LevelOperation[]): void {
    this.#turns++;
    for (const operation of operations) {
      const { key } = operation;
      if (this.#changing.get(key) !== true) continue;
      this.#records.delete(key);
      if (operation.type === 'del' || operation.value.byteLength > RecordCache.MAX_RECORD_BYTES) continue;
      // A copy: the buffer is the writer's, and may be a small part of a large one.
      const copy = Buffer.allocUnsafeSlow(operation.value.byteLength);
      copy.set(operation.value);
      this.#records.set(key, copy);
    }
    this.#changing.clear();
  }

  /** The database was opened again, and what a batch that failed left in its log may be there. */
  clear(): void {
    this.#turns++;
    this.#changing.clear();
    this.#records.clear();
  }
}

/** What an entry costs beside its key and value, about. */
const ENTRY_BYTES = 200;
