/**
 * Shared memory in which an isolate thread publishes its turns for the watchdog, which runs in a thread that guest code never blocks. Written by the
 * isolate, read by the watchdog; a torn read costs one poll.
 */

const BYTES = 64;

enum Word {
  /** Odd while a turn is running. */
  Sequence = 0,
  Invocation = 1,
  /** Set by the isolate when it wants to be ended: the off-heap memory is over its limit. */
  KillReason = 2,
  /** The descriptor of the thread's CPU clock, 0 when there is none. */
  Clock = 3,
  /** The system's number of the thread, 0 when it is not known. */
  Thread = 4,
  /** The invocation that an excess of memory is attributed to. */
  Culprit = 5,
}

/** Values of eight bytes each, behind the six words. */
enum Value {
  /** CPU milliseconds that the current turn may take. */
  BudgetMs = 3,
  /** Monotonic milliseconds at the start of the turn. */
  StartedMs = 4,
  /** Heap and external bytes at the end of the last turn. */
  MemoryBytes = 5,
  /** CPU milliseconds that the invocation had used before the current turn. */
  UsedMs = 6,
  /** The approximate value of the thread's CPU clock at the start of the turn; 0 when there is none. */
  ClockMs = 7,
}

export class WatchBlock {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #values: Float64Array;

  constructor(buffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, 6);
    this.#values = new Float64Array(buffer);
  }

  // --- the isolate ---

  beginTurn(invocation: number, startedMs: number, budgetMs: number, usedMs: number, clockMs: number): void {
    this.#values[Value.ClockMs] = clockMs;
    this.#values[Value.UsedMs] = usedMs;
    this.#values[Value.StartedMs] = startedMs;
    this.#values[Value.BudgetMs] = budgetMs;
    this.#words[Word.Invocation] = invocation;
    Atomics.add(this.#words, Word.Sequence, 1);
  }

  endTurn(): void {
    Atomics.add(this.#words, Word.Sequence, 1);
  }

  set clock(descriptor: number) {
    Atomics.store(this.#words, Word.Clock, descriptor);
  }

  set thread(id: number) {
    Atomics.store(this.#words, Word.Thread, id);
  }

  giveKillReason(culprit: number): void {
    this.#words[Word.Culprit] = culprit;
    Atomics.store(this.#words, Word.KillReason, 1);
  }

  set memoryBytes(bytes: number) {
    this.#values[Value.MemoryBytes] = bytes;
  }

  // --- the watchdog ---

  /** Changes with every turn; odd while one is running. */
  get sequence(): number {
    return Atomics.load(this.#words, Word.Sequence);
  }

  get isInTurn(): boolean {
    return (this.sequence & 1) === 1;
  }

  /** The turn is the start-up of the function, which belongs to no invocation. */
  get isStarting(): boolean {
    return this.#words[Word.Invocation] === 0;
  }

  get thread(): number {
    return Atomics.load(this.#words, Word.Thread);
  }

  get clock(): number {
    return Atomics.load(this.#words, Word.Clock);
  }

  get invocation(): number {
    return this.#words[Word.Invocation] ?? 0;
  }

  get usedMs(): number {
    return this.#values[Value.UsedMs] ?? 0;
  }

  get isOverMemory(): boolean {
    return Atomics.load(this.#words, Word.KillReason) === 1;
  }

  /** The invocation that took the memory; it may be over by now. 0 for none. */
  get memoryTaker(): number {
    return this.#words[Word.Culprit] ?? 0;
  }

  get budgetMs(): number {
    return this.#values[Value.BudgetMs] ?? 0;
  }

  get startedMs(): number {
    return this.#values[Value.StartedMs] ?? 0;
  }

  get clockMs(): number {
    return this.#values[Value.ClockMs] ?? 0;
  }

  get memoryBytes(): number {
    return this.#values[Value.MemoryBytes] ?? 0;
  }
}

/** The time at which `performance.now()` of this thread begins. It is kept, since the getter costs more than the clock. */
export const ORIGIN_MS = performance.timeOrigin;

/** The same clock in every thread of the process. */
export function monotonicMs(): number {
  return ORIGIN_MS + performance.now();
}
