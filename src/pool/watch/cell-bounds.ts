/**
 * What a cell may use, seen from outside: far more than honest ones do, so that only one that has been taken over, or whose own watchdog
 * has, comes past it. Measured with honest cells on Node 20.20 and 24.21, on a machine with two busy cores (docs/security.md has the
 * values); the numbers here leave several times of what was seen, for slower machines.
 */
const MEBIBYTE = 1024 * 1024;

/** Readings of a cell are this far apart. */
export const POLL_MS = 250;

export const CPU = {
  /**
   * Part of one core that a cell may use at any time: timers, collections while idle, frames. Seen: 3 % for 10 s, with fourteen isolates
   * that collect their garbage after work.
   */
  idleShare: 0.2,
  /** So much may be used ahead of that share: it is used up in 0.35 seconds by a thread that burns. */
  slackMs: 350,
  /** On top of the slack for each isolate: all may collect garbage at once (50 to 90 ms each). */
  isolateSlackMs: 150,
  /**
   * What a cell takes until it says that it is up, before any function code runs: what it takes beyond that tells how much slower this machine
   * is, and all that is allowed here is multiplied by it.
   */
  upMs: 100,
  /** The machine is taken for so many times slower at most. */
  slowest: 5,
  /**
   * CPU time of the process for CPU time of a turn. V8 collects and compiles on four more threads (its pool), and what they use belongs to
   * no turn: seen were 3.3 for a function that only makes garbage, and 1.1 for a loop.
   */
  helpers: 5,
  /** The same while a function starts: what it uses beyond that has to fit into the slack, which nothing else needs then. */
  startupHelpers: 3,
  /** An invocation's frames, besides its turns. Seen: 0.02 to 0.07 ms in a row of many; 0.5 ms where they are few, which the idle share covers. */
  invocationMs: 0.5,
  /** A call of a service, besides its turns. Seen: 0.2 to 0.4 ms. */
  callMs: 1,
  /** A mebibyte that is moved in or out. Seen: 1 to 6 ms. */
  mebibyteMs: 20,
  /** A thread, its realm and its warm-up. Seen: 170 ms. */
  isolateMs: 250,
  /**
   * A thread that was told to end may be inside something native, for which nobody pays: the collection of a heap that is full, with the threads of
   * V8's pool. Seen: 1.1 s on the wall, and 3.2 s of CPU time. After 3 s its cell is replaced anyway (thread-pool.ts).
   */
  isolateEndMs: 6000,
  /** For so long after an isolate was told to end. */
  isolateEndsPolls: 14,
  /** An isolate that was not loaded by then is warm and waits. */
  isolateStartsPolls: 40,
  /** Readings in a row past the bound: the news of an invocation's end may be on its way. */
  persistentPolls: 2,
} as const;

/** A survey is a reading that takes longer (see docs/security.md): of the whole tree, and of what it holds open. */
export const SURVEY = {
  /** Polls from one to the next of a cell that uses CPU time. */
  activePolls: 4,
  /** Polls until the processes of a cell that uses none are counted again. */
  idlePolls: 6,
  /** Surveys in a row that were refused where the first was not. */
  refusedInARow: 2,
} as const;

export interface CellBounds {
  /** All processes together, with the files that they hold open. */
  readonly memoryBytes: number;
  readonly threads: number;
  readonly descriptors: number;
  /** Written to disks: a cell has no files to write, and none was seen to write a byte. */
  readonly writtenBytes: number;
}

/** Times the ceiling at which the cell's own watchdog ends isolates. */
const HARD_CEILING = 2;
/** Node's own: seen were eleven beside the isolates. */
const OWN_THREADS = 64;
/** Seen were 64, and six for each isolate; behind the sandbox there are at most 512. */
const DESCRIPTORS = 1024;
const WRITTEN_BYTES = 8 * MEBIBYTE;

/** `cellMemoryBytes` and `maxThreads` are those of the options of a cell. */
export function boundsOf(options: { readonly cellMemoryBytes: number; readonly maxThreads: number }): CellBounds {
  const { cellMemoryBytes, maxThreads } = options;
  return {
    memoryBytes: cellMemoryBytes * HARD_CEILING,
    threads: OWN_THREADS + 2 * maxThreads,
    descriptors: DESCRIPTORS + 16 * maxThreads,
    writtenBytes: WRITTEN_BYTES,
  };
}
