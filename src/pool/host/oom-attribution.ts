/**
 * Attribution of out-of-memory aborts. V8 aborts the process without saying which thread ran out of memory; isolates that only shared the cell
 * report that the cell was lost, and a load that failed with it is tried again.
 */
import type { LeaseEnd } from '../cell/thread-pool.js';

/** A thread that was ended for its usage may run for this long, and abort the cell. */
const AFTERMATH_MS = 5000;

export class OomAttribution {
  readonly #longTurns = new Set<number>();
  readonly #now: () => number;
  #lastVerdictMs = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  longTurn(lease: number, isRunning: boolean): void {
    if (isRunning) this.#longTurns.add(lease);
    else this.#longTurns.delete(lease);
  }

  leaseEnded(lease: number, end: LeaseEnd): void {
    this.#longTurns.delete(lease);
    if (end === 'memory' || end === 'cpu' || end === 'startup') this.#lastVerdictMs = this.#now();
  }

  /** Selects the leases that may be the cause, from those that were `busy` when the cell ran out of memory. */
  culprits(busy: readonly number[]): ReadonlySet<number> {
    const long = busy.filter(lease => this.#longTurns.has(lease));
    if (long.length > 0) return new Set(long);
    // Its end was reported already.
    if (this.#now() - this.#lastVerdictMs < AFTERMATH_MS) return new Set();
    return new Set(busy);
  }
}
