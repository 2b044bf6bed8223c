/**
 * Invocations of one isolate that were closed and have not confirmed it. Each has the same time for that; one that never confirms is given up, so that a
 * compromised isolate cannot keep it open indefinitely.
 */
import { guarded } from '../../quotas/guarded.js';
export class ClosingInvocations {
  /** When each is given up, in this order. */
  readonly #deadlines = new Map<number, number>();
  readonly #withinMs: number;
  readonly #onOverdue: (invocation: number) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(withinMs: number, onOverdue: (invocation: number) => void) {
    this.#withinMs = withinMs;
    this.#onOverdue = onOverdue;
  }

  get size(): number {
    return this.#deadlines.size;
  }

  has(invocation: number): boolean {
    return this.#deadlines.has(invocation);
  }

  add(invocation: number): void {
    this.#deadlines.set(invocation, performance.now() + this.#withinMs);
    this.#schedule(this.#withinMs);
  }

  /** It has confirmed. */
  delete(invocation: number): void {
    this.#deadlines.delete(invocation);
  }

  /** The isolate is gone. */
  clear(): void {
    this.#deadlines.clear();
    clearTimeout(this.#timer);
  }

  #schedule(delayMs: number): void {
    this.#timer ??= setTimeout(
      guarded(() => this.#giveUp()),
      delayMs,
    ).unref();
  }

  #giveUp(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [invocation, deadlineMs] of this.#deadlines) {
      if (deadlineMs > now) {
        this.#schedule(deadlineMs - now);
        return;
      }
      this.#deadlines.delete(invocation);
      this.#onOverdue(invocation);
    }
  }
}
