/** The accounts of a host: made when they are first named, listed, and removed with what they have stored. */
import { isDeepStrictEqual } from 'node:util';
import type { HostStore } from '../../backend/host-store.js';
import { type AccountChange, removedError } from '../../backend/wire/account-changes.js';
import type { RemovalStep } from '../../backend/wire/message-contents.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import { compilePattern } from '../../hostnames/route-pattern.js';
import { EdgeError } from '../../quotas/errors.js';
import type { HostBudget, HostShare } from '../../quotas/host/host-share.js';
import { checkOptions, givenOf } from '../../quotas/schema/check-options.js';
import { keyOf } from '../../storage/files/key-file.js';
import { KeyedMutex } from '../../storage/records/keyed-mutex.js';
import { Account } from '../account.js';
import type { AccountHost } from '../account-host.js';
import type { AccountCells } from '../cells/account-cells.js';
import type { HostCells } from '../cells/host-cells.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import { AccountLoaders } from '../loaders/account-loaders.js';
import type { ResolvedHostOptions } from '../options/host-options.js';
import { type AccountOptions, checkAccountOptions, checkName } from '../options/options.js';
import { type AccountRemoval, type AccountRemovalOptions, REMOVAL_OPTIONS } from '../options/removal-options.js';
import { calleeOf } from '../rpc/find-callee.js';
import { RunNetwork } from '../runs/run-network.js';
import { AccountTails } from '../tails/account-tails.js';
import type { HostUsage } from '../usage/host-usage.js';
import type { HostRoutes } from './host-routes.js';
import type { HostStorage } from './host-storage.js';

/** The parts of its host that an account shares with all others. */
export type CommonHost = Omit<
  AccountHost,
  | 'share'
  | 'tails'
  | 'loaders'
  | 'redeclare'
  | 'announce'
  | 'secretsKey'
  | 'alone'
  | 'stored'
  | 'releaseNames'
  | 'functionUsage'
  | 'usageReport'
  | 'runNetwork'
>;

export interface HostAccountsParts {
  readonly options: ResolvedHostOptions;
  readonly common: CommonHost;
  readonly budget: HostBudget;
  readonly cells: HostCells;
  readonly routes: HostRoutes;
  readonly storage: HostStorage;
  readonly usage: HostUsage;
  readonly isClosing: () => boolean;
}

export class HostAccounts {
  readonly #parts: HostAccountsParts;
  readonly #accounts = new Map<string, Account>();
  /** Accounts that were removed and not created again: their credentials are refused. */
  readonly #removed = new Set<string>();
  /** Options that others have changed take effect one after the other, by account. */
  readonly #following = new KeyedMutex();
  readonly #runNetwork: RunNetwork;

  constructor(parts: HostAccountsParts) {
    this.#parts = parts;
    const { common, options, storage } = parts;
    this.#runNetwork = new RunNetwork(common.bindings, { options, storage: () => storage.openHere() });
  }

  get size(): number {
    return this.#accounts.size;
  }

  /** In the order in which they were made. */
  get all(): Account[] {
    return [...this.#accounts.values()];
  }

  /** The account, if it is there: none is made. */
  find(id: string): Account | undefined {
    return this.#accounts.get(id);
  }

  isRemoved(id: string): boolean {
    return this.#removed.has(id);
  }

  /**
   * The account of this id, which is created when it is missing. Options may be given again as long as they are the same, so that a route can call
   * `host.account(id, options)` for each request. Throws as `host.account()` does.
   */
  named(id: string, options?: AccountOptions): Account {
    if (this.#parts.isClosing()) throw new EdgeError('EDGE_CLOSED', `Cannot use account "${id}": the host is closed`);
    const existing = this.#accounts.get(id);
    if (existing === undefined) return this.#create(id, options);
    if (options !== undefined) checkSameOptions(existing, options);
    return existing;
  }

  #create(id: string, options: AccountOptions | undefined): Account {
    checkName('an account', id);
    const settings = checkAccountOptions(options);
    const { options: host, common, budget, routes } = this.#parts;
    const limits = common.limitsOf(settings);
    if (settings.zones !== undefined) routes.names.declare(id, settings.zones);
    const bounds = {
      hostBytes: settings.hostBytes ?? host.hostBytes,
      openInvocations: settings.openInvocations ?? host.openInvocations,
      openDescriptors: settings.openDescriptors ?? host.openDescriptors,
      sleepingWebSockets: settings.sleepingWebSockets ?? host.sleepingWebSockets,
    };
    const share = budget.share(id, bounds, reason => {
      common.warn(new EdgeError('EDGE_MEMORY_LIMIT', `The process of account "${id}" was ended: ${reason}`));
      cells.endAll('hoard', reason);
    });
    let cells: AccountCells;
    try {
      cells = this.#parts.cells.open(id, limits.most.memoryBytes, share, settings.group);
    } catch (error) {
      routes.names.releaseAccount(id);
      throw error;
    }
    const account = new Account(id, { settings, limits }, this.#hostOf(id, share), cells);
    this.#accounts.set(id, account);
    this.#removed.delete(id);
    return account;
  }

  #hostOf(id: string, share: HostShare): AccountHost {
    const { common, routes, storage, usage } = this.#parts;
    return {
      ...common,
      share,
      runNetwork: this.#runNetwork,
      tails: new AccountTails(id, share, common.warn, target => this.#calleeOf(id, target)),
      loaders: new AccountLoaders(id, share),
      redeclare: (zones, patterns) => routes.names.redeclare(id, zones, patterns.map(compilePattern)),
      announce: async update => common.remote?.link.call('account.update', id, { ...update }),
      secretsKey: async () => keyOf((await storage.openForUse()).secretsKey),
      alone: async (name, task) => {
        const { locks } = await storage.openForUse();
        return await (locks === undefined ? task() : locks.run(name, task));
      },
      stored: async () => (await storage.openForUse()).stored(id),
      releaseNames: () => routes.names.releaseAccount(id),
      functionUsage: name => usage.function(id, name),
      usageReport: (query, work) => usage.report('usage()', id, query, work),
    };
  }

  /** The function of a service binding, if the account may call it. */
  #calleeOf(caller: string, target: ServiceTarget): FunctionRunner | undefined {
    try {
      return calleeOf(this, caller, target);
    } catch {
      return undefined;
    }
  }

  /** Ends an account, and removes what it has stored. Rejects as `host.removeAccount()` does. */
  async remove(id: string, options: AccountRemovalOptions): Promise<AccountRemoval> {
    if (this.#parts.isClosing())
      throw new EdgeError('EDGE_CLOSED', `Cannot remove account "${id}": the host is closed`);
    checkName('an account', id);
    checkOptions('removeAccount()', options, REMOVAL_OPTIONS);
    const { deleteData = false } = options;
    const account = this.#accounts.get(id);
    if (account === undefined && !deleteData)
      throw new EdgeError('EDGE_ACCOUNT_REMOVED', `Cannot remove account "${id}": there is no such account`);
    const { storage, usage } = this.#parts;
    const ended = this.#end(id);
    const removal = await this.#removeStored(await storage.open(), id, deleteData);
    await ended;
    usage.recorder?.forget(id);
    return removal;
  }

  /** Follows a change by another application on the storage. Never rejects. */
  async follow(change: AccountChange): Promise<void> {
    const { account: id } = change;
    try {
      if ('update' in change) {
        const account = this.#accounts.get(id);
        await this.#following.run(id, async () => account?.follow(change.update));
      } else {
        await this.#end(id);
        this.#parts.usage.recorder?.forget(id);
      }
    } catch (error) {
      this.#parts.common.warn(error instanceof Error ? error : new EdgeError('EDGE_INTERNAL', String(error)));
    }
  }

  /** All at once, and no later account of this id is meant. Resolves when nothing of it runs. */
  #end(id: string): Promise<void> | undefined {
    const { common } = this.#parts;
    const account = this.#accounts.get(id);
    this.#accounts.delete(id);
    this.#removed.add(id);
    common.bindings.endAccount(id);
    this.#runNetwork.endAccount(id);
    common.remote?.accountEnds(id);
    return account?.close(removedError(id));
  }

  /** Continues removals that an earlier process has begun. */
  async finishRemovals(store: HostStore): Promise<void> {
    for (const id of await store.unfinishedRemovals()) await this.#removeStored(store, id, true);
  }

  #removeStored(store: HostStore, id: string, deleteData: boolean): Promise<AccountRemoval> {
    return store.removeAccount(id, {
      error: removedError(id),
      deleteData,
      beside: () => this.#removeBeside(store, id, deleteData),
    });
  }

  /** Takes the step of an application that is gone in a removal that the backend process continues. */
  async takeRemoval({ account, deleteData }: RemovalStep): Promise<void> {
    await this.#removeBeside(await this.#parts.storage.open(), account, deleteData);
  }

  /** Removes everything of the account that is kept beside its data. */
  async #removeBeside(store: HostStore, id: string, deleteData: boolean): Promise<void> {
    if (!this.#accounts.has(id)) await this.#parts.common.admission.detach(id);
    if (!(await store.hasDatabase('management'))) return;
    const { removeAccountRecords } = await import('../../management/state/remove-account.js');
    await removeAccountRecords(store.database('management'), id, deleteData);
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(account => account.close()));
    await this.#runNetwork.close();
  }
}

/** @throws TypeError for options that differ from those that the account was made with and from those that it has now, and for invalid ones */
function checkSameOptions({ id, created, settings }: Account, options: AccountOptions): void {
  const given = givenOf(checkAccountOptions(options));
  if (Object.keys(given).length === 0) return;
  if (isDeepStrictEqual(given, givenOf(created)) || isDeepStrictEqual(given, givenOf(settings))) return;
  const now = new Map<string, unknown>(Object.entries(settings));
  const differing = Object.entries(given).flatMap(([name, value]) =>
    isDeepStrictEqual(value, now.get(name)) ? [] : [name],
  );
  const missing = Object.keys(givenOf(created)).filter(name => !(name in given));
  throw new TypeError(
    `Account "${id}" exists already with other options (${[...differing, ...missing].join(', ')}): call host.account(${JSON.stringify(id)}) without options, and account.update() to change them`,
  );
}
