/** How many callbacks of one account are under way. */
import { EdgeError } from '../../quotas/errors.js';

/** Of those that nobody waits for any more, because their time was up or their invocation ended, so many times as many may be unsettled. */
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
        : `${this.#abandoned} that nobody waits for have not settled`;
    throw new EdgeError('EDGE_OVERLOADED', `Cannot call the application for account "${this.#account}": ${why}`);
  }

  leave(): void {
    this.#open--;
  }

  /** Nobody waits for it any more, and it has not settled. */
  abandon(): void {
    this.#open--;
    this.#abandoned++;
  }

  /** One that was abandoned has settled. */
  settled(): void {
    this.#abandoned--;
  }
}
