/** The services of one storage directory: the applications that use it, and what those share. */
import type { Socket } from 'node:net';
import type { AccountDirectories, BindingBase } from '../../bindings/binding.js';
import { type BindingRegistry, REGISTRY } from '../../bindings/registry.js';
import type { Channel } from '../../protocol/channel.js';
import { socketTransport } from '../../protocol/transports/transport.js';
import { accountWork, type CallWork } from '../../quotas/host/call-work.js';
import { HostBudget, type HostShare, type HostShareLimits } from '../../quotas/host/host-share.js';
import { KeyedMutex } from '../../storage/records/keyed-mutex.js';
import type { Storage } from '../../storage/storage.js';
import { StoredHoursMeter } from '../../usage/stored-bytes.js';
import { UsageStore } from '../../usage/usage-store.js';
import { HostBindings } from '../host-bindings.js';
import type { HostStore } from '../host-store.js';
import { localStore } from '../local-store.js';
import { storedSums } from '../stored-sums.js';
import type { AccountChange, MissedChanges } from '../wire/account-changes.js';
import type { ApplicationHello, DatabaseChange } from '../wire/message-contents.js';
import { BackendSignal } from '../wire/messages.js';
import { AccountLog } from './account-log.js';
import { Application, type ApplicationSurroundings } from './applications/application.js';
import { ConsumerSeats } from './applications/consumer-seats.js';
import { KeptUsage } from './kept-usage.js';
import { LeftRemovals } from './left-removals.js';
import { Notices } from './notices.js';
import { RequestCounters } from './request-counters.js';

interface SharedAccount {
  readonly share: HostShare;
  users: number;
}

export interface BackendParts {
  readonly storage: Storage;
  /** Gets the options of each application. @default nothing */
  readonly onOptions?: (options: unknown) => void;
  /** @default new ones */
  readonly notices?: Notices;
  /** @default the bindings of the package */
  readonly registry?: BindingRegistry;
}

export class Backend {
  readonly #applications = new Map<string, Application>();
  readonly #accounts = new Map<string, SharedAccount>();
  #budget: HostBudget | undefined;
  readonly #usage: KeptUsage;
  readonly #counters: RequestCounters;
  readonly #accountLog: AccountLog;
  readonly #left: LeftRemovals;
  readonly #notices: Notices;
  readonly #surroundings: ApplicationSurroundings;
  readonly common: HostBindings;
  /** Days of usage that are kept: the largest number among the applications. Undefined while none has said so. */
  keepDays: number | undefined;

  constructor({ storage: opened, onOptions, notices = new Notices(), registry = REGISTRY }: BackendParts) {
    this.#notices = notices;
    const storage = async (): Promise<Storage> => opened;
    const store = localStore(opened);
    this.#usage = this.#createUsage(store);
    this.#counters = new RequestCounters(store.sublevel('counts'));
    this.#left = new LeftRemovals(() => this.#applications.values());
    this.#accountLog = new AccountLog(store.sublevel('account-changes'));
    this.common = new HostBindings(registry, { options: {}, storage }, { isHere: row => row.storage !== undefined });
    this.#surroundings = {
      registry,
      storage,
      common: this.common,
      takeShare: (account, bounds) => this.#takeShare(account, bounds),
      giveShare: account => this.#giveShare(account),
      onHello: (application, hello) => {
        onOptions?.(hello.options);
        return this.#greeted(application, hello);
      },
      objects: {
        store,
        usage: this.#usage,
        counters: this.#counters,
        rows: registry.rows,
        // Rows with a contract share directories.
        directoryOf: (row, account) => this.common.directoryOf(row as BindingBase<AccountDirectories<object>>, account),
        seats: new ConsumerSeats(),
        locks: new KeyedMutex(),
        service: address => this.common.clientService(address),
        workOf: account => this.#workOf(account),
        announce: (from, change) => this.#announce(from, change),
        takeRemoval: step => this.#left.beside(step),
        onChange: (from, name, keys) => this.#tellOthers(from, { name, ...(keys !== undefined && { keys }) }),
      },
      onClose: application => this.#forget(application),
    };
  }

  /** The control connection of an application. */
  application(socket: Socket, name: string): void {
    this.#applications.set(name, new Application(socketTransport(socket, false), this.#surroundings));
  }

  /** A connection that an application has opened for a cell. */
  cell(socket: Socket, application: string, connection: number): void {
    const owner = this.#applications.get(application);
    if (owner === undefined || !Number.isSafeInteger(connection)) socket.destroy();
    else owner.connect(connection, socket);
  }

  /** The account's stored sum has changed on disk. */
  noteStored(account: string): void {
    this.#usage.noteStored(account);
  }

  /** Continues removals of accounts that a kill has interrupted. To be awaited before there are applications. */
  resumeRemovals(): Promise<void> {
    return this.#left.resume(this.#surroundings.objects.store);
  }

  async close(): Promise<void> {
    this.#left.close();
    for (const application of [...this.#applications.values()]) application.close();
    await this.common.close();
    await this.#usage.close();
    await this.#counters.write();
  }

  #createUsage({ records }: HostStore): KeptUsage {
    const backend = this;
    const days = {
      now: Date.now,
      get keepDays() {
        return backend.keepDays ?? Number.POSITIVE_INFINITY;
      },
    };
    const meter = new StoredHoursMeter(
      storedSums(async () => records),
      days,
    );
    return new KeptUsage({ store: new UsageStore(records), meter, now: Date.now });
  }

  /** The first application decides how much accounts may hold together. */
  #greeted(application: Application, hello: ApplicationHello): Promise<MissedChanges> {
    const { heapBytes, bufferBytes, keepDays, keepsUsage, seenChange } = hello;
    this.keepDays = Math.max(this.keepDays ?? 0, keepDays);
    if (keepsUsage) this.#usage.keep();
    this.#budget ??= new HostBudget({ heapBytes, bufferBytes });
    return this.#accountLog.since(seenChange, () => {
      application.isGreeted = true;
      this.#notices.add(application.channel);
      this.#left.changed();
    });
  }

  async #announce(from: Channel, change: AccountChange): Promise<void> {
    const { told } = await this.#accountLog.add(change, numbered => {
      const telling: Promise<void>[] = [];
      for (const application of this.#applications.values()) {
        if (!application.isGreeted) continue;
        const isOwn = application.channel === from;
        const done = application.follow({ ...numbered, isOwn });
        if (!isOwn) telling.push(done);
      }
      return Promise.all(telling);
    });
    await told;
  }

  #forget(application: Application): void {
    this.#notices.delete(application.channel);
    for (const [name, each] of this.#applications) if (each === application) this.#applications.delete(name);
  }

  #tellOthers(from: Channel, change: DatabaseChange): void {
    if (this.#applications.size < 2) return;
    const text = JSON.stringify(change);
    for (const { channel } of this.#applications.values())
      if (channel !== from) channel.signal(0, BackendSignal.DatabaseChanged, text);
  }

  #workOf(account: string): CallWork | undefined {
    const share = this.#accounts.get(account)?.share;
    return share && accountWork(share);
  }

  #takeShare(account: string, bounds: HostShareLimits): HostShare {
    let shared = this.#accounts.get(account);
    if (shared === undefined) {
      if (this.#budget === undefined) throw new Error('The application has not said what it is');
      const onStuck = (reason: string): void => {
        for (const { channel } of this.#applications.values())
          channel.signal(0, BackendSignal.Stuck, `${account}\n${reason}`);
      };
      shared = { share: this.#budget.share(account, bounds, onStuck), users: 0 };
      this.#accounts.set(account, shared);
    }
    shared.users++;
    return shared.share;
  }

  #giveShare(account: string): void {
    const shared = this.#accounts.get(account);
    if (shared === undefined || --shared.users > 0) return;
    this.#accounts.delete(account);
    // Its connections may still hold bytes, which are released when they end.
    shared.share.close();
  }
}
