/** The locks that one application holds in the backend process. They are free when it is gone. */
import { guarded } from '../../../quotas/guarded.js';
import type { KeyedMutex } from '../../../storage/records/keyed-mutex.js';

/** An application that was stopped must not keep the others from their work: its lock is free after this long. */
const HELD_FOR_MS = 60_000;

export class ServedLocks {
  readonly #mutex: KeyedMutex;
  readonly #held = new Map<number, { readonly keys: string[]; timer: NodeJS.Timeout | undefined }>();
  #isClosed = false;

  /** @param mutex the mutex of all applications */
  constructor(mutex: KeyedMutex) {
    this.#mutex = mutex;
  }

  /** Resolves when the application has all of them. */
  async take(number: number, keys: readonly string[]): Promise<undefined> {
    const held: { readonly keys: string[]; timer: NodeJS.Timeout | undefined } = { keys: [], timer: undefined };
    this.#held.set(number, held);
    // Always in the same order, so that two applications cannot wait for each other.
    for (const key of [...new Set(keys)].sort()) {
      await this.#mutex.lock(key);
      held.keys.push(key);
      if (!this.#isClosed) continue;
      this.give(number);
      return;
    }
    held.timer = setTimeout(
      guarded(() => this.give(number)),
      HELD_FOR_MS,
    ).unref();
  }

  give(number: number): void {
    const held = this.#held.get(number);
    this.#held.delete(number);
    clearTimeout(held?.timer);
    for (const key of held?.keys ?? []) this.#mutex.unlock(key);
  }

  close(): void {
    this.#isClosed = true;
    // A connection that still waits releases its lock when it has got the next.
    for (const [number, { timer }] of this.#held) if (timer !== undefined) this.give(number);
  }
}
