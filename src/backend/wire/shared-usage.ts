/** The usage and the request counters of all applications on a storage, and how they are used from another process. */
import { partContract } from '../../bindings/contract.js';

/** The use of a function of an account on a day that is to be added, as the record of its counters is written. */
export type UsageEntry = readonly [account: string, name: string, day: number, counters: string];

/** The usage of all applications: backend/server/kept-usage.ts. */
export interface SharedUsage {
  /** Adds a message of the sender, unless it has been added. */
  add(sender: string, number: number, entries: readonly UsageEntry[]): Promise<void>;
  /** The sender sends nothing more. */
  left(sender: string): Promise<void>;
  /** Adds up what the accounts have had stored until now. */
  measure(accounts: readonly string[]): Promise<void>;
}

// A sender is not one that leaves with its connection: it sends its message again over the next one.
export const USAGE_CONTRACT = partContract<SharedUsage>({
  add: { isSafe: true },
  left: { isSafe: true },
  measure: { isSafe: true },
});

/** "minute:<its number>:<account>" or "day:…" | how many requests the application has counted of it, in all. */
export type OwnCount = readonly [key: string, count: number];

/** The requests of all applications: backend/server/request-counters.ts. */
export interface SharedCounts {
  /** The application's own counts. Resolves, for each, with the sum of all applications then. */
  set(application: string, counts: readonly OwnCount[]): Promise<number[]>;
  read(key: string): Promise<number>;
}

export const COUNTS_CONTRACT = partContract<SharedCounts>({
  set: { isSafe: true },
  read: { isSafe: true },
});
