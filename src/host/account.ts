/** One tenant: its plan, its functions, its bindings, and the cell that its functions run in. */
import type { AccountContext, NamedBinding } from '../bindings/binding.js';
import { bucketBinding } from '../bindings/bucket/bucket-binding.js';
import type { StoreBucket } from '../bindings/bucket/types.js';
import type { BindingClients } from '../bindings/registry.js';
import type { CellSupervisor } from '../pool/cell-supervisor.js';
import { CpuAllowance } from '../quotas/cpu-allowance.js';
import { checkDeployment } from '../quotas/deployment-checks.js';
import { EdgeError } from '../quotas/errors.js';
import { OWN_WORK } from '../quotas/host/call-work.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import { givenOf } from '../quotas/schema/check-options.js';
import type { UsageQuery } from '../usage/usage-query.js';
import type { UsageReport } from '../usage/usage-report.js';
import type { AccountHost } from './account-host.js';
import type { AccountLimits, LimitsAuthor } from './account-limits.js';
import {
  type AccountUsageSnapshot,
  type CountedFunction,
  checkCounts,
  countVariables,
  usageOf,
} from './account-quotas.js';
import { checkHandlers } from './deploy/check-handlers.js';
import { readFunctionFile } from './deploy/config-file.js';
import { readDeployment, type ScriptSource } from './deploy/deployment.js';
import { loadHead } from './deploy/load-head.js';
import { scanModules } from './deploy/scan-modules.js';
import { EdgeFunction } from './edge-function.js';
import { CronTriggers } from './events/cron.js';
import { FunctionSlot } from './function-slot.js';
import { functionContext } from './invocation/function-context.js';
import { FunctionRunner, unloadedError } from './invocation/function-runner.js';
import { FunctionStats, type FunctionStatsSnapshot } from './invocation/function-stats.js';
import { type LoadOptions, type ResolvedLoadOptions, resolveLoadOptions } from './options.js';

/** A version that has started, and serves nothing yet. */
interface Started {
  readonly runner: FunctionRunner;
  readonly options: ResolvedLoadOptions;
  readonly stats: FunctionStats;
}

interface Loaded extends Started {
  readonly slot: FunctionSlot;
  readonly function: EdgeFunction;
  /** Set when it serves. */
  routes: ResolvedLoadOptions['routes'];
  triggers: CronTriggers | undefined;
}

/** Figures of an account, and of each of its functions. */
export interface AccountStatsSnapshot extends FunctionStatsSnapshot {
  readonly account: string;
  readonly functions: readonly (FunctionStatsSnapshot & { readonly name: string; readonly version: string })[];
}

export class Account implements BindingClients {
  readonly id: string;
  readonly #limits: AccountLimits;
  readonly #host: AccountHost;
  readonly #supervisor: CellSupervisor;
  readonly #functions = new Map<string, Loaded>();
  /** Loads without a name so far. */
  #unnamed = 0;

  /** Accounts are made by `host.account(id)`. */
  constructor(id: string, limits: AccountLimits, host: AccountHost, supervisor: CellSupervisor) {
    this.id = id;
    this.#limits = limits;
    this.#host = host;
    this.#supervisor = supervisor;
  }

  /**
   * Loads a function, or a new version of one: the old version serves until the new one is ready, and ends what it has begun. Handles that are
   * there, and listeners made with them, follow: the answer is the same object as before.
   * Rejects with TypeError for a wrong option and EdgeError for what is wrong with the script: EDGE_SCRIPT_SYNTAX, EDGE_SCRIPT_THREW,
   * EDGE_SCRIPT_IMPORT, EDGE_SCRIPT_NO_HANDLER, EDGE_STARTUP_LIMIT; EDGE_LIMIT_EXCEEDED for what the account may not have; and for routes with
   * the host names of others, EDGE_NAME_TAKEN and EDGE_NAME_DENIED, and with a route of another function EDGE_ROUTE_TAKEN; nothing has changed
   * then.
   */
  load(source: ScriptSource, options?: LoadOptions): Promise<EdgeFunction> {
    return this.deploy('owner', source, options);
  }

  /** Parses a script and runs its global scope as load() would, without letting it serve. Rejects like {@link load}. */
  check(source: ScriptSource, options?: LoadOptions): Promise<{ readonly startupTimeMs: number }> {
    return this.tryOut('owner', source, options);
  }

  /**
   * The same as {@link load}, with limits by another hand than the application's.
   * @internal
   */
  async deploy(author: LimitsAuthor, source: ScriptSource, options?: LoadOptions): Promise<EdgeFunction> {
    const started = await this.#prepare(author, source, options);
    const { runner, stats } = started;
    const { name } = started.options;
    try {
      // Again: others may have taken a name, or the last place, while the script started.
      this.#checkNames(started.options);
      this.#checkCounts(started.options, runner.context.limits);
    } catch (error) {
      runner.retire();
      throw error;
    }
    const previous = this.#functions.get(name);
    const slot = previous?.slot ?? new FunctionSlot(this.id, name, () => this.#functions.get(name)?.slot);
    const handle = previous?.function ?? new EdgeFunction(slot, () => this.#unload(name));
    const loaded: Loaded = { ...started, slot, function: handle, routes: [], triggers: undefined };
    this.#functions.set(name, loaded);
    slot.serve(runner, stats);
    this.#serve(loaded, loaded.options);
    if (previous !== undefined) this.#retire(previous, runner);
    return handle;
  }

  /**
   * The same as {@link check}, with limits by another hand than the application's.
   * @internal
   */
  async tryOut(author: LimitsAuthor, source: ScriptSource, options?: LoadOptions): Promise<{ startupTimeMs: number }> {
    const { runner } = await this.#prepare(author, source, options);
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
    const { routes, crons } = this.#resolve({ name, ...triggers });
    const counted = { name, routes, crons: crons.length, variables: countVariables(loaded.options) };
    checkCounts(counted, this.#counted(), loaded.runner.context.limits);
    checkHandlers(`set the triggers of function "${name}"`, loaded.runner.handlers, crons);
    this.#checkNames({ name, routes });
    loaded.triggers?.stop();
    this.#host.router.remove(loaded.runner);
    this.#serve(loaded, { routes, crons });
  }

  /** Compiles and starts a deployment; it serves nothing yet. */
  async #prepare(author: LimitsAuthor, source: ScriptSource, options?: LoadOptions): Promise<Started> {
    const resolved = this.#resolve(options);
    await this.#host.namesKnown();
    this.#checkNames(resolved);
    const deployment = readDeployment(source, resolved.name);
    const limits = this.#limits.of(resolved, author, message => this.#host.warn(new Error(message)));
    await checkDeployment(
      {
        name: resolved.name,
        modules: [deployment.body],
        vars: resolved.vars,
        secrets: resolved.secrets,
        bindings: resolved.bindings.map(binding => binding.name),
      },
      limits,
    );
    this.#checkCounts(resolved, limits);
    this.#checkMemory(resolved.name, limits);
    const modules = await scanModules(deployment, this.#host.share);
    const stats = new FunctionStats();
    const allowance = new CpuAllowance({ overrunMs: limits.cpuOverrunMs });
    const { version } = deployment;
    const parts = { account: this.id, options: resolved, version, limits, stats, allowance };
    const context = functionContext(this.#host, parts);
    const runner = new FunctionRunner({
      context,
      deployment,
      head: () => loadHead(resolved, modules, limits, allowance.balanceMs),
      cache: this.#host.cache,
      acquire: signal => this.#host.gate.acquire(signal, this.id, () => this.#supervisor.acquire()),
    });
    // Now and not with the first request: a storage that is unavailable, or a name that is not valid.
    await this.#host.bindings.prepare(this.#bindingContext(), resolved.bindings);
    // The day's count goes on over a restart.
    if (Number.isFinite(limits.requestsPerDay) || Number.isFinite(limits.requestsPerMinute))
      await this.#host.admission.attach(this.id);
    await runner.load();
    try {
      checkHandlers(`load function "${resolved.name}"`, runner.handlers, resolved.crons);
    } catch (error) {
      runner.retire();
      throw error;
    }
    return { runner, options: resolved, stats };
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
   * secrets and `bindings` are given here only. Limits in the file lower those of the account and do not raise them, unless its `caps` say so. Rejects like {@link load}, and with EDGE_CONFIG_INVALID, which tells file and line.
   */
  async loadFile(path: string, options: LoadOptions = {}): Promise<EdgeFunction> {
    const { source, options: configured } = await readFunctionFile(path, this.#host.bindings.registry.named);
    const author = options.limits === undefined ? 'file' : 'owner';
    return this.deploy(author, source, { ...configured, ...givenOf(options) });
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
    return this.client(bucketBinding, name);
  }

  /**
   * What the application gets of a binding, by its row of the registry.
   * @internal
   */
  client<Config, Shared, Client extends object>(row: NamedBinding<Config, Shared, Client>, config: Config): Client {
    return this.#host.bindings.client(row, this.#bindingContext(), config);
  }

  /** The limits of the account, before those of a function. */
  get limits(): ResolvedLimits {
    return this.#limits.own;
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
  usage(): AccountUsageSnapshot;
  /**
   * What the account has used, by day or function, to bill by: exact sums of the `invocation` events, and what it has stored. Everything that was over
   * before the call is in it. Kept for the days of the host's option `usage`, in its storage.
   *
   * Rejects with TypeError or RangeError for a query that is not valid, and for one with more than 100,000 records; EDGE_NOT_SUPPORTED when the option
   * `usage` is false, EDGE_CLOSED, and the codes of the storage.
   */
  usage(query: UsageQuery): Promise<UsageReport>;
  usage(query?: UsageQuery): AccountUsageSnapshot | Promise<UsageReport> {
    if (query !== undefined) return this.#host.usageReport(query);
    const crons = [...this.#counted()].reduce((sum, counted) => sum + counted.crons, 0);
    const requests = this.#host.admission.usage(this.id);
    return usageOf(this.limits, requests, { functions: this.#functions.size, crons }, this.#host.now());
  }

  /**
   * The same as {@link usage} for the account's customer: the host's work of reading it is charged to the account, as that of its functions.
   * @internal
   */
  customerUsage(query: UsageQuery): Promise<UsageReport> {
    const { share } = this.#host;
    const work = { ...OWN_WORK, owner: share, charge: (ms: number) => share.charge(ms), turn: () => share.turn() };
    return this.#host.usageReport(query, work);
  }

  /** Cells of this account: one, or two while one is being replaced. */
  get cells(): CellSupervisor['cells'] {
    return this.#supervisor.cells;
  }

  async close(): Promise<void> {
    const error = new EdgeError('EDGE_CLOSED', `Cannot use a function of account "${this.id}": the host is closed`);
    for (const loaded of this.#functions.values()) this.#end(loaded, error);
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

  /** @throws EdgeError EDGE_LIMIT_EXCEEDED */
  #checkCounts(options: ResolvedLoadOptions, limits: ResolvedLimits): void {
    const counted = { ...options, crons: options.crons.length, variables: countVariables(options) };
    checkCounts(counted, this.#counted(), limits);
  }

  #resolve(options: LoadOptions | undefined): ResolvedLoadOptions {
    return resolveLoadOptions(options, this.#host.bindings.registry.named, () => this.#ownName());
  }

  /** For a load without a name. */
  #ownName(): string {
    for (;;) {
      this.#unnamed++;
      const name = this.#unnamed === 1 ? 'function' : `function-${this.#unnamed}`;
      if (!this.#functions.has(name)) return name;
    }
  }

  #counted(): Iterable<CountedFunction> {
    return [...this.#functions.values()].map(countedOf);
  }

  #bindingContext(): Omit<AccountContext, 'shared'> {
    return { account: this.id, limits: this.limits };
  }

  /** The heap of an isolate is bounded when its thread starts, before it is known whose it will be. */
  #checkMemory(name: string, { memoryBytes }: ResolvedLimits): void {
    const most = this.#limits.most.memoryBytes;
    if (memoryBytes <= most) return;
    throw new RangeError(
      `Option limits.memoryBytes of function "${name}" is ${memoryBytes}, the isolates of account "${this.id}" have ${most}: give the account or the host so much`,
    );
  }

  #unload(name: string): void {
    const loaded = this.#functions.get(name);
    if (loaded === undefined) return;
    this.#functions.delete(name);
    this.#end(loaded, unloadedError(loaded.runner.context));
  }

  #end(loaded: Loaded, error: EdgeError): void {
    loaded.slot.end(error);
    this.#retire(loaded, error);
  }

  #retire({ runner, triggers }: Loaded, successor: FunctionRunner | EdgeError): void {
    triggers?.stop();
    this.#host.router.remove(runner);
    runner.retire(successor);
  }
}

function countedOf({ function: { name }, options, routes, triggers }: Loaded): CountedFunction {
  return { name, routes, crons: triggers?.count ?? 0, variables: countVariables(options) };
}
