/**
 * The loaded isolates of a host, of all accounts: the least recently used one is evicted when there are too many, and isolates that have been idle
 * for long are evicted too. An isolate that leaves the cache ends when its last invocation does.
 */
import { execute } from 'abort-controller-x';
import { LRUCache } from 'lru-cache';
import { guarded } from '../../quotas/guarded.js';
import type { IsolateHandle } from './isolate-handle.js';

const MAX_SWEEP_MS = 60_000;

interface Entry {
  readonly handle: IsolateHandle;
  /** Whether requests are waiting for it. */
  readonly isWanted: () => boolean;
}

export class IsolateCache {
  readonly #handles: LRUCache<string, Entry>;
  /** Evicted isolates that still have open invocations. */
  readonly #leaving = new Set<IsolateHandle>();
  /** Notified when an isolate has become idle or is gone. */
  readonly #waiting = new Set<() => void>();
  readonly #idleMs: number;
  readonly #sweep: NodeJS.Timeout | undefined;

  constructor(options: { readonly max: number; readonly idleMs: number }) {
    const { max, idleMs } = options;
    this.#idleMs = idleMs;
    const hasIdleLimit = Number.isFinite(idleMs);
    this.#handles = new LRUCache({
      max,
      ...(hasIdleLimit && { ttl: idleMs, updateAgeOnGet: true, ttlResolution: Math.min(1000, idleMs / 4) }),
      // After the cache has changed, since the end of an isolate deletes its entry.
      disposeAfter: ({ handle }) => {
        if (handle.inFlight > 0) this.#leaving.add(handle);
        handle.retire();
      },
    });
    if (hasIdleLimit) {
      this.#sweep = setInterval(
        guarded(() => this.#evictIdle()),
        Math.min(MAX_SWEEP_MS, Math.max(1, idleMs / 4)),
      );
      this.#sweep.unref();
    }
  }

  /** Live isolates, including evicted ones that are busy. */
  get size(): number {
    return this.#handles.size + this.#leaving.size;
  }

  /** Open invocations of all isolates. */
  get inFlight(): number {
    let sum = 0;
    for (const { handle } of this.#handles.values()) sum += handle.inFlight;
    for (const handle of this.#leaving) sum += handle.inFlight;
    return sum;
  }

  /** Resolves when no invocation is open. */
  async drained(signal: AbortSignal): Promise<void> {
    while (this.inFlight > 0) {
      await execute<void>(signal, resolve => {
        this.#waiting.add(resolve);
        return () => {
          this.#waiting.delete(resolve);
        };
      });
    }
  }

  /** Closes the WebSockets of clients, of all isolates. */
  goAway(): void {
    for (const { handle } of [...this.#handles.values()]) handle.goAway();
    for (const handle of [...this.#leaving]) handle.goAway();
  }

  /** Counts as a use. */
  get(key: string): IsolateHandle | undefined {
    return this.#handles.get(key)?.handle;
  }

  set(key: string, handle: IsolateHandle, isWanted: () => boolean = () => false): void {
    this.#handles.set(key, { handle, isWanted });
    handle.whenIdle(() => this.#wake());
    handle.whenGone(() => {
      this.#leaving.delete(handle);
      if (this.#handles.peek(key)?.handle === handle) this.#handles.delete(key);
      this.#wake();
    });
  }

  /** Evicts an isolate, which ends as soon as nothing runs in it. */
  delete(key: string): void {
    this.#handles.delete(key);
  }

  /**
   * Evicts the least recently used idle isolate whose key begins with `prefix`. False when no isolate qualifies.
   *
   * @param idleForMs leaves those that were used more recently. @default 0
   */
  evict(prefix: string, idleForMs = 0): boolean {
    for (const key of this.#handles.rkeys()) {
      if (!key.startsWith(prefix)) continue;
      if (idleForMs > 0 && this.#idleMs - this.#handles.getRemainingTTL(key) < idleForMs) return false;
      const entry = this.#handles.peek(key);
      if (entry === undefined || entry.handle.inFlight > 0 || entry.isWanted()) continue;
      this.delete(key);
      return true;
    }
    return false;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#handles.clear();
  }

  /**
   * An isolate that is busy with a stream or waitUntil is not idle, no matter when its last request came. The sweep runs more often than `idleMs`, so
   * it refreshes busy isolates before they count as stale.
   */
  #evictIdle(): void {
    // Iterates over a copy: a refreshed entry moves to the front, where entries() would return it again and again.
    for (const [key, { handle }] of [...this.#handles.entries()]) if (handle.inFlight > 0) this.#handles.get(key);
    this.#handles.purgeStale();
  }

  #wake(): void {
    if (this.#waiting.size === 0) return;
    for (const wake of [...this.#waiting]) wake();
  }
}
