/** The databases of the storage, for remote-level.ts: keys and values are bytes. */
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { HostStore, StoreDatabase } from '../../host-store.js';
import type { LevelChange, LevelPage, LevelPageQuery } from '../../wire/calls.js';

/** A page ends with the entry that passes this. */
const PAGE_BYTES = 2 ** 20;

const BYTES = { keyEncoding: 'view', valueEncoding: 'view' } as const;

export class ServedLevels {
  readonly #store: HostStore;
  readonly #onChange: (name: string, keys: readonly string[] | undefined) => void;

  /** @param onChange a batch is written: its keys, or undefined when they are too many */
  constructor(store: HostStore, onChange: (name: string, keys: readonly string[] | undefined) => void = () => {}) {
    this.#store = store;
    this.#onChange = onChange;
  }

  exists(name: string): Promise<boolean> {
    return this.#store.hasDatabase(name);
  }

  getMany(name: string, keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return this.#of(name).getMany<Uint8Array, Uint8Array>([...keys], BYTES);
  }

  async batch(name: string, changes: readonly LevelChange[], sync: boolean): Promise<undefined> {
    // The option is of LevelDB alone, and databases in memory ignore it.
    const options: typeof BYTES & { readonly sync: boolean } = { ...BYTES, sync };
    await this.#of(name).batch<Uint8Array, Uint8Array>([...changes], options);
    this.#onChange(name, namedKeys(changes));
  }

  async page(name: string, { size, keys, values, ...range }: LevelPageQuery): Promise<LevelPage> {
    const iterator = this.#of(name).iterator<Uint8Array, Uint8Array>({ ...range, ...BYTES, values, limit: size });
    const entries: (readonly [Uint8Array, Uint8Array])[] = [];
    let bytes = 0;
    let last: Uint8Array | undefined;
    let isLast = true;
    try {
      for await (const [key, value] of iterator) {
        last = key;
        entries.push([keys ? key : NO_BYTES, values ? value : NO_BYTES]);
        bytes += key.length + (values ? value.length : 0);
        if (entries.length < size && bytes < PAGE_BYTES) continue;
        isLast = false;
        break;
      }
    } finally {
      await iterator.close();
    }
    return { entries, isLast, last };
  }

  /** Databases in memory have nothing to forget. */
  async compact(name: string, from: string, to: string): Promise<undefined> {
    const database: object = this.#of(name);
    if ('compactRange' in database && typeof database.compactRange === 'function') {
      await database.compactRange(from, to);
    }
  }

  #of(name: string): StoreDatabase {
    return this.#store.database(name);
  }
}

/** Keys of a batch that are named to other applications. */
const MAX_NAMED_KEYS = 1000;

function namedKeys(changes: readonly LevelChange[]): string[] | undefined {
  if (changes.length > MAX_NAMED_KEYS) return undefined;
  return changes.map(({ key }) => Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8'));
}
