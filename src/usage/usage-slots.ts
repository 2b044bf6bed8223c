/** The counters of a usage row: which there are, and in which slot of an array each of them stands. */

import { INVOCATION_KINDS, type InvocationKind } from '../quotas/limits.js';
import { SUBREQUEST_KINDS, type SubrequestKind } from '../quotas/service-calls.js';

/** How an invocation ended. */
export const INVOCATION_OUTCOMES = [
  'ok',
  'exception',
  'exceededCpu',
  'exceededMemory',
  'exceededWallTime',
  'canceled',
  'responseStreamDisconnected',
  'isolateLost',
] as const;

export type InvocationOutcome = (typeof INVOCATION_OUTCOMES)[number];

/** In the order of the table of subrequests. */
export const CALL_KINDS: readonly SubrequestKind[] = keysOf(SUBREQUEST_KINDS);

const OUTCOMES = INVOCATION_OUTCOMES.length;
const INVOCATIONS = INVOCATION_KINDS.length * OUTCOMES;

/** Sums that an invocation adds to, the run of a sandbox alone, or the cache in front. Times are whole microseconds, so that sums are exact. */
const SUMS = [
  'cpuUs',
  'wallUs',
  'requestBytes',
  'responseBytes',
  'subrequests',
  'egressSentBytes',
  'egressReceivedBytes',
  'cacheHits',
  'cacheStaleHits',
  'cacheMisses',
  'cacheBytes',
  'runs',
  'toolCalls',
  'toolUs',
] as const;

export type UsageSum = (typeof SUMS)[number];

/** The slot of each sum. */
export const SUM_SLOTS = recordOf(SUMS, (_, index) => INVOCATIONS + index);

const CALL_SLOTS = recordOf(CALL_KINDS, (_, index) => INVOCATIONS + SUMS.length + index);
const KIND_OFFSETS = recordOf(INVOCATION_KINDS, (_, index) => index * OUTCOMES);
const OUTCOME_OFFSETS = recordOf(INVOCATION_OUTCOMES, (_, index) => index);

/** The name of each slot on disk, which never changes its meaning: `fetch.ok`, `cpuUs`, `calls.bucket`. Slots may move; a row is stored by names. */
export const SLOT_NAMES: readonly string[] = [
  ...INVOCATION_KINDS.flatMap(kind => INVOCATION_OUTCOMES.map(outcome => `${kind}.${outcome}`)),
  ...SUMS,
  ...CALL_KINDS.map(kind => `calls.${kind}`),
];

/** The counters of one row, zero at first. A typed array: adding to one allocates nothing. */
export type UsageSlots = Float64Array;

export function newSlots(): UsageSlots {
  return new Float64Array(SLOT_NAMES.length);
}

export function invocationSlot(kind: InvocationKind, outcome: InvocationOutcome): number {
  return KIND_OFFSETS[kind] + OUTCOME_OFFSETS[outcome];
}

export function callSlot(kind: SubrequestKind): number {
  return CALL_SLOTS[kind];
}

export function addSlots(to: UsageSlots, from: UsageSlots): void {
  for (let slot = 0; slot < to.length; slot++) to[slot] = (to[slot] ?? 0) + (from[slot] ?? 0);
}

/** As JSON, without the counters that are zero. */
export function encodeSlots(slots: UsageSlots): Buffer {
  const values: Record<string, number> = {};
  for (const [slot, name] of SLOT_NAMES.entries()) {
    const value = slots[slot] ?? 0;
    if (value !== 0) values[name] = value;
  }
  return Buffer.from(JSON.stringify(values));
}

/** A damaged value counts as zero: usage that cannot be read is not charged. */
export function decodeSlots(record: Buffer): UsageSlots {
  const slots = newSlots();
  const values = parsed(record);
  for (const [slot, name] of SLOT_NAMES.entries()) {
    const value = Reflect.get(values, name);
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) slots[slot] = value;
  }
  return slots;
}

export function parsed(record: Buffer): object {
  try {
    const value: unknown = JSON.parse(record.toString());
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

export function recordOf<K extends string>(
  keys: readonly K[],
  pick: (key: K, index: number) => number,
): Readonly<Record<K, number>> {
  // Each of the keys is set.
  return Object.fromEntries(keys.map((key, index) => [key, pick(key, index)])) as Record<K, number>;
}

function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  // A constant table has exactly the keys of its type.
  return Object.keys(table) as K[];
}
