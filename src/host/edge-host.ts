/** The SDK's entry: hosts functions of many accounts inside an application's own process. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BindingClients } from '../bindings/registry.js';
import type { SandboxState } from '../pool/sandbox/state.js';
import { EdgeError } from '../quotas/errors.js';
import type { UsageReport } from '../usage/usage-report.js';
import type { Account } from './account.js';
import type { AccountInfo } from './account-info.js';
import { defineClients } from './binding-clients.js';
import type { CellsHealth } from './cells/host-cells.js';
import { HostCore, type HostParts } from './core/host-core.js';
import { hostListener, hostManagement, hostS3 } from './core/host-endpoints.js';
import type { FolderSource } from './deploy/bundle/bundle-source.js';
import type { ScriptSource } from './deploy/deployment.js';
import type { LoadFileOptions } from './deploy/load-file.js';
import type { EdgeFunction } from './edge-function.js';
import type { HostEvents } from './events.js';
import type { AccountStatsSnapshot } from './functions/loaded-functions.js';
import { fetchThrough } from './ingress/fetch-adapter.js';
import { fetchInput } from './ingress/fetch-input.js';
import type { NodeListener } from './ingress/listener.js';
import type { HostListenerOptions } from './listener-options.js';
import type { HostManagement, HostManagementOptions } from './management-endpoint.js';
import type { EdgeHostOptions } from './options/host-options.js';
import type { AccountOptions, AssetsLoadOptions, LoadOptions } from './options/options.js';
import type { AccountRemoval, AccountRemovalOptions } from './options/removal-options.js';
import type { HostS3Options } from './options/s3-options.js';
import type { HostS3 } from './s3-endpoint.js';
import { type MetricsOptions, metricsText } from './usage/host-metrics.js';
import type { HostUsageQuery } from './usage/host-usage.js';

/** The account of functions that are loaded on the host itself. */
const DEFAULT_ACCOUNT = 'default';

const EVENTS: readonly (keyof HostEvents)[] = ['invocation', 'log', 'cron', 'abuse', 'egress', 'warning'];
/** `once()` and `on()` of node:events listen to 'error' of every emitter. */
const COMMON_EVENTS: readonly unknown[] = ['error', 'newListener', 'removeListener'];

/** A listener of an event that does not exist would never be called. @throws TypeError */
function checkEvent(name: unknown): void {
  const known: readonly unknown[] = EVENTS;
  if (known.includes(name) || COMMON_EVENTS.includes(name)) return;
  throw new TypeError(`A host has no event "${String(name)}"; its events are ${EVENTS.join(', ')}`);
}

/** State of a host, for health checks. */
export interface HostHealth extends CellsHealth {
  readonly isolation: 'process' | 'thread';
  /** Alive or being started, warm spares not counted: never more than option `maxIsolates`. */
  readonly isolates: number;
  readonly accounts: number;
  readonly storage: { readonly location: string; readonly isOpen: boolean };
  /**
   * Layers around the engines of SQL, which run customers' statements in processes of their own with either isolation; undefined before the first of
   * them. With `backend: 'process'` they are the layers around the engines of the backend process.
   */
  readonly sqlSandbox: SandboxState | undefined;
  /** The backend process (option `backend`), whose id is undefined while it does not run; undefined with 'inline'. */
  readonly backend: { readonly pid: number | undefined } | undefined;
  readonly isClosed: boolean;
}

/** Its clients of bindings are the clients of the default account. */
export interface EdgeHost extends BindingClients {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor defines the members of BindingClients
export class EdgeHost extends EventEmitter<HostEvents> {
  readonly #core: HostCore;

  /**
   * Nothing is started or opened yet: storage opens with the first bucket or load that needs it, a cell with the first load of its account.
   * Throws TypeError or RangeError for an option that is unknown, of a wrong type or out of bounds.
   */
  constructor(options?: EdgeHostOptions);
  /** @internal */
  constructor(options: EdgeHostOptions | undefined, parts: HostParts);
  constructor(options?: EdgeHostOptions, parts: HostParts = {}) {
    super();
    // An event of the emitter itself, which HostEvents does not have.
    EventEmitter.prototype.on.call(this, 'newListener', checkEvent);
    this.#core = new HostCore(options, parts, this);
    const { rows } = this.#core.bindings.registry;
    defineClients(this, rows, (row, config) => this.account(DEFAULT_ACCOUNT).client(row, config));
  }

  /** Loads static files as a function without a script, into the default account. See {@link Account.load}. */
  load(options: AssetsLoadOptions): Promise<EdgeFunction>;
  /** Bundles the files of a folder with esbuild and loads the result, as {@link Account.load} does. */
  load(source: FolderSource, options: LoadOptions & { readonly bundle: true }): Promise<EdgeFunction>;
  /** Loads a function into the default account. See {@link Account.load}. */
  load(source: ScriptSource | undefined, options?: LoadOptions): Promise<EdgeFunction>;
  async load(
    source: ScriptSource | FolderSource | AssetsLoadOptions | undefined,
    options?: LoadOptions,
  ): Promise<EdgeFunction> {
    // The account tells the two apart.
    return await this.account(DEFAULT_ACCOUNT).load(source as ScriptSource | undefined, options);
  }

  /** Loads a function from its configuration file into the default account. See {@link Account.loadFile}. */
  async loadFile(path: string, options?: LoadFileOptions): Promise<EdgeFunction> {
    return await this.account(DEFAULT_ACCOUNT).loadFile(path, options);
  }

  /**
   * The account of this id, made when it is first named. The same options may be given again; others are a TypeError that names them, since
   * `account.update()` changes options. Throws TypeError, RangeError or EDGE_NAME_TAKEN for zones that the account cannot have.
   */
  account(id: string, options?: AccountOptions): Account {
    return this.#core.accounts.named(id, options);
  }

  /** All accounts, in the order in which they were made. */
  accounts(): AccountInfo[] {
    return this.#core.accounts.all.map(account => account.info);
  }

  /**
   * Ends an account: its open invocations end with EDGE_ACCOUNT_REMOVED, its functions are unloaded, and its routes, crons, zones and API tokens are free.
   * Its handles (functions, buckets, the `Account`) are refused with EDGE_ACCOUNT_REMOVED from the call on, also when there is another account of the
   * same id. With `backend: 'process'` that holds for all applications on the storage. Resolves when nothing of it runs and, with `deleteData`, an account
   * of the same id has nothing of its data; that is deleted in the background then, and over restarts.
   *
   * Rejects with EDGE_ACCOUNT_REMOVED when there is no such account, unless `deleteData` is to delete what one has left in the storage; and with the errors of
   * the storage, after which the call can be repeated with `deleteData`.
   */
  async removeAccount(id: string, options: AccountRemovalOptions = {}): Promise<AccountRemoval> {
    return this.#core.accounts.remove(id, options);
  }

  /**
   * Opens the storage now, where the start of a server should fail for what the first use of a bucket would find out. Rejects with
   * EDGE_STORAGE_LOCKED (another process has it open), EDGE_STORAGE_FORMAT, EDGE_STORAGE_CORRUPT, EDGE_STORAGE_ACCESS, EDGE_STORAGE_FULL,
   * EDGE_INTERNAL (the directory cannot be made or read) or EDGE_CLOSED.
   */
  async openStorage(): Promise<void> {
    await this.#core.storage.openForUse();
  }

  /** Answers a request by the routes of the loaded functions. Rejects with EDGE_NO_ROUTE when none matches. */
  async fetch(input: Request | string | URL, init?: RequestInit): Promise<Response> {
    const request = fetchInput(input, init);
    const { host, pathname } = new URL(request.url);
    const route = this.#core.routes.router.find(host, pathname);
    if (route === undefined) throw new EdgeError('EDGE_NO_ROUTE', `No function is attached to ${host}${pathname}`);
    return fetchThrough(route.target, request, route.mode);
  }

  /**
   * A listener for `http.createServer`, or middleware for Express, Connect and Fastify's raw requests: with `function` everything goes to that function, in the
   * version that serves under its name (404 when it is unloaded), else by route; what matches no route goes to `next` where there is one, else is answered with
   * 404. A request whose Host or target could be read in two ways is answered with 400 (EDGE_REQUEST_MALFORMED). Its property `upgrade` serves WebSockets:
   * `server.on('upgrade', listener.upgrade)`.
   */
  listener(options: HostListenerOptions = {}): NodeListener {
    return hostListener(this.#core, options);
  }

  /**
   * The S3-compatible API of the buckets, as a fetch handler that has listeners for node:http beside it. A fetch Request has been through a URL parser, which
   * loses keys with dot segments; the listeners lose nothing. Throws TypeError or RangeError for options that are not valid.
   */
  s3(options: HostS3Options): HostS3 {
    return hostS3(this.#core, options);
  }

  /** The S3-compatible API for `http.createServer`, or mounted in a framework. */
  s3Listener(options: HostS3Options): (request: IncomingMessage, response: ServerResponse) => void {
    return this.s3(options).listener;
  }

  /**
   * The management API of the accounts, as a fetch handler. Refuses everything until there is a token. Functions that are loaded
   * afterwards wait until the zones that it has stored are known.
   */
  management(options: HostManagementOptions = {}): HostManagement {
    return hostManagement(this.#core, options);
  }

  /** The management API for `http.createServer`, or mounted in a framework. */
  managementListener(
    options: HostManagementOptions = {},
  ): (request: IncomingMessage, response: ServerResponse) => void {
    return this.management(options).listener;
  }

  /** The state of the host, for health checks. */
  health(): HostHealth {
    const { options, gate, accounts, cells, storage, remote, isClosed } = this.#core;
    return {
      isolation: options.isolation,
      isolates: gate.size,
      accounts: accounts.size,
      ...cells.health,
      sqlSandbox: this.#core.sqlSandbox,
      storage: { location: storage.location, isOpen: storage.isOpen },
      backend: remote && { pid: remote.pid },
      isClosed,
    };
  }

  /** Statistics of the invocations of every account that has functions loaded: counts by outcome, and histograms of time. */
  stats(): { readonly accounts: readonly AccountStatsSnapshot[] } {
    return { accounts: this.#core.accounts.all.map(account => account.stats()) };
  }

  /**
   * The usage of every account that has used or stored something on the days asked for, in the order of their ids. Removed accounts are among them. With
   * `account`, the usage of this one alone, which may be removed. Rejects like {@link Account.usage}.
   */
  usage(query: HostUsageQuery = {}): AsyncGenerator<UsageReport, void, undefined> {
    return this.#core.usage.reports('usage()', query);
  }

  /**
   * The state of the host in the text format of Prometheus (`text/plain; version=0.0.4`), with counters since it was made and histograms of time. Labels
   * are kinds, outcomes and services. Accounts that the options name have figures of their own; for all others, see {@link usage}. Throws TypeError or
   * RangeError for options that are not valid.
   */
  metrics(options?: MetricsOptions): string {
    const { storage, ...health } = this.health();
    let functions = 0;
    for (const account of this.#core.accounts.all) functions += account.functions().length;
    const state = { ...health, functions, isStorageOpen: storage.isOpen };
    return metricsText({ ...state, stats: this.#core.stats, usage: this.#core.usage.recorder }, options);
  }

  /**
   * Closes the WebSockets of clients with 1001, for a server that is about to wait for its connections.
   * @internal
   */
  closeWebSockets(): void {
    this.#core.closeWebSockets();
  }

  /**
   * Closes the host: lets invocations finish for up to `drainMs` milliseconds, then ends the cells and closes the storage. Nothing is left running.
   * @param options.drainMs @default 5000
   */
  close(options: { readonly drainMs?: number } = {}): Promise<void> {
    return this.#core.close(options.drainMs ?? 5000);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
