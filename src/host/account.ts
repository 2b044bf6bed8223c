/** One tenant: its plan, its functions, its bindings, and the cell that its functions run in. */
import type { ClientRow } from '../bindings/binding.js';
import { kvBinding } from '../bindings/kv/kv-binding.js';
import type { BindingClients } from '../bindings/registry.js';
import { EdgeError } from '../quotas/errors.js';
import { accountWork } from '../quotas/host/call-work.js';
import type { HostShare } from '../quotas/host/host-share.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import { givenOf } from '../quotas/schema/check-options.js';
import type { StoredSum } from '../storage/accounts/account-sum.js';
import type { UsageQuery } from '../usage/usage-query.js';
import type { UsageReport } from '../usage/usage-report.js';
import type { AccountHost } from './account-host.js';
import type { AccountInfo } from './account-info.js';
import type { AccountLimits, LimitsAuthor } from './account-limits.js';
import { type AccountUsageSnapshot, usageOf } from './account-quotas.js';
import { clientContext, defineClients } from './binding-clients.js';
import type { AccountCells } from './cells/account-cells.js';
import { bundledSource, type FolderSource } from './deploy/bundle/bundle-source.js';
import type { ScriptSource } from './deploy/deployment.js';
import { fileToLoad, type LoadFileOptions } from './deploy/load-file.js';
import type { EdgeFunction } from './edge-function.js';
import { type LoadTurn, LoadTurns } from './functions/load-turns.js';
import { type AccountStatsSnapshot, LoadedFunctions, type StartedFunction } from './functions/loaded-functions.js';
import { startFunction } from './functions/start-function.js';
import { startLoaded } from './functions/start-loaded.js';
import type { FunctionRunner } from './invocation/function-runner.js';
import {
  type AccountOptions,
  type AccountUpdate,
  type AssetsLoadOptions,
  checkAccountUpdate,
  isAssetsLoad,
  type LoadOptions,
  type ResolvedLoadOptions,
  resolveLoadOptions,
} from './options/options.js';
import { AccountRuns } from './runs/account-runs.js';
import type { AccountSandbox } from './runs/sandbox.js';
import type { SandboxOptions } from './runs/sandbox-options.js';
import type { Tail } from './tails/tail.js';
import { checkTailOptions, type TailOptions } from './tails/tail-filter.js';

export interface Account extends BindingClients {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor defines the members of BindingClients
export class Account {
  readonly id: string;
  /**
   * The options that the account was made with.
   * @internal
   */
  readonly created: AccountOptions;
  /** The options that it has now: as it was made, and as `update` has changed them. */
  #settings: AccountOptions;
  #limits: AccountLimits;
  readonly #host: AccountHost;
  readonly #supervisor: AccountCells;
  readonly #functions: LoadedFunctions;
  readonly #loads = new LoadTurns();
  #runs: AccountRuns | undefined;
  /** Clients without a configuration, by their row: each access of the member gets the same one. */
  readonly #clients = new Map<string, object>();
  /** Set when it is removed or its host is closed. */
  #ended: EdgeError | undefined;

  /** Accounts are made by `host.account(id)`. */
  constructor(
    id: string,
    { settings, limits }: { readonly settings: AccountOptions; readonly limits: AccountLimits },
    host: AccountHost,
    supervisor: AccountCells,
  ) {
    this.id = id;
    this.created = settings;
    this.#settings = settings;
    this.#limits = limits;
    this.#host = host;
    this.#supervisor = supervisor;
    this.#functions = new LoadedFunctions(id, host);
    defineClients(this, host.bindings.registry.rows, (row, config) => this.client(row, config));
    host.tails.find = name => this.#functions.runnerOf(name);
    const loading = { id, supervisor, check: () => this.#check() };
    host.loaders.start = (parts, onGone) => startLoaded(host, loading, parts, onGone);
  }

  /** Loads static files as a function without a script: `account.load({ assets: 'dist' })`. Rejects like the other form. */
  load(options: AssetsLoadOptions): Promise<EdgeFunction>;
  /**
   * Bundles the files of a folder with esbuild and loads the result. Rejects like the other form, and with EDGE_BUNDLE_LIMIT, and EDGE_NOT_SUPPORTED when
   * esbuild is not installed.
   */
  load(source: FolderSource, options: LoadOptions & { readonly bundle: true }): Promise<EdgeFunction>;
  /**
   * Loads a function, or a new version of one. The old version serves until the new one is ready, and finishes the requests that it has begun. Existing
   * handles, and listeners made with them, serve the new version: the result is the same object as before. When several calls for one name are made at once,
   * the version of the last call serves in the end. An earlier one never serves after that, may not be started at all, and resolves with the same function.
   * Rejects with TypeError for a wrong option and EdgeError for an error in the script: EDGE_SCRIPT_SYNTAX, EDGE_SCRIPT_THREW, EDGE_SCRIPT_IMPORT,
   * EDGE_SCRIPT_NO_HANDLER, EDGE_STARTUP_LIMIT; EDGE_LIMIT_EXCEEDED for what the account may not have; and for routes with the host names of others,
   * EDGE_NAME_TAKEN and EDGE_NAME_DENIED, and with a route of another function EDGE_ROUTE_TAKEN; nothing has changed then.
   *
   * Without a source, the option `assets` names the static files that are all there is of the function.
   */
  load(source: ScriptSource | undefined, options?: LoadOptions): Promise<EdgeFunction>;
  load(
    source: ScriptSource | FolderSource | AssetsLoadOptions | undefined,
    options?: LoadOptions,
  ): Promise<EdgeFunction> {
    return isAssetsLoad(source) && options === undefined
      ? this.deploy('owner', undefined, source)
      : // Anything else that is not a source is refused there.
        this.deploy('owner', source as ScriptSource | undefined, options);
  }

  /** Parses a script and runs its global scope as load() would, without letting it serve. Rejects like {@link load}. */
  check(source: ScriptSource | undefined, options?: LoadOptions): Promise<{ readonly startupTimeMs: number }> {
    return this.tryOut('owner', source, options);
  }

  /**
   * The same as {@link load}, with limits by another hand than the application's.
   * @internal
   */
  async deploy(
    author: LimitsAuthor,
    source: ScriptSource | undefined,
    options?: LoadOptions,
    turn = this.#loads.next(),
  ): Promise<EdgeFunction> {
    return await this.#loads.take(turn, () => this.#deploy(turn, author, source, options));
  }

  async #deploy(
    turn: LoadTurn,
    author: LimitsAuthor,
    source: ScriptSource | undefined,
    options: LoadOptions | undefined,
  ): Promise<EdgeFunction> {
    const limits = this.#limits;
    const { egress } = this.#settings;
    const started = await this.#start(author, source, options, turn);
    try {
      this.#check();
      const later = this.#functions.loadedAfter(turn.order, started.options.name);
      if (later !== undefined) {
        started.runner.retire();
        return later;
      }
      // Again: others may have taken a name, or the last place, while the script started.
      this.#functions.checkNames(started.options);
      this.#functions.checkCounts(started.options, started.runner.context.limits);
    } catch (error) {
      started.runner.retire();
      throw error;
    }
    const handle = this.#functions.serve(started, turn.order);
    this.#loads.won(turn, handle);
    // They have changed while the script started.
    const isRenewed = egress !== this.#settings.egress;
    if (isRenewed || limits !== this.#limits) this.#functions.relimit(this.#limits, isRenewed);
    return handle;
  }

  /**
   * The same as {@link check}, with limits by another hand than the application's.
   * @internal
   */
  async tryOut(
    author: LimitsAuthor,
    source: ScriptSource | undefined,
    options?: LoadOptions,
  ): Promise<{ startupTimeMs: number }> {
    const { runner } = await this.#start(author, source, options);
    runner.retire();
    return { startupTimeMs: runner.startupTimeMs };
  }

  /**
   * Replaces routes, cron triggers and consumed queues of a function without touching its isolate. Nothing changes when it throws, as {@link load}
   * rejects for options and routes.
   */
  setTriggers(name: string, triggers: Pick<LoadOptions, 'routes' | 'crons' | 'consumers'>): void {
    this.#check();
    this.#functions.setTriggers(name, () => this.#resolve({ name, ...triggers }), triggers.consumers === undefined);
  }

  /**
   * Loads a function from its configuration file: the path of the file, or of the folder that has one named `edgehost.toml`, `wrangler.json`,
   * `wrangler.jsonc` or `wrangler.toml`. The file names the main module, and the modules that it imports by relative paths are loaded with it. TypeScript and
   * packages are bundled by esbuild if it is installed, without running code of the folder: the `build` command of the file is not run. Options given here
   * replace the options of the file; `bindings` can be given here only, and secrets also by `.dev.vars` beside a wrangler file. A limit in the file lowers the
   * limit of the account and does not raise it, unless the `caps` of the account say so. Keys without an effect are `warning` events.
   * Rejects like {@link load}, and with EDGE_CONFIG_INVALID, which names file and line.
   */
  async loadFile(path: string, options: LoadFileOptions = {}): Promise<EdgeFunction> {
    const turn = this.#loads.next();
    const { environment, ...own } = options;
    const given = environment === undefined ? {} : { environment };
    const file = await fileToLoad(path, given, this.#host.bindings.registry.named, this.#host.sandbox);
    const { source, options: configured } = file;
    for (const note of file.notes) this.#host.warn(new EdgeError('EDGE_CONFIG_INVALID', note));
    const author = own.limits === undefined ? 'file' : 'owner';
    return this.deploy(author, source, { ...configured, ...givenOf(own) }, turn);
  }

  /** The function of this name, if it is loaded. */
  function(name: string): EdgeFunction | undefined {
    return this.#functions.get(name);
  }

  /** The functions that are loaded. */
  functions(): EdgeFunction[] {
    return this.#functions.list();
  }

  /**
   * The client of a binding for the application, by the row of the registry.
   * @internal
   */
  client<Config, Shared, Client extends object>(row: ClientRow<Config, Shared, Client>, config: Config): Client {
    this.#check();
    const kept = config === undefined ? this.#clients.get(row.name) : undefined;
    if (kept !== undefined) return kept as Client; // as this row has made it
    const client = this.#host.bindings.client(
      row,
      clientContext(this, () => this.#check()),
      config,
      this.#host.bodies,
    );
    if (config === undefined) this.#clients.set(row.name, client);
    return client;
  }

  /**
   * A sandbox for code that was just written, by a model or a customer: `await account.sandbox({ tools }).run(code)`. Each run has a realm of its own, in a
   * process of the account, and reaches the tools and the hosts of `egress`, nothing else. It costs next to nothing to make one.
   *
   * @throws TypeError or RangeError for options that are not valid, EdgeError EDGE_LIMIT_EXCEEDED, EDGE_CLOSED, EDGE_ACCOUNT_REMOVED
   */
  sandbox<const Inputs>(options: SandboxOptions<Inputs> = {}): AccountSandbox {
    this.#check();
    this.#runs ??= new AccountRuns({
      id: this.id,
      host: this.#host,
      supervisor: this.#supervisor,
      limits: () => this.#limits,
      egress: () => this.#settings.egress,
      check: () => this.#check(),
      kv: name => this.client(kvBinding, name),
    });
    // Each is a tool or a namespace, which TypeScript does not see while the types of their inputs are open.
    return this.#runs.sandbox(options as Parameters<AccountRuns['sandbox']>[0]);
  }

  /**
   * The invocations of the account as they end, with what they have logged and thrown: `for await (const item of account.tail())`. It begins with the call, and
   * ends when the loop is left, and with the account. Up to 1,000 unread invocations or 1 MiB wait; more are dropped and counted
   * (`tail.dropped`).
   *
   * @throws TypeError or RangeError for options that are not valid, EdgeError EDGE_OVERLOADED for more than 10 tails of the account, EDGE_CLOSED,
   *   EDGE_ACCOUNT_REMOVED
   */
  tail(options: TailOptions = {}): Tail {
    this.#check();
    return this.#host.tails.open(checkTailOptions(options));
  }

  /** The limits of the account. A function may have lower ones. */
  get limits(): ResolvedLimits {
    return this.#limits.own;
  }

  /**
   * Changes options of the account at once; the others stay. New invocations have the new limits, also of functions that are loaded: their next invocation
   * begins in a new isolate. A running invocation keeps the limits that it began with. Counts of requests and stored data stay as they are.
   * Settings of functions that the account no longer allows are lowered, with the event `warning`. Where the account has more functions, cron triggers or
   * stored bytes than it may now have, they stay, and no more are accepted.
   *
   * Rejects like `host.account()` for options that are not valid, and with EDGE_NAME_TAKEN for zones of another account. Rejects with EDGE_NAME_DENIED when a
   * function has a route outside of the new zones. In these cases nothing has changed. With `backend: 'process'` it resolves when all applications on the
   * storage have the options, but for `egress`, which stays in this one. After EDGE_SERVICES_LOST only this application has them: repeat the call.
   */
  async update(update: AccountUpdate): Promise<void> {
    this.#check();
    const changes = checkAccountUpdate(update);
    await this.#change(changes);
    // Changes are kept on disk for applications that are away: no place for secrets.
    const { egress: _, ...told } = changes;
    if (Object.keys(told).length > 0) await this.#host.announce(told);
  }

  /**
   * Takes the change that another application on the storage has made. Rejects like {@link update}.
   * @internal
   */
  follow(update: object): Promise<void> {
    return this.#change(checkAccountUpdate(update));
  }

  async #change(changes: AccountUpdate): Promise<void> {
    // The day's count continues where there was no rate before.
    const { requestsPerDay, requestsPerMinute } = this.#host.limitsOf({ ...this.#settings, ...changes }).most;
    if (Number.isFinite(requestsPerDay) || Number.isFinite(requestsPerMinute))
      await this.#host.admission.attach(this.id);
    this.#check();
    const settings = { ...this.#settings, ...changes };
    const limits = this.#host.limitsOf(settings);
    const { memoryBytes } = limits.most;
    const isResized = memoryBytes !== this.#limits.most.memoryBytes;
    if (isResized) this.#supervisor.checkMemory(memoryBytes);
    if (changes.zones !== undefined) this.#host.redeclare(changes.zones, this.#functions.routes);
    this.#settings = settings;
    this.#limits = limits;
    if (isResized) this.#supervisor.resize(memoryBytes);
    this.#functions.relimit(limits, changes.egress !== undefined);
    this.#host.loaders.expire();
  }

  /**
   * The options that the account has now.
   * @internal
   */
  get settings(): AccountOptions {
    return this.#settings;
  }

  /** Its entry in host.accounts(). */
  get info(): AccountInfo {
    const { plan, zonePlan } = this.limits;
    const functions = this.#functions.list().map(({ name }) => name);
    return { id: this.id, plan, zonePlan, functions, zones: this.#settings.zones };
  }

  /** The statistics of each loaded function since it was loaded, and of all of them together. */
  stats(): AccountStatsSnapshot {
    return this.#functions.stats();
  }

  /** The quotas of the plan, and the part of each that the account has used. */
  usage(): AccountUsageSnapshot;
  /**
   * The usage of the account, by day or function, to bill by: exact sums of the `invocation` events, and the stored bytes. All invocations that were over
   * before the call are in it. It is kept for the days of the host's option `usage`, in its storage.
   *
   * Rejects with TypeError or RangeError for a query that is not valid, and for one with more than 100,000 records; EDGE_NOT_SUPPORTED when the host
   * keeps no usage, EDGE_CLOSED, and the codes of the storage.
   */
  usage(query: UsageQuery): Promise<UsageReport>;
  usage(query?: UsageQuery): AccountUsageSnapshot | Promise<UsageReport> {
    if (query !== undefined) return this.#host.usageReport(query);
    this.#check();
    const { size, crons } = this.#functions;
    return usageOf(this.limits, this.#host.admission.usage(this.id), { functions: size, crons }, this.#host.now());
  }

  /**
   * The bytes and objects that the account stores now. Opens the storage when it has not been used. Rejects with EDGE_CLOSED, and for a storage that cannot
   * be opened or read.
   */
  async storage(): Promise<StoredSum> {
    this.#check();
    return this.#host.stored();
  }

  /**
   * The same as {@link usage} for the account's customer: the host's work of reading it is charged to the account, like work for its functions.
   * @internal
   */
  customerUsage(query: UsageQuery): Promise<UsageReport> {
    return this.#host.usageReport(query, accountWork(this.#host.share));
  }

  /** Its share of this process. */
  get share(): HostShare {
    return this.#host.share;
  }

  /** Its cells have to end: something is held for it elsewhere that does not fall. */
  stuck(reason: string): void {
    this.#host.warn(new EdgeError('EDGE_MEMORY_LIMIT', `The process of account "${this.id}" was ended: ${reason}`));
    this.#supervisor.endAll('hoard', reason);
  }

  /** Cells of this account: one, or two while one is being replaced. */
  get cells(): AccountCells['cells'] {
    return this.#supervisor.cells;
  }

  /** Ends the account, with the host or because it is removed. Its invocations end now, and new ones are refused with the error. */
  async close(
    error = new EdgeError('EDGE_CLOSED', `Cannot use a function of account "${this.id}": the host is closed`),
  ): Promise<void> {
    // All at once, before another account of the same id begins.
    this.#ended = error;
    this.#functions.end(error);
    this.#host.loaders.close(error);
    this.#runs?.close(error);
    this.#host.tails.close();
    this.#host.releaseNames();
    if (error.code === 'EDGE_ACCOUNT_REMOVED') this.#supervisor.endAll('removed', '');
    await this.#supervisor.close();
    this.#host.share.close();
  }

  /** @param turn of load(); undefined for what will not serve */
  async #start(
    author: LimitsAuthor,
    source: ScriptSource | undefined,
    options: LoadOptions | undefined,
    turn?: LoadTurn,
  ): Promise<StartedFunction> {
    this.#check();
    const account = {
      id: this.id,
      limits: this.#limits,
      egress: () => this.#settings.egress,
      supervisor: this.#supervisor,
      functions: this.#functions,
      check: () => this.#check(),
      mayStart: async (name: string, runner: FunctionRunner) => {
        if (turn === undefined) return;
        turn.winner ??= this.#functions.loadedAfter(turn.order, name);
        await this.#loads.begin(turn, name, runner);
      },
    };
    try {
      const resolved = this.#resolve(options);
      const script = resolved.bundle ? await bundledSource(source, this.#host.sandbox) : source;
      return await startFunction(this.#host, account, author, script, resolved);
    } catch (error) {
      // The account has ended: that is the reason, and not the error of whatever the function needed then.
      throw this.#ended ?? error;
    }
  }

  #resolve(options: LoadOptions | undefined): ResolvedLoadOptions {
    return resolveLoadOptions(options, this.#host.bindings.registry.named, () => this.#functions.unusedName());
  }

  /** @throws EdgeError EDGE_ACCOUNT_REMOVED; EDGE_CLOSED when the host is */
  #check(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }
}
