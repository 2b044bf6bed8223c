/** Work of one request on the main thread in slices: each is charged to the account, and others have their turn between two of them. */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { AccountWork } from '../../quotas/host/call-work.js';

const SLICE_MS = 2;

export class Slices {
  readonly #work: AccountWork | undefined;
  #began = performance.now();

  /** @param work undefined for an account that is not there any more */
  constructor(work: AccountWork | undefined) {
    this.#work = work;
  }

  /** Between two steps of the work: undefined at once while the slice is not over. */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#began < SLICE_MS) return undefined;
    this.end();
    return this.next();
  }

  /** Charges the last slice. */
  end(): void {
    this.#work?.charge(performance.now() - this.#began);
    this.#began = performance.now();
  }

  /** Begins a slice after others have had their turn, behind work that has waited for something and was charged. */
  async next(): Promise<void> {
    await nextRound();
    await this.#work?.turn();
    this.#began = performance.now();
  }
}
