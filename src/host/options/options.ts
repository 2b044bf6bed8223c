/** The options of `account()` and `load()`: their schemas, and the one place where their defaults stand. */

import { resolve } from 'node:path';
import type { AssetsOptions } from '../../bindings/assets/asset-options.js';
import type { NamedBinding } from '../../bindings/binding.js';
import type { EgressRules } from '../../bindings/egress/rules/egress-rules.js';
import { type BindingOptions, REGISTRY } from '../../bindings/registry.js';
import {
  type BindingShape,
  type BoundBinding,
  bindingFields,
  boundBindings,
} from '../../config-schema/binding-shapes.js';
import {
  CONSUMERS,
  type QueueConsumerOptions,
  type ResolvedConsumer,
  resolveConsumer,
} from '../../config-schema/consumer-shapes.js';
import {
  CRON_JITTER_MS,
  CRON_MISSED,
  CRON_OVERLAP,
  type CronOptions,
  type ResolvedCron,
  repeatedCron,
  resolveCron,
} from '../../config-schema/cron-trigger.js';
import { EGRESS_RULES } from '../../config-schema/egress-shapes.js';
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  CRON,
  DEFAULT_ROUTE_MODE,
  NAME,
  PROPS,
  ROUTE_MODE,
  ROUTE_PATTERN,
  SECRETS,
  TAILS,
  USAGE_MODEL,
  VARIABLES,
} from '../../config-schema/function-shapes.js';
import { zoneOf } from '../../hostnames/route-pattern.js';
import { checkBindingNames } from '../../quotas/deployment-checks.js';
import { LIMIT_OVERRIDES } from '../../quotas/limit-schema.js';
import { PLANS, type Plan, ZONE_PLANS, type ZonePlan } from '../../quotas/limits.js';
import type { LimitOverrides } from '../../quotas/resolve-limits.js';
import { complaintAbout } from '../../quotas/schema/check.js';
import { checkOptions, givenOf } from '../../quotas/schema/check-options.js';
import { sentence } from '../../quotas/schema/complaint.js';
import { isObject } from '../../quotas/schema/describe.js';
import {
  choice,
  type FieldsOf,
  flag,
  list,
  object,
  objectOf,
  type Schema,
  text,
  union,
} from '../../quotas/schema/schema.js';
import { ACCOUNT_BOUNDS } from './account-bounds.js';

export interface AccountOptions {
  /** @default the host's */
  readonly plan?: Plan;
  /** @default the host's */
  readonly zonePlan?: ZonePlan;
  readonly limits?: LimitOverrides;
  /**
   * The caps of functions' limits, wherever they are set: `{ cpuMs: 50 }` lets the customer's settings go up to 50 ms where the plan has
   * 10, and lowers a plan that has more. Settings of the customer are `edgehost.toml` and the management API: there, a limit without a cap is capped at the
   * account's value. `load()` is the application's own code, and is not capped.
   */
  readonly caps?: LimitOverrides;
  /** @default the host's */
  readonly hostBytes?: number;
  /** @default the host's */
  readonly openInvocations?: number;
  /** @default the host's */
  readonly openDescriptors?: number;
  /** @default the host's */
  readonly sleepingWebSockets?: number;
  /**
   * Accounts of one group share processes, which they keep from each other by threads and realms alone: for customers who need not be walled off from each
   * other, and for very many that are small. Limits, quotas and accounting stay by account. All of a group have the same `limits.memoryBytes`
   * (RangeError). The name follows the rules for names of accounts. @default processes of its own
   */
  readonly group?: string;
  /**
   * The host names that functions of the account may answer: `example.com` is that name and all below it, `*.example.com` is all below it. When zones of
   * several accounts have a name, the most specific zone owns it. Routes elsewhere are refused then (EDGE_NAME_DENIED), also routes of any host. A zone that
   * another account has, or whose names its functions serve, is refused with EDGE_NAME_TAKEN. Text that is not a host name is refused with TypeError, and a
   * public suffix such as `co.uk` with RangeError.
   * @default any name that no other account has, for routes that the application loads
   */
  readonly zones?: readonly string[];
  /**
   * The hosts that the functions of the account may reach, and secrets that all of them may use there. The rules are kept in this application alone: others on
   * the same storage give their accounts their own. @default every host that the address policy allows, without secrets
   */
  readonly egress?: EgressRules;
}

/** The options of an account that can change while it is in use. Each given option replaces the one before. */
export type AccountUpdate = Pick<AccountOptions, 'plan' | 'zonePlan' | 'limits' | 'caps' | 'zones' | 'egress'>;

export interface RouteOptions {
  /**
   * Host and path, each may begin or end with `*`: `example.com/api/*`, `*.example.com/*`. Routes of any host answer for names that
   * belong to no account, and for the names of their own account.
   */
  readonly pattern: string;
  /** How requests beyond the daily limit are answered: as if no function were attached, or with an error page. @default 'fail-closed' */
  readonly mode?: 'fail-open' | 'fail-closed';
  /**
   * The zone that the route counts to, and within which functions may not fetch each other by URL.
   * @default the last two labels of the host
   */
  readonly zone?: string;
  /**
   * The host, one name without `*`, is a custom domain of the function: other functions may fetch it by URL, also functions of the same zone. Functions of
   * its own account reach it through this host and not through the network. When the name is in the `zones` of its account, functions of all accounts do.
   * @default false
   */
  readonly customDomain?: boolean;
}

export interface LoadOptions extends BindingOptions {
  /** Names the function within its account; loading the same name again replaces it. @default a name of its own for each load: `function`, `function-2`, ... */
  readonly name?: string;
  /** Environment variables. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** Environment variables that no listing shows. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** The value of `ctx.props` for handlers, and of `context.props` for callbacks: a JSON object. @default {} */
  readonly props?: Readonly<Record<string, unknown>>;
  /** `YYYY-MM-DD`, not in the future. @default today */
  readonly compatibilityDate?: string;
  /** The flags of the documentation; a flag without an effect is refused. @default none */
  readonly compatibilityFlags?: readonly string[];
  readonly routes?: readonly (string | RouteOptions)[];
  /**
   * Cron expressions of five fields, in UTC, that start the scheduled handler, which the script must have then. No expression twice: a function,
   * an expression and a minute name one run. They open the storage, where the times that were run are kept. @default none
   */
  readonly crons?: readonly (string | CronOptions)[];
  /**
   * Functions of the same account whose handler `tail` gets a record of each invocation when it is over: up to 10 names, without the name of the function
   * itself. They need not be loaded yet.
   */
  readonly tails?: readonly string[];
  /** Other accounts whose functions may call this one by service bindings: `{ function, account }`. @default none */
  readonly callers?: readonly string[];
  /** Queues whose messages the queue handler gets, which the script must have then. */
  readonly consumers?: readonly QueueConsumerOptions[];
  /** The usage model of this function, where it differs from the account's plan. @default the account's plan */
  readonly usageModel?: Plan;
  readonly limits?: LimitOverrides;
  /**
   * The hosts that the function may reach, of those that its account may, and secrets for them: the function finds placeholders in `env`, and the host
   * puts the values into its requests. @default the rules of the account alone
   */
  readonly egress?: EgressRules;
  /**
   * esbuild makes one module of the source, which may then be TypeScript and JSX, import packages, and be a folder: `{ directory, main }`. It runs in a process
   * of its own, in the sandbox of cells as far as the system has it. It has 30 s, and reads no other files. Files that are given as `modules` are
   * at most 10,000 with 64 MiB. It must be installed beside the application. @default false
   */
  readonly bundle?: boolean;
}

/** The options of a function that is static files alone. */
export type AssetsLoadOptions = LoadOptions & Required<Pick<LoadOptions, 'assets'>>;

/** Whether the first argument of load() is options of static files, and no source. */
export function isAssetsLoad(given: unknown): given is AssetsLoadOptions {
  return isObject(given) && 'assets' in given && !('main' in given) && !('modules' in given) && !('directory' in given);
}

const UPDATE_FIELDS: FieldsOf<AccountUpdate> = {
  'plan?': choice(PLANS),
  'zonePlan?': choice(ZONE_PLANS),
  'limits?': LIMIT_OVERRIDES,
  'caps?': LIMIT_OVERRIDES,
  'zones?': list(text()),
  'egress?': EGRESS_RULES,
};

export const ACCOUNT_OPTIONS: Schema<AccountOptions> = objectOf<AccountOptions>({
  ...UPDATE_FIELDS,
  ...ACCOUNT_BOUNDS,
  'group?': NAME,
});

const ACCOUNT_UPDATE: Schema<AccountUpdate> = objectOf<AccountUpdate>(UPDATE_FIELDS);

export const ROUTE: Schema<RouteOptions> = objectOf<RouteOptions>({
  pattern: ROUTE_PATTERN,
  'mode?': ROUTE_MODE,
  'zone?': text(),
  'customDomain?': flag(),
});

const CRON_TRIGGER: Schema<CronOptions> = objectOf<CronOptions>({
  cron: CRON,
  'missed?': CRON_MISSED,
  'overlap?': CRON_OVERLAP,
  'jitterMs?': CRON_JITTER_MS,
});

/** Without the bindings. */
const LOAD_FIELDS: FieldsOf<Omit<LoadOptions, keyof BindingOptions>> = {
  'name?': NAME,
  'vars?': VARIABLES,
  'secrets?': SECRETS,
  'props?': PROPS,
  'compatibilityDate?': COMPATIBILITY_DATE,
  'compatibilityFlags?': COMPATIBILITY_FLAGS,
  'routes?': list(union([ROUTE_PATTERN, ROUTE], { description: 'a route pattern, or { pattern, mode }' })),
  'crons?': list(
    union([CRON, CRON_TRIGGER], { description: 'a cron expression, or { cron, missed, overlap, jitterMs }' }),
  ),
  'tails?': TAILS,
  'callers?': list(NAME),
  'consumers?': CONSUMERS,
  'usageModel?': USAGE_MODEL,
  'limits?': LIMIT_OVERRIDES,
  'egress?': EGRESS_RULES,
  'bundle?': flag(),
};

/** By the bindings that there are. */
const loadSchemas = new WeakMap<readonly BindingShape[], Schema<LoadOptions>>();

export function loadOptionsSchema(rows: readonly BindingShape[]): Schema<LoadOptions> {
  const known = loadSchemas.get(rows) ?? object({ ...LOAD_FIELDS, ...bindingFields(rows) });
  loadSchemas.set(rows, known);
  return known;
}

export function checkAccountOptions(options: AccountOptions = {}): AccountOptions {
  checkOptions('account()', options, ACCOUNT_OPTIONS);
  return options;
}

/** The options that were given, checked. @throws TypeError, RangeError */
export function checkAccountUpdate(update: AccountUpdate): AccountUpdate {
  checkOptions('update()', update, ACCOUNT_UPDATE);
  return givenOf(update);
}

/** An account or function name. @throws TypeError */
export function checkName(what: string, name: unknown): string {
  const complaint = complaintAbout(NAME, name);
  if (complaint !== undefined) {
    const place = `The name of ${what}`;
    throw new TypeError(sentence(complaint, { place: () => place, owner: place, member: 'key' }));
  }
  return String(name);
}

/** With every default filled in. */
export type ResolvedLoadOptions = Readonly<
  Required<Omit<LoadOptions, 'routes' | 'crons' | 'consumers' | 'usageModel' | 'egress' | keyof BindingOptions>>
> & {
  readonly bindings: readonly BoundBinding<NamedBinding>[];
  readonly routes: readonly Required<RouteOptions>[];
  readonly crons: readonly ResolvedCron[];
  readonly consumers: readonly ResolvedConsumer[];
  readonly usageModel: Plan | undefined;
  readonly egress: EgressRules | undefined;
  /** With an absolute path. */
  readonly assets: AssetsOptions | undefined;
};

export function resolveLoadOptions(
  options: LoadOptions = {},
  rows: readonly NamedBinding[] = REGISTRY.named,
  ownName: () => string = () => 'function',
): ResolvedLoadOptions {
  checkOptions('load()', options, loadOptionsSchema(rows));
  const { name = ownName(), vars = {}, secrets = {} } = options;
  const bindings = boundBindings(options, rows);
  const names = [
    ...bindings.map(binding => binding.name),
    ...Object.keys(vars),
    ...Object.keys(secrets),
    ...Object.keys(options.egress?.secrets ?? {}),
  ];
  checkBindingNames(names, `load function "${name}"`);
  const crons = (options.crons ?? []).map(resolveCron);
  const repeated = repeatedCron(crons);
  if (repeated !== undefined)
    throw new TypeError(`Option crons of function "${name}" has ${JSON.stringify(repeated)} twice, expected each once`);
  if (options.tails?.includes(name) === true) {
    throw new TypeError(
      `Option tails of load() has the function itself, ${JSON.stringify(name)}: expected other functions`,
    );
  }
  return Object.freeze({
    name,
    bindings,
    // The values as a function receives them: a date becomes its text.
    vars: Object.fromEntries(Object.entries(vars).map(([key, value]) => [key, JSON.parse(JSON.stringify(value))])),
    secrets: { ...secrets },
    props: JSON.parse(JSON.stringify(options.props ?? {})),
    compatibilityDate: options.compatibilityDate ?? new Date().toISOString().slice(0, 10),
    compatibilityFlags: [...(options.compatibilityFlags ?? [])],
    routes: (options.routes ?? []).map(resolveRoute),
    crons,
    tails: [...new Set(options.tails ?? [])],
    callers: [...(options.callers ?? [])],
    consumers: (options.consumers ?? []).map(resolveConsumer),
    usageModel: options.usageModel,
    limits: options.limits ?? {},
    egress: structuredClone(options.egress),
    assets: resolveAssets(options.assets),
    bundle: options.bundle ?? false,
  });
}

function resolveAssets(given: LoadOptions['assets']): AssetsOptions | undefined {
  if (given === undefined) return undefined;
  const { directory, ...rest } = typeof given === 'string' ? { directory: given } : given;
  return structuredClone({ ...rest, directory: resolve(directory) });
}

function resolveRoute(given: string | RouteOptions): Required<RouteOptions> {
  const {
    pattern,
    mode = DEFAULT_ROUTE_MODE,
    zone,
    customDomain = false,
  } = typeof given === 'string' ? { pattern: given } : given;
  return { pattern, mode, zone: zone ?? zoneOf(pattern), customDomain };
}
