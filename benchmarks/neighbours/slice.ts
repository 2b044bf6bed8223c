/** The report of the host of the neighbours about one slice of time (servers/neighbourhood.ts). */
export interface SliceReport {
  /** Milliseconds that good requests took from the moment they were due: of functions that compute, and of those that put and get. */
  readonly callsMs: readonly number[];
  readonly putsMs: readonly number[];
  /** Of one that writes and reads a row of its database; nothing where none is asked. */
  readonly queriesMs: readonly number[];
  /** Good requests without their answer. */
  readonly lost: number;
  /** What came in its place. */
  readonly reasons: readonly string[];
  readonly tookMs: number;
  /** CPU time of the host's main thread, and how long it was ready to run and had no core. */
  readonly mainMs: number;
  readonly mainWaitedMs: number;
  /** The longest time that the host's event loop did not come round. */
  readonly stallMs: number;
  /** CPU time of the offender's cell; null when it was replaced meanwhile. */
  readonly cellMs: number | null;
  /** CPU time in the invocation events of the offender. */
  readonly billedMs: number;
  /** Ends of the offender's requests: outcomes of invocations, and codes of refusals. */
  readonly outcomes: Readonly<Record<string, number>>;
}
