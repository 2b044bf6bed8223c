/**
 * Shared memory in which an isolate thread publishes its turns for the watchdog, which runs in a thread that guest code never blocks. Written by the
 * isolate, read by the watchdog; a torn read costs one poll.
 */

const BYTES = 72;

enum Word {
  /** Odd while a turn is running. */
  Sequence = 0,
  Invocation = 1,
  /** Set by the isolate when it wants to be ended: the off-heap memory is over its limit. */
  KillReason = 2,
  /** The descriptor of the thread's CPU clock, 0 when it cannot be read. */
  Clock = 3,
  /** The system's number of the thread, 0 when it is not known. */
  Thread = 4,
  /** The invocation that an excess of memory is attributed to. */
  Culprit = 5,
  /** 1 while the watchdog waits to be woken by the next turn. */
  IsUnwatched = 6,
}

const WORDS = 8;

/** Values of eight bytes each, behind the words. */
enum Value {
  /** CPU milliseconds that the current turn may take. */
  BudgetMs = 4,
  /** Monotonic milliseconds at the start of the turn. */
  StartedMs = 5,
  /** Heap and external bytes at the end of the last turn. */
  MemoryBytes = 6,
  /** CPU milliseconds that the invocation had used before the current turn. */
  UsedMs = 7,
  /** The approximate value of the thread's CPU clock at the start of the turn; 0 when it cannot be read. */
  ClockMs = 8,
}

/** `Atomics.waitAsync`, which the library of the language version that this project is compiled for does not declare. */
interface AsyncAtomics {
  waitAsync(
    words: Int32Array,
    index: number,
    value: number,
  ): { readonly async: false } | { readonly async: true; readonly value: Promise<string> };
}

const asyncAtomics = Atomics as typeof Atomics & AsyncAtomics; // V8 has it since version 8.7

export class WatchBlock {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #values: Float64Array;

  constructor(buffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, WORDS);
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
    if (Atomics.load(this.#words, Word.IsUnwatched) === 1) this.wake();
  }

  /** The running turn has waited for this long. */
  postpone(waitedMs: number): void {
    this.#values[Value.StartedMs] = (this.#values[Value.StartedMs] ?? 0) + waitedMs;
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
    this.wake();
  }

  set memoryBytes(bytes: number) {
    this.#values[Value.MemoryBytes] = bytes;
  }

  // --- the watchdog ---

  /** Changes with every turn; odd while one is running. */
  get sequence(): number {
    return Atomics.load(this.#words, Word.Sequence);
  }

  /**
   * Stops the watch until the next turn begins. The isolate adds to the sequence before it checks whether it is watched, and the order here is the opposite, so
   * one of the two sees the other's change.
   *
   * @param sequence the sequence as last seen
   * @param onWake called once, when a turn begins or {@link wake} is called
   * @returns false, and nothing is changed, when a turn has begun since
   */
  sleep(sequence: number, onWake: () => void): boolean {
    Atomics.store(this.#words, Word.IsUnwatched, 1);
    const waiting = asyncAtomics.waitAsync(this.#words, Word.IsUnwatched, 1);
    if (waiting.async) waiting.value.then(onWake, onWake);
    if (waiting.async && this.sequence === sequence) return true;
    this.wake();
    return false;
  }

  /** Wakes the watchdog, if it sleeps. Called by both sides. */
  wake(): void {
    if (Atomics.exchange(this.#words, Word.IsUnwatched, 0) === 1) Atomics.notify(this.#words, Word.IsUnwatched);
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
