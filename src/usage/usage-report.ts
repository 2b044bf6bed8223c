/** Sums usage over days and functions. */

import type { CallWork } from '../quotas/host/call-work.js';
import type { StoredSum } from '../storage/accounts/account-sum.js';
import { hoursSince } from './stored-bytes.js';
import { isoDay } from './usage-day.js';
import type { ResolvedUsageQuery } from './usage-query.js';
import { addSlots, newSlots, type UsageSlots } from './usage-slots.js';
import type { StoredHours, UsageStore } from './usage-store.js';
import { type UsageValues, usageValues } from './usage-values.js';

/** The usage of an account by its invocations: of one day or function, where the report is by day or function. */
export interface UsageRecord extends UsageValues {
  /** YYYY-MM-DD, UTC; undefined when the report is not by day. An invocation belongs to the day that it was over on. */
  readonly day: string | undefined;
  /**
   * The name of the function, which may be loaded no more; undefined when the report is not by function. `*` is the sum of the functions past the
   * first 2,000 names of the account on a day.
   */
  readonly function: string | undefined;
}

/** The storage of an account, multiplied by the time that it was stored. */
export interface StoredUsage {
  /** YYYY-MM-DD, UTC; undefined when the report is not by day. */
  readonly day: string | undefined;
  /** Bytes times hours: 1 GiB during a day is 24 * 2 ** 30. */
  readonly byteHours: number;
  /** Objects times hours. */
  readonly objectHours: number;
}

/** The usage of one account. */
export interface UsageReport {
  readonly account: string;
  /** The first day, YYYY-MM-DD, UTC. */
  readonly from: string;
  /** The day after the last one, YYYY-MM-DD, UTC. */
  readonly to: string;
  /** The time that the report is of: usage of this day continues to grow. */
  readonly asOf: Date;
  /** By day, then by function. Days and functions without usage have no record; a report by 'total' has exactly one. */
  readonly records: readonly UsageRecord[];
  /** The bytes and objects that are stored now, whatever days the query names. */
  readonly stored: StoredSum;
  /** By day. Days without anything stored have no entry; unless the report is by day, there is exactly one. */
  readonly storage: readonly StoredUsage[];
}

/** The records of one report. It is held as a whole. */
export const MAX_REPORT_RECORDS = 100_000;

/**
 * @param work to whom reading is charged, which it waits for
 * @throws RangeError when there would be too many records
 */
export async function usageReport(
  store: UsageStore,
  account: string,
  { fromDay, endDay, by }: ResolvedUsageQuery,
  now: number,
  work?: CallWork,
): Promise<UsageReport> {
  const isByDay = by === 'day' || by === 'day-function';
  const isByFunction = by === 'function' || by === 'day-function';
  const groups = new Map<string, { day: number; name: string; slots: UsageSlots }>();
  if (by === 'total') groups.set('', { day: 0, name: '', slots: newSlots() });
  for await (const { day, name, slots } of store.functionDays(account, fromDay, endDay, work)) {
    const key = `${isByDay ? day : ''}/${isByFunction ? name : ''}`;
    const group = groups.get(by === 'total' ? '' : key);
    if (group !== undefined) {
      addSlots(group.slots, slots);
      continue;
    }
    if (groups.size >= MAX_REPORT_RECORDS) {
      throw new RangeError(
        `The usage of account "${account}" from ${isoDay(fromDay)} to ${isoDay(endDay)} by ${by} has more than ${MAX_REPORT_RECORDS} records: ask for fewer days at once`,
      );
    }
    groups.set(key, { day, name, slots });
  }
  const found = [...groups.values()];
  if (!isByDay) found.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  const stored = await storedDays(store, account, { fromDay, endDay }, now);
  return {
    account,
    from: isoDay(fromDay),
    to: isoDay(endDay),
    asOf: new Date(now),
    records: found.map(({ day, name, slots }) => ({
      day: isByDay ? isoDay(day) : undefined,
      function: isByFunction ? name : undefined,
      ...usageValues(slots),
    })),
    stored: stored.now,
    storage: isByDay
      ? stored.days.map(([day, hours]) => ({ day: isoDay(day), ...hours }))
      : [{ day: undefined, ...sumOf(stored.days.map(([, hours]) => hours)) }],
  };
}

async function storedDays(
  store: UsageStore,
  account: string,
  { fromDay, endDay }: Pick<ResolvedUsageQuery, 'fromDay' | 'endDay'>,
  now: number,
): Promise<{ now: StoredSum; days: [number, StoredHours][] }> {
  let checkpoint = await store.checkpoint(account);
  const days = new Map<number, StoredHours>();
  for (;;) {
    for await (const { day, ...hours } of store.storageDays(account, fromDay, endDay)) days.set(day, hours);
    const after = await store.checkpoint(account);
    // A write in between has moved hours from the one to the other.
    if (after?.atMs === checkpoint?.atMs) break;
    checkpoint = after;
    days.clear();
  }
  if (checkpoint === undefined) return { now: { bytes: 0, objects: 0 }, days: [...days] };
  for (const [day, hours] of hoursSince(checkpoint, now, fromDay, endDay)) {
    const before = days.get(day);
    days.set(day, before === undefined ? hours : sumOf([before, hours]));
  }
  const { bytes, objects } = checkpoint;
  return { now: { bytes, objects }, days: [...days].sort(([a], [b]) => a - b) };
}

function sumOf(all: readonly StoredHours[]): StoredHours {
  let byteHours = 0;
  let objectHours = 0;
  for (const hours of all) {
    byteHours += hours.byteHours;
    objectHours += hours.objectHours;
  }
  return { byteHours, objectHours };
}
