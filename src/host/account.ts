/** One tenant: its plan, its functions, its bindings, and the cell that its functions run in. */
import type { AccountContext, NamedBinding } from '../bindings/binding.js';
import { bucketBinding } from '../bindings/bucket/bucket-binding.js';
import type { StoreBucket } from '../bindings/bucket/types.js';
import type { BindingClients } from '../bindings/registry.js';
import { EdgeError } from '../quotas/errors.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import { givenOf } from '../quotas/schema/check-options.js';
import type { AccountHost } from './account-host.js';
import type { AccountLimits, LimitsAuthor } from './account-limits.js';
import { type AccountUsageSnapshot, usageOf } from './account-quotas.js';
import type { AccountCells } from './cells/account-cells.js';
import { readFunctionFile } from './deploy/config-file.js';
import type { ScriptSource } from './deploy/deployment.js';
import type { EdgeFunction } from './edge-function.js';
import { type AccountStatsSnapshot, LoadedFunctions, type StartedFunction } from './functions/loaded-functions.js';
import { startFunction } from './functions/start-function.js';
import { type LoadOptions, type ResolvedLoadOptions, resolveLoadOptions } from './options.js';

export class Account implements BindingClients {
  readonly id: string;
  readonly #limits: AccountLimits;
  readonly #host: AccountHost;
  readonly #supervisor: AccountCells;
  readonly #functions: LoadedFunctions;

  /** Accounts are made by `host.account(id)`. */
  constructor(id: string, limits: AccountLimits, host: AccountHost, supervisor: AccountCells) {
    this.id = id;
    this.#limits = limits;
    this.#host = host;
    this.#supervisor = supervisor;
    this.#functions = new LoadedFunctions(id, host);
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
    const started = await this.#start(author, source, options);
    try {
      // Again: others may have taken a name, or the last place, while the script started.
      this.#functions.checkNames(started.options);
      this.#functions.checkCounts(started.options, started.runner.context.limits);
    } catch (error) {
      started.runner.retire();
      throw error;
    }
    return this.#functions.serve(started);
  }

  /**
   * The same as {@link check}, with limits by another hand than the application's.
   * @internal
   */
  async tryOut(author: LimitsAuthor, source: ScriptSource, options?: LoadOptions): Promise<{ startupTimeMs: number }> {
    const { runner } = await this.#start(author, source, options);
    runner.retire();
    return { startupTimeMs: runner.startupTimeMs };
  }

  /**
   * Replaces routes and cron triggers of a function without touching its isolate. Nothing changes when it throws, as {@link load}
   * rejects for options and routes.
   */
  setTriggers(name: string, triggers: Pick<LoadOptions, 'routes' | 'crons'>): void {
    this.#functions.setTriggers(name, () => this.#resolve({ name, ...triggers }));
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
    return this.#functions.get(name);
  }

  /** The functions that are loaded. */
  functions(): EdgeFunction[] {
    return this.#functions.list();
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

  /** What happened in the functions that are loaded, in each since it was, and in all of them together. */
  stats(): AccountStatsSnapshot {
    return this.#functions.stats();
  }

  /** What the account has used of what its plan allows. */
  usage(): AccountUsageSnapshot {
    const { size, crons } = this.#functions;
    const requests = this.#host.admission.usage(this.id);
    return usageOf(this.limits, requests, { functions: size, crons }, this.#host.now());
  }

  /** Cells of this account: one, or two while one is being replaced. */
  get cells(): AccountCells['cells'] {
    return this.#supervisor.cells;
  }

  async close(): Promise<void> {
    const error = new EdgeError('EDGE_CLOSED', `Cannot use a function of account "${this.id}": the host is closed`);
    this.#functions.end(error);
    this.#host.releaseNames();
    await this.#supervisor.close();
    this.#host.share.close();
  }

  async #start(author: LimitsAuthor, source: ScriptSource, options: LoadOptions | undefined): Promise<StartedFunction> {
    const account = { id: this.id, limits: this.#limits, supervisor: this.#supervisor, functions: this.#functions };
    return startFunction(this.#host, account, author, source, this.#resolve(options));
  }

  #resolve(options: LoadOptions | undefined): ResolvedLoadOptions {
    return resolveLoadOptions(options, this.#host.bindings.registry.named, () => this.#functions.unusedName());
  }

  #bindingContext(): Omit<AccountContext, 'shared'> {
    return { account: this.id, limits: this.limits };
  }
}
