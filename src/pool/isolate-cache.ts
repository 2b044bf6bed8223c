/**
 * The loaded isolates of a host, all accounts together: the least recently used one goes when there are too many, and one that has
 * been idle for long goes too. Never in the middle of an invocation: what leaves the cache ends when it is idle.
 */
import { LRUCache } from 'lru-cache';
import type { IsolateHandle } from './isolate-handle.js';

const MAX_SWEEP_MS = 60_000;

export class IsolateCache {
  readonly #handles: LRUCache<string, IsolateHandle>;
  /** Those that have left and end when what runs in them is over. */
  readonly #leaving = new Set<IsolateHandle>();
  readonly #sweep: NodeJS.Timeout | undefined;

  constructor(options: { readonly max: number; readonly idleMs: number }) {
    const { max, idleMs } = options;
    const hasIdleLimit = Number.isFinite(idleMs);
    this.#handles = new LRUCache({
      max,
      ...(hasIdleLimit && { ttl: idleMs, updateAgeOnGet: true, ttlResolution: Math.min(1000, idleMs / 4) }),
      // After the cache has changed, since the end of an isolate deletes its entry.
      disposeAfter: handle => {
        if (handle.inFlight > 0) this.#leaving.add(handle);
        handle.retire();
      },
    });
    if (hasIdleLimit) {
      this.#sweep = setInterval(() => this.#evictIdle(), Math.min(MAX_SWEEP_MS, Math.max(1, idleMs / 4)));
      this.#sweep.unref();
    }
  }

  /** Isolates that are alive, those included that have left and are busy. */
  get size(): number {
    return this.#handles.size + this.#leaving.size;
  }

  /** Invocations that are not over, of all isolates. */
  get inFlight(): number {
    let sum = 0;
    for (const handle of this.#handles.values()) sum += handle.inFlight;
    return sum;
  }

  /** Counts as a use. */
  get(key: string): IsolateHandle | undefined {
    return this.#handles.get(key);
  }

  set(key: string, handle: IsolateHandle): void {
    this.#handles.set(key, handle);
    handle.onGone = () => {
      this.#leaving.delete(handle);
      if (this.#handles.peek(key) === handle) this.#handles.delete(key);
    };
  }

  /** The isolate ends as soon as nothing runs in it. */
  delete(key: string): void {
    this.#handles.delete(key);
  }

  /** Lets one isolate go of those whose keys begin so: the least recently used idle one, or else the least recently used. */
  evict(prefix: string): void {
    let busy: string | undefined;
    for (const key of [...this.#handles.rkeys()]) {
      if (!key.startsWith(prefix)) continue;
      if (this.#handles.peek(key)?.inFlight === 0) {
        this.delete(key);
        return;
      }
      busy ??= key;
    }
    if (busy !== undefined) this.delete(busy);
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#handles.clear();
  }

  /**
   * One that is busy, with a stream or waitUntil, is not idle however long ago its last request came. The sweep is more frequent than
   * the idle time is long, so it refreshes them before they count as stale.
   */
  #evictIdle(): void {
    // Of a copy: what is used moves to the front, where entries() would come by it again, without end when there are two.
    for (const [key, handle] of [...this.#handles.entries()]) if (handle.inFlight > 0) this.#handles.get(key);
    this.#handles.purgeStale();
  }
}
