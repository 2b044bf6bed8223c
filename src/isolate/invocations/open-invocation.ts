/** An invocation that is open in this isolate, with the calls that it has made. */
import type { GuestExchange } from '../guest-exchange.js';
import type { Timers } from '../ops/timers.js';
import type { StallSubject } from './stalled-invocations.js';

export const NO_CALLS: ReadonlySet<GuestExchange> = new Set();

export class OpenInvocation implements StallSubject {
  readonly exchange: GuestExchange;
  readonly #timers: Timers;
  /** Made with the first call. */
  calls: Set<GuestExchange> | undefined;
  /** The handler has answered and everything given to waitUntil has settled. */
  isHandled = false;
  /** Its CPU time was used up in the running turn: its calls are refused. */
  isSpent = false;

  /** Whether it is an event of a stateful object. */
  readonly isOfObject: boolean;

  constructor(exchange: GuestExchange, timers: Timers, isOfObject = false) {
    this.exchange = exchange;
    this.isOfObject = isOfObject;
    this.#timers = timers;
  }

  get isAnswered(): boolean {
    return this.isHandled || this.exchange.exchange.isReplied;
  }

  get isPending(): boolean {
    // Events of objects wait for others that may come.
    if (this.isOfObject) return true;
    return this.#timers.isPending(this.exchange.id) || this.exchange.isPending || this.hasOpenCalls;
  }

  /** Whether a call that it has made is not over. */
  get hasOpenCalls(): boolean {
    for (const call of this.calls ?? NO_CALLS) if (call.isPending) return true;
    return false;
  }
}
