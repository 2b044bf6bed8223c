/** Turns a plan and the overrides of host, account and function into the complete, frozen limits of one function. */

import type { KindOverrides, LimitOverrides } from './limit-overrides.js';
import {
  type ByKind,
  FORMER_KINDS,
  INVOCATION_KINDS,
  type InvocationKind,
  isLimitName,
  type KindLimitName,
  LIMIT_NAMES,
  type LimitName,
  limitRow,
  type Plan,
  type ZonePlan,
} from './limits.js';

export type { LimitOverrides } from './limit-overrides.js';

/** Every limit of one function with its value. Frozen, and so are the values by kind. */
export type ResolvedLimits = {
  readonly [N in keyof LimitOverrides]-?: N extends KindLimitName ? ByKind<number> : number;
} & { readonly plan: Plan; readonly zonePlan: ZonePlan };

export interface LimitChoice {
  /** @default 'standard' */
  readonly plan?: Plan | undefined;
  /** @default 'free', without the anti-abuse limit, which applies only when a zone plan is named */
  readonly zonePlan?: ZonePlan | undefined;
  /** From the widest to the narrowest: host, account, function. A later one wins. */
  readonly overrides?: readonly (LimitOverrides | undefined)[];
}

/** The limits that hold for a function. Plans and overrides have been checked by their schemas (`limit-schema.ts`). */
export function resolveLimits(choice: LimitChoice = {}): ResolvedLimits {
  const { plan = 'standard', zonePlan = 'free', overrides = [] } = choice;
  const values: Record<string, unknown> = { plan, zonePlan };
  for (const name of LIMIT_NAMES) values[name] = planValue(name, plan, zonePlan);
  // Behind a reverse proxy all visitors have one address, so without a named zone plan no request is refused for its address.
  if (choice.zonePlan === undefined) values.addressRequestsPerSecond = Number.POSITIVE_INFINITY;
  for (const override of overrides) {
    for (const [name, value] of Object.entries(override ?? {})) {
      if (isLimitName(name) && value !== undefined) values[name] = overridden(name, values[name], value);
    }
  }
  for (const value of Object.values(values)) Object.freeze(value);
  // Every name of LIMIT_NAMES got a value of its row's shape above, and only checked ones replaced them.
  return Object.freeze(values) as ResolvedLimits;
}

/** The limit of one kind of invocation. */
export function limitOf(limits: ResolvedLimits, name: LimitName, kind: InvocationKind): number {
  const value = limits[name];
  return typeof value === 'number' ? value : value[kind];
}

function planValue(name: LimitName, plan: Plan, zonePlan: ZonePlan): number | ByKind<number> {
  const row = limitRow(name);
  if (row.by === 'zonePlan') return row.values[zonePlan];
  return row.by === 'plan' ? row.values[plan] : { ...row.values[plan] };
}

function overridden(name: LimitName, current: unknown, value: number | KindOverrides): unknown {
  if (limitRow(name).by !== 'kind') return value;
  if (typeof value === 'number') return Object.fromEntries(INVOCATION_KINDS.map(kind => [kind, value]));
  return { ...Object(current), ...presentKinds(value) };
}

/** The same values by the present names of kinds alone. A present name takes the place of a former one. */
export function presentKinds(given: KindOverrides): Partial<ByKind<number>> {
  const present: Partial<Record<InvocationKind, number>> = {};
  for (const [former, kind] of Object.entries(FORMER_KINDS)) {
    const value = isFormerKind(former) ? given[former] : undefined;
    if (value !== undefined) present[kind] = value;
  }
  for (const kind of INVOCATION_KINDS) {
    const value = given[kind];
    if (value !== undefined) present[kind] = value;
  }
  return present;
}

function isFormerKind(name: string): name is keyof typeof FORMER_KINDS {
  return Object.hasOwn(FORMER_KINDS, name);
}
