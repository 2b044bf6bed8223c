/**
 * What work of the host costs, in milliseconds of a processor: for work that goes on in other threads, or in callbacks of Node that cannot be timed
 * one by one. Measured on Node 20.20 on a 2-core x86-64 machine (`npm run bench -- --only accounting` prints them against the clock). They need not be exact:
 * they decide who waits, and what an invocation is charged with beyond its own CPU time.
 */
export const HOST_COSTS = {
  /** One call of a service: its head read, its arguments parsed and checked, its answer written. */
  callMs: 0.03,
  /** A megabyte of JSON parsed. */
  jsonMbMs: 12,
  /** One chunk of a body moved, whatever its size. */
  chunkMs: 0.01,
  /** A megabyte of a body moved from a socket or a pipe to another. */
  movedMbMs: 0.6,
  /** A megabyte hashed (MD5 of every object that is stored). */
  hashedMbMs: 1.6,
  /** A megabyte read from or written to a file, with the work of the system. */
  fileMbMs: 0.5,
  /** One operation on a file: open, sync, rename, remove. */
  fileOperationMs: 0.04,
  /** One record read from LevelDB, by itself. */
  recordMs: 0.03,
  /** One of many records that are read at once: a page of a listing. */
  nextRecordMs: 0.003,
  /** One record written, in a batch. */
  writtenRecordMs: 0.008,
  /** One key or part that a call names, whether or not the call is refused. */
  keyMs: 0.002,
  /** One request sent and its answer read, without bodies, on a socket that is open. */
  hopMs: 0.1,
  /** One socket opened. */
  socketMs: 0.3,
  /** A megabyte that came out of a decoder of content codings. */
  decodedMbMs: 4,
} as const;

const MEBIBYTE = 1024 * 1024;

/** The cost of a number of bytes at a price for a megabyte. */
export function costOf(bytes: number, mbMs: number): number {
  return (bytes / MEBIBYTE) * mbMs;
}
