/**
 * Values that were read or written recently, of all objects in this realm: in its memory, so it is bounded. Two halves: used values stay in the young one, and
 * when that is full, the old one goes.
 */
import { MapCtor, mapDelete, mapGet, mapSet, typedArrayLength } from '../../primordials.ts';

const HALF_BYTES = 4 * 1024 * 1024;
/** The size up to which a value is kept. */
const MAX_VALUE_BYTES = 64 * 1024;
/** About what an entry costs beside its key and value. */
const ENTRY_BYTES = 128;

/** null: the key has no value. */
type Cached = Uint8Array | null;

let young = new MapCtor<string, Cached>();
let old = new MapCtor<string, Cached>();
let youngBytes = 0;
let objects = 0;

export class ReadCache {
  /** Before each key. No two objects have the same, also when one follows the other. */
  readonly #name = `${++objects}/`;

  /** undefined: not known. */
  get(key: string): Cached | undefined {
    const name = this.#name + key;
    const found = mapGet(young, name);
    if (found !== undefined) return found;
    const before = mapGet(old, name);
    if (before === undefined) return undefined;
    keep(name, before);
    return before;
  }

  set(key: string, value: Cached): void {
    const name = this.#name + key;
    mapDelete(young, name);
    mapDelete(old, name);
    if (value === null || typedArrayLength(value) <= MAX_VALUE_BYTES) keep(name, value);
  }

  delete(key: string): void {
    mapDelete(young, this.#name + key);
    mapDelete(old, this.#name + key);
  }

  /** Nothing that was kept is found any more. */
  cleared(): ReadCache {
    return new ReadCache();
  }
}

function keep(name: string, value: Cached): void {
  // Deleted values still count, so a half may be turned over early.
  youngBytes += ENTRY_BYTES + name.length * 2 + (value === null ? 0 : typedArrayLength(value));
  mapSet(young, name, value);
  if (youngBytes <= HALF_BYTES) return;
  old = young;
  young = new MapCtor();
  youngBytes = 0;
}
