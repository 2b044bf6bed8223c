/**
 * Bounds for a cell as seen from outside: far above the usage of honest cells, so that only a compromised cell exceeds them. Measured with honest cells on Node
 * 20.20 and 24.21, on a machine with two busy cores (docs/security.md has the values); the bounds are several times the measured values, for slower machines.
 */
const MEBIBYTE = 1024 * 1024;

/** Interval between two readings of a cell. */
export const POLL_MS = 250;

export const CPU = {
  /**
   * Part of one core that a cell may use at any time: timers, collections while idle, frames. Measured: 3 % for 10 s, with fourteen isolates
   * that collect their garbage after work.
   */
  idleShare: 0.2,
  /** May be used ahead of that share: 0.35 seconds of a busy thread. */
  slackMs: 350,
  /** On top of the slack for each isolate: all may collect garbage at once (50 to 90 ms each). */
  isolateSlackMs: 150,
  /** CPU time of a cell until it is up, before any function code runs. A slower machine takes longer: all bounds here are multiplied by the ratio. */
  upMs: 100,
  /** The largest ratio. */
  slowest: 5,
  /**
   * CPU time of the process per CPU time of a turn. V8 collects and compiles on four more threads, outside of any turn: measured were 3.3 for a function
   * that only makes garbage, and 1.1 for a loop.
   */
  helpers: 5,
  /** The same while a function starts; a higher use must fit into the slack, which nothing else needs at that time. */
  startupHelpers: 3,
  /** An invocation's frames, besides its turns. Measured: 0.02 to 0.07 ms in a row of many; 0.5 ms where they are few, which the idle share covers. */
  invocationMs: 0.5,
  /** A call of a service, besides its turns. Measured: 0.2 to 0.4 ms. */
  callMs: 1,
  /** A mebibyte that is moved in or out. Measured: 1 to 6 ms. */
  mebibyteMs: 20,
  /** A thread, its realm and its warm-up. Measured: 170 ms. */
  isolateMs: 250,
  /**
   * A thread that is being terminated may be inside native code, such as the collection of a full heap with the threads of V8's pool. Measured: 1.1 s of
   * wall time, and 3.2 s of CPU time. After 3 s its cell is replaced anyway (thread-pool.ts).
   */
  isolateEndMs: 6000,
  /** How long that is allowed, in polls after the end of an isolate. */
  isolateEndsPolls: 14,
  /** Polls after which an isolate that was not loaded counts as started. */
  isolateStartsPolls: 40,
  /** Consecutive readings past the bound, since the message of an invocation's end may be on its way. */
  persistentPolls: 2,
} as const;

/** A survey is a longer reading (see docs/security.md): of the whole process tree, and of the files that it holds open. */
export const SURVEY = {
  /** Polls between two surveys of a cell that uses CPU time. */
  activePolls: 4,
  /** Polls between two counts of the processes of a cell that uses none. */
  idlePolls: 6,
  /** Consecutive refused surveys after which a cell that was readable before is ended. */
  refusedInARow: 2,
} as const;

export interface CellBounds {
  /** All processes together, with the files that they hold open. */
  readonly memoryBytes: number;
  readonly threads: number;
  readonly descriptors: number;
  /** Bytes written to disks: a cell has no files to write, and honest cells write none. */
  readonly writtenBytes: number;
}

/** Times the ceiling at which the cell's own watchdog ends isolates. */
const HARD_CEILING = 2;
/** Node's own threads: measured were eleven besides the isolates. */
const OWN_THREADS = 64;
/** Measured were 64, and six for each isolate; behind the sandbox there are at most 512. */
const DESCRIPTORS = 1024;
const WRITTEN_BYTES = 8 * MEBIBYTE;

/** `cellMemoryBytes` and `maxThreads` come from the options of a cell. */
export function boundsOf(options: { readonly cellMemoryBytes: number; readonly maxThreads: number }): CellBounds {
  const { cellMemoryBytes, maxThreads } = options;
  return {
    memoryBytes: cellMemoryBytes * HARD_CEILING,
    threads: OWN_THREADS + 2 * maxThreads,
    descriptors: DESCRIPTORS + 16 * maxThreads,
    writtenBytes: WRITTEN_BYTES,
  };
}
