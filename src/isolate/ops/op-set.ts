import type { SourcePlace } from '../stacks/source-places.js';
import type { RandomSource } from './random-source.js';
import type { Op } from './table.js';

/** The possible results of an op: nothing else may cross to the guest. */
export type OpResult = number | string | undefined;

/** Checks its own arguments (arguments.ts); throws OpError for what the guest shall see. */
export type OpFunction = (a: unknown, b: unknown, c: unknown, d: unknown) => OpResult;

export type OpSet = Partial<Record<Op, OpFunction>>;

/** The part of an isolate that its ops share. */
export interface OpContext {
  /** The invocation whose turn it is, 0 in the global scope. Set by the turn queue, never by the guest. */
  currentInvocation(): number;
  /** Leaves bytes for the guest's next Op.Take and answers their number. */
  leaveBytes(bytes: Uint8Array): number;
  /** Starts work that settles in a later turn of the same invocation; answers the id that the guest waits for. Refuses (OpError) when too many are pending. */
  begin(work: Promise<number | string | undefined | Uint8Array>): number;
  /**
   * CPU time of another thread, which the clock of this one does not show. It is charged before the work begins, because the work cannot be
   * stopped afterwards. Throws OpError when the invocation has less time left.
   */
  charge(cpuMs: number): void;
  /** Charges the difference between the cost of finished work and its charge; a negative number is a refund. */
  settle(invocation: number, cpuMs: number): void;
  /** Bytes outside of every heap that are held for the guest; negative when they are released. */
  hold(bytes: number): void;
  /** Random bytes that come from a key. @default none: the system makes them */
  readonly keyedRandom?: RandomSource | undefined;
  /** The same for memory that is about to be taken. Throws OpError when the isolate has less left. */
  reserve(bytes: number): void;
  /** Memory that the isolate may still take. */
  room(): number;
  /** The place in the source files of a place in the code that runs. */
  placeOf(place: SourcePlace): SourcePlace;
}
