/** The options of `new EdgeHost()`: their schema, and the one place where their defaults stand. */

import { totalmem } from 'node:os';
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';
import type { CallbackOptions } from '../../bindings/callbacks/types.js';
import type { EgressSettings as EgressServiceOptions } from '../../bindings/egress/egress.js';
import type { OutboundHandler } from '../../bindings/egress/outbound-transport.js';
import type { SandboxOption } from '../../pool/sandbox/sandbox.js';
import type { ConnectionSlotRelease } from '../../quotas/connection-limiter.js';
import { EdgeError } from '../../quotas/errors.js';
import { LIMIT_OVERRIDES } from '../../quotas/limit-schema.js';
import { PLANS, type Plan, ZONE_PLANS, type ZonePlan } from '../../quotas/limits.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import type { LimitOverrides } from '../../quotas/resolve-limits.js';
import { checkOptions, givenOf } from '../../quotas/schema/check-options.js';
import {
  choice,
  constant,
  flag,
  list,
  native,
  object,
  objectOf,
  type Schema,
  text,
  union,
  wholeNumber,
  wholeNumberOrInfinity,
} from '../../quotas/schema/schema.js';
import { MAX_QUERY_DAYS } from '../../usage/usage-query.js';
import { ACCOUNT_BOUNDS } from './account-bounds.js';
import { SANDBOX } from './sandbox-option.js';

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
  /**
   * Zone plan of accounts that name none. It sets the size of request bodies. Naming one also switches on the anti-abuse limit of that plan
   * (`addressRequestsPerSecond`; 'enterprise' has none). @default the size of 'free', without the anti-abuse limit
   */
  readonly zonePlan?: ZonePlan;
  /** Limits that replace the limits of the plan, for every account. */
  readonly limits?: LimitOverrides;
  /** 'process': each account's functions run in a child process. 'thread': in threads of this one, for trusted code. @default 'process' */
  readonly isolation?: 'process' | 'thread';
  /**
   * Where services (buckets, outgoing fetch, ...) and the storage run. 'process': in a process of their own, one for each storage directory, which several
   * applications can share; 'inline': in this one, as it must be with storage ':memory:', isolation 'thread' and the option now. @default 'inline'
   */
  readonly backend?: 'inline' | 'process';
  /**
   * The sandbox of the operating system around a cell. 'auto' uses the best one that works here, and emits a `warning` event when accounts are not separated
   * from each other's native code. 'strict' starts no cell then (EDGE_SANDBOX): it needs a filter of system calls, no privileges, a user of its own,
   * resource limits, and either a root of its own or Landlock. 'off' uses none.
   * A `command` takes the place of all that and goes before the command of each cell, such as a runtime for containers. Its first part is a program, by an
   * absolute path or a name in PATH, and the descriptors 0 to 35 must reach the cell. See `host.health().sandbox`. @default 'auto'
   */
  readonly sandbox?: SandboxOption;
  /**
   * Isolates alive at once on this host, all accounts together; warm spares (`spareIsolates`) come on top. The least recently used idle one goes
   * first; when all are busy a new one waits for up to 30 seconds, then EDGE_OVERLOADED. 1 to 100,000. @default 256
   */
  readonly maxIsolates?: number;
  /**
   * Isolates alive at once in one account; warm spares come on top. An account at this limit first loses its least recently used idle isolate. New ones wait as
   * for `maxIsolates`, also the isolate of a new version of a function. 1 to 1,000. @default 16
   */
  readonly maxIsolatesPerAccount?: number;
  /** Isolates kept warm and empty for each account that is in use, besides those that `maxIsolates` counts. 0 to 16. @default 1 */
  readonly spareIsolates?: number;
  /**
   * Processes that are started ahead and belong to no account yet, so that a new account's first answer does not wait for one. The first is started
   * a second after the host needed its first process; one that an account has taken is replaced in the background. Accounts whose `limits.memoryBytes`
   * are not the host's cannot use them. 0 to 64; of no effect with isolation 'thread'. @default 1
   */
  readonly warmCells?: number;
  /**
   * Memory of the processes of all accounts together, as the kernel measures it (by their control groups, else by PSS). Above it the longest unused end
   * first: processes without isolates, idle isolates, warm cells. New isolates wait for up to 30 seconds, then EDGE_OVERLOADED. Not for isolation 'thread'.
   * 67108864 (64 MiB) or more. @default half of the memory of the machine or container, the smaller one
   */
  readonly memoryBytes?: number;
  /**
   * Descriptors that accounts leave to the application itself, of all that the system lets it have (RLIMIT_NOFILE): for its connections and files, the
   * storage included. Descriptors that it has open already are not used for accounts either. Where there is no room for one more process of an account,
   * idle processes end; a new one waits for up to 5 seconds, then EDGE_DESCRIPTOR_LIMIT. 0 or more, less than the limit (RangeError).
   * @default half of the limit, at most 4096
   */
  readonly reservedDescriptors?: number;
  /**
   * The same for processes and threads (`pids.max` of control groups; RLIMIT_NPROC unless the user is root), then EDGE_TASK_LIMIT. The reserve is what
   * stays free. @default a quarter of the limit, at most 256
   */
  readonly reservedTasks?: number;
  /** An isolate without a request for this long is ended; it comes back with the next one. @default 600000 (10 minutes) */
  readonly idleMs?: number;
  /**
   * The process of an account ends this many milliseconds after its last isolate, with its warm spares; the next request starts it again, or takes a warm cell.
   * 1 or more; `Infinity` keeps it. @default 60000 (one minute)
   */
  readonly cellIdleMs?: number;
  /**
   * A live stateful object without an event for this many milliseconds is forgotten, within twice this time: its next event creates it again. 1 or more.
   * @default 70000
   */
  readonly objectIdleMs?: number;
  /**
   * Bytes that this process may grow by because of one account: heads and arguments of calls, bodies on their way, output that is not written yet, and
   * what of it is not collected yet. From half of it on new invocations are refused with EDGE_OVERLOADED, from three quarters on the account is read
   * no more until it falls; what does not fall for 1.5 seconds ends the account's process with EDGE_MEMORY_LIMIT. 1 MiB to 4 GiB. @default 67108864 (64 MiB)
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
  /** WebSockets that stateful objects of one account have accepted to sleep; the next one is refused with EDGE_OVERLOADED. 1 to 1,000,000. @default 32768 */
  readonly sleepingWebSockets?: number;
  /**
   * An HTTP invocation without any progress for this long, on either side, is ended with EDGE_WALL_TIME_LIMIT: no byte of the request, the response or a call,
   * and no line of its log. 1,000 or more, in milliseconds; `Infinity` for none. @default Infinity
   */
  readonly idleHttpMs?: number;
  /**
   * The body of a response, a result or an object is cancelled when nobody reads it for this long, with the event `warning` (EDGE_BODY_UNREAD). A body that has
   * a reader, such as a slow client, has `idleHttpMs` instead. While the host holds so much for the account that it refuses new work, the time is at most one
   * second. 1 or more, in milliseconds; `Infinity` for none. @default 60000 (one minute)
   */
  readonly unreadMs?: number;
  /** When a connection of a function is free again: with the end of the response's body, or with its headers. @default 'body' */
  readonly connectionSlotRelease?: ConnectionSlotRelease;
  /** Counters of request rates shared with other hosts: needs the package `redis`. @default counters of this host alone */
  readonly quotas?: { readonly redis?: string };
  readonly egress?: EgressOptions;
  /**
   * Answers requests that functions make, in place of the network and its policy. When it answers with undefined, the request continues as if there were no
   * handler.
   */
  readonly outbound?: OutboundHandler;
  /** Bounds of the calls that functions make of the application, option `bindings` of load(). */
  readonly callbacks?: CallbackOptions;
  /**
   * The days whose usage is kept, see `account.usage(query)`: the number of days that are kept, including this day (UTC), 1 to 3,660; false for none. It is
   * kept in the storage, which opens with the first usage.
   * @default { keepDays: 400 } with option `storage`, false without it: a host without a directory creates none for this
   */
  readonly usage?: false | { readonly keepDays?: number };
  /**
   * The clock of request counts and of cron triggers, in milliseconds since 1970: minutes and days (UTC) go by it. While it throws or answers something
   * else, the time stands still for them, with the event `warning` (EDGE_OPTION_FAILED). @default Date.now
   */
  readonly now?: () => number;
}

const MEBIBYTE = 1024 * 1024;
const MAX_BYTES = 2 ** 40;
const MAX_COUNT = 2 ** 31;

/** The egress service checks the bounds of its numbers. */
const EGRESS: Schema<EgressOptions> = objectOf<EgressOptions>({
  'allow?': list(text()),
  'deny?': list(text()),
  'publicInternet?': flag(),
  'resolve?': native('function'),
  'ca?': union([text(), list(text())]),
  'connectTimeoutMs?': native('number'),
  'headersTimeoutMs?': native('number'),
  'bodyTimeoutMs?': native('number'),
  'maxHeaderBytes?': native('number'),
  'connectionsPerOrigin?': native('number'),
  'originsPerAccount?': native('number'),
  'socketsPerAccount?': native('number'),
  'keepAliveMs?': native('number'),
  'userAgent?': text(),
  'sockets?': flag(),
});

const CALLBACKS: Schema<CallbackOptions> = objectOf<CallbackOptions>({
  'timeoutMs?': wholeNumber(1, MAX_TIMER_MS, 'ms'),
  'concurrency?': wholeNumber(1, 1_000_000),
});

const USAGE: Schema<NonNullable<EdgeHostOptions['usage']>> = union(
  [constant(false), object({ 'keepDays?': wholeNumber(1, MAX_QUERY_DAYS, 'days') })],
  { description: 'false, or { keepDays }' },
);

const USAGE_DAYS = 400;

export const HOST_OPTIONS: Schema<EdgeHostOptions> = objectOf<EdgeHostOptions>({
  'storage?': text({ minLength: 1 }),
  'plan?': choice(PLANS),
  'zonePlan?': choice(ZONE_PLANS),
  'limits?': LIMIT_OVERRIDES,
  'isolation?': choice(['process', 'thread']),
  'backend?': choice(['inline', 'process']),
  'sandbox?': SANDBOX,
  'maxIsolates?': wholeNumber(1, 100_000),
  'maxIsolatesPerAccount?': wholeNumber(1, 1000),
  'spareIsolates?': wholeNumber(0, 16),
  'warmCells?': wholeNumber(0, 64),
  'memoryBytes?': wholeNumber(64 * MEBIBYTE, 64 * MAX_BYTES, 'bytes'),
  'reservedDescriptors?': wholeNumber(0, MAX_COUNT),
  'reservedTasks?': wholeNumber(0, MAX_COUNT),
  'idleMs?': wholeNumberOrInfinity(1, 'ms'),
  'cellIdleMs?': wholeNumberOrInfinity(1, 'ms'),
  'objectIdleMs?': wholeNumber(1, MAX_TIMER_MS, 'ms'),
  ...ACCOUNT_BOUNDS,
  'hostHeapBytes?': wholeNumber(MEBIBYTE, MAX_BYTES, 'bytes'),
  'hostBufferBytes?': wholeNumber(MEBIBYTE, MAX_BYTES, 'bytes'),
  'idleHttpMs?': wholeNumberOrInfinity(1000, 'ms'),
  'unreadMs?': wholeNumberOrInfinity(1, 'ms'),
  'connectionSlotRelease?': choice(['body', 'headers']),
  'quotas?': object({ 'redis?': text() }),
  'egress?': EGRESS,
  'outbound?': native('function'),
  'callbacks?': CALLBACKS,
  'usage?': USAGE,
  'now?': native('function'),
});

/** With every default filled in. */
export type ResolvedHostOptions = Readonly<
  Required<
    Omit<EdgeHostOptions, 'quotas' | 'outbound' | 'zonePlan' | 'usage' | 'reservedDescriptors' | 'reservedTasks'>
  >
> & {
  readonly reservedDescriptors: number | undefined;
  readonly reservedTasks: number | undefined;
  readonly usage: false | { readonly keepDays: number };
  readonly zonePlan: ZonePlan | undefined;
  readonly redisUrl: string | undefined;
  readonly outbound: OutboundHandler | undefined;
};

export function resolveHostOptions(options: EdgeHostOptions = {}): ResolvedHostOptions {
  checkFormerNames(options);
  checkOptions('new EdgeHost()', options, HOST_OPTIONS);
  checkPackageManager();
  checkIsolation(options);
  checkBackend(options);
  const { quotas, usage, ...given } = givenOf(options);
  return Object.freeze({
    storage: './.edgehost',
    plan: 'standard',
    zonePlan: undefined,
    limits: {},
    isolation: 'process',
    backend: 'inline',
    sandbox: 'auto',
    maxIsolates: 256,
    maxIsolatesPerAccount: 16,
    spareIsolates: 1,
    warmCells: 1,
    memoryBytes: partOfMemory(2),
    reservedDescriptors: undefined,
    reservedTasks: undefined,
    idleMs: 600_000,
    cellIdleMs: 60_000,
    objectIdleMs: 70_000,
    hostBytes: 64 * MEBIBYTE,
    openInvocations: 4096,
    openDescriptors: 512,
    sleepingWebSockets: 32_768,
    hostHeapBytes: defaultHeapBytes(),
    hostBufferBytes: partOfMemory(4),
    idleHttpMs: Number.POSITIVE_INFINITY,
    unreadMs: 60_000,
    connectionSlotRelease: 'body',
    egress: {},
    outbound: undefined,
    callbacks: {},
    now: Date.now,
    ...given,
    usage:
      usage === false || (usage ?? given.storage) === undefined ? false : { keepDays: usage?.keepDays ?? USAGE_DAYS },
    redisUrl: quotas?.redis,
  });
}

function defaultHeapBytes(): number {
  return Math.max(MEBIBYTE, Math.floor(getHeapStatistics().heap_size_limit / 4));
}

/** `constrainedMemory()` is 0 or a number beyond all memory where nothing constrains the process. */
function partOfMemory(divisor: number): number {
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.max(MEBIBYTE, Math.floor(Math.min(totalmem(), constrained) / divisor));
}

/** Yarn's Plug'n'Play. @throws EdgeError EDGE_NOT_SUPPORTED */
function checkPackageManager(): void {
  if (!('pnp' in process.versions)) return;
  throw new EdgeError(
    'EDGE_NOT_SUPPORTED',
    "EdgeHost does not run under Yarn's Plug'n'Play, because processes are started from files of its package: set nodeLinker: node-modules in .yarnrc.yml",
  );
}

/** The option `backend` once had a name that load() has for something else. @throws TypeError */
function checkFormerNames(options: object | null): void {
  if (options === null || !Object.hasOwn(options, 'services')) return;
  throw new TypeError(
    'new EdgeHost() has no option "services": its name is backend, while services of load() are service bindings',
  );
}

/** A backend process has a directory, and connections that only processes inherit. */
function checkBackend({ backend, storage, isolation, now }: EdgeHostOptions): void {
  if (backend !== 'process') return;
  const why =
    storage === ':memory:'
      ? "storage ':memory:' is in this process"
      : isolation === 'thread'
        ? "isolation 'thread' has no cells that could be connected to it"
        : now !== undefined
          ? 'a process of its own has the clock of the system, not that of the option now'
          : undefined;
  if (why !== undefined)
    throw new RangeError(`Option backend of new EdgeHost() is 'process', but ${why}: give 'inline'`);
}

/** Options that say nothing where functions run in threads of this process. */
function checkIsolation({ isolation, warmCells = 0, memoryBytes }: EdgeHostOptions): void {
  if (isolation !== 'thread') return;
  const [name, value] = warmCells > 0 ? ['warmCells', warmCells] : ['memoryBytes', memoryBytes];
  if (value === undefined) return;
  throw new RangeError(
    `Option ${name} of new EdgeHost() is ${value}, with isolation 'thread' there are no processes that it could be about`,
  );
}
