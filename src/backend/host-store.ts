/**
 * The operations of a host on its storage beside the bindings: one interface for a storage in this process (local-store.ts) and for one in the backend process
 * (backend/client/remote-store.ts).
 */
import type { AbstractLevel } from 'abstract-level';
import type { CronClaims } from '../bindings/cron/cron-claims.js';
import type { AlarmClaims } from '../bindings/objects/alarm-claims.js';
import type { ObjectClaims } from '../bindings/objects/object-claims.js';
import type { RemovalSteps } from '../storage/accounts/account-removals.js';
import type { StoredSum } from '../storage/accounts/account-sum.js';
import type { RecountedSum } from '../storage/accounts/account-sums.js';
import type { KeyStore } from '../storage/files/key-file.js';
import type { Locks } from '../storage/records/keyed-mutex.js';
import type { Sublevel } from '../storage/records/sublevel.js';
import type { UsageRecords } from '../usage/usage-records.js';

export interface StoreRecords extends UsageRecords {
  /** `undefined`: there is no such record. The bytes are shared with other readers and must not be changed. */
  get(key: string): Promise<Buffer | undefined>;
}

/** A database of string keys and values. */
export type StoreDatabase = AbstractLevel<string | Buffer | Uint8Array, string, string>;

/**
 * Changes that another application has written: the keys, as texts, or undefined when it is not known which ones. Called when the batch is on the disk, after a
 * moment; and when the backend process was lost.
 */
export type ChangeListener = (keys: readonly string[] | undefined) => void;

export interface DatabaseChanges {
  listen(database: string, listener: ChangeListener): void;
}

/** Errors are EdgeErrors; a storage in another process may also fail with EDGE_SERVICES_LOST. */
export interface HostStore {
  readonly records: StoreRecords;
  /** The key that secrets in the databases are encrypted with. */
  readonly secretsKey: KeyStore;
  /** Claims of cron triggers, for all processes on the storage. */
  readonly crons: CronClaims;
  /** Claims of alarms of stateful objects, for all processes on the storage. */
  readonly alarms: AlarmClaims;
  /** Which application has the live objects of a function. */
  readonly objects: ObjectClaims;
  /** The sums that were not right, when the opening of the storage counted them again. */
  readonly recounted: readonly RecountedSum[];
  /** The records of one part of the host. The same name is the same sublevel. @throws TypeError for a name that is not valid */
  sublevel(name: string): Pick<Sublevel, 'get' | 'put'>;
  /** A separate database, for a part of the host that keeps many kinds of records. It is closed with the storage. */
  database(name: string): StoreDatabase;
  /** Reports changes of databases by other applications on the storage. Undefined where no other application can write. */
  readonly changes?: DatabaseChanges;
  /** Locks that all applications on the storage share. Undefined where there are no others. */
  readonly locks?: Locks;
  /** Whether the database was ever used. */
  hasDatabase(name: string): Promise<boolean>;
  /** The stored bytes and objects of the account. It waits while an account of this id is being removed. */
  stored(account: string): Promise<StoredSum>;
  /** Like `Storage.removeAccount()`. */
  removeAccount(account: string, steps: RemovalSteps): Promise<{ readonly deleted: Promise<void> }>;
  /** Like `Storage.unfinishedRemovals()`. */
  unfinishedRemovals(): Promise<string[]>;
  close(): Promise<void>;
}
