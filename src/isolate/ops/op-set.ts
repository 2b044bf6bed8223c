import type { Op } from './table.js';

/** What an op answers: nothing else may cross to the guest. */
export type OpResult = number | string | undefined;

/** Checks its own arguments (arguments.ts); throws OpError for what the guest shall see. */
export type OpFunction = (a: unknown, b: unknown, c: unknown, d: unknown) => OpResult;

export type OpSet = Partial<Record<Op, OpFunction>>;

/** What the ops of one isolate share. */
export interface OpContext {
  /** The invocation whose turn it is, 0 in the global scope. Set by the turn queue, never by the guest. */
  currentInvocation(): number;
  /** Leaves bytes for the guest's next Op.Take and answers their number. */
  leaveBytes(bytes: Uint8Array): number;
  /**
   * Starts work that settles in a later turn of the same invocation; answers the id that the guest waits for.
   * Refuses (OpError) when too many are under way.
   */
  begin(work: Promise<number | string | undefined | Uint8Array>): number;
  /** CPU time that another thread has spent for the invocation whose turn it is: the clock of this one does not show it. */
  charge(cpuMs: number): void;
}
