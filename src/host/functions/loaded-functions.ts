/** The functions of one account that are loaded: the version that serves under each name, with its routes and cron triggers. */
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { AccountHost } from '../account-host.js';
import { type CountedFunction, checkCounts, countVariables } from '../account-quotas.js';
import { checkHandlers } from '../deploy/check-handlers.js';
import { EdgeFunction } from '../edge-function.js';
import { CronTriggers } from '../events/cron.js';
import { FunctionSlot } from '../function-slot.js';
import { type FunctionRunner, unloadedError } from '../invocation/function-runner.js';
import { FunctionStats, type FunctionStatsSnapshot } from '../invocation/function-stats.js';
import type { ResolvedLoadOptions } from '../options.js';

/** A version that has started and serves nothing yet. */
export interface StartedFunction {
  readonly runner: FunctionRunner;
  readonly options: ResolvedLoadOptions;
  readonly stats: FunctionStats;
}

/** What happened in an account, and in each of its functions, since the versions that serve now were loaded. */
export interface AccountStatsSnapshot extends FunctionStatsSnapshot {
  readonly account: string;
  readonly functions: readonly (FunctionStatsSnapshot & { readonly name: string; readonly version: string })[];
}

type Triggers = Pick<ResolvedLoadOptions, 'routes' | 'crons'>;

interface Loaded extends StartedFunction {
  readonly slot: FunctionSlot;
  readonly function: EdgeFunction;
  /** Both are set when it serves. */
  routes: ResolvedLoadOptions['routes'];
  crons: CronTriggers | undefined;
}

export class LoadedFunctions {
  readonly #account: string;
  readonly #host: AccountHost;
  readonly #byName = new Map<string, Loaded>();
  /** Loads without a name so far. */
  #unnamed = 0;

  constructor(account: string, host: AccountHost) {
    this.#account = account;
    this.#host = host;
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Cron triggers of all functions. */
  get crons(): number {
    return this.#counted().reduce((sum, counted) => sum + counted.crons, 0);
  }

  get(name: string): EdgeFunction | undefined {
    return this.#byName.get(name)?.function;
  }

  list(): EdgeFunction[] {
    return [...this.#byName.values()].map(loaded => loaded.function);
  }

  stats(): AccountStatsSnapshot {
    const total = new FunctionStats();
    const functions = [...this.#byName.values()].map(({ function: { name, version }, stats }) => {
      total.add(stats);
      return { name, version, ...stats.snapshot() };
    });
    return { account: this.#account, ...total.snapshot(), functions };
  }

  /** A name for a load without one. */
  unusedName(): string {
    for (;;) {
      this.#unnamed++;
      const name = this.#unnamed === 1 ? 'function' : `function-${this.#unnamed}`;
      if (!this.#byName.has(name)) return name;
    }
  }

  /** @throws EdgeError EDGE_NAME_TAKEN, EDGE_NAME_DENIED, EDGE_ROUTE_TAKEN */
  checkNames({ name, routes }: Pick<ResolvedLoadOptions, 'name' | 'routes'>): void {
    this.#host.router.check(
      this.#account,
      name,
      routes.map(route => route.pattern),
    );
  }

  /** @throws EdgeError EDGE_LIMIT_EXCEEDED */
  checkCounts(options: ResolvedLoadOptions, limits: ResolvedLimits): void {
    const counted = { ...options, crons: options.crons.length, variables: countVariables(options) };
    checkCounts(counted, this.#counted(), limits);
  }

  /** The version serves from here on. The version before it ends what it has begun. */
  serve(started: StartedFunction): EdgeFunction {
    const { name } = started.options;
    const previous = this.#byName.get(name);
    const slot = previous?.slot ?? new FunctionSlot(this.#account, name, () => this.#byName.get(name)?.slot);
    const handle = previous?.function ?? new EdgeFunction(slot, () => this.#unload(name));
    const loaded: Loaded = { ...started, slot, function: handle, routes: [], crons: undefined };
    this.#byName.set(name, loaded);
    slot.serve(started.runner, started.stats);
    this.#trigger(loaded, started.options);
    if (previous !== undefined) this.#retire(previous, started.runner);
    return handle;
  }

  /**
   * Replaces the triggers of a function.
   *
   * @param resolve checks them; called when the function is known to be there
   * @throws EdgeError EDGE_CONFIG_INVALID when there is no such function, and what the checks throw; nothing has changed then
   */
  setTriggers(name: string, resolve: () => Triggers): void {
    const loaded = this.#byName.get(name);
    if (loaded === undefined)
      throw new EdgeError('EDGE_CONFIG_INVALID', `Account "${this.#account}" has no function "${name}"`);
    const { routes, crons } = resolve();
    const counted = { name, routes, crons: crons.length, variables: countVariables(loaded.options) };
    checkCounts(counted, this.#counted(), loaded.runner.context.limits);
    checkHandlers(`set the triggers of function "${name}"`, loaded.runner.handlers, crons);
    this.checkNames({ name, routes });
    loaded.crons?.stop();
    this.#host.router.remove(loaded.runner);
    this.#trigger(loaded, { routes, crons });
  }

  /** Unloads all functions. What still comes to one is refused with the error. */
  end(error: EdgeError): void {
    for (const loaded of this.#byName.values()) this.#end(loaded, error);
    this.#byName.clear();
  }

  #trigger(loaded: Loaded, { routes, crons }: Triggers): void {
    const { name: functionName } = loaded.function;
    for (const route of routes) {
      this.#host.router.add({ ...route, account: this.#account, functionName, target: loaded.runner });
    }
    loaded.routes = routes;
    loaded.crons = new CronTriggers(crons, (cron, scheduledTime) => loaded.function.scheduled({ cron, scheduledTime }));
  }

  #unload(name: string): void {
    const loaded = this.#byName.get(name);
    if (loaded === undefined) return;
    this.#byName.delete(name);
    this.#end(loaded, unloadedError(loaded.runner.context));
  }

  #end(loaded: Loaded, error: EdgeError): void {
    loaded.slot.end(error);
    this.#retire(loaded, error);
  }

  #retire({ runner, crons }: Loaded, successor: FunctionRunner | EdgeError): void {
    crons?.stop();
    this.#host.router.remove(runner);
    runner.retire(successor);
  }

  #counted(): CountedFunction[] {
    return [...this.#byName.values()].map(countedOf);
  }
}

function countedOf({ function: { name }, options, routes, crons }: Loaded): CountedFunction {
  return { name, routes, crons: crons?.count ?? 0, variables: countVariables(options) };
}
