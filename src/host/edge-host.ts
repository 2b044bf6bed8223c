/** The SDK's entry: hosts functions of many accounts inside an application's own process. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import process from 'node:process';
import { delay, race } from 'abort-controller-x';
import type { StoreBucket } from '../bindings/bucket/types.js';
import type { LocalSend } from '../bindings/egress/transport.js';
import { type BindingClients, type BindingRegistry, REGISTRY } from '../bindings/registry.js';
import type { CallOrigin } from '../bindings/service.js';
import { NameOwners } from '../names/name-owners.js';
import { compilePattern } from '../names/route-pattern.js';
import { IsolateCache } from '../pool/isolate-cache.js';
import { IsolateGate } from '../pool/isolate-gate.js';
import { Admission } from '../quotas/admission.js';
import { EdgeError } from '../quotas/errors.js';
import { HostBudget, type HostShare } from '../quotas/host/host-share.js';
import { MAX_TIMER_MS } from '../quotas/max-timer.js';
import { resolveLimits } from '../quotas/resolve-limits.js';
import { checkOptions } from '../quotas/schema/check-options.js';
import { lazyCounters, openRedisCounters, type SharedCounters } from '../quotas/shared-counters.js';
import { Storage } from '../storage/storage.js';
import type { UsageReport } from '../usage/usage-report.js';
import { Account, type AccountInfo } from './account.js';
import type { AccountHost } from './account-host.js';
import { LimitSets } from './account-limits.js';
import type { AccountCells } from './cells/account-cells.js';
import { type CellsHealth, HostCells } from './cells/host-cells.js';
import type { ScriptSource } from './deploy/deployment.js';
import type { EdgeFunction } from './edge-function.js';
import { warnUnheard } from './events/unheard.js';
import type { HostEvents } from './events.js';
import { slotOf } from './function-slot.js';
import type { AccountStatsSnapshot } from './functions/loaded-functions.js';
import { HostBindings } from './host-bindings.js';
import { type EdgeHostOptions, type ResolvedHostOptions, resolveHostOptions } from './host-options.js';
import { fetchThrough } from './ingress/fetch-adapter.js';
import { fetchInput } from './ingress/fetch-input.js';
import { createListener } from './ingress/listener.js';
import { localSend } from './ingress/local-fetch.js';
import { Router } from './ingress/router.js';
import { cachePrefix, type FunctionRunner } from './invocation/function-runner.js';
import { FunctionStats } from './invocation/function-stats.js';
import { CHANNELS, isRecorded, publish, recordInvocation } from './invocation/telemetry.js';
import { type HostListenerOptions, LISTENER_OPTIONS } from './listener-options.js';
import { createManagementEndpoint, type HostManagement, type HostManagementOptions } from './management-endpoint.js';
import { MANAGEMENT_OPTIONS } from './management-options.js';
import { type AccountOptions, checkAccountOptions, checkName, type LoadOptions } from './options.js';
import { type AccountRemoval, type AccountRemovalOptions, REMOVAL_OPTIONS, removedError } from './removal-options.js';
import { createS3Endpoint, type HostS3 } from './s3-endpoint.js';
import type { HostS3Options } from './s3-options.js';
import { loadTelemetry } from './telemetry/open-telemetry.js';
import { type MetricsOptions, metricsText } from './usage/host-metrics.js';
import { HostUsage, type HostUsageQuery } from './usage/host-usage.js';
import { storedSums } from './usage/stored-sums.js';

/** The account of functions that are loaded on the host itself. */
const DEFAULT_ACCOUNT = 'default';

type CommonHost = Omit<
  AccountHost,
  'share' | 'redeclare' | 'stored' | 'releaseNames' | 'functionUsage' | 'usageReport'
>;

/** State of a host, for health checks. */
export interface HostHealth extends CellsHealth {
  readonly isolation: 'process' | 'thread';
  /** Alive or being started, warm spares not counted: never more than option `maxIsolates`. */
  readonly isolates: number;
  readonly accounts: number;
  readonly storage: { readonly location: string; readonly isOpen: boolean };
  readonly isClosed: boolean;
}

/**
 * What a host is made of besides its options.
 * @internal
 */
export interface HostParts {
  /** @default the bindings of the package */
  readonly registry?: BindingRegistry;
  /** The text of the guest realm's bundle. @default that of the package */
  readonly guestBundle?: string;
}

export class EdgeHost extends EventEmitter<HostEvents> implements BindingClients {
  readonly #options: ResolvedHostOptions;
  readonly #accounts = new Map<string, Account>();
  /** Those that were removed and not made again: credentials of theirs are refused. */
  readonly #removed = new Set<string>();
  readonly #names = new NameOwners({
    onChange: () => this.#router.forget(),
    onInactive: message => this.#warn(new EdgeError('EDGE_NAME_TAKEN', message)),
  });
  readonly #router = new Router<FunctionRunner>(this.#names);
  /** Whether the zones of the management API are known. */
  #namesKnown: Promise<void> = Promise.resolve();
  readonly #cache: IsolateCache;
  readonly #gate: IsolateGate;
  readonly #bindings: HostBindings;
  readonly #admission: Admission;
  readonly #limitSets: LimitSets;
  /** The same for all accounts, which are many. */
  readonly #commonHost: CommonHost;
  readonly #budget: HostBudget;
  readonly #cells: HostCells;
  readonly #usage: HostUsage;
  /** The times of the invocations of every account. */
  readonly #stats = new FunctionStats();
  /** Shared with other hosts. */
  readonly #counters: SharedCounters | undefined;
  #storage: Promise<Storage> | undefined;
  #isStorageOpen = false;
  #closing: Promise<void> | undefined;

  /**
   * Nothing is started or opened yet: storage opens with the first bucket or load that needs it, a cell with the first load of its account.
   * Throws TypeError or RangeError for an option that is unknown, of a wrong type or out of bounds.
   */
  constructor(options?: EdgeHostOptions);
  /** @internal */
  constructor(options: EdgeHostOptions | undefined, parts: HostParts);
  constructor(options?: EdgeHostOptions, parts: HostParts = {}) {
    super();
    this.#options = resolveHostOptions(options);
    const { maxIsolates, maxIsolatesPerAccount, idleMs } = this.#options;
    this.#cache = new IsolateCache({ max: maxIsolates, idleMs });
    this.#limitSets = new LimitSets(this.#options);
    this.#cells = new HostCells({
      options: this.#options,
      memoryBytes: this.#limitSets.of({}).most.memoryBytes,
      guestBundle: parts.guestBundle,
      evict: idleForMs => this.#cache.evict('', idleForMs),
      onRoom: () => this.#gate.changed(),
      share: (owner, onStuck) =>
        this.#budget.share(owner, this.#options, reason => {
          this.#warn(new EdgeError('EDGE_MEMORY_LIMIT', `The processes of ${owner} were ended: ${reason}`));
          onStuck(reason);
        }),
      warn: error => this.#warn(error),
    });
    const memory = this.#cells.gateMemory;
    this.#gate = new IsolateGate({
      max: maxIsolates,
      maxPerAccount: maxIsolatesPerAccount,
      ...(memory !== undefined && { memory }),
      evict: account => this.#cache.evict(account === undefined ? '' : cachePrefix(account)),
    });
    this.#bindings = new HostBindings(parts.registry ?? REGISTRY, {
      options: this.#options,
      storage: () => this.#storageOfBindings(),
    });
    const { redisUrl: url, now } = this.#options;
    const onError = (error: unknown) => this.#warn(error);
    this.#counters =
      url === undefined ? undefined : lazyCounters(() => openRedisCounters({ url, now, onError }), onError);
    this.#budget = new HostBudget({
      heapBytes: this.#options.hostHeapBytes,
      bufferBytes: this.#options.hostBufferBytes,
    });
    this.#usage = new HostUsage({
      keepDays: this.#options.usage === false ? undefined : this.#options.usage.keepDays,
      now: this.#options.now,
      records: async () => (await this.#openStorage()).context.records,
      stored: storedSums(async () => (await this.#openStorage()).context.records),
      onError: error => this.#warn(error),
    });
    this.#admission = new Admission({
      now: this.#options.now,
      store: {
        get: async key => countText(await (await this.#openStorage()).sublevel('counts').get(key)),
        put: async (key, value) => (await this.#openStorage()).sublevel('counts').put(key, value),
      },
      ...(this.#counters !== undefined && { shared: this.#counters }),
      onAbuse: event => {
        this.emit('abuse', event);
        publish('abuse', event);
      },
      onError: error => this.#warn(error),
    });
    this.#commonHost = this.#makeCommonHost();
    ignoreInspectorSignal();
    void loadTelemetry();
  }

  /** Loads a function into the default account. See {@link Account.load}. */
  async load(source: ScriptSource, options?: LoadOptions): Promise<EdgeFunction> {
    return await this.account(DEFAULT_ACCOUNT).load(source, options);
  }

  /** Loads a function from its configuration file into the default account. See {@link Account.loadFile}. */
  async loadFile(path: string, options?: LoadOptions): Promise<EdgeFunction> {
    return await this.account(DEFAULT_ACCOUNT).loadFile(path, options);
  }

  /**
   * The account of this id, made when it is first named. Options are those of the first call; giving them again for an account that
   * exists is a TypeError. Throws TypeError, RangeError or EDGE_NAME_TAKEN for zones that the account cannot have.
   */
  account(id: string, options?: AccountOptions): Account {
    if (this.#closing !== undefined)
      throw new EdgeError('EDGE_CLOSED', `Cannot use account "${id}": the host is closed`);
    const known = this.#accounts.get(id);
    if (known !== undefined) {
      if (options !== undefined)
        throw new TypeError(`Account "${id}" exists already; its options are given with its first use`);
      return known;
    }
    checkName('an account', id);
    const checked = checkAccountOptions(options);
    const limits = this.#limitSets.of(checked);
    if (checked.zones !== undefined) this.#names.declare(id, checked.zones);
    const bounds = {
      hostBytes: checked.hostBytes ?? this.#options.hostBytes,
      openInvocations: checked.openInvocations ?? this.#options.openInvocations,
      openDescriptors: checked.openDescriptors ?? this.#options.openDescriptors,
    };
    const share = this.#budget.share(id, bounds, reason => {
      this.#warn(new EdgeError('EDGE_MEMORY_LIMIT', `The process of account "${id}" was ended: ${reason}`));
      cells.endAll('hoard', reason);
    });
    let cells: AccountCells;
    try {
      cells = this.#cells.open(id, limits.most.memoryBytes, share, checked.group);
    } catch (error) {
      this.#names.releaseAccount(id);
      throw error;
    }
    const account = new Account(id, { settings: checked, limits }, this.#accountHost(id, share), cells);
    this.#accounts.set(id, account);
    this.#removed.delete(id);
    return account;
  }

  /** All accounts, in the order in which they were made. */
  accounts(): AccountInfo[] {
    return [...this.#accounts.values()].map(account => account.info);
  }

  /**
   * Ends an account: its open invocations end with EDGE_ACCOUNT_REMOVED, its functions are unloaded, and its routes, crons, zones and API tokens are free.
   * Its handles (functions, buckets, the `Account`) are refused with EDGE_ACCOUNT_REMOVED from the call on, also when there is another account of the
   * same id. Resolves when nothing of it runs and, with `deleteData`, an account of the same id has nothing of its data; that is deleted in the background
   * then, and over restarts.
   *
   * Rejects with EDGE_ACCOUNT_REMOVED when there is no such account, unless `deleteData` is to delete what one has left in the storage; and with the errors of
   * the storage, after which the call can be repeated with `deleteData`.
   */
  async removeAccount(id: string, options: AccountRemovalOptions = {}): Promise<AccountRemoval> {
    if (this.#closing !== undefined)
      throw new EdgeError('EDGE_CLOSED', `Cannot remove account "${id}": the host is closed`);
    checkName('an account', id);
    checkOptions('removeAccount()', options, REMOVAL_OPTIONS);
    const { deleteData = false } = options;
    const account = this.#accounts.get(id);
    if (account === undefined && !deleteData)
      throw new EdgeError('EDGE_ACCOUNT_REMOVED', `Cannot remove account "${id}": there is no such account`);
    this.#accounts.delete(id);
    this.#removed.add(id);
    this.#bindings.endAccount(id);
    const ended = account?.close(removedError(id));
    const storage = await this.#openStorage();
    const removal = await this.#removeStored(storage, id, deleteData);
    await ended;
    this.#usage.recorder?.forget(id);
    return removal;
  }

  #removeStored(storage: Storage, id: string, deleteData: boolean): Promise<AccountRemoval> {
    return storage.removeAccount(id, {
      error: removedError(id),
      deleteData,
      beside: async () => {
        if (!this.#accounts.has(id)) await this.#admission.detach(id);
        if (!storage.hasDatabase('management')) return;
        const { removeAccountRecords } = await import('../management/state/remove-account.js');
        await removeAccountRecords(storage.database('management'), id, deleteData);
      },
    });
  }

  /** A bucket of the default account. */
  bucket(name: string): StoreBucket {
    return this.account(DEFAULT_ACCOUNT).bucket(name);
  }

  /**
   * Opens the storage now, where the start of a server should fail for what the first use of a bucket would find out. Rejects with
   * EDGE_STORAGE_LOCKED (another process has it open), EDGE_STORAGE_FORMAT, EDGE_STORAGE_CORRUPT, EDGE_STORAGE_ACCESS, EDGE_STORAGE_FULL,
   * EDGE_INTERNAL (the directory cannot be made or read) or EDGE_CLOSED.
   */
  async openStorage(): Promise<void> {
    await this.#storageOfBindings();
  }

  /** Answers a request by the routes of the loaded functions. Rejects with EDGE_NO_ROUTE when none matches. */
  async fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
    const request = fetchInput(input, init);
    const { host, pathname } = new URL(request.url);
    const route = this.#router.find(host, pathname);
    if (route === undefined) throw new EdgeError('EDGE_NO_ROUTE', `No function is attached to ${host}${pathname}`);
    return fetchThrough(route.target, request, route.mode);
  }

  /**
   * A listener for `http.createServer`, or middleware for Express, Connect and Fastify's raw requests: with `function` everything goes
   * to that function, in the version that serves under its name (404 when it is unloaded), else by route; what matches no route goes to `next` where there is one, else is answered with 404. A request whose
   * Host or target could be read in two ways is answered with 400 (EDGE_REQUEST_MALFORMED).
   */
  listener(
    options: HostListenerOptions = {},
  ): (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void {
    checkOptions('listener()', options, LISTENER_OPTIONS);
    const { function: fixed, ...listenerOptions } = options;
    const slot = fixed === undefined ? undefined : slotOf(fixed);
    const route =
      slot === undefined
        ? undefined
        : ({
            get target() {
              return slot.runner;
            },
            mode: 'fail-closed',
          } as const);
    return createListener(
      (host, path) => route ?? this.#router.find(host, path),
      listenerOptions,
      error => this.#warn(error),
    );
  }

  /**
   * The S3-compatible API of the buckets, as a fetch handler that has listeners for node:http beside it. A fetch Request has been through
   * a URL parser, which loses keys with dot segments; the listeners lose nothing. Throws TypeError or RangeError for options that are not
   * valid.
   */
  s3(options: HostS3Options): HostS3 {
    return this.#s3Endpoint(options);
  }

  /** The S3-compatible API for `http.createServer`, or mounted in a framework. */
  s3Listener(options: HostS3Options): (request: IncomingMessage, response: ServerResponse) => void {
    return this.#s3Endpoint(options).listener;
  }

  /**
   * The management API of the accounts, as a fetch handler. Refuses everything until there is a token. Functions that are loaded
   * afterwards wait until the zones that it has stored are known.
   */
  management(options: HostManagementOptions = {}): HostManagement {
    checkOptions('management()', options, MANAGEMENT_OPTIONS);
    return createManagementEndpoint(options, {
      usage: this.#usage,
      names: this.#names,
      opening: ready => {
        const before = this.#namesKnown;
        this.#namesKnown = ready.then(
          () => before,
          () => before,
        );
      },
      warn: error => this.#warn(error),
      account: id => this.#accounts.get(id),
      accounts: () => this.accounts(),
      removeAccount: (id, removal) => this.removeAccount(id, removal),
      bindings: this.#bindings.registry,
      directories: this.#bindings.directories,
      storage: async () => {
        const storage = await this.#openStorage();
        return { storage: storage.database('management'), keyStore: storage.secretsKey };
      },
    });
  }

  /** The management API for `http.createServer`, or mounted in a framework. */
  managementListener(
    options: HostManagementOptions = {},
  ): (request: IncomingMessage, response: ServerResponse) => void {
    return this.management(options).listener;
  }

  /** What the host is doing, for health checks. */
  health(): HostHealth {
    return {
      isolation: this.#options.isolation,
      isolates: this.#gate.size,
      accounts: this.#accounts.size,
      ...this.#cells.health,
      storage: { location: this.#options.storage, isOpen: this.#isStorageOpen },
      isClosed: this.#closing !== undefined,
    };
  }

  /** Statistics of the invocations of every account that has functions loaded: counts by outcome, and histograms of time. */
  stats(): { readonly accounts: readonly AccountStatsSnapshot[] } {
    return { accounts: [...this.#accounts.values()].map(account => account.stats()) };
  }

  /**
   * The usage of every account that has some on the days asked for, or has something stored, one after the other in the order of their ids;
   * those that are removed are among them. With `account` that of one, be it that it is removed. Rejects like {@link Account.usage}.
   */
  usage(query: HostUsageQuery = {}): AsyncGenerator<UsageReport, void, undefined> {
    return this.#usage.reports('usage()', query);
  }

  /**
   * What the host does, in the text format of Prometheus (`text/plain; version=0.0.4`): counters since it was made, histograms of time, and its
   * state. Labels are kinds, outcomes and services; usage by account and function is for {@link usage}, but that of accounts named in
   * the options. Throws TypeError or RangeError for options that are not valid.
   */
  metrics(options?: MetricsOptions): string {
    const { accounts, isolates, cells, storage, isClosed } = this.health();
    let functions = 0;
    for (const account of this.#accounts.values()) functions += account.functions().length;
    const state = { accounts, functions, isolates, cells, isStorageOpen: storage.isOpen, isClosed };
    return metricsText({ ...state, stats: this.#stats, usage: this.#usage.recorder }, options);
  }

  /**
   * Ends everything: lets what runs finish for up to `drainMs`, then ends the cells and closes the storage. Nothing is left running.
   * @param options.drainMs @default 5000
   */
  close(options: { readonly drainMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(options.drainMs ?? 5000);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainMs: number): Promise<void> {
    await race(new AbortController().signal, signal => [
      this.#cache.drained(signal),
      delay(signal, Math.min(drainMs, MAX_TIMER_MS)),
    ]);
    this.#gate.close();
    this.#cache.close();
    await Promise.all([...this.#accounts.values()].map(account => account.close()));
    await this.#cells.close();
    await this.#admission.close();
    await this.#usage.close();
    await this.#counters?.close();
    await this.#bindings.close();
    const storage = await this.#storage?.catch(() => undefined);
    await storage?.close();
    this.#isStorageOpen = false;
  }

  #s3Endpoint(options: HostS3Options): HostS3 {
    const { plan, zonePlan, limits } = this.#options;
    const hostLimits = resolveLimits({ plan, zonePlan, overrides: [limits] });
    return createS3Endpoint(options, {
      directories: this.#bindings.directories,
      // Not by account(), which would make one that the application may still make with options of its own.
      limits: account => this.#accounts.get(account)?.limits ?? hostLimits,
      isRemoved: account => this.#removed.has(account),
      warn: error => this.#warn(error),
    });
  }

  async #storageOfBindings(): Promise<Storage> {
    if (this.#closing !== undefined) throw new EdgeError('EDGE_CLOSED', 'Cannot use the storage: the host is closed');
    return this.#openStorage();
  }

  #warn(cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.emit('warning', error);
    publish('warning', error);
  }

  #noteUnheard(name: string): void {
    const isHeard =
      this.listenerCount('log') > 0 || this.listenerCount('invocation') > 0 || CHANNELS.log.hasSubscribers;
    if (!isHeard && !CHANNELS.invocation.hasSubscribers && !isRecorded()) warnUnheard(name);
  }

  #openStorage(): Promise<Storage> {
    const access = {
      isStrict: this.#options.sandbox === 'strict',
      onWarning: (error: EdgeError) => this.#warn(error),
    };
    this.#storage ??= Storage.open(this.#options.storage, {
      access,
      owners: [...this.#bindings.registry.storageOwners, this.#usage.owner],
      onStored: account => this.#usage.recorder?.noteStored(account),
    }).then(
      async storage => {
        this.#isStorageOpen = true;
        for (const id of await storage.unfinishedRemovals()) await this.#removeStored(storage, id, true);
        return storage;
      },
      (error: unknown) => {
        // A later use tries again: the directory may be free by then.
        this.#storage = undefined;
        throw error;
      },
    );
    return this.#storage;
  }

  /**
   * Of another account only what the owner of the host has given it: a route alone may name any domain, and would else get the requests that other
   * accounts mean for the true one.
   */
  #localSend(account: string, url: URL, origin: CallOrigin | undefined): LocalSend | undefined {
    const route = this.#router.find(url.host, url.pathname);
    if (route === undefined || !route.customDomain || route.hostKind !== 'exact') return undefined;
    if (route.account !== account && !this.#names.isGranted(route.account, route.name)) return undefined;
    return localSend(route, origin);
  }

  #accountHost(id: string, share: HostShare): AccountHost {
    return {
      ...this.#commonHost,
      share,
      redeclare: (zones, routes) => this.#names.redeclare(id, zones, routes.map(compilePattern)),
      stored: async () => (await this.#storageOfBindings()).context.sums.read(id),
      releaseNames: () => this.#names.releaseAccount(id),
      functionUsage: name => this.#usage.function(id, name),
      usageReport: (query, work) => this.#usage.report('usage()', id, query, work),
    };
  }

  #makeCommonHost(): CommonHost {
    return {
      stats: this.#stats,
      limitsOf: settings => this.#limitSets.of(settings),
      idleHttpMs: this.#options.idleHttpMs,
      connectionSlotRelease: this.#options.connectionSlotRelease,
      admission: this.#admission,
      now: this.#options.now,
      cache: this.#cache,
      gate: this.#gate,
      router: this.#router,
      namesKnown: () => this.#namesKnown,
      localSend: (account, url, origin) => this.#localSend(account, url, origin),
      bindings: this.#bindings,
      emitLog: event => {
        if (!this.emit('log', event)) this.#noteUnheard(event.function);
        publish('log', event);
      },
      noteUnheard: name => this.#noteUnheard(name),
      wantsInvocations: () =>
        this.listenerCount('invocation') > 0 || CHANNELS.invocation.hasSubscribers || isRecorded(),
      emitInvocation: (event, trace) => {
        this.emit('invocation', event);
        publish('invocation', event);
        recordInvocation(event, trace);
      },
      warn: error => this.#warn(error),
    };
  }
}

function countText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

let isInspectorSignalIgnored = false;

/**
 * A function that has escaped into a cell of the same user could open the application's inspector with SIGUSR1 and take it over (rule
 * R27). An application that has a listener of its own keeps it.
 */
function ignoreInspectorSignal(): void {
  if (isInspectorSignalIgnored || process.platform === 'win32') return;
  isInspectorSignalIgnored = true;
  if (process.listenerCount('SIGUSR1') === 0) process.on('SIGUSR1', () => {});
}
