/**
 * Forgives occasional overruns of the CPU limit and no consistent ones (specification: Limits, rule 3). A tenth of the time that an invocation leaves unused is
 * lent to later ones, up to a bound. All of it would be too much: one light request would pay for three that pass a limit of 10 ms by 3, and a function whose
 * requests are mostly too heavy would be answered for good. Pure arithmetic: the watchdog measures and kills.
 */

/** The part of unused time that is lent. */
const LENT = 0.1;

export interface CpuTokenBucketOptions {
  /** Most that can be lent at any time, `cpuOverrunMs`. */
  readonly overrunMs: number;
  /**
   * The time that can be lent from the start. An isolate that replaces a terminated one gets the balance of its predecessor, or each new isolate could overrun
   * again. @default overrunMs, for a function's first isolate
   */
  readonly balanceMs?: number;
}

export class CpuTokenBucket {
  readonly #overrunMs: number;
  #balanceMs: number;

  constructor({ overrunMs, balanceMs = overrunMs }: CpuTokenBucketOptions) {
    this.#overrunMs = overrunMs;
    this.#balanceMs = this.#bounded(balanceMs);
  }

  /** The time that can be lent; below zero when concurrent invocations have each borrowed it. For a successor's `balanceMs`. */
  get balanceMs(): number {
    return this.#balanceMs;
  }

  /**
   * The CPU time at which an invocation is to be terminated: its limit, and the lent time, which is never more than the limit itself. Ask again when it is used
   * up: others may have been charged since.
   *
   * @param limitMs `cpuMs` of the kind of invocation
   */
  grant(limitMs: number): number {
    return limitMs + Math.min(limitMs, Math.max(0, this.#balanceMs));
  }

  /**
   * An invocation is over, or was terminated, and has used `usedMs` of its limit. The time that can be lent, and the time that is owed, is
   * then at most that limit: with a small limit and a large `overrunMs` it would take hundreds of overruns until they count as consistent.
   */
  charge(usedMs: number, limitMs: number): void {
    const leftMs = limitMs - usedMs;
    this.#balanceMs = this.#bounded(
      this.#bounded(this.#balanceMs, limitMs) + (leftMs > 0 ? leftMs * LENT : leftMs),
      limitMs,
    );
  }

  /** CPU time that was used and belongs to no invocation. */
  take(usedMs: number): void {
    this.#balanceMs = this.#bounded(this.#balanceMs - usedMs);
  }

  /** Debts are bounded too: many overruns at once must not count against a function indefinitely. */
  #bounded(balanceMs: number, limitMs = this.#overrunMs): number {
    const most = Math.min(this.#overrunMs, limitMs);
    return Math.max(-most, Math.min(most, balanceMs));
  }
}
