/** The calls that wait for a batch of one queue, in the order of arrival, and the timer that wakes them. */
import { guarded } from '../../../quotas/guarded.js';
import { MAX_TIMER_MS } from '../../../quotas/max-timer.js';
import type { ClaimedMessage, ReceiveRequest } from '../broker.js';

export interface Waiter {
  readonly request: ReceiveRequest;
  readonly resolve: (batch: readonly ClaimedMessage[]) => void;
  readonly reject: (reason: unknown) => void;
}

export class Waiters {
  readonly #waiting: Waiter[] = [];
  readonly #wake: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(wake: () => void) {
    this.#wake = guarded(wake);
  }

  get first(): Waiter | undefined {
    return this.#waiting[0];
  }

  /** Resolves with a batch; rejects with the reason of the signal. `wake` is called before this returns. */
  add(request: ReceiveRequest): Promise<readonly ClaimedMessage[]> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const waiter: Waiter = {
        request,
        resolve: batch => {
          signal.removeEventListener('abort', giveUp);
          resolve(batch);
        },
        reject: reason => {
          signal.removeEventListener('abort', giveUp);
          reject(reason);
        },
      };
      const giveUp = guarded((): void => {
        const at = this.#waiting.indexOf(waiter);
        if (at >= 0) this.#waiting.splice(at, 1);
        if (this.#waiting.length === 0) this.#stop();
        waiter.reject(signal.reason);
      });
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiter);
      this.#wake();
    });
  }

  shift(): Waiter | undefined {
    const waiter = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#stop();
    return waiter;
  }

  /** Nobody gets anything any more. */
  rejectAll(reason: unknown): void {
    this.#stop();
    for (const waiter of this.#waiting.splice(0)) waiter.reject(reason);
  }

  /** Wakes them after this time, instead of the earlier one; undefined: not by time. */
  wakeIn(ms: number | undefined): void {
    this.#stop();
    if (ms === undefined || this.#waiting.length === 0) return;
    this.#timer = setTimeout(this.#wake, Math.min(Math.max(1, ms), MAX_TIMER_MS));
    this.#timer.unref();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
