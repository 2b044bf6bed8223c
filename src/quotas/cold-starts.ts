/**
 * Decides which isolates of a function may take more CPU time once, for code that runs there for the first time. Compiling a large library takes longer than a
 * small limit, and an isolate that was ended over it leaves another one behind that is as cold: without this the function would be ended each time. An isolate
 * that replaces a lost one has it at growing intervals only. Otherwise each new isolate would answer the requests of a function that are all too heavy. Pure
 * arithmetic.
 */

/** How long after one such replacement the next one has it: at first, and at most. Each time it is twice as long. */
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;
/** After this many invocations in a row within the limit, the first wait applies again. */
const SOUND_INVOCATIONS = 100;

export class ColdStarts {
  /** An isolate has begun, and has not ended for a harmless reason. */
  #isOpen = false;
  #nextAtMs = Number.NEGATIVE_INFINITY;
  #waitMs = FIRST_WAIT_MS;
  #sound = 0;

  /** Whether the isolate that begins now may take more time once. */
  begins(nowMs: number): boolean {
    const replacesLost = this.#isOpen;
    this.#isOpen = true;
    if (!replacesLost) return true;
    if (nowMs < this.#nextAtMs) return false;
    this.#nextAtMs = nowMs + this.#waitMs;
    this.#waitMs = Math.min(LONGEST_WAIT_MS, 2 * this.#waitMs);
    return true;
  }

  /** The isolate was ended because nobody needs it, or for another one: that says nothing about the function. */
  endedInPeace(): void {
    this.#isOpen = false;
  }

  /** An invocation is over. */
  finished(isWithinLimit: boolean): void {
    this.#sound = isWithinLimit ? this.#sound + 1 : 0;
    if (this.#sound >= SOUND_INVOCATIONS) this.#waitMs = FIRST_WAIT_MS;
  }
}
