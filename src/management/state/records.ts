/** Records in LevelDB: JSON values with an etag that changes with every write, written in durable atomic batches. */

import { randomBytes } from 'node:crypto';
import type { AbstractBatchOperation, AbstractLevel, AbstractSublevel } from 'abstract-level';
import type { PageInfo } from '../http/envelope.js';

/** A Level database, or a sublevel of one that nothing else writes to. */
export type ManagementStorage = AbstractLevel<string | Buffer | Uint8Array, string, string>;

type Sublevel<V> = AbstractSublevel<ManagementStorage, string | Buffer | Uint8Array, string, V>;

export type RecordChange = AbstractBatchOperation<ManagementStorage, string, unknown>;

export interface Stored<T> {
  /** Random, new with every write; without quotes. */
  readonly etag: string;
  readonly value: T;
}

export interface PageQuery {
  readonly page: number;
  readonly perPage: number;
}

/** Written to the disk before the promise resolves; a store in memory ignores it. */
const DURABLE = { keyEncoding: 'utf8', sync: true } as const;

export function commit(storage: ManagementStorage, operations: RecordChange[]): Promise<void> {
  return storage.batch(operations, DURABLE);
}

/** One kind of record. Keys are parts joined by `/`, which no part contains. */
export class Records<T> {
  readonly #storage: ManagementStorage;
  readonly #level: Sublevel<Stored<T>>;

  constructor(storage: ManagementStorage, name: string) {
    this.#storage = storage;
    this.#level = storage.sublevel<string, Stored<T>>(name, { valueEncoding: 'json' });
  }

  get(...key: string[]): Promise<Stored<T> | undefined> {
    return this.#level.get(recordKey(key));
  }

  async has(...key: string[]): Promise<boolean> {
    return (await this.get(...key)) !== undefined;
  }

  /** The records below a key (all of them without one), in the order of their keys, one at a time. */
  async *below(...key: string[]): AsyncGenerator<T> {
    for await (const stored of this.#level.values(range(key))) yield stored.value;
  }

  /** Every record with its key. */
  async *entries(): AsyncGenerator<readonly [string, T]> {
    for await (const [at, stored] of this.#level.iterator()) yield [at, stored.value];
  }

  /** With their keys, the last one first, from before a key on. */
  async *backwards(key: readonly string[], before?: string): AsyncGenerator<readonly [string, T]> {
    const { gte, lt } = range(key);
    const end = before !== undefined && before >= gte && before < lt ? before : lt;
    for await (const [at, stored] of this.#level.iterator({ gte, lt: end, reverse: true })) yield [at, stored.value];
  }

  /** Holds one page in memory, however many records there are. */
  async page(
    key: readonly string[],
    query: PageQuery,
    keep: (value: T) => boolean = () => true,
  ): Promise<RecordPage<T>> {
    return pageOf(this.below(...key), query, keep);
  }

  async count(...key: string[]): Promise<number> {
    let count = 0;
    for await (const _ of this.#level.keys(range(key))) count += 1;
    return count;
  }

  put(key: readonly string[], value: T): { readonly operation: RecordChange; readonly etag: string } {
    const etag = randomBytes(12).toString('base64url');
    const stored: Stored<T> = { etag, value };
    return { etag, operation: { type: 'put', key: recordKey(key), value: stored, sublevel: this.#level } };
  }

  del(...key: string[]): RecordChange {
    return { type: 'del', key: recordKey(key), sublevel: this.#level };
  }

  /** One deletion for every record below the key. */
  delBelow(...key: string[]): Promise<RecordChange[]> {
    return deletions(this.#level, key);
  }

  /** Makes the database drop overwritten values. A store in memory, or a part of another database, has no such thing. */
  async compact(): Promise<void> {
    const storage: object = this.#storage;
    if (!('compactRange' in storage) || typeof storage.compactRange !== 'function') return;
    const [from, to] = ['', '\u{10ffff}'].map(key => this.#level.prefixKey(key, 'utf8'));
    await storage.compactRange(from, to);
  }
}

/** Bytes under keys, for the modules of functions. */
export class Contents {
  readonly #level: Sublevel<Uint8Array>;

  constructor(storage: ManagementStorage, name: string) {
    this.#level = storage.sublevel<string, Uint8Array>(name, { valueEncoding: 'view' });
  }

  get(...key: string[]): Promise<Uint8Array | undefined> {
    return this.#level.get(recordKey(key));
  }

  put(key: readonly string[], value: Uint8Array): RecordChange {
    return { type: 'put', key: recordKey(key), value, sublevel: this.#level };
  }

  delBelow(...key: string[]): Promise<RecordChange[]> {
    return deletions(this.#level, key);
  }
}

export interface RecordPage<T> {
  readonly items: T[];
  readonly info: PageInfo;
}

export async function pageOf<T>(
  values: AsyncIterable<T> | Iterable<T>,
  { page, perPage }: PageQuery,
  keep: (value: T) => boolean = () => true,
): Promise<RecordPage<T>> {
  const items: T[] = [];
  const first = (page - 1) * perPage;
  let total = 0;
  for await (const value of values) {
    if (!keep(value)) continue;
    if (total >= first && items.length < perPage) items.push(value);
    total += 1;
  }
  return { items, info: pageInfo({ page, perPage }, items.length, total) };
}

export function pageInfo({ page, perPage }: PageQuery, count: number, total: number): PageInfo {
  return { page, per_page: perPage, count, total_count: total, total_pages: Math.ceil(total / perPage) };
}

export function recordKey(parts: readonly string[]): string {
  for (const part of parts) {
    // A part with a slash would reach into the records of another owner.
    if (part.includes('/'))
      throw new RangeError(`A part of a record key cannot contain a slash: ${JSON.stringify(part)}`);
  }
  return parts.join('/');
}

function range(parts: readonly string[]): { readonly gte: string; readonly lt: string } {
  if (parts.length === 0) return { gte: '', lt: '\u{10ffff}' };
  const key = recordKey(parts);
  // '0' follows '/' in ASCII.
  return { gte: `${key}/`, lt: `${key}0` };
}

/** One deletion for every record below the key. */
async function deletions<V>(level: Sublevel<V>, key: readonly string[]): Promise<RecordChange[]> {
  const operations: RecordChange[] = [];
  for await (const at of level.keys(range(key))) operations.push({ type: 'del', key: at, sublevel: level });
  return operations;
}
