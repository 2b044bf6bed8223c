/** A database whose records carry checksums: writes add them, and reads compare and remove them. */
import type { LevelDatabase, LevelIterator } from './level-database.js';
import { damagedBlock, damagedRecord, sealed, unsealed } from './sealed-record.js';

/** @param name the folder of the database, for messages */
export function sealedDatabase(database: LevelDatabase, name: string): LevelDatabase {
  const open = (key: string, record: Buffer): Buffer => {
    const value = unsealed(key, record);
    if (value === undefined) throw damagedRecord(key, name);
    return value;
  };
  return {
    open: () => database.open(),
    close: () => database.close(),
    async get(key) {
      const record = await database.get(key).catch((error: unknown) => {
        throw damagedBlock(error, key, name);
      });
      return record === undefined ? undefined : open(key, record);
    },
    async getMany(keys, options = {}) {
      const { onDamaged, ...view } = options;
      const records = await database.getMany(keys, view);
      return records.map((record, index) => {
        if (record === undefined) return undefined;
        try {
          return open(keys[index] ?? '', record);
        } catch (error) {
          if (onDamaged === undefined) throw error;
          onDamaged(error);
          return undefined;
        }
      });
    },
    batch: (operations, options) =>
      database.batch(
        operations.map(operation =>
          operation.type === 'put'
            ? { type: 'put', key: operation.key, value: sealed(operation.key, operation.value) }
            : operation,
        ),
        options,
      ),
    iterator: ({ onDamaged, ...options }) => new SealedIterator(database.iterator(options), open, onDamaged),
    keys: options => database.keys(options),
    snapshot: () => database.snapshot(),
  };
}

class SealedIterator implements LevelIterator<[string, Buffer]> {
  readonly #iterator: LevelIterator<[string, Buffer]>;
  readonly #open: (key: string, record: Buffer) => Buffer;
  readonly #onDamaged: ((error: unknown) => void) | undefined;

  constructor(
    iterator: LevelIterator<[string, Buffer]>,
    open: (key: string, record: Buffer) => Buffer,
    onDamaged: ((error: unknown) => void) | undefined,
  ) {
    this.#iterator = iterator;
    this.#open = open;
    this.#onDamaged = onDamaged;
  }

  async nextv(size: number): Promise<[string, Buffer][]> {
    for (;;) {
      const entries = await this.#iterator.nextv(size);
      const opened: [string, Buffer][] = [];
      for (const [key, record] of entries) {
        try {
          opened.push([key, this.#open(key, record)]);
        } catch (error) {
          if (this.#onDamaged === undefined) throw error;
          this.#onDamaged(error);
        }
      }
      // An empty page would be the end.
      if (opened.length > 0 || entries.length === 0) return opened;
    }
  }

  seek(target: string): void {
    this.#iterator.seek(target);
  }

  close(): Promise<void> {
    return this.#iterator.close();
  }
}
