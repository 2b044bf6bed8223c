/** How many callbacks of one account are under way. */
import { EdgeError } from '../../quotas/errors.js';

/**
 * A call is abandoned when it has timed out or its invocation has ended. This many times `concurrency` abandoned calls
 * may be unsettled.
 */
const ABANDONED_FACTOR = 10;

export class CallbackGate {
  readonly #account: string;
  readonly #concurrency: number;
  #open = 0;
  #abandoned = 0;

  constructor(account: string, concurrency: number) {
    this.#account = account;
    this.#concurrency = concurrency;
  }

  get isIdle(): boolean {
    return this.#open === 0 && this.#abandoned === 0;
  }

  /** @throws EdgeError EDGE_OVERLOADED */
  enter(): void {
    const most = this.#concurrency * ABANDONED_FACTOR;
    if (this.#open < this.#concurrency && this.#abandoned < most) {
      this.#open++;
      return;
    }
    const why =
      this.#open >= this.#concurrency
        ? `${this.#open} are under way (option callbacks.concurrency of the host)`
        : `${this.#abandoned} abandoned calls have not settled`;
    throw new EdgeError('EDGE_OVERLOADED', `Cannot call the application for account "${this.#account}": ${why}`);
  }

  leave(): void {
    this.#open--;
  }

  /** The caller has stopped waiting, and the call has not settled. */
  abandon(): void {
    this.#open--;
    this.#abandoned++;
  }

  /** An abandoned call has settled. */
  settled(): void {
    this.#abandoned--;
  }
}
