/** What a benchmark is, and what it hands to the report. */

/** Units of values, as the report shows them. */
export type Unit = 'us' | 'ms' | 'calls/s' | 'requests/s' | 'MB/s' | 'MB' | 'x' | '%' | 'count';

/** The target of a value: for its own median, or for the median of its ratio to the floor. */
export type Target =
  | { readonly of: 'value' | 'ratio'; readonly atLeast: number }
  | {
      readonly of: 'value' | 'ratio';
      readonly atMost: number;
      /** For a ratio: a median that is fine whatever the ratio, as that of two small values says little. */
      readonly orValueAtMost?: number;
    };

/** One row of the report. Samples are one a round, in the order of the rounds. */
export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly samples: readonly number[];
  /** The reference measured in the same rounds. */
  readonly floor?: { readonly name: string; readonly samples: readonly number[] };
  readonly target?: Target;
  readonly note?: string;
}

/** What a benchmark gets to work with. */
export interface BenchmarkContext {
  /** Rounds, each of which measures every subject once. */
  readonly rounds: number;
  /** How long one subject is measured in one round. */
  readonly seconds: number;
  /** Those of the benchmark's programs that are to be run, in its order. */
  readonly programs: readonly string[];
  /** An empty folder on the disk that is measured; removed afterwards. */
  readonly folder: string;
  /** Prints a line about the progress. */
  progress(text: string): void;
  /** Runs at the end, the last one first, however the benchmark ended. */
  defer(close: () => unknown): void;
}

export interface Benchmark {
  /** For `--only`. */
  readonly name: string;
  /** Runs only when it is named, or by an option of its own. */
  readonly isOptional?: boolean;
  /** Parts that can be chosen with `--programs`. @default none */
  readonly programs?: readonly string[];
  /** What is measured, in a sentence. */
  readonly measures: string;
  /** What it is compared with in the same run, in a sentence. */
  readonly floor: string;
  run(context: BenchmarkContext): Promise<readonly Figure[]>;
}
