/**
 * Many deadlines on one timer. Nearly every invocation takes its own away at once, so both cost no more than some links of a list: to be
 * the key of a map an object gets a hash first. Deadlines are met to within 10 ms, never before their time.
 */
import { guarded } from '../../../quotas/guarded.js';

/** However many deadlines there are, they are not looked at more often. */
const MIN_DELAY_MS = 10;
/** Timers cannot be set for any time. */
const MAX_DELAY_MS = 3_600_000;

/** An entry between its neighbours in the list. */
export interface Deadline<T> {
  readonly item: T;
  /** By the clock. */
  readonly atMs: number;
  previous: Deadline<T> | undefined;
  next: Deadline<T> | undefined;
  isFinished: boolean;
}

export interface DeadlineClock {
  /** Monotonic milliseconds. @default performance.now() */
  readonly now: () => number;
  /** Calls back after `delayMs` unless the function returned is called first. @default a timer that keeps no process alive */
  readonly schedule: (callback: () => void, delayMs: number) => () => void;
}

const CLOCK: DeadlineClock = {
  now: () => performance.now(),
  schedule: (callback, delayMs) => {
    const timer = setTimeout(guarded(callback), delayMs).unref();
    return () => clearTimeout(timer);
  },
};

export class TimerList<T> {
  readonly #onPast: (item: T) => void;
  readonly #clock: DeadlineClock;
  #first: Deadline<T> | undefined;
  /** When the timer is due; Infinity for an empty list. */
  #dueMs = Number.POSITIVE_INFINITY;
  #stopTimer: () => void = () => {};

  constructor(onPast: (item: T) => void, clock = CLOCK) {
    this.#onPast = onPast;
    this.#clock = clock;
  }

  /** @returns what `cancel` takes */
  add(item: T, afterMs: number): Deadline<T> {
    const now = this.#clock.now();
    const next = this.#first;
    const deadline = { item, atMs: now + afterMs, previous: undefined, next, isFinished: false };
    if (next !== undefined) next.previous = deadline;
    this.#first = deadline;
    if (deadline.atMs < this.#dueMs) this.#schedule(now, deadline.atMs);
    return deadline;
  }

  /** Takes it away. One that is past or was canceled stays so. */
  cancel(deadline: Deadline<T>): void {
    if (deadline.isFinished) return;
    deadline.isFinished = true;
    const { previous, next } = deadline;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    // One that is held for long keeps no others in memory.
    deadline.previous = undefined;
    deadline.next = undefined;
  }

  #schedule(now: number, atMs: number): void {
    this.#stopTimer();
    const delayMs = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, Math.ceil(atMs - now)));
    this.#dueMs = now + delayMs;
    this.#stopTimer = this.#clock.schedule(() => this.#tick(), delayMs);
  }

  #tick(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    // All of them first: the callback of one may cancel others.
    const past: Deadline<T>[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (let deadline = this.#first; deadline !== undefined; deadline = deadline.next) {
      if (deadline.atMs <= now) past.push(deadline);
      else if (deadline.atMs < nextMs) nextMs = deadline.atMs;
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#schedule(now, nextMs);
    for (const deadline of past) {
      if (deadline.isFinished) continue;
      this.cancel(deadline);
      this.#onPast(deadline.item);
    }
  }
}
