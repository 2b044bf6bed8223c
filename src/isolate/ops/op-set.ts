import type { Place } from '../stacks/source-places.js';
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
  /**
   * CPU time of another thread, which the clock of this one does not show. Work is paid for before it is begun, since nobody can stop it
   * then: throws OpError when the invocation has not so much left.
   */
  charge(cpuMs: number): void;
  /** What finished work has cost beside what was charged for it; less than nothing gives back. */
  settle(invocation: number, cpuMs: number): void;
  /** Bytes outside of every heap that are held for the guest; less than nothing when they are given back. */
  hold(bytes: number): void;
  /** Where what stands at a place of the code that runs was written. */
  placeOf(place: Place): Place;
}
