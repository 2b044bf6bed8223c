/** CPU time and memory of each invocation, measured turn by turn, and the limits that end it. */
import { getHeapStatistics } from 'node:v8';
import { IdTable } from '../../protocol/id-table.js';
import { DoneFlag, HostOpens, type IsolateLimits } from '../../protocol/messages.js';
import { CpuTokenBucket } from '../../quotas/cpu-token-bucket.js';
import type { TurnMeter } from '../turns.js';
import { collectGarbage } from './collect-garbage.js';
import { budgetOf, type CpuBudget } from './cpu-budget.js';
import { threadCpuMs } from './thread-clock.js';
import { LONG_TURN_MS, now, TurnClock } from './turn-clock.js';
import { ORIGIN_MS, type WatchBlock } from './watch-block.js';

/**
 * In a turn this short no large buffer is made: 64 MB take 130 us and more (Node 20.20). Heap statistics, which take 0.3 us, are read at the end of longer
 * turns, and once in this many short ones: in a turn of another invocation a buffer would be attributed to that one.
 */
const SHORT_TURN_MS = 0.01;
const MEMORY_EVERY_TURNS = 4;
/** Heap statistics are read after an allocation of this size. */
const LARGE_BYTES = 1024 * 1024;
/** CPU time that the thread takes for a call for which it stands still, about. */
const STANDING_COST_MS = 0.02;
/** Rarely used code may run for the first time in one of this many invocations. */
const COLD_INVOCATIONS = 100;
/** How many invocations that have used up their CPU time are remembered, so that nothing more of them runs. */
const MAX_SPENT = 1024;

export interface MeterEvents {
  onTurnEnd(invocation: number): void;
  /** `cpuMs`: what it has used, and what it asked for beyond its limit. */
  onCpuExceeded(invocation: number, cpuMs: number): void;
  /** The same in the middle of its turn: it must not be answered any more. onCpuExceeded follows at the end of the turn. */
  onCpuSpent(invocation: number, cpuMs: number): void;
  /** The isolate exceeds its memory and is about to be ended. `invocation` is the one that allocated most in one turn. */
  onMemoryExceeded(invocation: number, bytes: number): void;
}

/** Before the function is known only the start-up is limited. */
const NO_LIMITS: IsolateLimits = {
  startupMs: 400,
  memoryBytes: Number.POSITIVE_INFINITY,
  cpuOverrunMs: 0,
  cpuBalanceMs: 0,
  cpuMs: { fetch: null, scheduled: null, queue: null, alarm: null, tail: null },
};

/** The CPU limit of a kind of invocation. */
const LIMIT_OF: Readonly<Partial<Record<HostOpens, keyof IsolateLimits['cpuMs']>>> = {
  [HostOpens.Scheduled]: 'scheduled',
  [HostOpens.Queue]: 'queue',
  [HostOpens.Alarm]: 'alarm',
  [HostOpens.Tail]: 'tail',
};

export class InvocationMeter implements TurnMeter {
  readonly #watch: WatchBlock;
  readonly #events: MeterEvents;
  readonly #collect: () => void;
  readonly #budgets = new IdTable<CpuBudget>();
  /**
   * Turns of finished invocations, and turns that belong to none, are charged to this budget: promises that were left behind may continue, but not
   * indefinitely. It exists from the end of the start-up on and restarts with each invocation, which can borrow less for it.
   */
  #background: CpuBudget | undefined;
  readonly #spent = new Set<number>();
  #limits: IsolateLimits = NO_LIMITS;
  #cpuTokens = new CpuTokenBucket({ overrunMs: 0 });
  readonly #clock = new TurnClock();
  #turnsSinceMemory = 0;
  #memoryBytesBefore = 0;
  #isOverMemory = false;
  /** The budget of the turn that is running. */
  #budget: CpuBudget | undefined;
  #invocation = 0;
  /** Between begin() and leave(). */
  #isWatched = false;
  #endedMs = 0;
  /** The result of `close`, reused by each call. */
  readonly #report = Buffer.alloc(9);
  #startupChargedMs = 0;
  #heldBytes = 0;
  /** CPU time beyond its limit and the lent time that one of the next few invocations may take; and the invocation that did. */
  #coldMs = 0;
  #coldInvocations = COLD_INVOCATIONS;
  #cold: CpuBudget | undefined;

  constructor(watch: WatchBlock, events: MeterEvents, collect: () => void = collectGarbage) {
    this.#watch = watch;
    this.#events = events;
    this.#collect = collect;
  }

  setLimits(limits: IsolateLimits): void {
    this.#limits = limits;
    this.#cpuTokens = new CpuTokenBucket({ overrunMs: limits.cpuOverrunMs, balanceMs: limits.cpuBalanceMs });
  }

  /**
   * The modules are compiled, before the first turn. The start-up is over after its own limit, and as much again for uncharged work (see load.ts). The watchdog
   * ends a longer one.
   */
  beginCompiling(): void {
    const clockMs = this.#clock.begin();
    this.#watch.beginTurn(0, ORIGIN_MS + this.#clock.startedMs, 2 * this.#limits.startupMs, 0, clockMs ?? 0);
  }

  endCompiling(): void {
    this.#watch.endTurn();
  }

  /**
   * The function is loaded, in this much CPU time: turns outside of invocations have the time of one turn of the start-up, together, and one of the first
   * invocations may take the rest of the start-up's time.
   */
  endStartup(usedMs = 0): void {
    const { startupMs, cpuMs, cpuColdMs = 0 } = this.#limits;
    this.#coldMs = Math.max(0, cpuColdMs - usedMs);
    this.#background = budgetOf(Math.min(startupMs, cpuMs.fetch ?? startupMs));
  }

  /** Whether function code may run for an invocation: not when its CPU time is used up, or the time of all finished ones. */
  mayRun(invocation: number): boolean {
    if (this.#budgets.has(invocation)) return true;
    const background = this.#background;
    return background === undefined || (background.usedMs < background.limitMs && !this.#spent.has(invocation));
  }

  open(invocation: number, kind: HostOpens): void {
    const background = this.#background;
    if (background !== undefined && background.usedMs > 0) {
      this.#cpuTokens.take(background.usedMs);
      background.usedMs = 0;
    }
    if (this.#coldInvocations > 0 && --this.#coldInvocations === 0 && this.#cold === undefined) this.#coldMs = 0;
    const limit = this.#limits.cpuMs[LIMIT_OF[kind] ?? 'fetch'];
    this.#budgets.set(invocation, budgetOf(limit ?? Number.POSITIVE_INFINITY));
  }

  /** The invocation has got a message, which restarts its CPU time. */
  renew(invocation: number): void {
    const budget = this.#budgets.get(invocation);
    if (budget === undefined || budget.isSpent) return;
    this.#settleBudget(budget);
    budget.earlierMs += budget.usedMs;
    budget.usedMs = 0;
    budget.refusedMs = 0;
  }

  /** For the host, see SignalKind.Done. Valid until the next call. */
  close(invocation: number): Buffer {
    const budget = this.#budgets.get(invocation);
    this.#budgets.delete(invocation);
    if (budget !== undefined) this.#settleBudget(budget);
    const report = this.#report;
    const usedMs = budget === undefined ? 0 : budget.usedMs + budget.earlierMs;
    report.writeUInt32LE(Math.min(0xffff_ffff, Math.round(usedMs * 1000)), 0);
    report.writeUInt32LE(Math.min(0xffff_ffff, Math.round((budget?.peakBytes ?? 0) / 1024)), 4);
    report.writeUInt8(budget?.isSpent === true ? DoneFlag.CpuExceeded : 0, 8);
    return report;
  }

  /** Settles a budget: the used time beyond it is borrowed, and the rest can be lent. */
  #settleBudget(budget: CpuBudget): void {
    if (budget.limitMs === Number.POSITIVE_INFINITY) return;
    const isCold = budget === this.#cold;
    // The extra time of a cold start is not lent.
    this.#cpuTokens.charge(isCold ? Math.min(budget.usedMs, budget.limitMs) : budget.usedMs, budget.limitMs);
    if (!isCold) return;
    this.#coldMs = 0;
    this.#cold = undefined;
    this.#coldInvocations = 0;
  }

  begin(invocation: number): void {
    this.leave();
    this.#isWatched = true;
    this.#invocation = invocation;
    const budget = this.#budgets.get(invocation) ?? this.#background;
    this.#budget = budget;
    const budgetMs = budget === undefined ? this.#limits.startupMs : this.#grant(budget) - budget.usedMs;
    const clockMs = this.#clock.begin();
    this.#watch.beginTurn(
      invocation,
      ORIGIN_MS + this.#clock.startedMs,
      Math.max(0, budgetMs),
      budget === undefined ? 0 : budget.usedMs + budget.earlierMs,
      clockMs ?? 0,
    );
  }

  /**
   * The answer of an invocation is about to go out. When it is past a limit by now, with what the turn that is running has used, it ends here:
   * at the end of the turn it would be answered already.
   */
  beforeReply(invocation: number): void {
    const budget = this.#budgets.get(invocation);
    if (budget === undefined || budget.isSpent) return;
    const isItsTurn = budget === this.#budget;
    let runningMs = isItsTurn ? now() - this.#clock.startedMs : 0;
    const isWorthALook = isItsTurn && !this.#isOverMemory && this.#isMemoryDue(runningMs);
    if (isWorthALook && this.#memoryBytes() > this.#limits.memoryBytes) {
      // The collection is charged separately and restarts the measurement.
      budget.usedMs += this.#clock.runningMs(runningMs);
      this.#checkMemory(invocation, budget);
      this.#clock.startedMs = now();
      runningMs = 0;
    }
    const grantMs = this.#grant(budget);
    if (budget.usedMs + runningMs <= grantMs) return;
    if (runningMs > 0) runningMs = this.#clock.runningMs(runningMs);
    if (budget.usedMs + runningMs <= grantMs) return;
    if (!isItsTurn) {
      this.#use(invocation, budget, 0);
      return;
    }
    // It stays open until the end of the turn, which is charged to it as a whole.
    budget.isSpent = true;
    this.#events.onCpuSpent(invocation, budget.usedMs + runningMs);
  }

  /** The watchdog watches until leave(): function code may run once more before the next turn, see TurnQueue. */
  end(invocation: number): void {
    this.#endedMs = now();
    const wallMs = this.#endedMs - this.#clock.startedMs;
    const usedMs = this.#clock.end(wallMs);
    const budget = this.#budget;
    if (wallMs > SHORT_TURN_MS || ++this.#turnsSinceMemory >= MEMORY_EVERY_TURNS) this.#checkMemory(invocation, budget);
    this.#use(invocation, budget, usedMs);
    this.#events.onTurnEnd(invocation);
  }

  leave(): void {
    if (!this.#isWatched) return;
    this.#isWatched = false;
    this.#watch.endTurn();
    const wallMs = now() - this.#endedMs;
    // A short interval is work of the host realm.
    if (wallMs > LONG_TURN_MS) this.#use(this.#invocation, this.#payer(), this.#clock.end(wallMs));
  }

  /** Node has read properties of a rejected promise behind the last turn, which may be function code: its time counts, however short. */
  rejected(): void {
    if (!this.#isWatched) return;
    const wallMs = now() - this.#endedMs;
    this.#endedMs += wallMs;
    this.#use(this.#invocation, this.#payer(), this.#clock.end(wallMs));
  }

  /** CPU time of other threads for code that belongs to no invocation: the global scope. */
  get startupChargedMs(): number {
    return this.#startupChargedMs;
  }

  /** Charges CPU time that another thread will spend. If it returns false, nothing is charged and the invocation ends with its turn. */
  charge(invocation: number, cpuMs: number): boolean {
    const budget = this.#budgets.get(invocation) ?? this.#background;
    if (budget === undefined) {
      this.#startupChargedMs += cpuMs;
      return this.#startupChargedMs <= this.#limits.startupMs;
    }
    if (budget.usedMs + cpuMs > this.#grant(budget)) {
      budget.refusedMs = Math.max(budget.refusedMs, cpuMs);
      return false;
    }
    budget.usedMs += cpuMs;
    return true;
  }

  /** The difference between the cost of finished work and its charge. The limit is checked at the end of the next turn, which delivers the result. */
  settle(invocation: number, cpuMs: number): void {
    const budget = this.#budgets.get(invocation) ?? this.#background;
    if (budget !== undefined) budget.usedMs += cpuMs;
  }

  /** The thread stands still in the middle of a turn: the time that it waits is no CPU time. */
  standing<T>(task: () => T): T {
    const beganMs = now();
    const result = task();
    const waitedMs = Math.max(0, now() - beganMs - STANDING_COST_MS);
    this.#clock.startedMs += waitedMs;
    this.#watch.postpone(waitedMs);
    return result;
  }

  /** Memory of the isolate that no heap statistics show. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (bytes > LARGE_BYTES) this.#turnsSinceMemory = MEMORY_EVERY_TURNS;
  }

  /** Memory that the isolate may still take, if no garbage is collected. */
  roomBytes(): number {
    return Math.max(0, this.#limits.memoryBytes - this.#memoryBytes());
  }

  /** Whether the isolate may take this much memory more. Garbage is collected first when it might not. */
  hasRoom(bytes: number): boolean {
    const mostBytes = this.#limits.memoryBytes - bytes;
    if (this.#memoryBytes() <= mostBytes) return true;
    this.#collectFor(this.#budget);
    return this.#memoryBytes() <= mostBytes;
  }

  /** Excludes the CPU time since the last turn from all accounting. */
  skip(): void {
    this.#clock.skip();
  }

  /** The budget for code that runs after the last turn: its invocation may be over by now. */
  #payer(): CpuBudget | undefined {
    return this.#budgets.get(this.#invocation) ?? this.#background;
  }

  #use(invocation: number, budget: CpuBudget | undefined, usedMs: number): void {
    if (budget === undefined) return;
    budget.usedMs += usedMs;
    const askedMs = budget.usedMs + budget.refusedMs;
    if (budget === this.#background || (askedMs <= this.#grant(budget) && !budget.isSpent)) return;
    budget.isSpent = true;
    this.#noteSpent(invocation);
    this.#events.onCpuExceeded(invocation, askedMs);
  }

  #noteSpent(invocation: number): void {
    this.#spent.add(invocation);
    const [oldest = invocation] = this.#spent;
    if (this.#spent.size > MAX_SPENT) this.#spent.delete(oldest);
  }

  /** Time that earlier invocations left unused can be borrowed on top of the limit. */
  #grant(budget: CpuBudget): number {
    if (budget === this.#background) return budget.limitMs;
    if (budget.limitMs === Number.POSITIVE_INFINITY) return budget.limitMs;
    const grantMs = this.#cpuTokens.grant(budget.limitMs);
    if (this.#coldMs === 0) return grantMs;
    // The first that needs it has it.
    if (this.#cold === undefined && budget.usedMs > grantMs) this.#cold = budget;
    return this.#cold === undefined || this.#cold === budget ? grantMs + this.#coldMs : grantMs;
  }

  #checkMemory(invocation: number, budget: CpuBudget | undefined): void {
    this.#turnsSinceMemory = 0;
    let bytes = this.#memoryBytes();
    if (bytes > this.#limits.memoryBytes && !this.#isOverMemory) {
      this.#collectFor(budget);
      bytes = this.#memoryBytes();
      this.#noteMemory(budget, bytes);
      if (bytes > this.#limits.memoryBytes) this.#exceedMemory(invocation, bytes);
    } else this.#noteMemory(budget, bytes);
  }

  #isMemoryDue(turnMs: number): boolean {
    return turnMs > SHORT_TURN_MS || this.#turnsSinceMemory >= MEMORY_EVERY_TURNS;
  }

  #noteMemory(budget: CpuBudget | undefined, bytes: number): void {
    const grownBytes = bytes - this.#memoryBytesBefore;
    this.#memoryBytesBefore = bytes;
    this.#watch.memoryBytes = bytes;
    if (budget === undefined) return;
    if (bytes > budget.peakBytes) budget.peakBytes = bytes;
    if (grownBytes > budget.grownBytes) budget.grownBytes = grownBytes;
  }

  /** Attributes the excess to the open invocation that allocated most in one turn, even when another one's turn is running. */
  #exceedMemory(invocation: number, bytes: number): void {
    this.#isOverMemory = true;
    let culprit = invocation;
    let most = this.#budgets.get(invocation)?.grownBytes ?? 0;
    for (const [id, { grownBytes }] of this.#budgets.entries()) {
      if (grownBytes <= most) continue;
      most = grownBytes;
      culprit = id;
    }
    this.#watch.giveKillReason(culprit);
    if (this.#budgets.has(culprit)) this.#events.onMemoryExceeded(culprit, bytes);
  }

  #memoryBytes(): number {
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    return heap + external + this.#heldBytes;
  }

  /**
   * Buffers are garbage for long before V8 collects them, since memory outside of its heap hardly triggers collections. Only what remains
   * afterwards counts as held. The collection is charged to the invocation that allocated so much.
   */
  #collectFor(budget: CpuBudget | undefined): void {
    const beforeMs = threadCpuMs() ?? now();
    this.#collect();
    if (budget !== undefined) budget.usedMs += (threadCpuMs() ?? now()) - beforeMs;
    this.skip();
  }
}
