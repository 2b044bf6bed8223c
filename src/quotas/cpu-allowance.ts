/**
 * Forgives occasional overruns of the CPU limit and no consistent ones (specification: Limits, rule 3). Time that an
 * invocation leaves unused is lent to later ones, up to a bound; over many invocations the average cannot pass the
 * limit. Pure arithmetic: the watchdog measures and kills.
 */

export interface CpuAllowanceOptions {
  /** Most that can be lent at any time, `cpuOverrunMs`. */
  readonly overrunMs: number;
  /**
   * What can be lent from the start. An isolate that replaces one that was terminated gets the balance of its
   * predecessor, or each new isolate would overrun anew. @default overrunMs, for a function's first isolate
   */
  readonly balanceMs?: number;
}

export class CpuAllowance {
  readonly #overrunMs: number;
  #balanceMs: number;

  constructor({ overrunMs, balanceMs = overrunMs }: CpuAllowanceOptions) {
    this.#overrunMs = overrunMs;
    this.#balanceMs = this.#bounded(balanceMs);
  }

  /** What can be lent; below zero when invocations that ran at once have each taken it. For a successor's `balanceMs`. */
  get balanceMs(): number {
    return this.#balanceMs;
  }

  /**
   * The CPU time at which an invocation is to be terminated: its limit, and what is lent, which is never more than the
   * limit itself. Ask again when it is used up: others may have settled since.
   *
   * @param limitMs `cpuMs` of the kind of invocation
   */
  grant(limitMs: number): number {
    return limitMs + Math.min(limitMs, Math.max(0, this.#balanceMs));
  }

  /** An invocation is over, or was terminated, and has used so much CPU time of its limit. */
  settle(usedMs: number, limitMs: number): void {
    this.#balanceMs = this.#bounded(this.#balanceMs + limitMs - usedMs);
  }

  /** Debts are bounded too: many overruns at once must not count against a function for ever. */
  #bounded(balanceMs: number): number {
    return Math.max(-this.#overrunMs, Math.min(this.#overrunMs, balanceMs));
  }
}
