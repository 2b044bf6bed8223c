/** Delivers the traces of invocations to one tail function of their account, in batches. */
import type { FetchChain } from '../../bindings/service.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { detached, guarded } from '../../quotas/guarded.js';

export interface TracedText {
  /** A TraceItem as JSON. */
  readonly json: string;
  /** The fetches of functions by each other that led to the invocation. */
  readonly chain: FetchChain | undefined;
}

export interface DeliveryOwner {
  /** Runs the tail function with JSON of an array of items. Rejects when it fails, which concerns nobody else. */
  run(json: string, chain: FetchChain): Promise<unknown>;
  countBytes(bytes: number): void;
  /** Something is dropped, for the first time since nothing waited. */
  onDropped(why: string): void;
}

const MAX_BATCH_ITEMS = 100;
const MAX_BATCH_CHARACTERS = 512 * 1024;
const MAX_WAITING_ITEMS = 1000;
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Batches that one tail function works on at a time. */
const CONCURRENCY = 4;
/** Functions that tail each other in a circle end after this many invocations in a chain. */
const MAX_DEPTH = 16;

export class TailDelivery {
  readonly #owner: DeliveryOwner;
  #waiting: TracedText[] = [];
  #bytes = 0;
  #running = 0;
  #isScheduled = false;
  #hasReported = false;
  #isClosed = false;
  dropped = 0;

  constructor(owner: DeliveryOwner) {
    this.#owner = owner;
  }

  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  add(item: TracedText): void {
    if (this.#isClosed) return;
    if ((item.chain?.depth ?? 0) >= MAX_DEPTH) {
      this.#drop(`${MAX_DEPTH} invocations of functions and tails have begun each other`);
      return;
    }
    const bytes = item.json.length * 2;
    if (this.#waiting.length >= MAX_WAITING_ITEMS || this.#bytes + bytes > MAX_WAITING_BYTES) {
      this.#drop(`${this.#waiting.length} invocations wait for it`);
      return;
    }
    this.#waiting.push(item);
    this.#count(bytes);
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    this.#count(-this.#bytes);
  }

  /** Invocations that end at the same time go together. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= CONCURRENCY) return;
    this.#isScheduled = true;
    setImmediate(
      guarded(() => {
        this.#isScheduled = false;
        detached(this.#deliver());
      }),
    );
  }

  async #deliver(): Promise<void> {
    const batch = this.#takeBatch();
    if (batch.length === 0) return;
    this.#running++;
    if (this.#waiting.length > 0) this.#schedule();
    try {
      await withoutCaller(() => this.#owner.run(`[${batch.map(({ json }) => json).join(',')}]`, chainOf(batch)));
    } catch {
      // It has an event of its own, which says how it failed.
    } finally {
      this.#running--;
      if (this.#waiting.length > 0) this.#schedule();
      else this.#hasReported = false;
    }
  }

  #takeBatch(): TracedText[] {
    let characters = 0;
    let count = 0;
    for (const { json } of this.#waiting) {
      characters += json.length;
      if (count > 0 && (characters > MAX_BATCH_CHARACTERS || count >= MAX_BATCH_ITEMS)) break;
      count++;
    }
    const batch = this.#waiting.splice(0, count);
    for (const { json } of batch) this.#count(-json.length * 2);
    return batch;
  }

  #drop(why: string): void {
    this.dropped++;
    if (this.#hasReported) return;
    this.#hasReported = true;
    this.#owner.onDropped(why);
  }

  #count(bytes: number): void {
    if (bytes === 0) return;
    this.#bytes += bytes;
    this.#owner.countBytes(bytes);
  }
}

/** One step behind the deepest of them. */
function chainOf(batch: readonly TracedText[]): FetchChain {
  let deepest: FetchChain | undefined;
  for (const { chain } of batch) if ((chain?.depth ?? 0) > (deepest?.depth ?? 0)) deepest = chain;
  return { depth: (deepest?.depth ?? 0) + 1, total: deepest?.total ?? { count: 0 } };
}
