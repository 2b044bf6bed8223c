/** Exponential back-off for cells that fail one after the other. */
import { delay } from 'abort-controller-x';

const FIRST_MS = 50;
const MAX_MS = 5000;
/** The back-off restarts after a cell that lived for this long. */
const STABLE_AFTER_MS = 10_000;

export class BackOff {
  #failures = 0;
  #notBeforeMs = 0;

  failed({ startedMs }: { readonly startedMs: number }): void {
    const now = performance.now();
    this.#failures = now - startedMs > STABLE_AFTER_MS ? 1 : this.#failures + 1;
    this.#notBeforeMs = now + Math.min(MAX_MS, FIRST_MS * 2 ** (this.#failures - 1));
  }

  /** Waits before a cell is started again. Rejects when the signal fires. */
  async wait(signal: AbortSignal): Promise<void> {
    const waitMs = this.#notBeforeMs - performance.now();
    if (waitMs > 0) await delay(signal, waitMs);
  }
}
