/**
 * The limits of an account's functions. Plan, usage model and caps are the owner's, whose code is the application's; the account's customer can only lower
 * them, in `edgehost.toml` or over the management API.
 */
import { LRUCache } from 'lru-cache';
import { EdgeError } from '../quotas/errors.js';
import { limitError } from '../quotas/limit-error.js';
import { INVOCATION_KINDS, type InvocationKind, LIMIT_NAMES, type LimitName, type Plan } from '../quotas/limits.js';
import { type LimitOverrides, presentKinds, type ResolvedLimits, resolveLimits } from '../quotas/resolve-limits.js';
import type { AccountOptions } from './options/options.js';

/**
 * The author of a function's limits: `owner`, the application's code; `file`, the customer, in `edgehost.toml`; `customer`, over the
 * management API; `stored`, the customer, at a time when it may have been allowed more.
 */
export type LimitsAuthor = 'owner' | 'file' | 'customer' | 'stored';

export interface FunctionSettings {
  readonly name: string;
  readonly limits: LimitOverrides;
  readonly usageModel: Plan | undefined;
}

/** The options of an account that its limits come from. */
type LimitOptions = { readonly [Name in 'plan' | 'zonePlan' | 'limits' | 'caps']?: AccountOptions[Name] | undefined };

/** The limits that the host sets for every account. */
export interface HostLimits {
  readonly plan: Plan;
  readonly zonePlan: ResolvedLimits['zonePlan'] | undefined;
  readonly limits: LimitOverrides;
}

/** How many different sets of limits are remembered. */
const SETS_KEPT = 1000;

/** The limits of the accounts of one host. Accounts with the same options share one object: most accounts have the options of a few plans. */
export class LimitSets {
  readonly #host: HostLimits;
  readonly #sets = new LRUCache<string, AccountLimits>({ max: SETS_KEPT });

  constructor(host: HostLimits) {
    this.#host = host;
  }

  of(options: AccountOptions): AccountLimits {
    const { plan, zonePlan, limits, caps } = options;
    // JSON has no Infinity.
    const key = JSON.stringify([plan, zonePlan, limits, caps], (_, value) => (value === Infinity ? 'none' : value));
    const known = this.#sets.get(key);
    if (known !== undefined) return known;
    const made = new AccountLimits(this.#host, { plan, zonePlan, limits, caps });
    this.#sets.set(key, made);
    return made;
  }
}

/** It never changes: accounts share it. */
export class AccountLimits {
  /** The limits of a function that sets none. */
  readonly own: ResolvedLimits;
  /** The highest limits that the customer's settings can reach. */
  readonly most: ResolvedLimits;
  readonly #choice: HostLimits;
  readonly #overrides: readonly (LimitOverrides | undefined)[];
  readonly #caps: LimitOverrides;
  /** The limits of functions that set none themselves, by their author. */
  readonly #plain = new Map<LimitsAuthor, ResolvedLimits>();

  constructor(host: HostLimits, { plan, zonePlan, limits, caps = {} }: LimitOptions) {
    this.#choice = { plan: plan ?? host.plan, zonePlan: zonePlan ?? host.zonePlan, limits: host.limits };
    this.#overrides = [host.limits, limits];
    this.#caps = caps;
    this.own = within(this.#resolve(undefined), caps);
    this.most = this.#resolve(undefined, caps);
  }

  /**
   * The limits of one function.
   *
   * @param onLowered gets a sentence on each setting that is stored and no longer allowed
   * @throws EdgeError EDGE_LIMIT_EXCEEDED for a setting that its author may not make
   */
  of(settings: FunctionSettings, author: LimitsAuthor, onLowered: (message: string) => void): ResolvedLimits {
    return this.#of(settings, author, onLowered, author === 'stored');
  }

  /** The limits of a function that was loaded when its account had others: no more than is allowed now. `onLowered` as for `of`. */
  again(settings: FunctionSettings, author: LimitsAuthor, onLowered: (message: string) => void): ResolvedLimits {
    const own = this.#of(settings, author, onLowered, true);
    const { memoryBytes } = this.most;
    return own.memoryBytes <= memoryBytes ? own : within(own, { memoryBytes });
  }

  #of(
    settings: FunctionSettings,
    author: LimitsAuthor,
    onLowered: (message: string) => void,
    isLenient: boolean,
  ): ResolvedLimits {
    const { name, limits, usageModel } = settings;
    const { plan } = this.#choice;
    if (usageModel === undefined && Object.keys(limits).length === 0) {
      const plain = this.#plain.get(author) ?? within(this.#resolve(undefined), this.#ceiling(undefined, author));
      this.#plain.set(author, plain);
      return plain;
    }
    const isForeignModel = (author === 'customer' || author === 'stored') && (usageModel ?? plan) !== plan;
    if (isForeignModel) {
      const why = `the usage model "${usageModel}" is not the plan of its account, "${plan}", which only the owner of the host changes`;
      if (!isLenient) throw new EdgeError('EDGE_LIMIT_EXCEEDED', `Cannot load function "${name}": ${why}`);
      onLowered(`Function "${name}": ${why}`);
    }
    const ceiling = this.#ceiling(usageModel, author);
    for (const [limit, kind, value] of valuesOf(limits)) {
      const allowed = limitOf(ceiling, limit, kind);
      if (allowed === undefined || value <= allowed) continue;
      const error = limitError('EDGE_LIMIT_EXCEEDED', {
        limit,
        subject: `load function "${name}"`,
        measured: `its own setting of ${limit}`,
        actual: value,
        allowed,
        plan,
        option: `caps.${limit} of the account`,
      });
      if (!isLenient) throw error;
      onLowered(`Function "${name}" is loaded with less than it asks for. ${error.message}`);
    }
    return within(this.#resolve(usageModel, limits), ceiling);
  }

  #ceiling(usageModel: Plan | undefined, author: LimitsAuthor): LimitOverrides {
    if (author === 'owner') return this.#caps;
    // The usage model of a file is the owner's: files do not name one.
    return author === 'file' ? this.#resolve(usageModel, this.#caps) : this.most;
  }

  #resolve(usageModel: Plan | undefined, last?: LimitOverrides): ResolvedLimits {
    const { plan, zonePlan } = this.#choice;
    return resolveLimits({ plan: usageModel ?? plan, zonePlan, overrides: [...this.#overrides, last] });
  }
}

/** The same limits, each no larger than the ceiling has it. */
function within(limits: ResolvedLimits, ceiling: LimitOverrides): ResolvedLimits {
  const lower: Record<string, unknown> = {};
  for (const [name, kind, value] of valuesOf(limits)) {
    const least = Math.min(value, limitOf(ceiling, name, kind) ?? value);
    if (kind === undefined) lower[name] = least;
    else lower[name] = { ...Object(lower[name]), [kind]: least };
  }
  return resolveLimits({ plan: limits.plan, zonePlan: limits.zonePlan, overrides: [lower] });
}

/** The values that are set, by kind of invocation where they differ by it. */
function* valuesOf(limits: LimitOverrides): Generator<[LimitName, InvocationKind | undefined, number]> {
  for (const name of LIMIT_NAMES) {
    const given = limits[name];
    if (typeof given === 'number') yield [name, undefined, given];
    else if (given !== undefined) {
      const byKind = presentKinds(given);
      for (const kind of INVOCATION_KINDS) {
        const value = byKind[kind];
        if (value !== undefined) yield [name, kind, value];
      }
    }
  }
}

/** The value for one kind; without a kind, the largest of all kinds, since a setting for all kinds must fit each. */
function limitOf(limits: LimitOverrides, name: LimitName, kind: InvocationKind | undefined): number | undefined {
  const given = limits[name];
  if (given === undefined || typeof given === 'number') return given;
  const byKind = presentKinds(given);
  if (kind !== undefined) return byKind[kind];
  const values = INVOCATION_KINDS.flatMap(each => byKind[each] ?? []);
  return values.length === 0 ? undefined : Math.min(...values);
}
