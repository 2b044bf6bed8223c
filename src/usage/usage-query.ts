/** Which usage is asked for. */

import { checkOptions } from '../quotas/schema/check-options.js';
import { describe } from '../quotas/schema/describe.js';
import { choice, objectOf, type Schema } from '../quotas/schema/schema.js';
import { DAY_MS, dayOf, MAX_DAY, monthStart, parseIsoDay } from './usage-day.js';

/** How usage is summed: a row for each day, for each function, for each day and function; or one row. */
export const USAGE_BY = ['day', 'function', 'day-function', 'total'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

/** Which usage: the days, in UTC, that the time from `from` to just before `to` touches. */
export interface UsageQuery {
  /** A Date, or a day as YYYY-MM-DD, which is its first moment. @default the first day of this month */
  readonly from?: Date | string;
  /**
   * A Date, or a day as YYYY-MM-DD; the usage is that before it. So `{ from: '2026-11-01', to: '2026-12-01' }` is November, and `to: new Date()`
   * includes today. @default now
   */
  readonly to?: Date | string;
  /** @default 'day' */
  readonly by?: UsageBy;
}

/** Days are from `fromDay` to the day before `endDay`. */
export interface ResolvedUsageQuery {
  readonly fromDay: number;
  readonly endDay: number;
  readonly by: UsageBy;
}

/** A report is held as a whole. */
export const MAX_QUERY_DAYS = 3660;

/** Checked below: a schema cannot tell a Date. */
const INSTANT: Schema<Date | string> = {};

const QUERY: Schema<UsageQuery> = objectOf<UsageQuery>({
  'from?': INSTANT,
  'to?': INSTANT,
  'by?': choice(USAGE_BY),
});

/** @throws TypeError or RangeError for a query that is not valid */
export function resolveUsageQuery(where: string, query: UsageQuery, now: number): ResolvedUsageQuery {
  checkOptions(where, query, QUERY);
  const toMs = query.to === undefined ? now : instantOf(where, 'to', query.to);
  const endDay = query.to === undefined ? dayOf(now) + 1 : Math.min(Math.ceil(toMs / DAY_MS), MAX_DAY + 1);
  const fromDay = query.from === undefined ? monthStart(dayOf(now)) : dayOf(instantOf(where, 'from', query.from));
  if (endDay <= fromDay) {
    const from = query.from === undefined ? 'the first day of this month' : shown(query.from);
    const to = query.to === undefined ? 'now' : shown(query.to);
    throw new RangeError(`Option to of ${where} is ${to}, expected a time after from, which is ${from}`);
  }
  if (endDay - fromDay > MAX_QUERY_DAYS)
    throw new RangeError(
      `Options from and to of ${where} are ${endDay - fromDay} days apart, at most ${MAX_QUERY_DAYS} are allowed`,
    );
  return { fromDay, endDay, by: query.by ?? 'day' };
}

function instantOf(where: string, option: 'from' | 'to', value: unknown): number {
  if (value instanceof Date && !Number.isNaN(value.getTime()) && value.getTime() >= 0) return value.getTime();
  const day = typeof value === 'string' ? parseIsoDay(value) : undefined;
  if (day !== undefined) return day * DAY_MS;
  throw new TypeError(
    `Option ${option} of ${where} is ${shown(value)}, expected a Date from 1970 on, or a day such as "2026-11-22"`,
  );
}

function shown(value: unknown): string {
  if (!(value instanceof Date)) return describe(value);
  return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
}
