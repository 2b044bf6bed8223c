/**
 * CPU time that the host has used for one invocation. It counts as the function's, which has caused the work: else a plan's limit would mean nothing for bodies
 * that are passed on. Made with the first work.
 */
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';

export class HostBill {
  #ms = 0;
  /** Its value when the CPU time was restarted. */
  #earlierMs = 0;
  #receivedBytes = 0;
  #isPast = false;

  /** All of it. */
  get ms(): number {
    return this.#ms + this.#earlierMs;
  }

  /** Restarts the CPU time of the invocation. */
  renew(): void {
    this.#earlierMs += this.#ms;
    this.#ms = 0;
  }

  add(ms: number): void {
    this.#ms += ms;
  }

  /** Adds the bytes of the response since the last call. The account was charged when it was read off the connection, by the clock. */
  received(bytes: number): void {
    if (bytes <= this.#receivedBytes) return;
    this.#ms += HOST_COSTS.chunkMs + costOf(bytes - this.#receivedBytes, HOST_COSTS.movedMbMs);
    this.#receivedBytes = bytes;
  }

  /** Answers once whether it is past the limit, and past what others have left unused and is lent. */
  passes(limitMs: number, grant: (limitMs: number) => number): boolean {
    if (this.#isPast || this.#ms <= limitMs || this.#ms <= grant(limitMs)) return false;
    this.#isPast = true;
    return true;
  }
}
