/** The times of an invocation, and what happens when one is up. All invocations of this process are on three timers. */
import type { EdgeError } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import type { InvocationOutcome } from '../../events.js';
import { timeoutError } from '../failures/handler-errors.js';
import { idleError, wallTimeError } from '../failures/invocation-errors.js';
import type { InvocationRecord } from '../reports/invocation-record.js';
import { ProgressWatch } from './progress-watch.js';
import { type Deadline, TimerList } from './timer-list.js';

/** How an invocation is ended when a time is up. */
export interface TimedInvocation {
  /** With an error, in the isolate too. */
  end(error: EdgeError, outcome: InvocationOutcome): void;
  /** With an error, as if its client were gone: the promises of waitUntil continue. */
  giveUp(error: EdgeError, outcome: InvocationOutcome): void;
  /** In the isolate alone. */
  close(): void;
  /** Its response has ended or its client is gone, and that round of the event loop has ended too. */
  startWaitUntil(): void;
}

const wallTimes = new TimerList<InvocationTimes>(times => times.exceedWall());
const timeouts = new TimerList<InvocationTimes>(times => times.exceedTimeout());
const waitUntilTimes = new TimerList<InvocationTimes>(times => times.exceedWaitUntil());
/** Answered in this round of the event loop. Nearly all are over by its end: a deadline for each would cost more than the rest of their accounting. */
let answered: TimedInvocation[] = [];

/** Calls `startWaitUntil` at the end of this round of the event loop. */
export function waitUntilSoon(invocation: TimedInvocation): void {
  if (answered.push(invocation) === 1) setImmediate(guarded(startAll));
}

function startAll(): void {
  const all = answered;
  answered = [];
  for (const invocation of all) invocation.startWaitUntil();
}

/** Made with the first deadline, or the first look at its progress: most invocations have neither. */
export class InvocationTimes {
  readonly #record: InvocationRecord;
  readonly #invocation: TimedInvocation;
  #wall: Deadline<InvocationTimes> | undefined;
  #timeout: Deadline<InvocationTimes> | undefined;
  #waitUntil: Deadline<InvocationTimes> | undefined;
  #waitUntilMs = 0;
  #progress: ProgressWatch | undefined;

  constructor(record: InvocationRecord, invocation: TimedInvocation) {
    this.#record = record;
    this.#invocation = invocation;
  }

  startWall(ms: number): void {
    this.#wall = wallTimes.add(this, ms);
  }

  startTimeout(ms: number): void {
    this.#timeout = timeouts.add(this, ms);
  }

  /** The caller has all that it waited for. */
  cancelTimeout(): void {
    if (this.#timeout !== undefined) timeouts.cancel(this.#timeout);
  }

  startWaitUntil(ms: number): void {
    if (this.#waitUntil !== undefined) return;
    this.#waitUntil = waitUntilTimes.add(this, ms);
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

  /** Invocations without a client may not run indefinitely (specification: Usage models, Duration); others have this limit where it is set. */
  exceedWall(): void {
    const { context, kind, startedMs } = this.#record;
    this.#invocation.end(wallTimeError(context, kind, performance.now() - startedMs), 'exceededWallTime');
  }

  /** The caller waits no longer: for the function that is the same as a client that is gone. */
  exceedTimeout(): void {
    const { context, start } = this.#record;
    this.#invocation.giveUp(timeoutError(context.function, start.timeoutMs ?? 0), 'exceededWallTime');
  }

  exceedWaitUntil(): void {
    const { context, warnings } = this.#record;
    const { waitUntilMs } = context.limits;
    warnings.note('waitUntilMs', waitUntilMs, waitUntilMs);
    this.#invocation.close();
  }

  /**
   * Without a client that waits there may be a limit of wall time; with one there is this.
   *
   * @param moved a number that changes with whatever moves of the invocation
   */
  checkProgress(moved: number, nowMs: number): void {
    this.#progress ??= new ProgressWatch(moved, nowMs);
    const { context } = this.#record;
    const { idleHttpMs } = context;
    const isIdle = this.#progress.idleMs(moved, nowMs) >= idleHttpMs;
    if (isIdle) this.#invocation.end(idleError(context, idleHttpMs), 'exceededWallTime');
  }
}
