/** Turns a plan and the overrides of host, account and function into the complete, frozen limits of one function. */

import {
  type ByKind,
  INVOCATION_KINDS,
  type InvocationKind,
  isLimitName,
  type KindLimitName,
  LIMIT_NAMES,
  type LimitName,
  limitRow,
  PLANS,
  type PlainLimitName,
  type Plan,
  ZONE_PLANS,
  type ZonePlan,
} from './limits.js';

/**
 * Figures that replace those of the plan, by the name of the limit: `{ subrequests: 200, cpuMs: 50 }`. Units are in the
 * names. `Infinity` means no limit, where the table of limits allows it. A limit by kind of invocation takes one figure
 * for all kinds, or an object: `{ cpuMs: { http: 50, cron: 1000 } }`.
 */
export type LimitOverrides = { readonly [N in PlainLimitName]?: number } & {
  readonly [N in KindLimitName]?: number | Partial<ByKind<number>>;
};

/** Every limit of one function with its figure. Frozen, and so are the figures by kind. */
export type ResolvedLimits = { readonly [N in PlainLimitName]: number } & {
  readonly [N in KindLimitName]: ByKind<number>;
} & { readonly plan: Plan; readonly zonePlan: ZonePlan };

export interface LimitChoice {
  /** @default 'standard' */
  readonly plan?: Plan | undefined;
  /** @default 'free' */
  readonly zonePlan?: ZonePlan | undefined;
  /** From the widest to the narrowest: host, account, function. A later one wins. */
  readonly overrides?: readonly (LimitOverrides | undefined)[];
}

/**
 * The limits that hold for a function.
 *
 * @throws TypeError for an unknown plan or limit, or a figure that is no number
 * @throws RangeError for a figure outside the bounds of its limit
 */
export function resolveLimits(choice: LimitChoice = {}): ResolvedLimits {
  const plan = checkName('plan', choice.plan ?? 'standard', PLANS);
  const zonePlan = checkName('zonePlan', choice.zonePlan ?? 'free', ZONE_PLANS);

  const figures: Record<string, unknown> = { plan, zonePlan };
  for (const name of LIMIT_NAMES) figures[name] = planFigure(name, plan, zonePlan);
  for (const overrides of choice.overrides ?? []) {
    for (const [name, value] of checkedEntries('limits', overrides)) {
      if (!isLimitName(name)) throw new TypeError(unknownName(name));
      figures[name] = overridden(name, figures[name], value);
    }
  }
  for (const value of Object.values(figures)) Object.freeze(value);
  // Every name of LIMIT_NAMES got a figure of its row's shape above, and only checked figures replaced them.
  return Object.freeze(figures) as ResolvedLimits;
}

/** The limit of one kind of invocation. */
export function limitOf(limits: ResolvedLimits, name: LimitName, kind: InvocationKind): number {
  const figure = limits[name];
  return typeof figure === 'number' ? figure : figure[kind];
}

function planFigure(name: LimitName, plan: Plan, zonePlan: ZonePlan): number | ByKind<number> {
  const row = limitRow(name);
  if (row.by === 'zonePlan') return row.values[zonePlan];
  return row.by === 'plan' ? row.values[plan] : { ...row.values[plan] };
}

function overridden(name: LimitName, current: unknown, value: unknown): unknown {
  if (value === undefined) return current;
  const option = `limits.${name}`;
  if (limitRow(name).by !== 'kind') return checkFigure(name, option, value);

  const result: Record<string, unknown> = {};
  if (typeof value === 'number') {
    const figure = checkFigure(name, option, value);
    for (const kind of INVOCATION_KINDS) result[kind] = figure;
    return result;
  }
  Object.assign(result, current);
  for (const [kind, figure] of checkedEntries(option, value)) {
    checkName(`the kind of invocation in ${option}`, kind, INVOCATION_KINDS);
    if (figure !== undefined) result[kind] = checkFigure(name, `${option}.${kind}`, figure);
  }
  return result;
}

function checkFigure(name: LimitName, option: string, value: unknown): number {
  const { min, max, unit } = limitRow(name);
  const allowed = `a whole number of ${unit === 'count' ? 'items' : unit} from ${min}${
    max === Number.POSITIVE_INFINITY ? ' on, or Infinity for no limit' : ` to ${max}`
  }`;
  if (typeof value !== 'number') {
    throw new TypeError(`Option ${option} is ${quoted(value)} (${typeof value}), expected ${allowed}`);
  }
  const isWhole = Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY;
  if (!isWhole || value < min || value > max) {
    throw new RangeError(`Option ${option} is ${value}, expected ${allowed}`);
  }
  return value;
}

function checkName<T extends string>(option: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find(name => name === value);
  if (found !== undefined) return found;
  throw new TypeError(`Option ${option} is ${quoted(value)}, expected one of ${allowed.join(', ')}`);
}

function checkedEntries(option: string, value: unknown): [string, unknown][] {
  if (value === undefined) return [];
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new TypeError(`Option ${option} is ${quoted(value)}, expected an object of figures by name`);
}

function unknownName(name: string): string {
  return `Option limits has no limit ${quoted(name)}, expected one of ${LIMIT_NAMES.join(', ')}`;
}

function quoted(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100));
  return typeof value === 'object' && value !== null
    ? Array.isArray(value)
      ? 'an array'
      : 'an object'
    : String(value);
}
