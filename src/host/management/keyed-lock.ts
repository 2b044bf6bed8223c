/** One at a time for each key: a read-modify-write of one record never interleaves with another of the same. */
export class KeyedLock {
  /** The last in line of each key that is held; a key without waiters has no entry, so memory is that of the waiters. */
  readonly #tails = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    let release: () => void = () => {};
    const tail = new Promise<void>(resolve => {
      release = resolve;
    });
    this.#tails.set(key, tail);
    try {
      await before;
      return await work();
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
      release();
    }
  }

  /** Several keys; every caller that takes the same ones gives them in the same order. */
  runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = keys;
    return first === undefined ? work() : this.run(first, () => this.runAll(rest, work));
  }

  get size(): number {
    return this.#tails.size;
  }
}
