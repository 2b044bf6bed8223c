/**
 * A database of the backend process, as an abstract-level database: its sublevels, encodings and iterators work as on one that is here. (The library many-level
 * serves databases too; it is made for abstract-level 1, and we have 3.) An iterator reads page by page: meanwhile written records may be in later pages.
 */
import { AbstractIterator, AbstractLevel } from 'abstract-level';
import type { StoreDatabase } from '../host-store.js';
import type { LevelChange, LevelPage, LevelPageQuery } from '../wire/calls.js';
import type { RemoteLink } from './remote-link.js';

type Format = string | Buffer | Uint8Array;

/** The range that abstract-level gives to `_iterator`, in the format of this database. */
interface RangeOptions extends Omit<LevelPageQuery, 'size'> {
  /** -1: none */
  readonly limit: number;
}

interface WriteOptions {
  readonly sync?: boolean;
}

/** The methods with an underscore are called by abstract-level. */
export class RemoteLevel extends AbstractLevel<Format, string, string> {
  readonly #link: RemoteLink;
  readonly #name: string;

  constructor(link: RemoteLink, name: string) {
    super({ encodings: { view: true }, seek: false, permanence: true, createIfMissing: false, errorIfExists: false });
    this.#link = link;
    this.#name = name;
  }

  /** Makes the database drop overwritten values, where it can. */
  async compactRange(from: string, to: string): Promise<void> {
    await this.#link.call('level.compact', this.#name, from, to);
  }

  page(query: LevelPageQuery): Promise<LevelPage> {
    return this.#link.call('level.page', this.#name, query);
  }

  protected async _get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const [value] = await this._getMany([key]);
    return value;
  }

  protected _getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#link.call('level.getMany', this.#name, keys);
  }

  protected _put(key: Uint8Array, value: Uint8Array, options: WriteOptions): Promise<void> {
    return this._batch([{ type: 'put', key, value }], options);
  }

  protected _del(key: Uint8Array, options: WriteOptions): Promise<void> {
    return this._batch([{ type: 'del', key }], options);
  }

  protected async _batch(operations: readonly LevelChange[], { sync = false }: WriteOptions): Promise<void> {
    const changes = operations.map(
      (operation): LevelChange =>
        operation.type === 'put'
          ? { type: 'put', key: operation.key, value: operation.value }
          : { type: 'del', key: operation.key },
    );
    await this.#link.call('level.batch', this.#name, changes, sync);
  }

  protected async _clear(options: Omit<RangeOptions, 'keys' | 'values'>): Promise<void> {
    const pages = new Pages(this, { ...options, keys: true, values: false });
    for (;;) {
      const entries = await pages.next(PAGE_ENTRIES);
      if (entries.length === 0) return;
      await this._batch(
        entries.map(([key]) => ({ type: 'del', key })),
        {},
      );
    }
  }

  protected _iterator(options: RangeOptions): AbstractIterator<RemoteLevel, Uint8Array, Uint8Array> {
    return new RemoteIterator(this, options);
  }
}

export function remoteDatabase(link: RemoteLink, name: string): StoreDatabase {
  const level: object = new RemoteLevel(link, name);
  // It is such a database. Only the types of hooks, which are not used here, name the class itself.
  return level as StoreDatabase; // see above
}

const FIRST_PAGE_ENTRIES = 100;
const PAGE_ENTRIES = 1000;

class RemoteIterator extends AbstractIterator<RemoteLevel, Uint8Array, Uint8Array> {
  readonly #pages: Pages;
  #entries: LevelPage['entries'] = [];
  #at = 0;
  #size = FIRST_PAGE_ENTRIES;

  constructor(level: RemoteLevel, options: RangeOptions) {
    super(level, options);
    this.#pages = new Pages(level, options);
  }

  protected async _next(): Promise<readonly [Uint8Array, Uint8Array] | undefined> {
    if (this.#at >= this.#entries.length) {
      this.#entries = await this.#pages.next(this.#size);
      this.#size = PAGE_ENTRIES;
      this.#at = 0;
    }
    return this.#entries[this.#at++];
  }

  protected async _nextv(size: number): Promise<LevelPage['entries']> {
    if (this.#at >= this.#entries.length) return this.#pages.next(size);
    const entries = this.#entries.slice(this.#at, this.#at + size);
    this.#at += entries.length;
    return entries;
  }
}

/** The entries of a range, each page from the last key of the one before on. */
class Pages {
  readonly #level: RemoteLevel;
  readonly #options: Omit<LevelPageQuery, 'size'>;
  #range: Pick<LevelPageQuery, 'gt' | 'gte' | 'lt' | 'lte'>;
  #left: number;

  constructor(level: RemoteLevel, { gt, gte, lt, lte, reverse, keys, values, limit }: RangeOptions) {
    this.#level = level;
    this.#options = { reverse, keys, values };
    this.#range = {
      ...(gt !== undefined && { gt }),
      ...(gte !== undefined && { gte }),
      ...(lt !== undefined && { lt }),
      ...(lte !== undefined && { lte }),
    };
    this.#left = limit < 0 ? Number.POSITIVE_INFINITY : limit;
  }

  /** None at the end. */
  async next(size: number): Promise<LevelPage['entries']> {
    const most = Math.min(size, this.#left, PAGE_ENTRIES);
    if (most <= 0) return [];
    const { entries, last, isLast } = await this.#level.page({ ...this.#options, ...this.#range, size: most });
    this.#left = isLast ? 0 : this.#left - entries.length;
    if (last !== undefined) this.#continueAfter(last);
    return entries;
  }

  #continueAfter(last: Uint8Array): void {
    const { gte, gt, lt, lte } = this.#range;
    this.#range = this.#options.reverse
      ? { lt: last, ...(gte !== undefined && { gte }), ...(gt !== undefined && { gt }) }
      : { gt: last, ...(lte !== undefined && { lte }), ...(lt !== undefined && { lt }) };
  }
}
