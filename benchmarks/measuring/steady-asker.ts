/** Asks at a steady rate, whatever became of the requests before, and measures each answer from the moment its request was due. */

/** What is asked: 'fine', or what came in its place. */
export type Ask = () => Promise<string>;

/** The time, and something done again and again. */
export interface Clock {
  now(): number;
  /** Answers how to stop. */
  every(ms: number, act: () => void): () => void;
}

const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  every: (ms, act) => {
    const timer = setInterval(act, ms);
    return () => clearInterval(timer);
  },
};

export class SteadyAsker {
  /** Milliseconds from due to answered, of each request that was answered with 'fine'. */
  readonly timesMs: number[] = [];
  /** What came in place of an answer. */
  readonly reasons: string[] = [];
  readonly #asks: readonly Ask[];
  readonly #clock: Clock;
  readonly #open = new Map<Promise<void>, number>();
  readonly #stopTimer: () => void;
  #dueMs: number;
  #serial = 0;

  /** One of `asks` is due every `everyMs`, in turn. */
  constructor(asks: readonly Ask[], everyMs: number, clock: Clock = SYSTEM_CLOCK) {
    this.#asks = asks;
    this.#clock = clock;
    this.#dueMs = clock.now() + everyMs;
    this.#stopTimer = clock.every(everyMs, () => {
      // Also those that were due while this process could not run: they are late from then on.
      for (const nowMs = clock.now(); this.#dueMs <= nowMs; this.#dueMs += everyMs) this.#ask(this.#dueMs);
    });
  }

  /** Asks no more. */
  stop(): void {
    this.#stopTimer();
  }

  /** Resolves when all that was asked has been answered. */
  async answered(): Promise<void> {
    await Promise.all(this.#open.keys());
  }

  /** Milliseconds that the requests without an answer have been due. */
  waitingMs(): number[] {
    const nowMs = this.#clock.now();
    return [...this.#open.values()].map(dueMs => nowMs - dueMs);
  }

  #ask(dueMs: number): void {
    const ask = this.#asks[this.#serial++ % this.#asks.length];
    if (ask === undefined) return;
    const asked = ask().then(answer => {
      if (answer === 'fine') this.timesMs.push(this.#clock.now() - dueMs);
      else this.reasons.push(answer);
      this.#open.delete(asked);
    });
    this.#open.set(asked, dueMs);
  }
}
