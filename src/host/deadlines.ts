/**
 * Many deadlines on one timer: adding and removing costs a map entry, since nearly every invocation removes its own at once. Deadlines are
 * met to within 10 ms, never before their time.
 */

/** However many deadlines there are, they are not looked at more often. */
const LEAST_DELAY_MS = 10;
/** Timers cannot be set for any time. */
const MOST_DELAY_MS = 3_600_000;

export interface DeadlineClock {
  /** Monotonic milliseconds. @default performance.now() */
  readonly now: () => number;
  /** Calls back after `delayMs` unless the function returned is called first. @default a timer that keeps no process alive */
  readonly schedule: (callback: () => void, delayMs: number) => () => void;
}

const CLOCK: DeadlineClock = {
  now: () => performance.now(),
  schedule: (callback, delayMs) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

export class Deadlines<T> {
  readonly #items = new Map<T, number>();
  readonly #onPast: (item: T) => void;
  readonly #clock: DeadlineClock;
  /** When the timer is due; Infinity while there is none. */
  #dueMs = Number.POSITIVE_INFINITY;
  #stopTimer: () => void = () => {};

  constructor(onPast: (item: T) => void, clock = CLOCK) {
    this.#onPast = onPast;
    this.#clock = clock;
  }

  /** A second deadline for the same item changes nothing. */
  add(item: T, afterMs: number): void {
    if (this.#items.has(item)) return;
    const now = this.#clock.now();
    const deadlineMs = now + afterMs;
    this.#items.set(item, deadlineMs);
    if (deadlineMs < this.#dueMs) this.#schedule(now, deadlineMs);
  }

  /** Answers when it would have been, by the clock; undefined when there was none. */
  delete(item: T): number | undefined {
    const deadlineMs = this.#items.get(item);
    if (deadlineMs !== undefined) this.#items.delete(item);
    return deadlineMs;
  }

  #schedule(now: number, deadlineMs: number): void {
    this.#stopTimer();
    const delayMs = Math.min(MOST_DELAY_MS, Math.max(LEAST_DELAY_MS, Math.ceil(deadlineMs - now)));
    this.#dueMs = now + delayMs;
    this.#stopTimer = this.#clock.schedule(() => this.#tick(), delayMs);
  }

  #tick(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    const past: T[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [item, deadlineMs] of this.#items) {
      if (deadlineMs <= now) past.push(item);
      else if (deadlineMs < nextMs) nextMs = deadlineMs;
    }
    for (const item of past) this.#items.delete(item);
    if (nextMs !== Number.POSITIVE_INFINITY) this.#schedule(now, nextMs);
    for (const item of past) this.#onPast(item);
  }
}
