/** Counts what the invocations of one function use. This runs once for each invocation, so it only adds numbers to an array. */

import type { EdgeError } from '../quotas/errors.js';
import type { InvocationKind } from '../quotas/limits.js';
import type { SubrequestKind } from '../quotas/service-calls.js';
import type { UsageRow } from './usage-row.js';
import { callSlot, type InvocationOutcome, invocationSlot, SUM_SLOTS } from './usage-slots.js';

/** The usage of one invocation. */
export interface InvocationUsage {
  readonly kind: InvocationKind;
  /** Milliseconds, rounded to the microsecond. */
  readonly cpuMs: number;
  /** Milliseconds, rounded to the microsecond. */
  readonly wallMs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly subrequests: number;
  /** Undefined when no service was called. */
  readonly accounting: ServiceUsage | undefined;
  /** The calls of tools by a run of a sandbox; undefined for every other invocation. */
  readonly run?: ToolTotals | undefined;
}

/** The calls of tools that a run has made. Answers that came from its record of an earlier run are no calls. */
export interface ToolTotals {
  readonly toolCalls: number;
  /** Their durations added up, in milliseconds to the microsecond: calls that are open at once count each. */
  readonly toolMs: number;
}

export interface ServiceUsage {
  readonly calls: Readonly<Partial<Record<SubrequestKind, number>>>;
  readonly egressSentBytes: number;
  readonly egressReceivedBytes: number;
  /** The limits that its calls have passed, each once. */
  readonly exceeded?: readonly EdgeError[];
}

/** How the front cache answered a request: `stale` from an expired entry, `miss` not at all. */
export type FrontAnswer = 'hit' | 'stale' | 'miss';

/** The rows that are being added to. */
export interface OpenRows {
  readonly now: () => number;
  /** The row of a function on the day of `now`. */
  open(account: string, name: string, now: number): UsageRow;
  /** The row has changed: it is written soon. */
  noteChange(row: UsageRow): void;
}

export class FunctionUsage {
  readonly #account: string;
  readonly #name: string;
  readonly #rows: OpenRows;
  #row: UsageRow | undefined;

  constructor(account: string, name: string, rows: OpenRows) {
    this.#account = account;
    this.#name = name;
    this.#rows = rows;
  }

  /** Adds an invocation that is over to the day, in UTC, that it is now. */
  add(outcome: InvocationOutcome, usage: InvocationUsage): void {
    const row = this.#open();
    const { added } = row;
    const slot = invocationSlot(usage.kind, outcome);
    added[slot] = (added[slot] ?? 0) + 1;
    add(added, SUM_SLOTS.cpuUs, Math.round(usage.cpuMs * 1000));
    add(added, SUM_SLOTS.wallUs, Math.round(usage.wallMs * 1000));
    add(added, SUM_SLOTS.requestBytes, usage.requestBytes);
    add(added, SUM_SLOTS.responseBytes, usage.responseBytes);
    const { run } = usage;
    if (run !== undefined) {
      add(added, SUM_SLOTS.runs, 1);
      add(added, SUM_SLOTS.toolCalls, run.toolCalls);
      add(added, SUM_SLOTS.toolUs, Math.round(run.toolMs * 1000));
    }
    if (usage.accounting !== undefined) {
      const { calls, egressSentBytes, egressReceivedBytes } = usage.accounting;
      add(added, SUM_SLOTS.subrequests, usage.subrequests);
      add(added, SUM_SLOTS.egressSentBytes, egressSentBytes);
      add(added, SUM_SLOTS.egressReceivedBytes, egressReceivedBytes);
      let kind: SubrequestKind;
      // An object of our own, with keys of the table.
      for (kind in calls) add(added, callSlot(kind), calls[kind] ?? 0);
    }
    if (!row.isChanged) this.#rows.noteChange(row);
  }

  /** Adds what the cache in front has done with a request, and the bytes that it has answered with already. */
  addFronted(answer: FrontAnswer, bytes: number): void {
    const row = this.#open();
    add(row.added, SUM_SLOTS.cacheBytes, bytes);
    add(row.added, answer === 'miss' ? SUM_SLOTS.cacheMisses : SUM_SLOTS.cacheHits, 1);
    if (answer === 'stale') add(row.added, SUM_SLOTS.cacheStaleHits, 1);
    if (!row.isChanged) this.#rows.noteChange(row);
  }

  /** Adds bytes that the cache in front has answered with. */
  addFrontedBytes(bytes: number): void {
    const row = this.#open();
    add(row.added, SUM_SLOTS.cacheBytes, bytes);
    if (!row.isChanged) this.#rows.noteChange(row);
  }

  /** The row of the day, in UTC, that it is now. */
  #open(): UsageRow {
    const now = this.#rows.now();
    const open = this.#row;
    if (open !== undefined && !open.isClosed && now >= open.fromMs && now < open.endMs) return open;
    const row = this.#rows.open(this.#account, this.#name, now);
    this.#row = row;
    return row;
  }
}

function add(to: Float64Array, slot: number, value: number): void {
  to[slot] = (to[slot] ?? 0) + value;
}
