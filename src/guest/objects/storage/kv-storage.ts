/** `ctx.storage.kv`: the keys and values of `ctx.storage`, by methods whose answers are there when they return. */
import { mapSet, TypeErrorCtor } from '../../primordials.ts';
import { defineInterface } from '../../web/base/idl.ts';
import { createPairIterators } from '../../web/base/iterable.ts';
import { toKey, toListRange, toOptions } from './arguments.ts';
import type { StorageState } from './storage-state.ts';
import { decodeValue, encodeValue } from './values.ts';
import { noChanges } from './write-buffer.ts';

let construction: StorageState | undefined;

export class SyncKvStorage {
  readonly #state: StorageState;

  constructor() {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#state = construction;
    construction = undefined;
  }

  get(key: unknown): unknown {
    const value = this.#state.readNow([toKey(key)])[0];
    return value === null || value === undefined ? undefined : decodeValue(value);
  }

  put(key: unknown, value: unknown = undefined): void {
    if (value === undefined) throw new TypeErrorCtor('put() called with undefined value.');
    this.#write(toKey(key), encodeValue(value));
  }

  delete(key: unknown): boolean {
    const name = toKey(key);
    const existed = this.#state.readNow([name], true)[0] !== null;
    if (existed) this.#write(name, undefined);
    return existed;
  }

  /** Pairs of keys and values, as they are stored now. */
  list(options: unknown = undefined): IterableIterator<unknown> {
    const entries = this.#state.listNow(toListRange(options));
    return iterate(
      {
        pairAt: index => {
          const entry = entries[index];
          return entry === undefined ? undefined : [entry[0], decodeValue(entry[1])];
        },
      },
      'entries',
    );
  }

  #write(key: string, value: Uint8Array | undefined): void {
    const changes = noChanges();
    mapSet(changes.entries, key, value);
    this.#state.write(changes, toOptions(undefined));
  }
}

defineInterface(SyncKvStorage);

const iterate = createPairIterators('SyncKvStorage');

export function createKvStorage(state: StorageState): SyncKvStorage {
  construction = state;
  return new SyncKvStorage();
}
