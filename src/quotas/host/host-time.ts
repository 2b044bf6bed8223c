/**
 * The time of the host that its accounts take: frames read, calls answered, bodies moved, and work of other threads for them. While several accounts are at
 * work each has a share of the main thread, by deficit: an account that has used more than its share waits until the debt is paid. An account that is alone has
 * all of it.
 */
import { guarded } from '../guarded.js';

/**
 * The part of the main thread that one account may use while others are at work. The bytes that it moves cost V8's collector as much again on threads of its
 * own, and the kernel: with a third, others waited for a core twice as long as with a sixth (Node 20.20, two cores).
 */
const SHARE = 1 / 6;
/** The part that all accounts which want more than they have may use together: the rest is for those that want little, and the application. */
const SHARED = 3 / 4;
/** The time that an account may use at once before it must wait. */
const BURST_MS = 2;
/** An account that did nothing for this long is not active. */
const ACTIVE_MS = 100;
/** Timers have no finer steps. */
const STEP_MS = 1;

/** The accounts of one process that are at work. */
export class HostTime {
  readonly #active = new Set<AccountTime>();
  readonly #debtors = new Set<AccountTime>();
  #sweep: NodeJS.Timeout | undefined;
  #payment: NodeJS.Timeout | undefined;
  readonly now: () => number;

  /** @param now milliseconds of a clock that does not jump; for tests */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Several accounts are at work. */
  get isShared(): boolean {
    return this.#active.size > 1;
  }

  /** The part of the main thread that an account earns. */
  get rate(): number {
    return Math.min(SHARE, SHARED / Math.max(1, this.#debtors.size));
  }

  begins(account: AccountTime): void {
    this.#active.add(account);
    this.#sweep ??= setInterval(
      guarded(() => this.#leave()),
      ACTIVE_MS,
    ).unref();
  }

  owes(account: AccountTime): void {
    this.#debtors.add(account);
    this.#payment ??= setTimeout(
      guarded(() => this.#pay()),
      STEP_MS,
    );
  }

  closes(account: AccountTime): void {
    this.#active.delete(account);
    this.#debtors.delete(account);
  }

  /** One round: each debtor earns its part; in the order in which they came, so that no debtor is always the first. */
  #pay(): void {
    this.#payment = undefined;
    const now = this.now();
    for (const account of [...this.#debtors]) {
      if (!account.earn(now)) continue;
      this.#debtors.delete(account);
      account.paid();
    }
    if (this.#debtors.size > 0)
      this.#payment ??= setTimeout(
        guarded(() => this.#pay()),
        STEP_MS,
      );
  }

  #leave(): void {
    const now = this.now();
    for (const account of this.#active) if (!account.isAtWork(now - ACTIVE_MS)) this.#active.delete(account);
    if (this.#active.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }
}

/** The time of one account. */
export class AccountTime {
  readonly #all: HostTime;
  readonly #onChange: (isInDebt: boolean) => void;
  #balanceMs = BURST_MS;
  #earnedAtMs: number;
  #workedAtMs = Number.NEGATIVE_INFINITY;
  #isActive = false;
  #isInDebt = false;
  #spentMs = 0;

  /** @param onChange it must wait, or may continue */
  constructor(all: HostTime, onChange: (isInDebt: boolean) => void) {
    this.#all = all;
    this.#onChange = onChange;
    this.#earnedAtMs = all.now();
  }

  get isInDebt(): boolean {
    return this.#isInDebt;
  }

  /** All that was charged, in milliseconds. */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** Counts work that was done for the account, in milliseconds of a processor, on whichever thread of the host. */
  charge(ms: number, now: number = this.#all.now()): void {
    this.#spentMs += ms;
    this.#workedAtMs = now;
    if (!this.#isActive) {
      this.#isActive = true;
      this.#all.begins(this);
    }
    if (!this.#all.isShared) return;
    this.#earn(now);
    this.#balanceMs -= ms;
    if (this.#balanceMs >= 0 || this.#isInDebt) return;
    this.#isInDebt = true;
    this.#onChange(true);
    this.#all.owes(this);
  }

  /** Whether the debt is paid by now: by time, or because no other account is active. */
  earn(now: number): boolean {
    this.#earn(now);
    if (!this.#all.isShared && this.#balanceMs < 0) this.#balanceMs = 0;
    return this.#balanceMs >= 0;
  }

  paid(): void {
    this.#isInDebt = false;
    this.#onChange(false);
  }

  isAtWork(sinceMs: number): boolean {
    // An account in debt counts as active, because it waits to continue.
    this.#isActive = this.#isInDebt || this.#workedAtMs >= sinceMs;
    return this.#isActive;
  }

  close(): void {
    this.#isInDebt = false;
    this.#isActive = false;
    this.#all.closes(this);
  }

  #earn(now: number): void {
    this.#balanceMs = Math.min(BURST_MS, this.#balanceMs + (now - this.#earnedAtMs) * this.#all.rate);
    this.#earnedAtMs = now;
  }
}
