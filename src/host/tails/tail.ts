/** A tail of the application: the invocations of an account as they end, for as long as it is read. */
import type { InvocationKind } from '../../quotas/limits.js';
import type { TraceItem } from '../invocation/reports/trace-item.js';
import { passes, type TailFilter } from './tail-filter.js';

/** The most items that wait for a slow reader. Beyond that invocations are dropped, and counted. */
const MAX_ITEMS = 1000;
const MAX_BYTES = 1024 * 1024;

export interface TailOwner {
  /** Counts bytes that are held for the account; a negative number releases them. */
  countBytes(bytes: number): void;
  closed(tail: Tail): void;
}

interface Waiting {
  readonly item: TraceItem;
  readonly bytes: number;
}

export class Tail implements AsyncIterableIterator<TraceItem, undefined> {
  readonly #owner: TailOwner;
  readonly #filter: TailFilter;
  readonly #items: Waiting[] = [];
  #bytes = 0;
  #dropped = 0;
  #isClosed = false;
  #wake: (() => void) | undefined;

  /** Tails are made by `account.tail()`. */
  constructor(filter: TailFilter, owner: TailOwner) {
    this.#filter = filter;
    this.#owner = owner;
  }

  /** Invocations that passed the filter and were dropped because those before them had not been read. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * An invocation is over.
   * @internal
   */
  add(item: TraceItem, kind: InvocationKind, bytes: number): void {
    if (this.#isClosed || !passes(this.#filter, item, kind)) return;
    if (this.#items.length >= MAX_ITEMS || this.#bytes + bytes > MAX_BYTES) {
      this.#dropped++;
      return;
    }
    this.#items.push({ item, bytes });
    this.#count(bytes);
    this.#move();
  }

  /** The next invocation, as soon as there is one; the end when the tail, the account or the host is closed. */
  async next(): Promise<IteratorResult<TraceItem, undefined>> {
    for (;;) {
      const first = this.#items.shift();
      if (first !== undefined) {
        this.#count(-first.bytes);
        return { done: false, value: first.item };
      }
      if (this.#isClosed) return END;
      await new Promise<void>(resolve => {
        const before = this.#wake;
        this.#wake = () => {
          before?.();
          resolve();
        };
      });
    }
  }

  async return(): Promise<IteratorResult<TraceItem, undefined>> {
    this.close();
    return END;
  }

  /** Ends it: waiting items are not read any more. Leaving a loop over it does the same. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#items.length = 0;
    this.#count(-this.#bytes);
    this.#owner.closed(this);
    this.#move();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#owner.countBytes(bytes);
  }

  #move(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

const END: IteratorReturnResult<undefined> = { done: true, value: undefined };
