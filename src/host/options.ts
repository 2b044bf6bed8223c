/** The options of the public API, and the one place where they are checked and their defaults stand. */

import { totalmem } from 'node:os';
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';
import type { EgressOptions as EgressServiceOptions } from '../bindings/egress/egress.js';
import type { OutboundHandler } from '../bindings/egress/outbound-transport.js';
import { type BindingOptions, type BindingRegistry, REGISTRY } from '../bindings/registry.js';
import type { SandboxOption } from '../pool/sandbox/sandbox.js';
import type { ConnectionSlotRelease } from '../quotas/connection-limiter.js';
import { checkBindingNames } from '../quotas/deployment-checks.js';
import type { HostShareLimits } from '../quotas/host/host-share.js';
import { PLANS, type Plan, ZONE_PLANS, type ZonePlan } from '../quotas/limits.js';
import type { LimitOverrides } from '../quotas/resolve-limits.js';
import { checkOptions, describe, isPlainObject, type OptionSchema } from './check-options.js';
import { checkCron } from './cron.js';
import type { BoundBinding } from './host-bindings.js';
import { zoneOf } from './router.js';
import { checkSandbox } from './sandbox-option.js';

/** Where functions may send requests, and how. `outbound` stands beside it. */
export type EgressOptions = Omit<EgressServiceOptions, 'outbound' | 'ownAddresses'>;

export interface EdgeHostOptions {
  /**
   * A directory for LevelDB and bucket bodies, or ':memory:'. It is made for its owner alone; one that others can read or that belongs to
   * somebody else is a `warning` event, and with sandbox 'strict' refused when it is first used (EDGE_STORAGE_ACCESS).
   * @default './.edgehost'
   */
  readonly storage?: string;
  /** Plan of accounts that name none. @default 'standard' */
  readonly plan?: Plan;
  /** Zone plan of accounts that name none; sets the size of request bodies. @default 'free' */
  readonly zonePlan?: ZonePlan;
  /** Figures that replace those of the plan, for every account. */
  readonly limits?: LimitOverrides;
  /** 'process': each account's functions run in a child process. 'thread': in threads of this one, for trusted code. @default 'process' */
  readonly isolation?: 'process' | 'thread';
  /**
   * What the operating system puts around a cell. 'auto' takes the best that works here, and tells by a `warning` event what is missing; 'strict'
   * starts no cell (EDGE_SANDBOX) without a root, a user, network and processes of its own, and a filter of system calls; 'off' takes nothing.
   * `command` goes before the command of each cell in place of all that, such as a runtime for containers: the first part is a program, by an
   * absolute path or a name in PATH; the descriptors 0 to 35 have to reach the cell. See `host.health().sandbox`. @default 'auto'
   */
  readonly sandbox?: SandboxOption;
  /** Isolates alive at once on this host, all accounts together. The least recently used idle one goes first. @default 256 */
  readonly maxIsolates?: number;
  /** Isolates alive at once in one account. @default 16 */
  readonly maxIsolatesPerAccount?: number;
  /** Isolates kept warm and empty for each account that is in use. @default 1 */
  readonly spareIsolates?: number;
  /** An isolate that got no request for so long is ended; it comes back with the next one. @default 600000 (10 minutes) */
  readonly idleMs?: number;
  /**
   * Bytes that this process may hold because of one account: heads and arguments of calls, bodies on their way, output that is not written yet. An account
   * that has used them up is read no more until they fall; new invocations are refused with EDGE_OVERLOADED from three quarters on; what does not
   * fall for 1.5 seconds ends the account's process with EDGE_MEMORY_LIMIT. 1 MiB to 4 GiB. @default 67108864 (64 MiB)
   */
  readonly hostBytes?: number;
  /** The same for all accounts together, on the JavaScript heap. @default a quarter of the heap's limit (`--max-old-space-size`) */
  readonly hostHeapBytes?: number;
  /** The same for all accounts together, in buffers outside of the heap. @default a quarter of the memory of the machine or container */
  readonly hostBufferBytes?: number;
  /** Invocations of one account that are not over; the next one is refused with EDGE_OVERLOADED. 1 to 1,000,000. @default 4096 */
  readonly openInvocations?: number;
  /** Files and sockets that services have open for one account; a call that needs one more fails with EDGE_OVERLOADED. 1 to 1,000,000. @default 512 */
  readonly openDescriptors?: number;
  /**
   * An HTTP invocation of which nothing has moved for so long, on either side, is ended with EDGE_WALL_TIME_LIMIT: no byte of the request, the response or a call,
   * and no line of its log. 1,000 or more, in milliseconds; `Infinity` for none. @default 3600000 (one hour)
   */
  readonly idleHttpMs?: number;
  /** When a connection of a function is free again: with the end of the response's body, or with its headers. @default 'body' */
  readonly connectionSlotRelease?: ConnectionSlotRelease;
  /** Counters of request rates shared with other hosts: needs the package `redis`. @default counters of this host alone */
  readonly quotas?: { readonly redis?: string };
  readonly egress?: EgressOptions;
  /** Answers every request that functions make, in place of the network and its policy. */
  readonly outbound?: OutboundHandler;
  /** The clock of request counts, in milliseconds since 1970: minutes and days (UTC) go by it. @default Date.now */
  readonly now?: () => number;
}

export interface AccountOptions {
  /** @default the host's */
  readonly plan?: Plan;
  /** @default the host's */
  readonly zonePlan?: ZonePlan;
  readonly limits?: LimitOverrides;
  /** @default the host's */
  readonly hostBytes?: number;
  /** @default the host's */
  readonly openInvocations?: number;
  /** @default the host's */
  readonly openDescriptors?: number;
  /**
   * The host names that functions of the account may answer: `example.com` is that name and all below it, `*.example.com` what is below.
   * Of zones of several accounts the most specific owns a name. Routes elsewhere are refused then (EDGE_NAME_DENIED), those of any host
   * too. A zone that another account has, or whose names its functions serve, is refused with EDGE_NAME_TAKEN; what is no host name
   * with TypeError, and a public suffix such as `co.uk` with RangeError.
   * @default any name that no other account has, for routes that the application loads
   */
  readonly zones?: readonly string[];
}

export interface RouteOptions {
  /**
   * Host and path, each may begin or end with `*`: `example.com/api/*`, `*.example.com/*`. Routes of any host answer for names that
   * belong to no account, and for those of their own.
   */
  readonly pattern: string;
  /** What happens beyond the daily limit: as if no function were attached, or an error page. @default 'fail-closed' */
  readonly mode?: 'fail-open' | 'fail-closed';
  /**
   * The zone that the route counts to, and within which functions may not fetch each other by URL.
   * @default the last two labels of the host
   */
  readonly zone?: string;
  /** The host is a custom domain of the function: other functions of the zone may fetch it by URL. @default false */
  readonly customDomain?: boolean;
}

export interface LoadOptions extends BindingOptions {
  /** Names the function within its account; loading the same name again replaces it. @default 'function' */
  readonly name?: string;
  /** Environment variables. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** Environment variables that no listing shows. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** `YYYY-MM-DD`. @default today */
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
  readonly routes?: readonly (string | RouteOptions)[];
  /** Cron expressions of five fields, in UTC, that start the scheduled handler. */
  readonly crons?: readonly string[];
  /** Figures of another plan for this function. @default the account's plan */
  readonly usageModel?: Plan;
  readonly limits?: LimitOverrides;
}

const HOST_SCHEMA: OptionSchema = {
  storage: 'string',
  plan: PLANS,
  zonePlan: ZONE_PLANS,
  limits: 'object',
  isolation: ['process', 'thread'],
  sandbox: 'string or object',
  maxIsolates: 'number',
  maxIsolatesPerAccount: 'number',
  spareIsolates: 'number',
  idleMs: 'number',
  hostBytes: 'number',
  hostHeapBytes: 'number',
  hostBufferBytes: 'number',
  openInvocations: 'number',
  openDescriptors: 'number',
  idleHttpMs: 'number',
  connectionSlotRelease: ['body', 'headers'],
  quotas: 'object',
  egress: 'object',
  outbound: 'function',
  now: 'function',
};

/** Figures are checked where they are used. */
const EGRESS_SCHEMA: OptionSchema = {
  allow: 'array of strings',
  deny: 'array of strings',
  publicInternet: 'boolean',
  resolve: 'function',
  ca: 'string or array of strings',
  connectTimeoutMs: 'number',
  headersTimeoutMs: 'number',
  bodyTimeoutMs: 'number',
  maxHeaderBytes: 'number',
  connectionsPerOrigin: 'number',
  originsPerAccount: 'number',
  socketsPerAccount: 'number',
  keepAliveMs: 'number',
  userAgent: 'string',
};

const ACCOUNT_SCHEMA: OptionSchema = {
  plan: PLANS,
  zonePlan: ZONE_PLANS,
  limits: 'object',
  hostBytes: 'number',
  openInvocations: 'number',
  openDescriptors: 'number',
  zones: 'array of strings',
};

const LOAD_SCHEMA: OptionSchema = {
  vars: 'object',
  secrets: 'object of strings',
  compatibilityDate: 'string',
  compatibilityFlags: 'array of strings',
  routes: 'object',
  crons: 'array of strings',
  usageModel: PLANS,
  limits: 'object',
};

export interface ResolvedHostOptions {
  readonly storage: string;
  readonly plan: Plan;
  readonly zonePlan: ZonePlan;
  readonly limits: LimitOverrides;
  readonly isolation: 'process' | 'thread';
  readonly sandbox: SandboxOption;
  readonly maxIsolates: number;
  readonly maxIsolatesPerAccount: number;
  readonly spareIsolates: number;
  readonly idleMs: number;
  readonly hostBytes: number;
  readonly hostHeapBytes: number;
  readonly hostBufferBytes: number;
  readonly openInvocations: number;
  readonly openDescriptors: number;
  readonly idleHttpMs: number;
  readonly connectionSlotRelease: ConnectionSlotRelease;
  readonly redisUrl: string | undefined;
  readonly egress: EgressOptions;
  readonly outbound: OutboundHandler | undefined;
  readonly now: () => number;
}

export function resolveHostOptions(options: EdgeHostOptions = {}): ResolvedHostOptions {
  const where = 'new EdgeHost()';
  checkOptions(where, options, HOST_SCHEMA);
  checkOptions(`${where}, quotas`, options.quotas, { redis: 'string' });
  checkOptions(`${where}, egress`, options.egress, EGRESS_SCHEMA);
  return Object.freeze({
    storage: options.storage ?? './.edgehost',
    plan: options.plan ?? 'standard',
    zonePlan: options.zonePlan ?? 'free',
    limits: options.limits ?? {},
    isolation: options.isolation ?? 'process',
    sandbox: checkSandbox(where, options.sandbox),
    maxIsolates: checkCount(where, 'maxIsolates', options.maxIsolates ?? 256, 1, 100_000),
    maxIsolatesPerAccount: checkCount(where, 'maxIsolatesPerAccount', options.maxIsolatesPerAccount ?? 16, 1, 1000),
    spareIsolates: checkCount(where, 'spareIsolates', options.spareIsolates ?? 1, 0, 16),
    idleMs: checkCount(where, 'idleMs', options.idleMs ?? 600_000, 1, Number.POSITIVE_INFINITY),
    ...checkShare(where, {
      hostBytes: options.hostBytes ?? DEFAULT_HOST_BYTES,
      openInvocations: options.openInvocations ?? 4096,
      openDescriptors: options.openDescriptors ?? 512,
    }),
    hostHeapBytes: checkCount(where, 'hostHeapBytes', options.hostHeapBytes ?? defaultHeapBytes(), MEBIBYTE, MAX_BYTES),
    hostBufferBytes: checkCount(
      where,
      'hostBufferBytes',
      options.hostBufferBytes ?? defaultBufferBytes(),
      MEBIBYTE,
      MAX_BYTES,
    ),
    idleHttpMs: checkCount(where, 'idleHttpMs', options.idleHttpMs ?? 3_600_000, 1000, Number.POSITIVE_INFINITY),
    connectionSlotRelease: options.connectionSlotRelease ?? 'body',
    redisUrl: options.quotas?.redis,
    egress: options.egress ?? {},
    outbound: options.outbound,
    now: options.now ?? Date.now,
  });
}

export function checkAccountOptions(options: AccountOptions | undefined): AccountOptions {
  checkOptions('account()', options, ACCOUNT_SCHEMA);
  checkShare('account()', options ?? {});
  return options ?? {};
}

const MEBIBYTE = 1024 * 1024;
const DEFAULT_HOST_BYTES = 64 * MEBIBYTE;
const MAX_BYTES = 2 ** 40;

/** Checks the bounds of an account that are given. */
function checkShare<T extends Partial<HostShareLimits>>(where: string, limits: T): T {
  const { hostBytes, openInvocations, openDescriptors } = limits;
  if (hostBytes !== undefined) checkCount(where, 'hostBytes', hostBytes, MEBIBYTE, 4096 * MEBIBYTE);
  if (openInvocations !== undefined) checkCount(where, 'openInvocations', openInvocations, 1, 1_000_000);
  if (openDescriptors !== undefined) checkCount(where, 'openDescriptors', openDescriptors, 1, 1_000_000);
  return limits;
}

function defaultHeapBytes(): number {
  return Math.max(MEBIBYTE, Math.floor(getHeapStatistics().heap_size_limit / 4));
}

/** `constrainedMemory()` is 0 or a number beyond all memory where nothing constrains the process. */
function defaultBufferBytes(): number {
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.max(MEBIBYTE, Math.floor(Math.min(totalmem(), constrained) / 4));
}

export interface ResolvedLoadOptions {
  readonly name: string;
  readonly bindings: readonly BoundBinding[];
  readonly vars: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly routes: readonly Required<RouteOptions>[];
  readonly crons: readonly string[];
  readonly usageModel: Plan | undefined;
  readonly limits: LimitOverrides;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** An account or function name: also part of keys and file names of stacks. */
export function checkName(what: string, name: unknown): string {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new TypeError(
      `The name of ${what} is ${describe(name)}, expected 1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit`,
    );
  }
  return name;
}

export function resolveLoadOptions(
  options: LoadOptions = {},
  registry: BindingRegistry = REGISTRY,
): ResolvedLoadOptions {
  const where = 'load()';
  checkOptions(where, options, loadSchema(registry));
  const name = checkName('a function', options.name ?? 'function');
  const { vars = {}, secrets = {} } = options;
  const bindings = boundBindings(options, registry);
  const names = [...bindings.map(binding => binding.name), ...Object.keys(vars), ...Object.keys(secrets)];
  checkBindingNames(names, `load function "${name}"`);
  return Object.freeze({
    name,
    bindings,
    vars: checkedVars(name, options.vars),
    secrets: { ...options.secrets },
    compatibilityDate: checkDate(options.compatibilityDate),
    compatibilityFlags: [...(options.compatibilityFlags ?? [])],
    routes: checkRoutes(options.routes),
    crons: (options.crons ?? []).map(cron => checkCron(cron)),
    usageModel: options.usageModel,
    limits: options.limits ?? {},
  });
}

/** The options of load(): its own, and one for each row of the registry that binds names. */
function loadSchema({ named }: BindingRegistry): OptionSchema {
  const bindings = named.map(
    ({ option, schema }) => [option, schema.type === 'string' ? 'object of strings' : 'object'] as const,
  );
  return { name: 'string', ...Object.fromEntries(bindings), ...LOAD_SCHEMA };
}

function boundBindings(options: LoadOptions, { named }: BindingRegistry): BoundBinding[] {
  return named.flatMap(row => {
    const given: unknown = Reflect.get(options, row.option);
    if (!isPlainObject(given)) return [];
    return Object.entries(given).map(([name, config]) => ({ row, name, config }));
  });
}

function checkedVars(name: string, vars: LoadOptions['vars']): Record<string, unknown> {
  const checked: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(vars ?? {})) {
    const text = value === undefined ? undefined : JSON.stringify(value);
    if (text === undefined) {
      throw new TypeError(
        `Variable "${key}" of function "${name}" is ${describe(value)}, expected a string or what JSON can hold`,
      );
    }
    checked[key] = JSON.parse(text);
  }
  return checked;
}

function checkDate(date: string | undefined): string {
  if (date === undefined) return new Date().toISOString().slice(0, 10);
  const time = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== date) {
    throw new TypeError(`Option compatibilityDate of load() is ${describe(date)}, expected a date as YYYY-MM-DD`);
  }
  return date;
}

function checkRoutes(routes: LoadOptions['routes']): Required<RouteOptions>[] {
  if (routes === undefined) return [];
  if (!Array.isArray(routes)) throw new TypeError(`Option routes of load() is ${describe(routes)}, expected an array`);
  return routes.map((route: unknown) => {
    const value = typeof route === 'string' ? { pattern: route } : route;
    if (!isPlainObject(value))
      throw new TypeError(`A route of load() is ${describe(route)}, expected a pattern or { pattern, mode }`);
    checkOptions('a route of load()', value, ROUTE_SCHEMA);
    const { pattern, zone } = value;
    if (typeof pattern !== 'string') throw new TypeError('A route of load() has no pattern');
    return {
      pattern,
      mode: value.mode === 'fail-open' ? 'fail-open' : 'fail-closed',
      zone: typeof zone === 'string' ? zone : zoneOf(pattern),
      customDomain: value.customDomain === true,
    };
  });
}

function checkCount(where: string, name: string, value: number, min: number, max: number): number {
  const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
  if (isWhole && value >= min && value <= max) return value;
  throw new RangeError(`Option ${name} of ${where} is ${value}, expected a whole number from ${min} to ${max}`);
}

const ROUTE_SCHEMA: OptionSchema = {
  pattern: 'string',
  mode: ['fail-open', 'fail-closed'],
  zone: 'string',
  customDomain: 'boolean',
};
