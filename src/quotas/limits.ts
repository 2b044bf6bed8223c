/**
 * The one table of limits: every row of the specification's section "Limits", by plan. Option checks, messages, the tables in the documentation and the
 * boundary tests are made from it. KB and MB of the specification are read as 1,024 and 1,048,576 bytes; `Infinity` is its "none".
 */

import type { EdgeErrorCode } from './errors.js';

/** The plan and usage model of an account. The last three are paid. */
export const PLANS = ['free', 'bundled', 'unbound', 'standard'] as const;
export type Plan = (typeof PLANS)[number];

/** The plan of the account's zones: it sets the size of request bodies and cache files, apart from {@link Plan}. */
export const ZONE_PLANS = ['free', 'pro', 'business', 'enterprise'] as const;
export type ZonePlan = (typeof ZONE_PLANS)[number];

/** The kinds of events that start an invocation, by the name of the handler. */
export const INVOCATION_KINDS = ['fetch', 'scheduled', 'queue', 'alarm', 'tail'] as const;
export type InvocationKind = (typeof INVOCATION_KINDS)[number];

/** The names that two of the kinds had before in the option `limits`, which still takes them. */
export const FORMER_KINDS = { http: 'fetch', cron: 'scheduled' } as const satisfies Record<string, InvocationKind>;

export type LimitUnit = 'count' | 'bytes' | 'ms';

export type ByPlan<T> = Readonly<Record<Plan, T>>;
export type ByZonePlan<T> = Readonly<Record<ZonePlan, T>>;
export type ByKind<T> = Readonly<Record<InvocationKind, T>>;

/** One row: the limited thing, its unit, its values, and their source. */
export type LimitRow = {
  /** The measured quantity, as messages name it. */
  readonly label: string;
  readonly unit: LimitUnit;
  /**
   * Where the value comes from, for the documentation: the published limits of hosted platforms, a standard, or this project; then what else is to be known.
   */
  readonly source: string;
  /** The code of the error that ends what went past the limit; null where the limit shapes an answer instead. */
  readonly code: EdgeErrorCode | null;
  /** The smallest and the largest value that an override may have; `max: Infinity` allows "none". */
  readonly min: number;
  readonly max: number;
} & (
  | { readonly by: 'plan'; readonly values: ByPlan<number> }
  | { readonly by: 'zonePlan'; readonly values: ByZonePlan<number> }
  | { readonly by: 'kind'; readonly values: ByPlan<ByKind<number>> }
);

const KB = 1024;
const MB = 1024 * KB;
const GB = 1024 * MB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const NONE = Number.POSITIVE_INFINITY;

export const LIMITS = {
  // Running
  cpuMs: {
    label: 'CPU time',
    unit: 'ms',
    source: 'Platform. Kinds without a published value have the value of fetch',
    code: 'EDGE_CPU_LIMIT',
    min: 1,
    max: NONE,
    by: 'kind',
    values: {
      free: kinds(10),
      bundled: kinds(50),
      ...unboundAndStandard({ ...kinds(30 * SECOND), scheduled: 15 * MINUTE, queue: 15 * MINUTE }),
    },
  },
  cpuOverrunMs: {
    label: 'CPU time that unused time of earlier invocations can lend',
    unit: 'ms',
    source: 'Own: platforms publish no value. Never more than cpuMs is lent',
    code: 'EDGE_CPU_LIMIT',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(10, 50, SECOND, SECOND),
  },
  wallMs: {
    label: 'wall time',
    unit: 'ms',
    source: 'Platform',
    code: 'EDGE_WALL_TIME_LIMIT',
    min: 1,
    max: NONE,
    by: 'kind',
    values: {
      free: kinds(NONE),
      bundled: kinds(NONE),
      ...unboundAndStandard({ ...kinds(15 * MINUTE), fetch: NONE }),
    },
  },
  waitUntilMs: {
    label: 'time that waitUntil adds',
    unit: 'ms',
    source: 'Platform',
    code: 'EDGE_CANCELED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(30 * SECOND),
  },
  memoryBytes: {
    label: 'memory',
    unit: 'bytes',
    source: 'Platform. Below 16 MB an isolate does not start',
    code: 'EDGE_MEMORY_LIMIT',
    min: 16 * MB,
    max: 4 * GB,
    by: 'plan',
    values: everyPlan(128 * MB),
  },
  instances: {
    label: 'instances of one function on one host',
    unit: 'count',
    source: 'Platform',
    code: null,
    min: 1,
    max: 1,
    by: 'plan',
    values: everyPlan(1),
  },
  startupMs: {
    label: 'startup time',
    unit: 'ms',
    source: 'Platform',
    code: 'EDGE_STARTUP_LIMIT',
    min: 1,
    max: 10 * MINUTE,
    by: 'plan',
    values: everyPlan(400),
  },
  subrequests: {
    label: 'number of subrequests',
    unit: 'count',
    source: 'Platform. Each redirect counts',
    code: 'EDGE_SUBREQUEST_LIMIT',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(50, 50, 1000, 1000),
  },
  internalSubrequests: {
    label: 'number of subrequests to internal services',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_SUBREQUEST_LIMIT',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(1000),
  },
  cacheCalls: {
    label: 'number of cache calls',
    unit: 'count',
    source: 'Platform. They count as subrequests, too',
    code: 'EDGE_SUBREQUEST_LIMIT',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(50, 50, 1000, 1000),
  },
  sqlQueries: {
    label: 'number of SQL queries',
    unit: 'count',
    source: 'Platform. They count as subrequests to internal services, too; each statement of a batch is one',
    code: 'EDGE_SUBREQUEST_LIMIT',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(50, 1000, 1000, 1000),
  },
  connections: {
    label: 'number of open connections',
    unit: 'count',
    source: 'Platform. More attempts wait',
    code: null,
    min: 1,
    max: NONE,
    by: 'plan',
    values: everyPlan(6),
  },
  redirects: {
    label: 'number of redirects',
    unit: 'count',
    source: 'Fetch standard, HTTP-redirect fetch',
    code: 'EDGE_EGRESS_FAILED',
    min: 0,
    max: 20,
    by: 'plan',
    values: everyPlan(20),
  },
  logBytes: {
    label: 'recorded data',
    unit: 'bytes',
    source: 'Platform',
    code: null,
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(128 * KB),
  },

  // Requests
  requestsPerDay: {
    label: 'number of requests today (UTC)',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_DAILY_LIMIT',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(100_000, NONE, NONE, NONE),
  },
  requestsPerMinute: {
    label: 'number of requests this minute',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_RATE_LIMITED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(1000, NONE, NONE, NONE),
  },
  addressRequestsPerSecond: {
    label: 'number of requests this second from one client address',
    unit: 'count',
    source: 'Own: platforms say "many thousands". Only where zonePlan or the limit is given',
    code: 'EDGE_RATE_LIMITED',
    min: 1,
    max: NONE,
    by: 'zonePlan',
    values: { free: 4000, pro: 4000, business: 4000, enterprise: NONE },
  },
  urlBytes: {
    label: 'the URL',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_URL_TOO_LONG',
    min: 1,
    max: NONE,
    by: 'plan',
    values: everyPlan(16 * KB),
  },
  headersBytes: {
    label: 'the headers together',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_HEADERS_TOO_LARGE',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(32 * KB),
  },
  headerBytes: {
    label: 'a header',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_HEADERS_TOO_LARGE',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(16 * KB),
  },
  bodyBytes: {
    label: 'the request body',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_BODY_TOO_LARGE',
    min: 0,
    max: NONE,
    by: 'zonePlan',
    values: { free: 100 * MB, pro: 100 * MB, business: 200 * MB, enterprise: 500 * MB },
  },
  responseBytes: {
    label: 'the response',
    unit: 'bytes',
    source: 'Platform: not limited',
    code: 'EDGE_RESPONSE_STREAM',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(NONE),
  },

  webSocketMessageBytes: {
    label: 'the message of a WebSocket',
    unit: 'bytes',
    source: 'Own: what hostBytes has room for. In both directions; a longer one closes the WebSocket with code 1009',
    code: null,
    min: 125,
    max: 32 * MB,
    by: 'plan',
    values: everyPlan(16 * MB),
  },

  // Deploying
  scriptBytes: {
    label: 'the source after gzip',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_SCRIPT_TOO_LARGE',
    min: 1,
    max: NONE,
    by: 'plan',
    values: plans(MB, 10 * MB, 10 * MB, 10 * MB),
  },
  assetFiles: {
    label: 'number of static files',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: 1_000_000,
    by: 'plan',
    values: everyPlan(20_000),
  },
  assetFileBytes: {
    label: 'a static file',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: 4 * GB,
    by: 'plan',
    values: everyPlan(25 * MB),
  },
  envVars: {
    label: 'number of environment variables',
    unit: 'count',
    source: 'Platform. Secrets and text together',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(64, 128, 128, 128),
  },
  envVarBytes: {
    label: 'an environment variable',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(5 * KB),
  },
  envVarsPerAccount: {
    label: 'number of environment variables of the account',
    unit: 'count',
    source: 'Platform: not limited',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(NONE),
  },
  functions: {
    label: 'number of functions of the account',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(100, 500, 500, 500),
  },
  cronTriggers: {
    label: 'number of cron triggers of the account',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(5, 250, 250, 250),
  },
  routesPerZone: {
    label: 'number of routes of the zone',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(1000),
  },
  zonesPerFunction: {
    label: 'number of zones of the function',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(1000),
  },

  // Storing
  storageBytes: {
    label: 'what the account stores',
    unit: 'bytes',
    source: 'Platform for free; the paid plans have none. The values of objects, and parts of uploads',
    code: 'EDGE_STORAGE_QUOTA',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(10 * GB, NONE, NONE, NONE),
  },
  storageObjects: {
    label: 'number of objects that the account stores',
    unit: 'count',
    source: 'Own: platforms publish no value. Uncompleted uploads count, too',
    code: 'EDGE_STORAGE_QUOTA',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(1_000_000, NONE, NONE, NONE),
  },
  cacheObjectBytes: {
    label: 'a cached object',
    unit: 'bytes',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(512 * MB),
  },
  cacheBytes: {
    label: 'what the caches of an account keep on disk',
    unit: 'bytes',
    source: 'Own. The least recently used goes first; 0 keeps nothing',
    code: null,
    min: 0,
    max: NONE,
    by: 'plan',
    values: everyPlan(GB),
  },
  cacheFileBytes: {
    label: 'a file in the cache before the function',
    unit: 'bytes',
    source: 'Platform',
    code: null,
    min: 0,
    max: NONE,
    by: 'zonePlan',
    values: { free: 512 * MB, pro: 512 * MB, business: 512 * MB, enterprise: 5 * GB },
  },
  sqlDatabases: {
    label: 'number of SQL databases of the account',
    unit: 'count',
    source: 'Platform',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(10, 50_000, 50_000, 50_000),
  },
  sqlDatabaseBytes: {
    label: 'an SQL database',
    unit: 'bytes',
    source: 'Platform. They are part of what the account stores',
    code: 'EDGE_LIMIT_EXCEEDED',
    min: 0,
    max: NONE,
    by: 'plan',
    values: plans(500 * MB, 10 * GB, 10 * GB, 10 * GB),
  },
  objectEvents: {
    label: 'events of one stateful object that are open',
    unit: 'count',
    source: 'Own: platforms publish no value',
    code: 'EDGE_OVERLOADED',
    min: 1,
    max: 100_000,
    by: 'plan',
    values: everyPlan(1000),
  },
  listEntries: {
    label: 'number of entries of one list call',
    unit: 'count',
    source: 'Platform',
    code: null,
    min: 1,
    max: 1000,
    by: 'plan',
    values: everyPlan(1000),
  },
  multipartUploadMs: {
    label: 'age of an uncompleted multipart upload',
    unit: 'ms',
    source: 'Platform',
    code: null,
    min: 1,
    max: NONE,
    by: 'plan',
    values: everyPlan(7 * DAY),
  },
} as const satisfies Record<string, LimitRow>;

export type LimitName = keyof typeof LIMITS;

/** Limits with a value for each kind of invocation. */
export type KindLimitName = { [N in LimitName]: (typeof LIMITS)[N]['by'] extends 'kind' ? N : never }[LimitName];
/** Limits with one value. */
export type PlainLimitName = Exclude<LimitName, KindLimitName>;

export const LIMIT_NAMES: readonly LimitName[] = Object.keys(LIMITS).filter(isLimitName);

export function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(LIMITS, name);
}

/** The row of a limit, in the shape that all rows share. */
export function limitRow(name: LimitName): LimitRow {
  return LIMITS[name];
}

function kinds(value: number): ByKind<number> {
  return { fetch: value, scheduled: value, queue: value, alarm: value, tail: value };
}

function unboundAndStandard(values: ByKind<number>): Readonly<Record<'unbound' | 'standard', ByKind<number>>> {
  return { unbound: values, standard: values };
}

function plans(free: number, bundled: number, unbound: number, standard: number): ByPlan<number> {
  return { free, bundled, unbound, standard };
}

function everyPlan(value: number): ByPlan<number> {
  return plans(value, value, value, value);
}
