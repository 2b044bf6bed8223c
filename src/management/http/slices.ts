/** Work of one request on the main thread in slices: each is charged to the account, and others have their turn between two of them. */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { CallWork } from '../../quotas/host/call-work.js';

/** Who is charged; undefined for an account that is not there any more. */
export type AccountWork = Pick<CallWork, 'charge' | 'turn'> | undefined;

const SLICE_MS = 2;

export class Slices {
  readonly #work: AccountWork;
  #began = performance.now();

  constructor(work: AccountWork) {
    this.#work = work;
  }

  /** Between two steps of the work: undefined at once while the slice is not over. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.#began < SLICE_MS ? undefined : this.#pause();
  }

  /** Charges the last slice. */
  end(): void {
    this.#work?.charge(performance.now() - this.#began);
    this.#began = performance.now();
  }

  async #pause(): Promise<void> {
    this.end();
    await nextRound();
    await this.#work?.turn();
    this.#began = performance.now();
  }
}
