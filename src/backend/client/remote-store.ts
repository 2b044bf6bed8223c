/** A storage in the backend process, as the host uses it. */
import { CRON_CONTRACT } from '../../bindings/cron/contract.js';
import type { CronClaims } from '../../bindings/cron/cron-claims.js';
import type { AlarmClaims } from '../../bindings/objects/alarm-claims.js';
import { ALARM_CONTRACT, OBJECT_CONTRACT } from '../../bindings/objects/contract.js';
import type { ObjectClaims } from '../../bindings/objects/object-claims.js';
import type { Channel } from '../../protocol/channel.js';
import { EdgeError } from '../../quotas/errors.js';
import type { RemovalSteps } from '../../storage/accounts/account-removals.js';
import type { StoredSum } from '../../storage/accounts/account-sum.js';
import type { RecountedSum } from '../../storage/accounts/account-sums.js';
import type { KeyStore } from '../../storage/files/key-file.js';
import type { Locks } from '../../storage/records/keyed-mutex.js';
import type { DatabaseChanges, HostStore, StoreDatabase, StoreRecords } from '../host-store.js';
import type { BindingErrors } from '../wire/errors.js';
import { MachineLocks } from './machine-locks.js';
import { remoteDatabase } from './remote-level.js';
import { RemoteLink } from './remote-link.js';
import { remotePart } from './remote-part.js';
import { remoteRecords } from './remote-records.js';

export interface RemoteStoreOptions {
  /**
   * Resolves with the current connection, and when it was lost with the next one. Rejects when no connection exists, and none will: with EDGE_CLOSED after the
   * host was closed.
   */
  readonly connection: () => Promise<Channel>;
  /** Reports what other applications change. @default nothing */
  readonly changes?: DatabaseChanges;
  /** The rows of the bindings whose errors the answers have. @default the bindings of the package */
  readonly errors?: BindingErrors;
}

export class RemoteStore implements HostStore {
  readonly link: RemoteLink;
  readonly records: StoreRecords;
  readonly secretsKey: KeyStore;
  readonly recounted: readonly RecountedSum[];
  readonly crons: CronClaims;
  readonly alarms: AlarmClaims;
  readonly objects: ObjectClaims;
  readonly changes?: DatabaseChanges;
  readonly locks: Locks;
  readonly #databases = new Map<string, StoreDatabase>();

  private constructor(
    link: RemoteLink,
    changes: DatabaseChanges | undefined,
    { recounted, secretsKeyPath }: { recounted: readonly RecountedSum[]; secretsKeyPath: string | undefined },
  ) {
    this.link = link;
    if (changes !== undefined) this.changes = changes;
    this.locks = new MachineLocks(link);
    this.records = remoteRecords(link);
    this.recounted = recounted;
    this.crons = remotePart(link, 'crons', CRON_CONTRACT);
    this.objects = remotePart(link, 'objects', OBJECT_CONTRACT);
    this.alarms = remotePart(link, 'alarms', ALARM_CONTRACT);
    this.secretsKey = {
      path: secretsKeyPath,
      read: () => link.call('key.read'),
      create: () => link.call('key.create'),
    };
  }

  /** Rejects with the errors of `connection`, and with EDGE_SERVICES_LOST. */
  static async open({ connection, changes, errors }: RemoteStoreOptions): Promise<RemoteStore> {
    const link = new RemoteLink(connection, errors);
    return new RemoteStore(link, changes, await link.call('store.describe'));
  }

  sublevel(name: string): ReturnType<HostStore['sublevel']> {
    return {
      get: key => this.link.call('sublevel.get', name, key),
      put: (key, value) => this.link.call('sublevel.put', name, key, value),
    };
  }

  database(name: string): StoreDatabase {
    let database = this.#databases.get(name);
    if (database === undefined) {
      database = remoteDatabase(this.link, name);
      this.#databases.set(name, database);
    }
    return database;
  }

  async hasDatabase(name: string): Promise<boolean> {
    return this.#databases.has(name) || this.link.call('level.exists', name);
  }

  stored(account: string): Promise<StoredSum> {
    return this.link.call('store.stored', account);
  }

  async removeAccount(account: string, steps: RemovalSteps): Promise<{ readonly deleted: Promise<void> }> {
    const { error, deleteData, beside } = steps;
    const removal = await this.link.call('removal.begin', {
      account,
      code: error.code,
      message: error.message,
      deleteData,
    });
    try {
      await beside();
    } catch (failure) {
      const reason = failure instanceof Error ? failure : new EdgeError('EDGE_INTERNAL', String(failure));
      await this.link.call('removal.finish', removal, reason).catch(() => {});
      throw failure;
    }
    await this.link.call('removal.finish', removal, undefined);
    const deleted: Promise<void> = this.link.call('removal.deleted', removal);
    deleted.catch(() => {});
    return { deleted };
  }

  unfinishedRemovals(): Promise<string[]> {
    return this.link.call('removal.unfinished');
  }

  /** The connection is closed by its owner. */
  async close(): Promise<void> {
    for (const database of this.#databases.values()) await database.close();
  }
}
