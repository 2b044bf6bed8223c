/** Frees, in the background, the space of keys that have expired and of namespaces that were deleted. */
import { EdgeError } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { expireEntries, nextExpiry } from './expire-entries.js';
import { clearRemovedNamespaces } from './remove-namespaces.js';

/** Between two sweeps at least: the shortest life of a key. */
const SWEEP_MS = 60_000;
/** And at most, while there are keys that expire. */
const LONGEST_MS = 3_600_000;

export class KvCleaner {
  readonly #storage: StorageContext;
  readonly #sweepMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** When it fires, by the monotonic clock. */
  #firesAt = 0;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(storage: StorageContext, sweepMs = SWEEP_MS) {
    this.#storage = storage;
    this.#sweepMs = sweepMs;
  }

  /** A key was written that expires. */
  sweepLater(): void {
    this.#sweepIn(this.#sweepMs);
  }

  /** A namespace was deleted. */
  clearSoon(): void {
    this.#run(() => clearRemovedNamespaces(this.#storage, this.#check));
  }

  /** Removes expired keys, and does so again when the next key expires. */
  sweep(): void {
    this.#run(async () => {
      await expireEntries(this.#storage, this.#check);
      const next = await nextExpiry(this.#storage);
      if (next === undefined) return;
      const dueMs = next * 1000 - this.#storage.now();
      this.#sweepIn(Math.min(Math.max(dueMs, this.#sweepMs), LONGEST_MS));
    });
  }

  /** Resolves when nothing is being removed. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #sweepIn(ms: number): void {
    const firesAt = performance.now() + ms;
    if (this.#isClosed || (this.#timer !== undefined && this.#firesAt <= firesAt)) return;
    clearTimeout(this.#timer);
    this.#firesAt = firesAt;
    this.#timer = setTimeout(
      guarded(() => {
        this.#timer = undefined;
        this.sweep();
      }),
      ms,
    );
    this.#timer.unref();
  }

  /** A failed task is left to the sweeps of the storage. */
  #run(task: () => Promise<void>): void {
    this.#running = this.#running.then(task).catch(() => {});
  }

  readonly #check = (): void => {
    if (this.#isClosed)
      throw new EdgeError('EDGE_CLOSED', 'The removal of keys continues when the storage is opened again');
  };
}
