/**
 * Finds invocations that can never answer: the handler waits for a promise, and nothing is pending that could settle it. Pending work of every open invocation
 * counts, as they may share a promise; a later event that could settle it does not count, as it may never come.
 */
import type { IdTable } from '../../protocol/id-table.js';

/** The state of an open invocation. */
export interface StallSubject {
  /** Its answer, or that it has failed, has been sent. */
  readonly isAnswered: boolean;
  /** A timer, a call or a body of it is pending, or it waits for its client to go. */
  readonly isPending: boolean;
}

export interface StallHost {
  readonly open: IdTable<StallSubject>;
  /** Turns are waiting, or work is pending that may belong to any invocation. */
  readonly isBusy: boolean;
  onStalled(invocation: number): void;
}

export class StalledInvocations {
  readonly #host: StallHost;
  /** The invocations that have nothing pending of their own. */
  readonly #waiting = new Set<number>();
  #isScheduled = false;
  readonly #check = (): void => {
    this.#isScheduled = false;
    if (!this.#host.isBusy && !this.#isAnyPending()) this.#endStalled();
  };

  constructor(host: StallHost) {
    this.#host = host;
  }

  /** A turn of an invocation, or of none, is over. */
  turnEnded(invocation: number): void {
    const subject = this.#host.open.get(invocation);
    if (subject !== undefined && !subject.isAnswered && !subject.isPending) this.#waiting.add(invocation);
    else if (this.#waiting.size === 0) return;
    else this.#waiting.delete(invocation);
    this.#schedule();
  }

  /** An invocation is over: what others wait for may have ended with it. */
  ended(invocation: number): void {
    if (this.#waiting.size === 0) return;
    this.#waiting.delete(invocation);
    this.#schedule();
  }

  /** While the host is busy there is nothing to be seen, and a turn will come that asks again. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(this.#check);
  }

  #isAnyPending(): boolean {
    return this.#host.open.some(subject => subject.isPending);
  }

  #endStalled(): void {
    for (const invocation of [...this.#waiting]) {
      this.#waiting.delete(invocation);
      this.#host.onStalled(invocation);
    }
  }
}
