/** Figures of one function since it was loaded. */
import type { InvocationOutcome } from './events.js';

export interface FunctionStatsSnapshot {
  readonly invocations: number;
  readonly outcomes: Readonly<Partial<Record<InvocationOutcome, number>>>;
  readonly cpuMs: HistogramSnapshot;
  readonly wallMs: HistogramSnapshot;
  readonly subrequests: number;
}

export interface HistogramSnapshot {
  readonly sum: number;
  readonly mean: number;
  readonly max: number;
  /** Upper bounds of the buckets that hold these parts of the invocations. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export class FunctionStats {
  #invocations = 0;
  #subrequests = 0;
  readonly #outcomes: Partial<Record<InvocationOutcome, number>> = {};
  readonly #cpuMs = new Histogram();
  readonly #wallMs = new Histogram();

  record(outcome: InvocationOutcome, cpuMs: number, wallMs: number, subrequests: number): void {
    this.#invocations++;
    this.#subrequests += subrequests;
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
    this.#cpuMs.record(cpuMs);
    this.#wallMs.record(wallMs);
  }

  snapshot(): FunctionStatsSnapshot {
    return {
      invocations: this.#invocations,
      outcomes: { ...this.#outcomes },
      cpuMs: this.#cpuMs.snapshot(),
      wallMs: this.#wallMs.snapshot(),
      subrequests: this.#subrequests,
    };
  }
}

/** Four buckets for each doubling, from a microsecond to a day: a figure is told to within a fifth. */
const BUCKETS_PER_DOUBLING = 4;
const LEAST_MS = 0.001;
const BUCKETS = 148;

class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #sum = 0;
  #max = 0;

  record(ms: number): void {
    const bucket =
      ms <= LEAST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / LEAST_MS) * BUCKETS_PER_DOUBLING));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count++;
    this.#sum += ms;
    if (ms > this.#max) this.#max = ms;
  }

  snapshot(): HistogramSnapshot {
    return {
      sum: this.#sum,
      mean: this.#count === 0 ? 0 : this.#sum / this.#count,
      max: this.#max,
      p50: this.#quantile(0.5),
      p90: this.#quantile(0.9),
      p99: this.#quantile(0.99),
    };
  }

  #quantile(part: number): number {
    const wanted = Math.ceil(this.#count * part);
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      if (count > 0 && seen >= wanted) return Math.min(this.#max, LEAST_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING));
    }
    return 0;
  }
}
