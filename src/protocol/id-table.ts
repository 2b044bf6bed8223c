/**
 * Objects by a number, for objects that come and go with each call. A Map that is added to and deleted from replaces its table again and again, and V8 lets
 * each table that is over point to the one after it. Once one of them has grown old, the scavenger takes the next for reachable, with everything that was in
 * it, and so on without an end: every call is copied, and then collected by the slow collector (measured: six times the time of the table here).
 */

const SMALLEST_BITS = 4;
/** A table of this length is kept when it is empty: calls come in bursts, and a table that shrank with each would be copied with the next. */
const KEPT_BITS = 8;

export class IdTable<T extends object> {
  /** Open addressing: an id is at the place of its hash or behind it, with no free place (0) in between. */
  #ids: number[] = [];
  #entries: (T | undefined)[] = [];
  #bits = SMALLEST_BITS;
  #size = 0;
  /** Odd, and not known to a peer that chooses ids, so that it cannot choose them for their places. */
  readonly #factor = Math.floor(Math.random() * 0x8000_0000) * 2 + 1;

  constructor() {
    this.#allocate(SMALLEST_BITS);
  }

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return this.#find(id) >= 0;
  }

  get(id: number): T | undefined {
    const at = this.#find(id);
    return at < 0 ? undefined : this.#entries[at];
  }

  /** `id` is an integer from 1 on. Replaces an earlier entry. */
  set(id: number, entry: T): void {
    const found = this.#find(id);
    if (found >= 0) {
      this.#entries[found] = entry;
      return;
    }
    this.#size++;
    if (this.#size * 2 > this.#ids.length) this.#resize(this.#bits + 1);
    this.#place(id, entry);
  }

  delete(id: number): boolean {
    const at = this.#find(id);
    if (at < 0) return false;
    this.#close(at);
    this.#size--;
    if (this.#bits > KEPT_BITS && this.#size * 8 < this.#ids.length) this.#resize(this.#bits - 1);
    return true;
  }

  clear(): void {
    this.#size = 0;
    this.#allocate(SMALLEST_BITS);
  }

  /** Copies that stay as they are whatever happens to the table, by ascending ids. */
  entries(): [id: number, entry: T][] {
    const entries: [number, T][] = [];
    this.#entries.forEach((entry, at) => {
      const id = this.#ids[at];
      if (entry !== undefined && id !== undefined) entries.push([id, entry]);
    });
    return entries.sort(([a], [b]) => a - b);
  }

  values(): T[] {
    return this.entries().map(([, entry]) => entry);
  }

  /** Whether one is as asked. `isSo` must not change the table. */
  some(isSo: (entry: T) => boolean): boolean {
    return this.#size > 0 && this.#entries.some(entry => entry !== undefined && isSo(entry));
  }

  #allocate(bits: number): void {
    this.#bits = bits;
    this.#ids = new Array<number>(2 ** bits).fill(0);
    this.#entries = new Array<T | undefined>(2 ** bits).fill(undefined);
  }

  #resize(bits: number): void {
    const ids = this.#ids;
    const entries = this.#entries;
    this.#allocate(bits);
    entries.forEach((entry, at) => {
      const id = ids[at];
      if (entry !== undefined && id !== undefined) this.#place(id, entry);
    });
    // An array that has grown old keeps nothing that is in it.
    entries.length = 0;
  }

  #home(id: number): number {
    return Math.imul(id, this.#factor) >>> (32 - this.#bits);
  }

  /** The place of the id; -1 when it is not there. */
  #find(id: number): number {
    const ids = this.#ids;
    const mask = ids.length - 1;
    for (let at = this.#home(id); ids[at] !== 0; at = (at + 1) & mask) if (ids[at] === id) return at;
    return -1;
  }

  #place(id: number, entry: T): void {
    const ids = this.#ids;
    const mask = ids.length - 1;
    let at = this.#home(id);
    while (ids[at] !== 0) at = (at + 1) & mask;
    ids[at] = id;
    this.#entries[at] = entry;
  }

  /** Moves up those behind a place that would not be found across it. */
  #close(freed: number): void {
    const ids = this.#ids;
    const entries = this.#entries;
    const mask = ids.length - 1;
    let free = freed;
    for (let at = (free + 1) & mask; ; at = (at + 1) & mask) {
      const id = ids[at] ?? 0;
      if (id === 0) break;
      if (((at - this.#home(id)) & mask) < ((at - free) & mask)) continue;
      ids[free] = id;
      entries[free] = entries[at];
      free = at;
    }
    ids[free] = 0;
    entries[free] = undefined;
  }
}
