/** The part of a mutex that others use, in this process or from another one. */
export type Locks = Pick<KeyedMutex, 'run' | 'runAll'>;

/** Mutual exclusion by key. Only locked keys and their waiters are in memory. */
export class KeyedMutex {
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves with the lock held. Callers are served in the order of arrival. Every lock needs its `unlock`. */
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

  /** Runs `task` with all of the locks held. They are always taken in the same order, so two calls cannot deadlock. */
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
