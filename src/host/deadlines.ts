/**
 * Many deadlines on one timer: adding and removing costs a map entry, since nearly every invocation removes its own at once.
 * Deadlines are met to within a second.
 */

const TICK_MS = 1000;

export class Deadlines<T> {
  readonly #items = new Map<T, number>();
  readonly #onPast: (item: T) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onPast: (item: T) => void) {
    this.#onPast = onPast;
  }

  /** A second deadline for the same item changes nothing. */
  add(item: T, afterMs: number): void {
    if (this.#items.has(item)) return;
    this.#items.set(item, performance.now() + afterMs);
    this.#timer ??= setTimeout(() => this.#tick(), Math.min(TICK_MS, afterMs)).unref();
  }

  /** Answers when it would have been, by performance.now(); undefined when there was none. */
  delete(item: T): number | undefined {
    const deadlineMs = this.#items.get(item);
    if (deadlineMs !== undefined) this.#items.delete(item);
    return deadlineMs;
  }

  #tick(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [item, deadline] of this.#items) {
      if (deadline > now) continue;
      this.#items.delete(item);
      this.#onPast(item);
    }
    if (this.#items.size > 0) this.#timer ??= setTimeout(() => this.#tick(), TICK_MS).unref();
  }
}
