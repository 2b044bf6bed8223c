import type { Holdings } from './holdings.js';

/** The report of the host of a hoard about a period of time (servers/hoarded.ts). */
export interface HoardReport {
  /** Requests of other accounts without their answer. */
  readonly lost: number;
  /** What came in its place. */
  readonly reasons: readonly string[];
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Open descriptors of the host, at most, above what they were. */
  readonly descriptors: number;
  /** From the beginning of the hoard until the hoarder's cell was gone; null when it was not. */
  readonly endedMs: number | null;
  /** Of a native program that was not ended: what it held when the time was over. */
  readonly held: Holdings | null;
  /** It held no more than an honest cell does: what it tried was refused. */
  readonly isRefused: boolean;
  /** How the hoarder's requests ended: status or code. */
  readonly ends: Readonly<Record<string, number>>;
}
