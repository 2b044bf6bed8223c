/** The databases of all accounts in one storage. There is one engine for each database in use, shared by all callers. */
import { EdgeError } from '../../../quotas/errors.js';
import { OWN_WORK } from '../../../quotas/host/call-work.js';
import { limitError } from '../../../quotas/limit-error.js';
import { SqlitePool } from '../../../sqlite/pool/sqlite-pool.js';
import type { ProcessHome } from '../../../storage/process-walls.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { type NamedOwner, quotedName } from '../../stored-values/named-records.js';
import type { SqlBounds, SqlDirectory, SqlInfo } from '../engine.js';
import { SqlError } from '../errors.js';
import { accountFolder, makeFolder, removeTemporary } from './sql-files.js';
import { SqlStore } from './sql-store.js';
import {
  clearDatabase,
  DATABASE_NAMES,
  removedRecord,
  SQL_DATABASES,
  type StoredDatabase,
} from './stored-databases.js';
import { WholeFiles } from './whole-files.js';

const directories = new WeakMap<StorageContext, SqlDirectories>();

/** The same for each use of a storage. */
export function sqlDirectoriesOf(storage: StorageContext): SqlDirectories {
  const existing = directories.get(storage) ?? new SqlDirectories(storage);
  directories.set(storage, existing);
  return existing;
}

/** The databases of an account are closed, if any was opened. */
export async function endAccountDatabases(storage: StorageContext, account: string): Promise<void> {
  await directories.get(storage)?.forget(account);
}

export class SqlDirectories {
  readonly #storage: StorageContext;
  readonly #pool: SqlitePool;
  readonly #accounts = new Map<string, AccountDatabases>();

  constructor(storage: StorageContext) {
    this.#storage = storage;
    this.#pool = new SqlitePool({ task: 'run SQL', isSlowCounted: true }, storage.walls);
  }

  of(account: string): AccountDatabases {
    let databases = this.#accounts.get(account);
    if (databases === undefined) {
      databases = new AccountDatabases(this.#storage, this.#pool, account);
      this.#accounts.set(account, databases);
    }
    return databases;
  }

  /** The account is gone: one of the same id has other databases. */
  async forget(account: string): Promise<void> {
    const databases = this.#accounts.get(account);
    this.#accounts.delete(account);
    await databases?.close(
      new EdgeError('EDGE_ACCOUNT_REMOVED', `Cannot use an SQL database of account "${account}": it was removed`),
    );
  }

  async close(): Promise<void> {
    const error = new EdgeError('EDGE_CLOSED', 'Cannot use an SQL database: the host is closed');
    await Promise.all([...this.#accounts.values()].map(databases => databases.close(error)));
    await this.#pool.close();
    await removeTemporary(this.#storage);
  }
}

export class AccountDatabases implements SqlDirectory {
  readonly #storage: StorageContext;
  readonly #pool: SqlitePool;
  readonly #account: string;
  readonly #home: ProcessHome;
  readonly #owner: NamedOwner;
  readonly #open = new Map<string, SqlStore>();
  readonly #wholeFiles = new WholeFiles();
  #closed: Error | undefined;

  constructor(storage: StorageContext, pool: SqlitePool, account: string) {
    this.#storage = storage;
    this.#pool = pool;
    this.#account = account;
    this.#home = { account, folder: accountFolder(storage, account) };
    this.#owner = { storage, account, work: { ...OWN_WORK, owner: this.#home } };
  }

  async open(name: string, bounds?: SqlBounds): Promise<SqlStore> {
    checkName(name);
    const stored = (await SQL_DATABASES.read(this.#owner, name)) ?? (await this.#create(name, bounds))[0];
    return this.#engine(name, stored);
  }

  async find(name: string): Promise<SqlStore | null> {
    const stored = await SQL_DATABASES.read(this.#owner, name);
    return stored === undefined ? null : this.#engine(name, stored);
  }

  async create(name: string, bounds?: SqlBounds): Promise<{ readonly created: boolean }> {
    checkName(name);
    const [, created] = await this.#create(name, bounds);
    return { created };
  }

  async delete(name: string): Promise<void> {
    const stored = await SQL_DATABASES.read(this.#owner, name);
    if (stored === undefined) throw unknown(name);
    const engine = this.#engine(name, stored);
    this.#open.delete(name);
    await engine.close(unknown(name));
    const { id, bytes } = engine.stored;
    const { storage, account, work } = this.#owner;
    const key = SQL_DATABASES.keyOf(account, name);
    await storage.mutex.run(key, () =>
      storage.records.commit([removedRecord(id, account, bytes), { type: 'del', key }], work),
    );
    await clearDatabase(storage, id);
  }

  async list(): Promise<SqlInfo[]> {
    const databases = await SQL_DATABASES.list(this.#owner);
    return databases.map(({ name, created, bytes }) => ({ name, created, bytes }));
  }

  async close(error: Error): Promise<void> {
    this.#closed = error;
    await Promise.all([...this.#open.values()].map(database => database.close(error)));
    this.#open.clear();
  }

  #engine(name: string, stored: StoredDatabase): SqlStore {
    if (this.#closed !== undefined) throw this.#closed;
    const existing = this.#open.get(name);
    if (existing !== undefined) return existing;
    const database = new SqlStore({
      storage: this.#storage,
      pool: this.#pool,
      owner: this.#home,
      account: this.#account,
      name,
      stored,
      sum: this.#storage.sums.of(this.#account),
      wholeFiles: this.#wholeFiles,
    });
    this.#open.set(name, database);
    return database;
  }

  #create(name: string, bounds?: SqlBounds): Promise<readonly [StoredDatabase, boolean]> {
    const subject = `create SQL database "${name}"`;
    return SQL_DATABASES.create(
      this.#owner,
      name,
      { bytes: 0 },
      {
        check: async () => {
          if (bounds === undefined || !Number.isFinite(bounds.sqlDatabases)) return;
          const actual = (await this.list()).length + 1;
          const { sqlDatabases: allowed, plan } = bounds;
          if (actual > allowed)
            throw limitError('EDGE_LIMIT_EXCEEDED', { limit: 'sqlDatabases', subject, actual, allowed, plan });
        },
        prepare: () => makeFolder(this.#storage, this.#account),
        change: sum => sum.change({ bytes: 0, objects: 1 }, bounds, () => subject),
      },
    );
  }
}

function checkName(name: string): void {
  if (DATABASE_NAMES.allows(name)) return;
  throw new SqlError(
    30001,
    `The name of the SQL database is ${quotedName(name)}, it must be ${DATABASE_NAMES.description}`,
  );
}

function unknown(name: string): SqlError {
  return new SqlError(30002, `There is no SQL database ${quotedName(name)}`);
}
