/**
 * A database of a part of the host, as an abstract-level database whose records carry checksums. It is opened by its first use; what cannot be opened
 * is an error of each call, by name, and the next call tries again.
 */
import { AbstractIterator, AbstractLevel } from 'abstract-level';
import type { Level } from 'level';
import { errorCode } from '../../quotas/errors.js';
import { storageError } from '../files/storage-error.js';
import { damagedBlock, damagedRecord, sealed, unsealed } from './sealed-record.js';

type Bytes = Level<Buffer, Buffer>;
type BytesIterator = AbstractIterator<Bytes, Buffer, Buffer>;

/** The options that abstract-level gives to `_iterator`. */
interface RangeOptions {
  readonly gt?: Buffer;
  readonly gte?: Buffer;
  readonly lt?: Buffer;
  readonly lte?: Buffer;
  readonly limit: number;
  readonly reverse: boolean;
  readonly keys: boolean;
  readonly values: boolean;
}

interface WriteOptions {
  readonly sync?: boolean;
}

type Change =
  | { readonly type: 'put'; readonly key: Buffer; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: Buffer };

/** The methods with an underscore are called by abstract-level. */
export class SealedLevel extends AbstractLevel<string | Buffer | Uint8Array, string, string> {
  readonly #openBytes: () => Promise<Bytes>;
  readonly #name: string;
  readonly #onDamaged: (error: unknown) => void;
  #opening: Promise<Bytes> | undefined;

  /**
   * @param name the folder of the database, for messages
   * @param onDamaged called each time that a damaged record is found
   */
  constructor(openBytes: () => Promise<Bytes>, name: string, onDamaged: (error: unknown) => void = () => {}) {
    super({ encodings: { buffer: true }, seek: false, permanence: true, createIfMissing: true, errorIfExists: false });
    this.#openBytes = openBytes;
    this.#name = name;
    this.#onDamaged = onDamaged;
  }

  /** Makes the database drop overwritten values. */
  async compactRange(from: string, to: string): Promise<void> {
    const database: object = await this.bytes();
    // Only the types of classic-level have it; in Node, Level is that class.
    if ('compactRange' in database && typeof database.compactRange === 'function') {
      await database.compactRange(Buffer.from(from), Buffer.from(to));
    }
  }

  /** The database itself, open. */
  bytes(): Promise<Bytes> {
    this.#opening ??= this.#openBytes().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** @throws EdgeError EDGE_STORAGE_CORRUPT */
  unsealed(key: Buffer, record: Buffer): Buffer {
    const value = unsealed(key, record);
    if (value === undefined) throw this.damage(damagedRecord(key.toString(), this.#name));
    return value;
  }

  /** Returns the error, and reports it when something that is stored is damaged. */
  damage(error: unknown): unknown {
    if (errorCode(error) === 'EDGE_STORAGE_CORRUPT') this.#onDamaged(error);
    return error;
  }

  /** Never fails: a database that cannot be opened has an error of its own for each call. */
  protected async _open(): Promise<void> {
    await this.bytes().catch(() => {});
  }

  protected async _close(): Promise<void> {
    const database = await this.#opening?.catch(() => undefined);
    await database?.close();
  }

  protected async _get(key: Buffer): Promise<Buffer | undefined> {
    const database = await this.bytes();
    const record = await database.get(key).catch((error: unknown) => {
      throw this.damage(damagedBlock(error, key.toString(), this.#name));
    });
    return record === undefined ? undefined : this.unsealed(key, record);
  }

  protected async _getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
    return Promise.all(keys.map(key => this._get(key)));
  }

  protected _put(key: Buffer, value: Buffer, options: WriteOptions): Promise<void> {
    return this._batch([{ type: 'put', key, value }], options);
  }

  protected _del(key: Buffer, options: WriteOptions): Promise<void> {
    return this._batch([{ type: 'del', key }], options);
  }

  protected async _batch(changes: readonly Change[], { sync = false }: WriteOptions): Promise<void> {
    const database = await this.bytes();
    const batch = database.batch();
    for (const change of changes) {
      if (change.type === 'del') batch.del(change.key);
      else batch.put(change.key, sealed(change.key, change.value));
    }
    const options: { readonly sync: boolean } = { sync };
    await batch.write(options);
  }

  protected async _clear({ gt, gte, lt, lte, limit, reverse }: RangeOptions): Promise<void> {
    const database = await this.bytes();
    await database.clear({ ...bounds({ gt, gte, lt, lte }), limit, reverse });
  }

  protected _iterator(options: RangeOptions): AbstractIterator<SealedLevel, Buffer, Buffer> {
    return new SealedLevelIterator(this, options);
  }
}

/** Reads the state of the time of its first page. */
class SealedLevelIterator extends AbstractIterator<SealedLevel, Buffer, Buffer> {
  readonly #level: SealedLevel;
  readonly #options: RangeOptions;
  #iterator: BytesIterator | undefined;
  #entries: [Buffer, Buffer][] = [];
  #at = 0;

  constructor(level: SealedLevel, options: RangeOptions) {
    super(level, options);
    this.#level = level;
    this.#options = options;
  }

  protected async _next(): Promise<[Buffer, Buffer] | undefined> {
    if (this.#at >= this.#entries.length) {
      this.#entries = await this._nextv(PAGE_ENTRIES);
      this.#at = 0;
    }
    return this.#entries[this.#at++];
  }

  protected async _nextv(size: number): Promise<[Buffer, Buffer][]> {
    const left = this.#entries.slice(this.#at, this.#at + size);
    if (left.length > 0) {
      this.#at += left.length;
      return left;
    }
    const { gt, gte, lt, lte, limit, reverse, values } = this.#options;
    this.#iterator ??= (await this.#level.bytes()).iterator({
      ...bounds({ gt, gte, lt, lte }),
      limit,
      reverse,
      values,
    });
    const entries = await this.#iterator.nextv(size).catch((error: unknown) => {
      // Whether the database is open is for abstract-level to say.
      throw errorCode(error) === 'LEVEL_CORRUPTION'
        ? this.#level.damage(storageError('read from the storage', error))
        : error;
    });
    return values ? entries.map(([key, record]) => [key, this.#level.unsealed(key, record)]) : entries;
  }

  protected async _close(): Promise<void> {
    await this.#iterator?.close();
  }
}

const PAGE_ENTRIES = 100;

type Bounds = Partial<Record<'gt' | 'gte' | 'lt' | 'lte', Buffer | undefined>>;

/** Without those that are undefined, which would be keys. */
function bounds(range: Bounds): Partial<Record<keyof Bounds, Buffer>> {
  const given: Partial<Record<keyof Bounds, Buffer>> = {};
  for (const name of ['gt', 'gte', 'lt', 'lte'] as const) {
    const bound = range[name];
    if (bound !== undefined) given[name] = bound;
  }
  return given;
}
