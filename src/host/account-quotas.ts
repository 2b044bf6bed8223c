/** The quotas of an account: how much it may have loaded at once, and its usage of the plan. */

import { checkCount } from '../quotas/deployment-checks.js';
import { DAY_MS, MINUTE_MS } from '../quotas/requests/request-counts.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import type { ResolvedLoadOptions } from './options/options.js';

/** The parts of a function that count. */
export interface CountedFunction {
  readonly name: string;
  readonly routes: ResolvedLoadOptions['routes'];
  readonly crons: number;
  readonly variables: number;
}

/**
 * Whether the account may have this function in place of one of its name.
 * @throws EdgeError EDGE_LIMIT_EXCEEDED
 */
export function checkCounts(
  wanted: CountedFunction,
  functions: Iterable<CountedFunction>,
  limits: ResolvedLimits,
): void {
  const subject = `load function "${wanted.name}"`;
  const all = [...functions].filter(({ name }) => name !== wanted.name);
  all.push(wanted);
  checkCount('functions', all.length, limits, subject);
  const zones = new Map<string, number>();
  for (const { zone } of all.flatMap(({ routes }) => routes)) zones.set(zone, (zones.get(zone) ?? 0) + 1);
  for (const count of zones.values()) checkCount('routesPerZone', count, limits, subject);
  checkCount('zonesPerFunction', new Set(wanted.routes.map(route => route.zone)).size, limits, subject);
  checkCount('cronTriggers', sum(all, 'crons'), limits, subject);
  checkCount('envVarsPerAccount', sum(all, 'variables'), limits, subject);
}

export function countVariables({
  vars,
  secrets,
  egress,
}: Pick<ResolvedLoadOptions, 'vars' | 'secrets' | 'egress'>): number {
  return [vars, secrets, egress?.secrets ?? {}].reduce((sum, named) => sum + Object.keys(named).length, 0);
}

function sum(functions: readonly CountedFunction[], what: 'crons' | 'variables'): number {
  return functions.reduce((total, counted) => total + counted[what], 0);
}

type CountedQuota = 'requestsPerDay' | 'requestsPerMinute' | 'functions' | 'cronTriggers';

/** The usage of an account beside the limits of its plan. */
export interface AccountUsageSnapshot {
  readonly plan: string;
  readonly quotas: readonly {
    readonly id: string;
    readonly used: number;
    /** null: none. */
    readonly limit: number | null;
    readonly unit: string;
    /** When `used` falls back to zero; null: it does not by itself. */
    readonly resetsOn: Date | null;
  }[];
}

export function usageOf(
  limits: ResolvedLimits,
  requests: { readonly requestsPerMinute: number; readonly requestsPerDay: number },
  functions: { readonly functions: number; readonly crons: number },
  now: number,
): AccountUsageSnapshot {
  const quota = (id: CountedQuota, used: number, unit: string, resetsEveryMs?: number) => ({
    id,
    used,
    limit: Number.isFinite(limits[id]) ? limits[id] : null,
    unit,
    resetsOn: resetsEveryMs === undefined ? null : new Date((Math.floor(now / resetsEveryMs) + 1) * resetsEveryMs),
  });
  return {
    plan: limits.plan,
    quotas: [
      quota('requestsPerDay', requests.requestsPerDay, 'requests', DAY_MS),
      quota('requestsPerMinute', requests.requestsPerMinute, 'requests', MINUTE_MS),
      quota('functions', functions.functions, 'functions'),
      quota('cronTriggers', functions.crons, 'cron triggers'),
    ],
  };
}
