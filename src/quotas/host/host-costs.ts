/**
 * The cost of the host's work, in milliseconds of a processor: for work in other threads, or in callbacks of Node that cannot be timed one by one. Measured on
 * Node 20.20 on a 2-core x86-64 machine (`npm run bench -- --only accounting` prints them against the clock). They need not be exact: they decide which account
 * waits, and the charge of an invocation beyond its own CPU time.
 */
export const HOST_COSTS = {
  /** One call of a service: its head read, its arguments parsed and checked, its answer written. */
  callMs: 0.03,
  /** A megabyte of JSON parsed. */
  jsonMbMs: 12,
  /** One chunk of a body moved, whatever its size. */
  chunkMs: 0.01,
  /** A megabyte of a body received from a socket: 0.9 measured, chunks of 64 KiB. */
  movedMbMs: 0.8,
  /** A megabyte of a body sent to a socket: 0.07 beside its chunks. */
  sentMbMs: 0.1,
  /** A megabyte hashed: MD5 (of every object that is stored) 1.9, SHA-512 2.1, SHA-256 0.85 with the instructions of the processor. */
  hashedMbMs: 1.8,
  /** A megabyte read from or written to a file, with the work of the system: 0.42 and 0.53. */
  fileMbMs: 0.5,
  /** One operation on a file: 0.02 for its size, 0.04 to open and close it. */
  fileOperationMs: 0.03,
  /** One file for a new body, in all: made, synced with its directory, closed, and removed one day. An object of 100 KB takes 1.3 with all else. */
  newFileMs: 0.6,
  /** One record read from LevelDB, by itself: 0.015. */
  recordMs: 0.015,
  /** One of many records that are read at once and returned in a page of a listing: 0.006. */
  nextRecordMs: 0.005,
  /** One commit, its part of the sync included: a key-value pair of 1 KB takes 0.1 to 0.12, its call included. */
  commitMs: 0.06,
  /** One record written or deleted by a commit. */
  writtenRecordMs: 0.004,
  /** A megabyte of records that commits write, to the log and to the tables that it becomes: a value of 10 KB takes 0.13 over one of 1 KB. */
  writtenMbMs: 8,
  /** One response that a cache stores, beside its records and its body: 0.3 with responses of 10 KB. */
  keptResponseMs: 0.1,
  /** One message of a queue that is sent, beside its record: 0.029 with that, in batches of 100 messages of 1 KB. */
  messageMs: 0.022,
  /** One key or part that a call names, whether or not the call is refused. */
  keyMs: 0.0003,
  /** One request sent and its answer read, without bodies, on a socket that is open: 0.085. */
  hopMs: 0.1,
  /** One socket opened: 0.32; with TLS 2.8, most of it for the handshake. */
  socketMs: 0.3,
  tlsSocketMs: 2.7,
  /** A megabyte that came out of a decoder of content codings: gzip 1.7 to 3.5, Brotli 3.3 to 4.2. */
  decodedMbMs: 3,
  /** A megabyte that went into an encoder of content codings, of the qualities that responses have; and each step of one. */
  encodedMbMs: { br: 20, zstd: 8, gzip: 40 },
  encodeStepMs: 0.03,
} as const;

const MEBIBYTE = 1024 * 1024;

/** The cost of a number of bytes at a price for a megabyte. */
export function costOf(bytes: number, mbMs: number): number {
  return (bytes / MEBIBYTE) * mbMs;
}
