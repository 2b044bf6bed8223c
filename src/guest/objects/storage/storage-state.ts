/** The state of an object's storage: its calls, the writes on their way, recently read values, and the open transactions. */
import { SQL_ROLLBACK } from '../../../bindings/objects/storage-wire.ts';
import {
  arrayPush,
  arraySplice,
  ErrorCtor,
  mapForEach,
  mapGet,
  mapHas,
  mapSet,
  promiseResolve,
  stringStartsWith as startsWith,
} from '../../primordials.ts';
import type { ObjectGates } from '../gates.ts';
import type { ListRange, StorageCallOptions } from './arguments.ts';
import { compareKeys, sortedUnique } from './arguments.ts';
import type { Entries, Entry } from './packing.ts';
import { ReadCache } from './read-cache.ts';
import { StorageCalls } from './storage-calls.ts';
import { addChanges, type BufferedChanges, noChanges, WriteBuffer } from './write-buffer.ts';

/** A transaction that is open. All reads see its writes, and no other event of the object does. */
export interface Layer extends BufferedChanges {
  isConfirmed: boolean;
  /** It was rolled back or is over. */
  state: 'open' | 'rolled back' | 'committed';
  readonly number: number;
}

/** The value of a key; null: it has none. undefined: the host is to be asked. */
type Known = Uint8Array | null | undefined;

/** Microtasks after a read in which the function continues with it, before another event may. */
const RESUMING_TURNS = 12;

export class StorageState implements StorageParts {
  readonly gates: ObjectGates;
  readonly calls: StorageCalls;
  readonly buffer: WriteBuffer;
  cache = new ReadCache();
  readonly layers: Layer[] = [];
  #numbers = 0;

  constructor(className: string, id: string, name: string | undefined, gates: ObjectGates) {
    this.gates = gates;
    this.calls = new StorageCalls(className, id, name);
    this.buffer = new WriteBuffer(this);
  }

  /** The transaction that is open, the innermost. */
  get layer(): Layer | undefined {
    return this.layers[this.layers.length - 1];
  }

  write(changes: BufferedChanges, { allowUnconfirmed }: StorageCallOptions): void {
    this.buffer.check();
    const { layer } = this;
    if (layer === undefined) {
      this.buffer.add(changes, allowUnconfirmed);
      return;
    }
    addChanges(layer, changes);
    if (!allowUnconfirmed) layer.isConfirmed = true;
  }

  /** Writes what a transaction has, into that around it or to the disk. */
  commit(layer: Layer): void {
    this.#remove(layer);
    layer.state = 'committed';
    const around = this.layer;
    if (around !== undefined) {
      addChanges(around, layer);
      if (layer.isConfirmed) around.isConfirmed = true;
    } else if (layer.isConfirmed || hasChanges(layer)) this.#add(layer);
  }

  #add(layer: Layer): void {
    try {
      this.buffer.add(layer, !layer.isConfirmed);
    } catch (error) {
      // It was too much: what SQL has written in it must not become a part of the next write.
      if (layer.hasSql) this.#undoSql(layer);
      throw error;
    }
  }

  /** Forgets what it has, and what those within it have. */
  rollBack(layer: Layer): void {
    const at = this.#indexOf(layer);
    if (at < 0) return;
    const hadSql = this.#layersHaveSql(at);
    const gone = arraySplice(this.layers, at, this.layers.length - at);
    for (let i = 0; i < gone.length; i++) {
      const one = gone[i];
      if (one !== undefined) one.state = 'rolled back';
    }
    if (hadSql) this.#undoSql(layer);
  }

  /** Something was written by SQL that is in no write yet. */
  get hasSql(): boolean {
    return this.buffer.hasSql || this.#layersHaveSql(0);
  }

  /** Something was written that is not on its way yet, by whatever method. */
  get hasUnsent(): boolean {
    if (this.buffer.isOpen) return true;
    for (let i = 0; i < this.layers.length; i++) {
      const layer = this.layers[i];
      if (layer !== undefined && hasChanges(layer)) return true;
    }
    return false;
  }

  #layersHaveSql(from: number): boolean {
    for (let i = from; i < this.layers.length; i++) if (this.layers[i]?.hasSql === true) return true;
    return false;
  }

  /** Writes before the transaction remain; without any the host forgets all of it. */
  #undoSql({ number }: Layer): void {
    try {
      this.calls.callNow(SQL_ROLLBACK, `,"y":${this.hasSql ? number : 0}`, null);
    } catch (error) {
      // Otherwise it would become a part of the next write.
      this.buffer.end(error);
    }
  }

  open(): Layer {
    const layer: Layer = { ...noChanges(), isConfirmed: false, state: 'open', number: ++this.#numbers };
    arrayPush(this.layers, layer);
    return layer;
  }

  /** The value of the key as it is known here. */
  find(key: string): Known {
    for (let i = this.layers.length - 1; i >= 0; i--) {
      const layer = this.layers[i];
      if (layer === undefined) continue;
      if (mapHas(layer.entries, key)) return mapGet(layer.entries, key) ?? null;
      if (layer.isClearing) return null;
    }
    const { buffer } = this;
    const unwritten = buffer.find(key);
    if (unwritten !== undefined) return unwritten.value ?? null;
    if (buffer.isCleared) return null;
    const cached = this.cache.get(key);
    if (cached !== undefined) return cached;
    return this.calls.wasEmpty && !buffer.hasStored ? null : undefined;
  }

  /** The values of the keys, null for those that are not there. Values that it has itself are answered at once, and close no gate. */
  read(keys: readonly string[], options: StorageCallOptions, isExistence = false): Promise<(Uint8Array | null)[]> {
    this.buffer.check();
    const { values, missing } = this.#known(keys);
    if (missing.length === 0) return promiseResolve(values as (Uint8Array | null)[]); // no key was missing
    return this.#ask(options, async () => {
      const { written } = this.buffer;
      const found = await this.calls.get(missing, isExistence);
      this.buffer.check();
      return this.#completed(values, missing, found, (key, value) => {
        if (!options.noCache && (!isExistence || value === null)) this.#keep(key, value, written);
      });
    });
  }

  /** The same as {@link read}, but the thread stands still while the host is asked. */
  readNow(keys: readonly string[], isExistence = false): (Uint8Array | null)[] {
    this.buffer.check();
    const { values, missing } = this.#known(keys);
    const found = missing.length === 0 ? [] : this.calls.getNow(missing, isExistence);
    return this.#completed(values, missing, found, (key, value) => {
      if (!isExistence || value === null) this.#keep(key, value, this.buffer.written);
    });
  }

  /** As {@link list}; the thread stands still meanwhile. */
  listNow(range: ListRange): Entry[] {
    this.buffer.check();
    const own = this.#ownIn(range);
    const stored: Entry[] = [];
    if (!own.isCleared && !(this.calls.wasEmpty && !this.buffer.hasStored)) {
      let wanted = range.limit + own.count;
      let rest: ListRange = range;
      for (let isDone = false; !isDone && wanted > 0; ) {
        const page = this.calls.listNow(rest, wanted > MAX_LIMIT ? MAX_LIMIT : wanted);
        for (let i = 0; i < page.entries.length; i++) {
          const entry = page.entries[i];
          if (entry !== undefined) arrayPush(stored, entry);
        }
        wanted -= page.entries.length;
        const last = page.entries[page.entries.length - 1];
        isDone = page.isDone || last === undefined;
        if (last !== undefined) rest = afterEntry(rest, last);
      }
    }
    return merged(stored, own.entries, range);
  }

  #known(keys: readonly string[]): { readonly values: Known[]; readonly missing: string[] } {
    const values: Known[] = [];
    const missing: string[] = [];
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] ?? '';
      const value = this.find(key);
      arrayPush(values, value);
      if (value === undefined) arrayPush(missing, key);
    }
    return { values, missing };
  }

  /** Puts found values into the places of unknown ones. */
  #completed(
    values: Known[],
    missing: readonly string[],
    found: readonly (Uint8Array | null)[],
    each: (key: string, value: Uint8Array | null) => void,
  ): (Uint8Array | null)[] {
    let at = 0;
    for (let i = 0; i < values.length; i++) {
      if (values[i] !== undefined) continue;
      const key = missing[at] ?? '';
      const value = found[at++] ?? null;
      values[i] = value;
      each(key, value);
    }
    return values as (Uint8Array | null)[]; // every key has a value or null by now
  }

  /** Entries of the range, in the order of their keys or the reverse. */
  list(range: ListRange, options: StorageCallOptions): Promise<Entry[]> {
    this.buffer.check();
    const own = this.#ownIn(range);
    const isAll = own.isCleared || (this.calls.wasEmpty && !this.buffer.hasStored);
    if (isAll) return promiseResolve(merged([], own.entries, range));
    return this.#ask(options, async () => {
      const { written } = this.buffer;
      const stored: Entry[] = [];
      // The buffer deletes or replaces at most as many of the host's entries as it has itself.
      let wanted = range.limit + own.count;
      let rest: ListRange = range;
      for (let isDone = false; !isDone && wanted > 0; ) {
        const page = await this.calls.list(rest, wanted > MAX_LIMIT ? MAX_LIMIT : wanted);
        this.buffer.check();
        for (let i = 0; i < page.entries.length; i++) {
          const entry = page.entries[i];
          if (entry === undefined) continue;
          arrayPush(stored, entry);
          if (!options.noCache) this.#keep(entry[0], entry[1], written);
        }
        wanted -= page.entries.length;
        const last = page.entries[page.entries.length - 1];
        isDone = page.isDone || last === undefined;
        if (last !== undefined) rest = afterEntry(range, last);
      }
      return merged(stored, own.entries, range);
    });
  }

  async getAlarm(options: StorageCallOptions): Promise<number | null> {
    this.buffer.check();
    for (let i = this.layers.length - 1; i >= 0; i--) {
      const alarm = this.layers[i]?.alarm;
      if (alarm !== undefined) return alarm;
    }
    const { alarm } = this.buffer;
    if (alarm !== undefined) return alarm;
    return this.#ask(options, () => this.calls.getAlarm());
  }

  /** The instance of the object is given up: nothing of it is stored from here on. */
  end(error: unknown = new ErrorCtor('The object was reset')): void {
    this.layers.length = 0;
    this.buffer.end(error);
  }

  /** No other event of the object begins until the function has gone on with the answer. */
  async #ask<T>(options: StorageCallOptions, task: () => Promise<T>): Promise<T> {
    const openInput = options.allowConcurrency ? undefined : this.gates.closeInput();
    try {
      return await task();
    } finally {
      if (openInput !== undefined) void afterTurns(openInput);
    }
  }

  /** @param written how much had been written when it was read */
  #keep(key: string, value: Uint8Array | null, written: number): void {
    if (this.buffer.written === written && this.buffer.find(key) === undefined && !this.buffer.isCleared)
      this.cache.set(key, value);
  }

  /** The writes in the range that are not on disk. */
  #ownIn(range: ListRange): { readonly entries: Entries; readonly count: number; readonly isCleared: boolean } {
    const all = noChanges();
    const add = (value: Uint8Array | undefined, key: string): void => {
      mapSet(all.entries, key, value);
    };
    this.buffer.forEach(add);
    let isCleared = this.buffer.isCleared;
    for (let i = 0; i < this.layers.length; i++) {
      const layer = this.layers[i];
      if (layer === undefined) continue;
      addChanges(all, layer);
      isCleared ||= layer.isClearing;
    }
    const { entries } = noChanges();
    let count = 0;
    mapForEach(all.entries, (value, key) => {
      if (!isIn(range, key)) return;
      mapSet(entries, key, value);
      count++;
    });
    return { entries, count, isCleared };
  }

  #indexOf(layer: Layer): number {
    for (let i = 0; i < this.layers.length; i++) if (this.layers[i] === layer) return i;
    return -1;
  }

  #remove(layer: Layer): void {
    const at = this.#indexOf(layer);
    if (at >= 0) arraySplice(this.layers, at, 1);
  }
}

/** The parts that the buffer of writes uses. */
interface StorageParts {
  readonly calls: StorageCalls;
  readonly gates: ObjectGates;
  cache: ReadCache;
}

/** The rest of the range behind an entry of it. */
function afterEntry(range: ListRange, [key]: Entry): ListRange {
  return range.isReverse ? { ...range, to: key } : { ...range, from: `${key}\0` };
}

const MAX_LIMIT = 0x7fff_ffff;

function hasChanges({ entries, isClearing, alarm, hasSql }: BufferedChanges): boolean {
  if (isClearing || alarm !== undefined || hasSql) return true;
  let has = false;
  mapForEach(entries, () => {
    has = true;
  });
  return has;
}

function isIn({ from, to, prefix }: ListRange, key: string): boolean {
  if (prefix !== undefined && !startsWith(key, prefix)) return false;
  if (from !== undefined && compareKeys(key, from) < 0) return false;
  return to === undefined || compareKeys(key, to) < 0;
}

/** The stored entries, with writes that are not on disk in their place. Both are of the range. */
function merged(stored: readonly Entry[], own: Entries, { isReverse, limit }: ListRange): Entry[] {
  const keys: string[] = [];
  mapForEach(own, (value, key) => {
    if (value !== undefined) arrayPush(keys, key);
  });
  const added = sortedUnique(keys);
  const entries: Entry[] = [];
  const sign = isReverse ? -1 : 1;
  let at = isReverse ? added.length - 1 : 0;
  const addOwn = (): void => {
    const key = added[at] ?? '';
    const value = mapGet(own, key);
    if (value !== undefined) arrayPush(entries, [key, value]);
    at += sign;
  };
  const isLeft = (): boolean => at >= 0 && at < added.length;
  for (let i = 0; i < stored.length && entries.length < limit; i++) {
    const entry = stored[i];
    if (entry === undefined) continue;
    while (isLeft() && entries.length < limit && sign * compareKeys(added[at] ?? '', entry[0]) < 0) addOwn();
    if (!mapHas(own, entry[0]) && entries.length < limit) arrayPush(entries, entry);
  }
  while (isLeft() && entries.length < limit) addOwn();
  return entries;
}

async function afterTurns(openInput: () => void): Promise<void> {
  for (let turn = 0; turn < RESUMING_TURNS; turn++) await undefined;
  openInput();
}
