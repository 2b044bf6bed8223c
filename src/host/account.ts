/** One tenant: its plan, its functions, its buckets, and the cell that its functions run in. */
import type { BucketDirectory } from '../bindings/bucket/engine.js';
import { hostBucket } from '../bindings/bucket/host-bucket.js';
import { bucketBehaviour, bucketService } from '../bindings/bucket/service.js';
import type { StoreBucket } from '../bindings/bucket/types.js';
import type { Egress } from '../bindings/egress/egress.js';
import { egressService } from '../bindings/egress/egress-service.js';
import type { Service } from '../bindings/service.js';
import { ServiceId } from '../bindings/service-id.js';
import type { LoadHead } from '../isolate/protocol/messages.js';
import type { CellSupervisor } from '../pool/cell-supervisor.js';
import type { IsolateCache } from '../pool/isolate-cache.js';
import type { Admission } from '../quotas/admission.js';
import type { ConnectionSlotRelease } from '../quotas/connection-gate.js';
import { CpuAllowance } from '../quotas/cpu-allowance.js';
import { checkCount, checkDeployment } from '../quotas/deployment-checks.js';
import { EdgeError } from '../quotas/errors.js';
import type { HostShare } from '../quotas/host/host-share.js';
import type { ByKind } from '../quotas/limits.js';
import { DAY_MS, MINUTE_MS } from '../quotas/request-counts.js';
import { type LimitOverrides, type ResolvedLimits, resolveLimits } from '../quotas/resolve-limits.js';
import { readFunctionFile } from './config-file.js';
import { CronTriggers } from './cron.js';
import { readDeployment, type ScriptSource } from './deployment.js';
import { EdgeFunction } from './edge-function.js';
import type { InvocationEvent, LogEvent } from './events.js';
import { FunctionRunner } from './function-runner.js';
import { FunctionStats, type FunctionStatsSnapshot } from './function-stats.js';
import type { InvocationContext } from './invocation.js';
import { type AccountOptions, type LoadOptions, type ResolvedLoadOptions, resolveLoadOptions } from './options.js';
import type { Router } from './router.js';
import { rememberRunner } from './runners.js';
import type { TraceParent } from './telemetry.js';

/** What an account has from its host. */
export interface AccountHost {
  readonly limits: LimitOverrides;
  readonly plan: ResolvedLimits['plan'];
  readonly zonePlan: ResolvedLimits['zonePlan'];
  readonly connectionSlotRelease: ConnectionSlotRelease;
  readonly admission: Admission;
  /** What the account may take of the host. */
  readonly share: HostShare;
  readonly idleHttpMs: number;
  readonly now: () => number;
  readonly cache: IsolateCache;
  readonly router: Router<FunctionRunner>;
  /** Resolves when it is known which names the management API has given to accounts. */
  namesKnown(): Promise<void>;
  /** Gives back the zones of the account. */
  releaseNames(): void;
  readonly egress: Egress;
  directory(): Promise<BucketDirectory>;
  emitLog(event: LogEvent): void;
  wantsInvocations(): boolean;
  emitInvocation(event: InvocationEvent, parent: TraceParent): void;
  warn(error: Error): void;
}

type CountedQuota = 'requestsPerDay' | 'requestsPerMinute' | 'functions' | 'cronTriggers';

interface Loaded {
  readonly runner: FunctionRunner;
  readonly function: EdgeFunction;
  readonly options: ResolvedLoadOptions;
  readonly stats: FunctionStats;
  /** Set when it serves. */
  routes: ResolvedLoadOptions['routes'];
  triggers: CronTriggers | undefined;
}

/** Figures of an account, and of each of its functions. */
export interface AccountStatsSnapshot extends FunctionStatsSnapshot {
  readonly account: string;
  readonly functions: readonly (FunctionStatsSnapshot & { readonly name: string; readonly version: string })[];
}

/** What an account has used of what its plan allows. */
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

export class Account {
  readonly id: string;
  readonly #options: AccountOptions;
  readonly #host: AccountHost;
  readonly #supervisor: CellSupervisor;
  readonly #functions = new Map<string, Loaded>();
  #ownLimits: ResolvedLimits | undefined;

  /** Accounts are made by `host.account(id)`. */
  constructor(id: string, options: AccountOptions, host: AccountHost, supervisor: CellSupervisor) {
    this.id = id;
    this.#options = options;
    this.#host = host;
    this.#supervisor = supervisor;
  }

  /**
   * Loads a function, or a new version of one: the old version serves until the new one is ready, and ends what it has begun.
   * Rejects with TypeError for a wrong option and EdgeError for what is wrong with the script: EDGE_SCRIPT_SYNTAX, EDGE_SCRIPT_THREW,
   * EDGE_SCRIPT_IMPORT, EDGE_SCRIPT_NO_HANDLER, EDGE_STARTUP_LIMIT, and for routes with the host names of others, EDGE_NAME_TAKEN and
   * EDGE_NAME_DENIED; nothing has changed then.
   */
  async load(source: ScriptSource, options?: LoadOptions): Promise<EdgeFunction> {
    const loaded = await this.#prepare(source, options);
    const { name } = loaded.function;
    try {
      // Again: somebody may have taken a name while the script started.
      this.#checkNames(loaded.options);
    } catch (error) {
      loaded.runner.retire();
      throw error;
    }
    const previous = this.#functions.get(name);
    this.#functions.set(name, loaded);
    this.#serve(loaded, loaded.options);
    if (previous !== undefined) this.#retire(previous);
    return loaded.function;
  }

  /** Parses a script and runs its global scope as load() would, without letting it serve. Rejects like {@link load}. */
  async check(source: ScriptSource, options?: LoadOptions): Promise<{ readonly startupTimeMs: number }> {
    const { runner } = await this.#prepare(source, options);
    runner.retire();
    return { startupTimeMs: runner.startupTimeMs };
  }

  /**
   * Replaces routes and cron triggers of a function without touching its isolate. Nothing changes when it throws, as {@link load}
   * rejects for options and routes.
   */
  setTriggers(name: string, triggers: Pick<LoadOptions, 'routes' | 'crons'>): void {
    const loaded = this.#functions.get(name);
    if (loaded === undefined)
      throw new EdgeError('EDGE_CONFIG_INVALID', `Account "${this.id}" has no function "${name}"`);
    const { routes, crons } = resolveLoadOptions({ name, ...triggers });
    this.#checkCounts({ name, routes, crons }, loaded.runner.context.limits);
    this.#checkNames({ name, routes });
    loaded.triggers?.stop();
    this.#host.router.remove(loaded.runner);
    this.#serve(loaded, { routes, crons });
  }

  /** Compiles and starts a deployment; it serves nothing yet. */
  async #prepare(source: ScriptSource, options?: LoadOptions): Promise<Loaded> {
    const resolved = resolveLoadOptions(options);
    await this.#host.namesKnown();
    this.#checkNames(resolved);
    const deployment = readDeployment(source, resolved.name);
    const limits = this.#limits(resolved.limits, resolved.usageModel);
    await checkDeployment(
      {
        name: resolved.name,
        modules: [deployment.body],
        vars: resolved.vars,
        secrets: resolved.secrets,
        bindings: Object.keys(resolved.buckets),
      },
      limits,
    );
    this.#checkCounts(resolved, limits);
    this.#checkMemory(resolved.name, limits);
    const stats = new FunctionStats();
    const allowance = new CpuAllowance({ overrunMs: limits.cpuOverrunMs });
    const context = this.#context(resolved, deployment.version, limits, stats, allowance);
    const runner = new FunctionRunner({
      context,
      deployment,
      head: () => loadHead(resolved, deployment.modules, limits, allowance.balanceMs),
      cache: this.#host.cache,
      acquire: () => this.#supervisor.acquire(),
    });
    // Opened now, so that a storage that cannot be had or a name that is none is told here and not by the first request.
    for (const bucket of Object.values(resolved.buckets)) await (await this.#host.directory()).open(bucket);
    // The day's count goes on over a restart.
    if (Number.isFinite(limits.requestsPerDay) || Number.isFinite(limits.requestsPerMinute))
      await this.#host.admission.attach(this.id);
    await runner.load();
    const edgeFunction = new EdgeFunction(runner, stats, () => this.#unload(resolved.name, runner));
    rememberRunner(edgeFunction, runner);
    return { runner, function: edgeFunction, options: resolved, stats, routes: [], triggers: undefined };
  }

  #serve(loaded: Loaded, { routes, crons }: Pick<ResolvedLoadOptions, 'routes' | 'crons'>): void {
    const { name: functionName } = loaded.function;
    for (const route of routes) {
      this.#host.router.add({ ...route, account: this.id, functionName, target: loaded.runner });
    }
    loaded.routes = routes;
    loaded.triggers = new CronTriggers(crons, (cron, scheduledTime) =>
      loaded.function.scheduled({ cron, scheduledTime }),
    );
  }

  /**
   * Loads a function from its configuration file: the path of the file, or of the folder that has one named `edgehost.toml`. The file
   * names the main module, and what that imports by relative paths is loaded with it. Options given here replace those of the file;
   * secrets are given here only. Rejects like {@link load}, and with EDGE_CONFIG_INVALID, which tells file and line.
   */
  async loadFile(path: string, options: LoadOptions = {}): Promise<EdgeFunction> {
    const { source, options: configured } = await readFunctionFile(path);
    return this.load(source, { ...configured, ...options });
  }

  /** The function of this name, if it is loaded. */
  function(name: string): EdgeFunction | undefined {
    return this.#functions.get(name)?.function;
  }

  /** The functions that are loaded. */
  functions(): EdgeFunction[] {
    return [...this.#functions.values()].map(loaded => loaded.function);
  }

  /** A bucket of this account, for the application itself. It is made when it is first used. */
  bucket(name: string): StoreBucket {
    return hostBucket(this.#bucketService(name, { honorsInclude: true, limits: this.limits }));
  }

  /** The limits of the account, before those of a function. */
  get limits(): ResolvedLimits {
    this.#ownLimits ??= this.#limits({});
    return this.#ownLimits;
  }

  /** Figures of the functions that are loaded, each since it was, and of all of them together. */
  stats(): AccountStatsSnapshot {
    const total = new FunctionStats();
    const functions = [...this.#functions.values()].map(({ function: { name, version }, stats }) => {
      total.add(stats);
      return { name, version, ...stats.snapshot() };
    });
    return { account: this.id, ...total.snapshot(), functions };
  }

  /** What the account has used of what its plan allows. */
  usage(): AccountUsageSnapshot {
    const { limits } = this;
    const counts = this.#host.admission.usage(this.id);
    const now = this.#host.now();
    const quota = (id: CountedQuota, used: number, unit: string, resetsEveryMs?: number) => ({
      id,
      used,
      limit: Number.isFinite(limits[id]) ? limits[id] : null,
      unit,
      resetsOn: resetsEveryMs === undefined ? null : new Date((Math.floor(now / resetsEveryMs) + 1) * resetsEveryMs),
    });
    const crons = [...this.#functions.values()].reduce((sum, loaded) => sum + (loaded.triggers?.count ?? 0), 0);
    return {
      plan: limits.plan,
      quotas: [
        quota('requestsPerDay', counts.requestsPerDay, 'requests', DAY_MS),
        quota('requestsPerMinute', counts.requestsPerMinute, 'requests', MINUTE_MS),
        quota('functions', this.#functions.size, 'functions'),
        quota('cronTriggers', crons, 'cron triggers'),
      ],
    };
  }

  /** Cells of this account: one, or two while one is being replaced. */
  get cells(): CellSupervisor['cells'] {
    return this.#supervisor.cells;
  }

  async close(): Promise<void> {
    for (const loaded of this.#functions.values()) this.#retire(loaded);
    this.#functions.clear();
    this.#host.releaseNames();
    await this.#supervisor.close();
    this.#host.share.close();
  }

  /** @throws EdgeError EDGE_NAME_TAKEN, EDGE_NAME_DENIED */
  #checkNames({ name, routes }: Pick<ResolvedLoadOptions, 'name' | 'routes'>): void {
    this.#host.router.check(
      this.id,
      name,
      routes.map(route => route.pattern),
    );
  }

  /** How many functions and routes the account may have, with this deployment in place of one of its name. */
  #checkCounts(
    options: Pick<ResolvedLoadOptions, 'name' | 'routes' | 'crons'> &
      Partial<Pick<ResolvedLoadOptions, 'vars' | 'secrets'>>,
    limits: ResolvedLimits,
  ): void {
    const subject = `load function "${options.name}"`;
    const others = [...this.#functions].filter(([name]) => name !== options.name);
    checkCount('functions', others.length + 1, limits, subject);
    const zones = new Map<string, number>();
    const routes = [...others.flatMap(([, loaded]) => loaded.routes), ...options.routes];
    for (const { zone } of routes) zones.set(zone, (zones.get(zone) ?? 0) + 1);
    for (const count of zones.values()) checkCount('routesPerZone', count, limits, subject);
    checkCount('zonesPerFunction', new Set(options.routes.map(route => route.zone)).size, limits, subject);
    const crons = others.reduce((sum, [, loaded]) => sum + (loaded.triggers?.count ?? 0), options.crons.length);
    checkCount('cronTriggers', crons, limits, subject);
    const variables = others.reduce((sum, [, loaded]) => sum + countVariables(loaded.options), countVariables(options));
    checkCount('envVarsPerAccount', variables, limits, subject);
  }

  /** The heap of an isolate is bounded when its thread starts, before it is known whose it will be. */
  #checkMemory(name: string, { memoryBytes }: ResolvedLimits): void {
    const most = this.#limits({}).memoryBytes;
    if (memoryBytes <= most) return;
    throw new RangeError(
      `Option limits.memoryBytes of function "${name}" is ${memoryBytes}, the isolates of account "${this.id}" have ${most}: give the account or the host so much`,
    );
  }

  #limits(overrides: LimitOverrides, usageModel?: ResolvedLimits['plan']): ResolvedLimits {
    return resolveLimits({
      plan: usageModel ?? this.#options.plan ?? this.#host.plan,
      zonePlan: this.#options.zonePlan ?? this.#host.zonePlan,
      overrides: [this.#host.limits, this.#options.limits, overrides],
    });
  }

  #context(
    options: ResolvedLoadOptions,
    version: string,
    limits: ResolvedLimits,
    stats: FunctionStats,
    allowance: CpuAllowance,
  ): InvocationContext {
    const { compatibilityDate: date, compatibilityFlags: flags } = options;
    const behaviour = { ...bucketBehaviour({ date, flags }), limits };
    const buckets = new Map<string, Service>();
    for (const [binding, name] of Object.entries(options.buckets)) {
      buckets.set(binding, this.#bucketService(name, behaviour));
    }
    const caller = { account: this.id, function: options.name };
    const zones = new Set(options.routes.map(route => route.zone));
    return {
      ...caller,
      version,
      limits,
      share: this.#host.share,
      idleHttpMs: this.#host.idleHttpMs,
      cpuGrant: limitMs => allowance.grant(limitMs),
      services: { buckets, fetch: onHop => this.#egressService(caller, zones, onHop) },
      requests: () => this.#host.admission.counted(this.id),
      emitLog: event => this.#host.emitLog(event),
      connectionSlotRelease: this.#host.connectionSlotRelease,
      admit: (mode, address) => this.#host.admission.check({ account: this.id, limits, mode, address }),
      over: (outcome, { kind, cpuMs, wallMs, peakBytes, subrequests }, event, parent) => {
        // The isolate keeps the same books; these are for the isolate that replaces it.
        if (Number.isFinite(limits.cpuMs[kind])) allowance.settle(cpuMs, limits.cpuMs[kind]);
        stats.record({ outcome, cpuMs, wallMs, peakBytes, subrequests });
        if (this.#host.wantsInvocations()) this.#host.emitInvocation(event(), parent);
      },
    };
  }

  #bucketService(name: string, behaviour: Parameters<typeof bucketService>[1]): Service {
    return bucketService(async () => (await this.#host.directory()).open(name), behaviour);
  }

  /** Outgoing fetch, but not to another function of the same zone without a service binding, which there are none of (specification: Errors). */
  #egressService(
    caller: { readonly account: string; readonly function: string },
    zones: ReadonlySet<string>,
    onHop: (url: URL, hop: number) => void,
  ): Service {
    return egressService(this.#host.egress, {
      ...caller,
      onHop: (url, hop) => {
        const route = this.#host.router.find(url.host, url.pathname);
        if (route !== undefined && !route.customDomain && zones.has(route.zone)) {
          throw new EdgeError(
            'EDGE_EGRESS_DENIED',
            `Cannot fetch ${url.host}${url.pathname}: function "${route.target.context.function}" serves it on the same zone, and there is no service binding to it; give it a custom domain (option customDomain of its route)`,
          );
        }
        onHop(url, hop);
      },
    });
  }

  #unload(name: string, runner: FunctionRunner): void {
    const loaded = this.#functions.get(name);
    if (loaded?.runner !== runner) return; // replaced or unloaded before
    this.#functions.delete(name);
    this.#retire(loaded);
  }

  #retire({ runner, triggers }: Loaded): void {
    triggers?.stop();
    this.#host.router.remove(runner);
    runner.retire();
  }
}

function countVariables({ vars = {}, secrets = {} }: Partial<Pick<ResolvedLoadOptions, 'vars' | 'secrets'>>): number {
  return Object.keys(vars).length + Object.keys(secrets).length;
}

function loadHead(
  options: ResolvedLoadOptions,
  modules: LoadHead['modules'],
  limits: ResolvedLimits,
  cpuBalanceMs: number,
): LoadHead {
  const finite = (ms: number): number | null => (Number.isFinite(ms) ? ms : null);
  const cpu: ByKind<number> = limits.cpuMs;
  return {
    name: options.name,
    modules,
    env: { ...options.vars, ...options.secrets },
    bindings: Object.keys(options.buckets).map(name => ({ name, service: ServiceId.Bucket })),
    flags: options.compatibilityFlags,
    limits: {
      startupMs: limits.startupMs,
      memoryBytes: limits.memoryBytes,
      cpuOverrunMs: limits.cpuOverrunMs,
      cpuBalanceMs,
      cpuMs: {
        fetch: finite(cpu.http),
        scheduled: finite(cpu.cron),
        queue: finite(cpu.queue),
        alarm: finite(cpu.alarm),
      },
    },
  };
}
