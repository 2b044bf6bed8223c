/**
 * Finds invocations that can never answer: the handler waits for a promise, and nothing is pending that could settle it. Work of invocations that
 * had begun when it was last its turn counts, as they may share a promise with it; that a later event could settle it does not, as none need come.
 */

/** What is known of an invocation that is open. */
export interface StallSubject {
  /** Its answer, or that it has failed, has been sent. */
  readonly isAnswered: boolean;
  /** A timer, a call or a body of it is under way. */
  readonly isPending: boolean;
  /** Grows from one invocation to the next. */
  readonly order: number;
}

export interface StallHost {
  /** What is open, in the order in which it came. */
  readonly open: ReadonlyMap<number, StallSubject>;
  /** Turns are waiting, or work is under way that may belong to anybody. */
  readonly isBusy: boolean;
  onStalled(invocation: number): void;
}

export class StalledInvocations {
  readonly #host: StallHost;
  /** Those that wait for something that is not theirs, each with the order of the last invocation that had had a turn by then. */
  readonly #waiting = new Map<number, number>();
  #lastOpened = 0;
  #lastRun = 0;
  #isScheduled = false;
  readonly #check = (): void => {
    this.#isScheduled = false;
    if (!this.#host.isBusy) this.#endStalled();
  };

  constructor(host: StallHost) {
    this.#host = host;
  }

  /** The order of an invocation that is being opened. */
  opened(): number {
    return ++this.#lastOpened;
  }

  /** A turn of an invocation, or of none, is over. */
  turnEnded(invocation: number): void {
    const subject = this.#host.open.get(invocation);
    if (subject !== undefined && subject.order > this.#lastRun) this.#lastRun = subject.order;
    if (subject !== undefined && !subject.isAnswered && !subject.isPending) {
      this.#waiting.set(invocation, this.#lastRun);
    } else if (this.#waiting.size === 0) return;
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

  #endStalled(): void {
    let firstPending = Number.POSITIVE_INFINITY;
    for (const subject of this.#host.open.values()) {
      if (!subject.isPending) continue;
      firstPending = subject.order;
      break;
    }
    for (const [invocation, lastRun] of [...this.#waiting]) {
      if (lastRun >= firstPending) continue;
      this.#waiting.delete(invocation);
      this.#host.onStalled(invocation);
    }
  }
}
