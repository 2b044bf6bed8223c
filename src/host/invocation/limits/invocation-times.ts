/** When the time of an invocation is up. All that run in this process are on three timers. */
import { type Deadline, TimerList } from './timer-list.js';

/** What is called when a time is up. */
export interface TimedInvocation {
  exceedWallTime(): void;
  /** Its caller waits no longer. */
  exceedTimeout(): void;
  exceedWaitUntil(): void;
  /** Its response has ended or its client is gone, and that round of the event loop has ended too. */
  startWaitUntil(): void;
}

const wallTimes = new TimerList<TimedInvocation>(invocation => invocation.exceedWallTime());
const timeouts = new TimerList<TimedInvocation>(invocation => invocation.exceedTimeout());
const waitUntilTimes = new TimerList<TimedInvocation>(invocation => invocation.exceedWaitUntil());
/** Answered in this round of the event loop. Nearly all are over by its end: a deadline for each would cost more than the rest of their accounting. */
let answered: TimedInvocation[] = [];

/** Calls `startWaitUntil` at the end of this round of the event loop. */
export function waitUntilSoon(invocation: TimedInvocation): void {
  if (answered.push(invocation) === 1) setImmediate(startAll);
}

function startAll(): void {
  const all = answered;
  answered = [];
  for (const invocation of all) invocation.startWaitUntil();
}

/** The deadlines of one invocation. Made with the first of them: most invocations have none. */
export class InvocationTimes {
  readonly #invocation: TimedInvocation;
  #wall: Deadline<TimedInvocation> | undefined;
  #timeout: Deadline<TimedInvocation> | undefined;
  #waitUntil: Deadline<TimedInvocation> | undefined;
  #waitUntilMs = 0;

  constructor(invocation: TimedInvocation) {
    this.#invocation = invocation;
  }

  startWall(ms: number): void {
    this.#wall = wallTimes.add(this.#invocation, ms);
  }

  startTimeout(ms: number): void {
    this.#timeout = timeouts.add(this.#invocation, ms);
  }

  /** The caller has all that it waited for. */
  cancelTimeout(): void {
    if (this.#timeout !== undefined) timeouts.cancel(this.#timeout);
  }

  startWaitUntil(ms: number): void {
    if (this.#waitUntil !== undefined) return;
    this.#waitUntil = waitUntilTimes.add(this.#invocation, ms);
    this.#waitUntilMs = ms;
  }

  /** How long waitUntil has taken at `nowMs`. */
  waitUntilTookMs(nowMs: number): number {
    return this.#waitUntil === undefined ? 0 : this.#waitUntilMs - (this.#waitUntil.atMs - nowMs);
  }

  cancel(): void {
    this.cancelTimeout();
    if (this.#wall !== undefined) wallTimes.cancel(this.#wall);
    if (this.#waitUntil !== undefined) waitUntilTimes.cancel(this.#waitUntil);
  }
}
