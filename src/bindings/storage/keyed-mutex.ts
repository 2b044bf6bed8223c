/**
 * Mutual exclusion by key. The bookkeeping holds the locked keys and their waiters alone: an idle key costs nothing.
 */
export class KeyedMutex {
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves with the lock held; callers are served in the order they came. Every lock needs its `unlock`. */
  async lock(key: string): Promise<void> {
    const queue = this.#waiting.get(key);
    if (queue === undefined) {
      this.#waiting.set(key, []);
      return;
    }
    await new Promise<void>(resolve => queue.push(resolve));
  }

  unlock(key: string): void {
    const queue = this.#waiting.get(key);
    const next = queue?.shift();
    if (next === undefined) this.#waiting.delete(key);
    else next();
  }

  /** Runs `task` with the lock held. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    await this.lock(key);
    try {
      return await task();
    } finally {
      this.unlock(key);
    }
  }

  /** Runs `task` with all of the locks held. They are taken in one order everywhere, so two calls cannot deadlock. */
  async runAll<T>(keys: Iterable<string>, task: () => Promise<T>): Promise<T> {
    const held: string[] = [];
    try {
      for (const key of [...new Set(keys)].sort()) {
        await this.lock(key);
        held.push(key);
      }
      return await task();
    } finally {
      for (const key of held) this.unlock(key);
    }
  }

  /** How many keys are locked now. */
  get size(): number {
    return this.#waiting.size;
  }
}
