/** The functions of one account that are loaded: the version that serves under each name, with its routes and cron triggers. */
import { isDeepStrictEqual } from 'node:util';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { AccountHost } from '../account-host.js';
import type { AccountLimits, LimitsAuthor } from '../account-limits.js';
import { type CountedFunction, checkCounts, countVariables } from '../account-quotas.js';
import { checkHandlers, checkWeekdays, weekdaysBy } from '../deploy/check-handlers.js';
import { EdgeFunction } from '../edge-function.js';
import type { CronFunction } from '../events/cron-trigger.js';
import { FunctionSlot } from '../function-slot.js';
import { type FunctionRunner, unloadedError } from '../invocation/function-runner.js';
import { FunctionStats, type FunctionStatsSnapshot } from '../invocation/function-stats.js';
import { runScheduled } from '../invocation/run-scheduled.js';
import type { ResolvedLoadOptions } from '../options/options.js';

/** A version that has started and serves nothing yet. */
export interface StartedFunction {
  readonly runner: FunctionRunner;
  readonly options: ResolvedLoadOptions;
  readonly stats: FunctionStats;
  /** The author of its limits. */
  readonly author: LimitsAuthor;
  /** Another runner of the same version, with other limits. Its isolate starts with its first invocation. */
  again(limits: ResolvedLimits): FunctionRunner;
}

/** The events of an account, and of each of its functions, since the serving versions were loaded. */
export interface AccountStatsSnapshot extends FunctionStatsSnapshot {
  readonly account: string;
  readonly functions: readonly (FunctionStatsSnapshot & { readonly name: string; readonly version: string })[];
}

type Triggers = Pick<ResolvedLoadOptions, 'routes' | 'crons' | 'consumers'>;

interface Loaded extends StartedFunction {
  /** The number of the call that has loaded it, among the calls of the account. */
  readonly order: number;
  readonly slot: FunctionSlot;
  readonly function: EdgeFunction;
  /** Both are set when it serves. */
  routes: ResolvedLoadOptions['routes'];
  crons: ResolvedLoadOptions['crons'];
  consumers: ResolvedLoadOptions['consumers'];
  /** Ends the consumers of queues. */
  stopConsumers: () => void;
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

  /** The version that serves under the name. */
  runnerOf(name: string): FunctionRunner | undefined {
    return this.#byName.get(name)?.runner;
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

  /** @throws EdgeError EDGE_LIMIT_EXCEEDED, also when another function consumes one of its queues */
  checkCounts(options: ResolvedLoadOptions, limits: ResolvedLimits): void {
    const counted = { ...options, crons: options.crons.length, variables: countVariables(options) };
    checkCounts(counted, this.#counted(), limits);
    this.#host.queueDispatcher.check({ account: this.#account, name: options.name }, options.consumers);
  }

  /** The function, when a later call of load() than the one with this number has loaded it. */
  loadedAfter(order: number, name: string): EdgeFunction | undefined {
    const loaded = this.#byName.get(name);
    return loaded !== undefined && loaded.order > order ? loaded.function : undefined;
  }

  /** The version serves from here on. The version before it ends what it has begun. */
  serve(started: StartedFunction, order: number): EdgeFunction {
    const { name } = started.options;
    const previous = this.#byName.get(name);
    const slot = previous?.slot ?? new FunctionSlot(this.#account, name, () => this.#byName.get(name)?.slot);
    const handle = previous?.function ?? new EdgeFunction(slot, () => this.#unload(name), this.#host.objects);
    const loaded: Loaded = {
      ...started,
      order,
      slot,
      function: handle,
      routes: [],
      crons: [],
      consumers: [],
      stopConsumers: () => {},
    };
    this.#byName.set(name, loaded);
    slot.serve(started.runner, started.stats);
    previous?.stopConsumers();
    this.#trigger(loaded, started.options);
    const alarmed = { account: this.#account, functionName: name, share: this.#host.share };
    if (started.runner.hasObjects)
      this.#host.alarms.serve(alarmed).catch((error: unknown) => this.#host.warn(asError(error)));
    else if (previous?.runner.hasObjects === true) this.#host.alarms.drop(alarmed);
    if (previous !== undefined) this.#retire(previous, started.runner);
    return handle;
  }

  /**
   * Replaces the triggers of a function.
   *
   * @param resolve checks them; called when the function is known to be there
   * @param keepsConsumers the consumed queues stay as they are
   * @throws EdgeError EDGE_CONFIG_INVALID when there is no such function, and what the checks throw; nothing has changed then
   */
  setTriggers(name: string, resolve: () => Triggers, keepsConsumers = false): void {
    const loaded = this.#byName.get(name);
    if (loaded === undefined)
      throw new EdgeError('EDGE_CONFIG_INVALID', `Account "${this.#account}" has no function "${name}"`);
    const { routes, crons, consumers: given } = resolve();
    const consumers = keepsConsumers ? loaded.consumers : given;
    const counted = { name, routes, crons: crons.length, variables: countVariables(loaded.options) };
    checkCounts(counted, this.#counted(), loaded.runner.context.limits);
    checkHandlers(`set the triggers of function "${name}"`, loaded.runner.handlers, { crons, consumers });
    checkWeekdays(`set the triggers of function "${name}"`, crons, loaded.options.compatibilityFlags);
    this.checkNames({ name, routes });
    this.#host.queueDispatcher.check({ account: this.#account, name }, consumers);
    loaded.stopConsumers();
    this.#host.router.remove(loaded.runner);
    this.#trigger(loaded, { routes, crons, consumers });
  }

  /** The patterns of all routes. */
  get routes(): string[] {
    return [...this.#byName.values()].flatMap(({ routes }) => routes.map(({ pattern }) => pattern));
  }

  /**
   * Gives the functions the limits that the account has now: those whose limits change begin new invocations with them, in a new isolate; running invocations
   * keep the limits that they began with.
   *
   * @param isRenewed something else than limits has changed as well: all of them begin in a new isolate
   */
  relimit(limits: AccountLimits, isRenewed = false): void {
    const warn = (message: string): void => this.#host.warn(new EdgeError('EDGE_CONFIG_INVALID', message));
    for (const [name, before] of this.#byName) {
      const { options, author, runner: previous } = before;
      const own = limits.again(options, author, warn);
      if (!isRenewed && isDeepStrictEqual(own, previous.context.limits)) continue;
      const runner = before.again(own);
      this.#byName.set(name, { ...before, runner });
      before.slot.serve(runner, before.stats);
      this.#host.router.remove(previous);
      this.#addRoutes(name, before.routes, runner);
      previous.retire(runner);
    }
  }

  /** Unloads all functions. Later calls of one are refused with the error. */
  end(error: EdgeError): void {
    for (const loaded of this.#byName.values()) this.#end(loaded, error);
    this.#byName.clear();
  }

  #trigger(loaded: Loaded, { routes, crons, consumers }: Triggers): void {
    this.#addRoutes(loaded.function.name, routes, loaded.runner);
    loaded.routes = routes;
    loaded.crons = crons;
    this.#host.crons.set(this.#cronFunction(loaded), crons);
    loaded.consumers = consumers;
    const { slot } = loaded;
    const target = { account: this.#account, name: slot.name, share: this.#host.share, runner: () => slot.runner };
    loaded.stopConsumers = this.#host.queueDispatcher.start(target, consumers);
  }

  #cronFunction({ slot, options }: Loaded): CronFunction {
    return {
      account: this.#account,
      name: slot.name,
      share: this.#host.share,
      weekdays: weekdaysBy(options.compatibilityFlags),
      run: async (cron, timeMs) => runScheduled(slot.runner, cron, timeMs),
    };
  }

  #addRoutes(functionName: string, routes: Triggers['routes'], target: FunctionRunner): void {
    for (const route of routes) this.#host.router.add({ ...route, account: this.#account, functionName, target });
  }

  #unload(name: string): void {
    const loaded = this.#byName.get(name);
    if (loaded === undefined) return;
    this.#byName.delete(name);
    this.#end(loaded, unloadedError(loaded.runner.context));
  }

  #end(loaded: Loaded, error: EdgeError): void {
    const { slot, crons } = loaded;
    if (loaded.runner.hasObjects) this.#host.alarms.drop({ account: this.#account, functionName: slot.name });
    // Its triggers are removed where it is unloaded, and stay as they are where its host ends.
    if (crons.length > 0 && error.code === 'EDGE_FUNCTION_UNLOADED')
      this.#host.crons.set(this.#cronFunction(loaded), []);
    else if (crons.length > 0) this.#host.crons.drop(slot);
    loaded.slot.end(error);
    this.#retire(loaded, error);
  }

  #retire({ runner, stopConsumers }: Loaded, successor: FunctionRunner | EdgeError): void {
    stopConsumers();
    this.#host.router.remove(runner);
    runner.retire(successor);
  }

  #counted(): CountedFunction[] {
    return [...this.#byName.values()].map(countedOf);
  }
}

function countedOf({ function: { name }, options, routes, crons }: Loaded): CountedFunction {
  return { name, routes, crons: crons.length, variables: countVariables(options) };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
