/** The parts of one host, put together: nothing is started or opened before something needs it. */

import type { EventEmitter } from 'node:events';
import { abortable, delay, race } from 'abort-controller-x';
import { RemoteCounters } from '../../backend/client/remote-counters.js';
import { RemoteUsage } from '../../backend/client/remote-usage.js';
import { HostBindings } from '../../backend/host-bindings.js';
import { storedSums } from '../../backend/stored-sums.js';
import type { BindingBase } from '../../bindings/binding.js';
import { GivenBodies } from '../../bindings/bodies/given-bodies.js';
import { cronStorage } from '../../bindings/cron/cron-records.js';
import { queueBinding } from '../../bindings/queue/queue-binding.js';
import { type BindingRegistry, REGISTRY } from '../../bindings/registry.js';
import { IsolateCache } from '../../pool/host/isolate-cache.js';
import { IsolateGate } from '../../pool/host/isolate-gate.js';
import { EngineWalls } from '../../pool/sandbox/engine-walls.js';
import type { SandboxState } from '../../pool/sandbox/state.js';
import { EdgeError } from '../../quotas/errors.js';
import { detached, listenToFaults } from '../../quotas/guarded.js';
import { HostBudget } from '../../quotas/host/host-share.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import { steadyClock } from '../../quotas/option-functions.js';
import type { AbuseEvent } from '../../quotas/requests/abuse-guard.js';
import { Admission } from '../../quotas/requests/admission.js';
import { lazyCounters, openRedisCounters, type SharedCounters } from '../../quotas/requests/shared-counters.js';
import { keepPrivate } from '../../storage/files/private-directory.js';
import { LimitSets } from '../account-limits.js';
import { HostBackend } from '../backend/host-backend.js';
import { HostCells } from '../cells/host-cells.js';
import { AlarmScheduler } from '../events/alarm-scheduler.js';
import { CronScheduler } from '../events/cron-scheduler.js';
import { QueueDispatcher } from '../events/queues/queue-dispatcher.js';
import type { HostEvents } from '../events.js';
import { SleepingSockets } from '../hibernation/function-sockets.js';
import { cachePrefix } from '../invocation/function-runner.js';
import { FunctionStats } from '../invocation/function-stats.js';
import { loaderCalls } from '../loaders/loader-calls.js';
import { ownCalls } from '../loaders/own-calls.js';
import { applicationClaims } from '../objects/application-claims.js';
import { deliverAlarm } from '../objects/deliver-alarm.js';
import { objectCalls } from '../objects/object-calls.js';
import { type ObjectRules, objectRunnerOf } from '../objects/object-runner.js';
import { objectSocketCalls } from '../objects/socket-calls.js';
import { copyableOptions } from '../options/copyable-options.js';
import { type EdgeHostOptions, type ResolvedHostOptions, resolveHostOptions } from '../options/host-options.js';
import { calleeOf } from '../rpc/find-callee.js';
import { type FindCallee, functionCalls } from '../rpc/function-calls.js';
import { loadTelemetry } from '../telemetry/open-telemetry.js';
import { DEFAULT_KEEP_DAYS, HostUsage, type RemoteUsagePart } from '../usage/host-usage.js';
import { type CommonHost, HostAccounts } from './host-accounts.js';
import { HostReports } from './host-reports.js';
import { HostRoutes } from './host-routes.js';
import { HostStorage } from './host-storage.js';
import { ignoreInspectorSignal } from './inspector-signal.js';

/** The parts of a host besides its options. */
export interface HostParts {
  /** @default the bindings of the package */
  readonly registry?: BindingRegistry;
  /** The text of the guest realm's bundle. @default the package's bundle */
  readonly guestBundle?: string;
  /** The program of the backend process. @default the package's program */
  readonly backendMain?: string;
}

/** How long the backend process may take, when the host closes, to say what the last invocations came to. */
const TOTALS_MS = 5000;

export class HostCore {
  readonly options: ResolvedHostOptions;
  readonly reports: HostReports;
  readonly routes: HostRoutes;
  readonly storage: HostStorage;
  readonly bindings: HostBindings;
  /** Gives the application bodies as streams. */
  readonly bodies: GivenBodies;
  readonly usage: HostUsage;
  /** The connection to the backend process. Undefined with `backend: 'inline'`. */
  readonly remote: HostBackend | undefined;
  readonly crons: CronScheduler;
  readonly cells: HostCells;
  readonly gate: IsolateGate;
  readonly accounts: HostAccounts;
  readonly #queues: QueueDispatcher;
  /** The times of the invocations of every account. */
  readonly stats = new FunctionStats();
  readonly #cache: IsolateCache;
  readonly #limitSets: LimitSets;
  readonly #objects: ObjectRules;
  readonly #alarms: AlarmScheduler;
  readonly #budget: HostBudget;
  /** Around engines of SQL that this process starts. */
  readonly #walls: EngineWalls;
  readonly #admission: Admission;
  /** Shared with other hosts. */
  readonly #counters: SharedCounters | undefined;
  #closing: Promise<void> | undefined;
  readonly #forgetFaults: () => void;

  /** @throws TypeError or RangeError for an option that is unknown, of a wrong type or out of bounds */
  constructor(options: EdgeHostOptions | undefined, parts: HostParts, events: EventEmitter<HostEvents>) {
    this.reports = new HostReports(events);
    this.options = this.#resolved(options);
    const { maxIsolates, idleMs, hostHeapBytes: heapBytes, hostBufferBytes: bufferBytes } = this.options;
    this.#forgetFaults = listenToFaults(this.#warn);
    const { unreadMs, idleHttpMs } = this.options;
    this.bodies = new GivenBodies({ unreadMs, idleMs: idleHttpMs, warn: this.#warn });
    this.routes = new HostRoutes(this.#warn, () => this.remote?.namesChanged());
    this.#cache = new IsolateCache({ max: maxIsolates, idleMs });
    this.#limitSets = new LimitSets(this.options);
    this.#objects = {
      idleMs: this.options.objectIdleMs,
      sockets: new SleepingSockets(),
      ...(this.options.backend === 'process' &&
        applicationClaims(async () => (await this.storage.openForUse()).objects)),
    };
    const { registry = REGISTRY } = parts;
    this.remote = this.options.backend === 'process' ? this.#createRemote(registry, parts.backendMain) : undefined;
    this.cells = this.#createCells(parts.guestBundle);
    this.gate = this.#createGate();
    this.#walls = new EngineWalls(this.options.sandbox, this.#warn);
    this.storage = this.#createStorage();
    this.bindings = this.#createBindings(registry);
    this.#queues = new QueueDispatcher({ queues: id => this.bindings.directoryOf(queueBinding, id), warn: this.#warn });
    this.#counters = this.#createCounters();
    this.#budget = new HostBudget({ heapBytes, bufferBytes });
    this.usage = this.#createUsage();
    this.#admission = this.#createAdmission();
    this.crons = this.#createCrons();
    this.#alarms = this.#createAlarms();
    this.accounts = new HostAccounts({
      options: this.options,
      common: this.#commonHost(),
      budget: this.#budget,
      cells: this.cells,
      routes: this.routes,
      storage: this.storage,
      usage: this.usage,
      isClosing: this.#isClosing,
    });
    ignoreInspectorSignal();
    detached(loadTelemetry());
  }

  #resolved(given: EdgeHostOptions | undefined): ResolvedHostOptions {
    const options = resolveHostOptions(given);
    if (options.now === Date.now) return options;
    return Object.freeze({ ...options, now: steadyClock('now of new EdgeHost()', options.now, this.#warn) });
  }

  /** The layers around engines of SQL, which the backend process may start; undefined before the first of them. */
  get sqlSandbox(): SandboxState | undefined {
    return this.#walls.state;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Lets running work finish for a while, then ends and closes everything. */
  close(drainMs: number): Promise<void> {
    this.#closing ??= this.#close(drainMs);
    return this.#closing;
  }

  /** Closes the WebSockets of clients with 1001, at the beginning of a shutdown: they would stay open for as long as it waits. */
  closeWebSockets(): void {
    this.#objects.sockets.goAway();
    this.#cache.goAway();
  }

  readonly #callee: FindCallee = (caller, target) => calleeOf(this.accounts, caller, target);
  readonly #isClosing = (): boolean => this.isClosed;
  readonly #warn = (error: unknown): void => this.reports.warn(error);

  async #close(drainMs: number): Promise<void> {
    const cronsClosed = this.crons.close();
    const alarmsClosed = this.#alarms.close();
    this.#queues.stop();
    this.closeWebSockets();
    await race(new AbortController().signal, signal => [
      this.#cache.drained(signal),
      delay(signal, Math.min(drainMs, MAX_TIMER_MS)),
    ]);
    this.gate.close();
    this.#cache.close();
    await this.accounts.close();
    await cronsClosed;
    await alarmsClosed;
    await this.#queues.ended();
    await this.cells.close();
    await this.#totalsKnown();
    await this.#admission.close();
    await this.usage.close();
    await this.#counters?.close();
    await this.bindings.close();
    await this.remote?.close();
    await this.storage.close();
    this.#forgetFaults();
  }

  /** The event and the usage of an invocation are made when the backend process has said what its calls came to. A process that hangs is not waited for. */
  async #totalsKnown(): Promise<void> {
    const { remote } = this;
    if (remote === undefined) return;
    await race(new AbortController().signal, signal => [abortable(signal, remote.settled()), delay(signal, TOTALS_MS)]);
  }

  #createCells(guestBundle: string | undefined): HostCells {
    return new HostCells({
      options: this.options,
      memoryBytes: this.#limitSets.of({}).most.memoryBytes,
      guestBundle,
      evict: idleForMs => this.#cache.evict('', idleForMs),
      onRoom: () => this.gate.changed(),
      share: (owner, onStuck) =>
        this.#budget.share(owner, this.options, reason => {
          this.#warn(new EdgeError('EDGE_MEMORY_LIMIT', `The processes of ${owner} were ended: ${reason}`));
          onStuck(reason);
        }),
      warn: this.#warn,
      ...(this.remote !== undefined && { backend: this.remote }),
    });
  }

  #createBindings(registry: BindingRegistry): HostBindings {
    const { remote, options } = this;
    const host = { options, storage: () => this.storage.openHere() };
    if (remote === undefined) return new HostBindings(registry, host);
    const isHere = (row: BindingBase): boolean => row.isInApplication?.(options) === true;
    return new HostBindings(registry, host, { isHere, link: remote.link });
  }

  #createRemote(errors: BindingRegistry, main: string | undefined): HostBackend {
    const { storage, connectionSlotRelease, usage, sandbox } = this.options;
    const access = { isStrict: sandbox === 'strict', onWarning: this.#warn };
    return new HostBackend({
      directory: storage,
      errors,
      ...(main !== undefined && { main }),
      hello: () => ({
        connectionSlotRelease,
        applicationRows: this.bindings.registry.rows.filter(this.bindings.isHere).map(({ id }) => id),
        options: copyableOptions(this.options),
        keepDays: usage === false ? DEFAULT_KEEP_DAYS : usage.keepDays,
        keepsUsage: usage !== false,
        heapBytes: this.options.hostHeapBytes,
        bufferBytes: this.options.hostBufferBytes,
      }),
      onWarning: this.#warn,
      checkAccess: () => keepPrivate(storage, { directory: storage, mayClose: false, access }),
      onLost: () => {
        this.#walls.areElsewhere(undefined);
        this.cells.replaceAll();
      },
      onSqlSandbox: state => this.#walls.areElsewhere(state),
      share: account => this.accounts.find(account)?.share,
      onStuck: (account, reason) => this.accounts.find(account)?.stuck(reason),
      localSend: (account, url, origin) => this.routes.localSend(account, url, origin),
      names: () => this.routes.router.served,
      follow: change => this.accounts.follow(change),
      takeRemoval: step => this.accounts.takeRemoval(step),
    });
  }

  #createGate(): IsolateGate {
    return new IsolateGate({
      max: this.options.maxIsolates,
      maxPerAccount: this.options.maxIsolatesPerAccount,
      room: this.cells.gateRoom,
      evict: account => this.#cache.evict(account === undefined ? '' : cachePrefix(account)),
    });
  }

  #createStorage(): HostStorage {
    const { remote } = this;
    return new HostStorage({
      location: this.options.storage,
      storageOptions: () => ({
        access: { isStrict: this.options.sandbox === 'strict', onWarning: this.#warn },
        owners: [...this.bindings.registry.storageOwners, cronStorage(this.options.now), this.usage.owner],
        onStored: account => this.usage.recorder?.noteStored(account),
        onDamaged: this.#warn,
        walls: this.#walls,
      }),
      ...(remote !== undefined && { connect: () => remote.openStore() }),
      onOpen: store => this.accounts.finishRemovals(store),
      now: this.options.now,
      isClosing: this.#isClosing,
    });
  }

  #createCrons(): CronScheduler {
    const { now } = this.options;
    return new CronScheduler({
      now,
      claims: async () => (await this.storage.openForUse()).crons,
      onEvent: event => this.reports.cron(event),
      onError: this.#warn,
    });
  }

  #createAlarms(): AlarmScheduler {
    return new AlarmScheduler({
      alarms: async () => (await this.storage.openForUse()).alarms,
      deliver: (object, alarm) => deliverAlarm(this.accounts, this.#objects, object, alarm),
      onError: this.#warn,
    });
  }

  #createCounters(): SharedCounters | undefined {
    const { redisUrl: url, now } = this.options;
    if (url === undefined) return undefined;
    return lazyCounters(() => openRedisCounters({ url, now, onError: this.#warn }), this.#warn);
  }

  #createUsage(): HostUsage {
    const { usage, now } = this.options;
    const records = async () => (await this.storage.open()).records;
    return new HostUsage({
      keepDays: usage === false ? undefined : usage.keepDays,
      now,
      records,
      ...(this.remote !== undefined && { remote: this.#remoteUsage(this.remote) }),
      stored: storedSums(records),
      onError: this.#warn,
    });
  }

  #remoteUsage(backend: HostBackend): RemoteUsagePart {
    const usage = new RemoteUsage(backend.link);
    return { usage, settled: () => backend.settled() };
  }

  #createAdmission(): Admission {
    const { options, remote } = this;
    const common = {
      now: options.now,
      onAbuse: (event: AbuseEvent) => this.reports.abuse(event),
      onError: this.#warn,
    };
    if (remote !== undefined && this.#counters === undefined) {
      const shared = new RemoteCounters(remote.link);
      return new Admission({ ...common, shared, store: shared.store });
    }
    const counts = async () => (await this.storage.open()).sublevel('counts');
    return new Admission({
      ...common,
      store: {
        get: async key => {
          const value: unknown = await (await counts()).get(key);
          return typeof value === 'string' ? value : undefined;
        },
        put: async (key, value) => (await counts()).put(key, value),
      },
      ...(this.#counters !== undefined && { shared: this.#counters }),
    });
  }

  #commonHost(): CommonHost {
    const { options, reports, routes } = this;
    return {
      stats: this.stats,
      limitsOf: settings => this.#limitSets.of(settings),
      idleHttpMs: options.idleHttpMs,
      sandbox: options.sandbox,
      bodies: this.bodies,
      connectionSlotRelease: options.connectionSlotRelease,
      admission: this.#admission,
      now: options.now,
      cache: this.#cache,
      gate: this.gate,
      router: routes.router,
      namesKnown: () => routes.namesKnown,
      localSend: (account, url, origin) => routes.localSend(account, url, origin),
      callFunction: account => functionCalls(account, this.#callee),
      callObject: account => objectCalls(account, this.#callee, this.#objects),
      objectSockets: (account, name) =>
        objectSocketCalls(this.#objects.sockets, () =>
          objectRunnerOf(this.#callee(account, { function: name }), this.#objects),
        ),
      callOwn: ownCalls,
      callLoader: loaderCalls,
      objects: this.#objects,
      alarms: this.#alarms,
      bindings: this.bindings,
      remote: this.remote,
      crons: this.crons,
      queueDispatcher: this.#queues,
      emitLog: (event, isReturned = false) => reports.log(event, isReturned),
      emitEgress: event => reports.egress(event),
      noteUnheard: name => reports.noteUnheard(name),
      wantsInvocations: () => reports.wantsInvocations,
      emitInvocation: (event, trace) => reports.invocation(event, trace),
      warn: this.#warn,
    };
  }
}
