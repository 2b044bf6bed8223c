/** Statistics of one function since it was loaded. */
import type { InvocationOutcome } from '../events.js';

export interface FunctionStatsSnapshot {
  readonly invocations: number;
  readonly outcomes: Readonly<Partial<Record<InvocationOutcome, number>>>;
  readonly cpuMs: HistogramSnapshot;
  readonly wallMs: HistogramSnapshot;
  /** The most memory of any invocation, in bytes. */
  readonly peakMemoryBytes: number;
  readonly subrequests: number;
}

/** Milliseconds. */
export interface HistogramSnapshot {
  readonly sum: number;
  readonly mean: number;
  readonly max: number;
  /** Upper bounds of the buckets that hold these parts of the invocations. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  /** How many were at most `upTo` and above the bucket before. Empty buckets are left out; bounds are the same for every function. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
}

/** The numbers that one invocation adds. */
export interface InvocationFigures {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly peakBytes: number;
  readonly subrequests: number;
}

export class FunctionStats {
  #invocations = 0;
  #subrequests = 0;
  #peakBytes = 0;
  readonly #outcomes = new Map<InvocationOutcome, number>();
  readonly #cpuMs = new Histogram();
  readonly #wallMs = new Histogram();
  #all: FunctionStats | undefined;

  /** From here on times are recorded there too: it collects several functions, some of which are no longer loaded. */
  addTimesTo(all: FunctionStats): void {
    this.#all = all;
  }

  record(outcome: InvocationOutcome, { cpuMs, wallMs, peakBytes, subrequests }: InvocationFigures): void {
    this.#invocations++;
    if (peakBytes > this.#peakBytes) this.#peakBytes = peakBytes;
    this.#subrequests += subrequests;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    const cpuBucket = bucketOf(cpuMs);
    const wallBucket = bucketOf(wallMs);
    this.#cpuMs.record(cpuMs, cpuBucket);
    this.#wallMs.record(wallMs, wallBucket);
    if (this.#all === undefined) return;
    this.#all.#cpuMs.record(cpuMs, cpuBucket);
    this.#all.#wallMs.record(wallMs, wallBucket);
  }

  /** How long invocations took, in milliseconds. */
  get times(): { readonly cpuMs: Histogram; readonly wallMs: Histogram } {
    return { cpuMs: this.#cpuMs, wallMs: this.#wallMs };
  }

  /** Adds all that another has recorded. */
  add(other: FunctionStats): void {
    this.#invocations += other.#invocations;
    this.#subrequests += other.#subrequests;
    this.#peakBytes = Math.max(this.#peakBytes, other.#peakBytes);
    for (const [outcome, count] of other.#outcomes)
      this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + count);
    this.#cpuMs.add(other.#cpuMs);
    this.#wallMs.add(other.#wallMs);
  }

  snapshot(): FunctionStatsSnapshot {
    return {
      invocations: this.#invocations,
      outcomes: Object.fromEntries(this.#outcomes),
      cpuMs: this.#cpuMs.snapshot(),
      wallMs: this.#wallMs.snapshot(),
      peakMemoryBytes: this.#peakBytes,
      subrequests: this.#subrequests,
    };
  }
}

/** Four buckets for each doubling, from a microsecond to a day: a value is exact to within a fifth. */
const BUCKETS_PER_DOUBLING = 4;
export const MIN_MS = 0.001;
const BUCKETS = 148;

function bucketOf(ms: number): number {
  return ms <= MIN_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / MIN_MS) * BUCKETS_PER_DOUBLING));
}

/**
 * Not `createHistogram` of node:perf_hooks: it takes whole numbers, does not report the counts of its buckets, and takes 6 KB for each. It takes as long to
 * record one value as this takes for two (160 to 280 ns), once for each invocation.
 */
export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;
  #sum = 0;
  #max = 0;

  /** `bucket` is the bucket of the value, which several histograms may record. */
  record(ms: number, bucket: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count++;
    this.#sum += ms;
    if (ms > this.#max) this.#max = ms;
  }

  add(other: Histogram): void {
    for (const [bucket, count] of other.#counts.entries()) this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#max = Math.max(this.#max, other.#max);
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many values were at most `MIN_MS * 2 ** doublings`. */
  countUpTo(doublings: number): number {
    let count = 0;
    for (let bucket = 0; bucket <= doublings * BUCKETS_PER_DOUBLING; bucket++) count += this.#counts[bucket] ?? 0;
    return count;
  }

  snapshot(): HistogramSnapshot {
    return {
      sum: this.#sum,
      mean: this.#count === 0 ? 0 : this.#sum / this.#count,
      max: this.#max,
      p50: this.#quantile(0.5),
      p90: this.#quantile(0.9),
      p99: this.#quantile(0.99),
      buckets: [...this.#counts.entries()]
        .filter(([, count]) => count > 0)
        .map(([bucket, count]) => ({ upTo: upperBound(bucket), count })),
    };
  }

  #quantile(part: number): number {
    const wanted = Math.ceil(this.#count * part);
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      if (count > 0 && seen >= wanted) return Math.min(this.#max, upperBound(bucket));
    }
    return 0;
  }
}

function upperBound(bucket: number): number {
  return MIN_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);
}
