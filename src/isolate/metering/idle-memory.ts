/**
 * Releases memory that an isolate does not need, once it has had nothing to do for a while: V8 keeps the pages of its young generation and of garbage until
 * something asks for them. Never on the way of a request: a timer looks whether turns have gone by.
 */
import { getHeapStatistics } from 'node:v8';

/** An isolate counts as idle after this long without a turn. It is noticed after at most twice as long. */
const IDLE_MS = 5000;
/**
 * At most one collection in this many checks, which is one a minute: a collection costs 50 to 90 ms of CPU time that is charged to no account (Node 20.20). So
 * a function that is called now and then, or fills its heap on purpose, must not cause one each time.
 */
const REST_LOOKS = 12;
/** A heap that has grown by less than this since the last collection is not worth another one. */
const MIN_GROWTH_BYTES = 1024 * 1024;
/** Collecting a larger heap would delay a request; V8 collects it as it fills. */
const MAX_HEAP_BYTES = 32 * 1024 * 1024;

export interface IdleMemoryOptions {
  /** Changes with every turn; odd while one is running. */
  readonly sequence: () => number;
  readonly collect: () => void;
  /** CPU time has gone by that belongs to no invocation. */
  readonly onCollected: () => void;
  /** Calls back again and again, and keeps no process alive. */
  readonly every?: (ms: number, look: () => void) => void;
  readonly heap?: () => { readonly used_heap_size: number; readonly total_physical_size: number };
}

export class IdleMemory {
  readonly #options: Required<IdleMemoryOptions>;
  #seen: number | undefined;
  #isCollected = false;
  /** Looks until it may collect again. */
  #rest = 0;
  /** Physical bytes of the heap after the last collection. */
  #leastBytes = Number.NEGATIVE_INFINITY;

  constructor(options: IdleMemoryOptions) {
    this.#options = { every: (ms, look) => setInterval(look, ms).unref(), heap: getHeapStatistics, ...options };
    this.#options.every(IDLE_MS, () => this.#look());
  }

  #look(): void {
    if (this.#rest > 0) this.#rest--;
    const sequence = this.#options.sequence();
    const isIdle = sequence === this.#seen && sequence % 2 === 0;
    if (!isIdle) this.#isCollected = false;
    this.#seen = sequence;
    if (!isIdle || this.#isCollected || this.#rest > 0) return;
    this.#isCollected = true;
    const { used_heap_size: used, total_physical_size: physical } = this.#options.heap();
    if (used > MAX_HEAP_BYTES || physical - this.#leastBytes < MIN_GROWTH_BYTES) return;
    this.#rest = REST_LOOKS;
    this.#options.collect();
    this.#leastBytes = this.#options.heap().total_physical_size;
    this.#options.onCollected();
  }
}
