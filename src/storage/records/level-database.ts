import type { AbstractLevel, AbstractSnapshot } from 'abstract-level';

/**
 * The part of a `level` database that the storage uses, implemented by LevelDB and by memory-level. Keys are strings, ordered by their UTF-8 bytes;
 * values are bytes.
 */
export interface LevelDatabase {
  open(): Promise<void>;
  close(): Promise<void>;
  get(key: string): Promise<Buffer | undefined>;
  getMany(keys: string[], options?: LevelView): Promise<(Buffer | undefined)[]>;
  batch(operations: LevelOperation[], options: { sync: boolean }): Promise<void>;
  iterator(options: LevelRange & LevelView & { highWaterMarkBytes: number }): LevelIterator<[string, Buffer]>;
  keys(options: LevelRange & LevelView & { highWaterMarkBytes: number }): LevelIterator<string>;
  snapshot(): LevelSnapshot;
}

export type LevelSnapshot = AbstractSnapshot;

export interface LevelView {
  /** @default the current state */
  readonly snapshot?: LevelSnapshot | undefined;
  /** Gets the error of a damaged record, which is then as one that is missing. @default reading it rejects */
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

export type LevelOperation =
  | { readonly type: 'put'; readonly key: string; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: string };

export interface LevelRange {
  /** Inclusive. */
  readonly gte: string;
  /** Exclusive. */
  readonly lt: string;
  readonly reverse?: boolean;
}

/** Reads the state of the time at which it was made. */
export interface LevelIterator<Entry> {
  /** Up to `size` entries, fewer when they are large; none at the end. */
  nextv(size: number): Promise<Entry[]>;
  /** Continues at the first key that is not before `target`. */
  seek(target: string): void;
  close(): Promise<void>;
}

/** Wraps an open database. `batch` differs, because LevelDB and memory-level write batches best in different ways. */
export function levelDatabase(
  database: AbstractLevel<string | Buffer | Uint8Array, string, Buffer>,
  batch: LevelDatabase['batch'],
): LevelDatabase {
  return {
    open: () => database.open(),
    close: () => database.close(),
    get: key => database.get(key),
    getMany: (keys, options = {}) => database.getMany(keys, options),
    batch,
    iterator: options => database.iterator(options),
    keys: options => database.keys(options),
    snapshot: () => database.snapshot(),
  };
}

/**
 * The exclusive upper bound of all strings that start with `prefix`. The order of UTF-8 bytes is the order of code points, so the last code point
 * is raised by one.
 */
export function afterPrefix(prefix: string): string {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point < 0x10ffff) {
      // U+D800 to U+DFFF are surrogates, which have no UTF-8.
      return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
    }
  }
  throw new RangeError('No string is after every string that starts with U+10FFFF');
}

/** The order of LevelDB: by UTF-8 bytes, which differs from `<` for characters outside the basic plane. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
