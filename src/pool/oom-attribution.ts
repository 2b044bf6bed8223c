/**
 * Who is to blame when a cell dies of memory, which V8 ends a process for without saying which thread it was: so that whoever only
 * lived in the same cell is told that the cell was lost, and a load that fell with it is tried again.
 */
import type { LeaseEnd } from './thread-pool.js';

/** A thread that was ended for what it used up may work on for so long, and take the cell along. */
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

  /** Of the leases that were `busy` when the cell died of memory, those that may have used it up. */
  blamed(busy: readonly number[]): ReadonlySet<number> {
    const long = busy.filter(lease => this.#longTurns.has(lease));
    if (long.length > 0) return new Set(long);
    // It has been told already that its isolate was ended.
    if (this.#now() - this.#lastVerdictMs < AFTERMATH_MS) return new Set();
    return new Set(busy);
  }
}
