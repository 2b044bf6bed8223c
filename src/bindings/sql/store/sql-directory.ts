/** The databases of all accounts in one storage. There is one engine for each database in use, shared by all callers. */
import { EdgeError } from '../../../quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { limitError } from '../../../quotas/limit-error.js';
import { type Schema, text } from '../../../quotas/schema/schema.js';
import { SqlitePool } from '../../../sqlite/pool/sqlite-pool.js';
import type { ProcessHome } from '../../../storage/process-walls.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import type { SqlBounds, SqlDirectory, SqlInfo } from '../engine.js';
import { SqlError } from '../errors.js';
import { accountFolder, makeFolder, removeTemporary } from './sql-files.js';
import { sqlKeys } from './sql-keys.js';
import { SqlStore } from './sql-store.js';
import {
  clearDatabase,
  parseDatabase,
  removedRecord,
  type StoredDatabase,
  storedDatabases,
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
  readonly #owner: ProcessHome;
  readonly #work: CallWork;
  readonly #open = new Map<string, SqlStore>();
  readonly #wholeFiles = new WholeFiles();
  #closed: Error | undefined;

  constructor(storage: StorageContext, pool: SqlitePool, account: string) {
    this.#storage = storage;
    this.#pool = pool;
    this.#account = account;
    this.#owner = { account, folder: accountFolder(storage, account) };
    this.#work = { ...OWN_WORK, owner: this.#owner };
  }

  async open(name: string, bounds?: SqlBounds): Promise<SqlStore> {
    checkName(name);
    const stored = (await this.#read(name)) ?? (await this.#create(name, bounds))[0];
    return this.#engine(name, stored);
  }

  async find(name: string): Promise<SqlStore | null> {
    const stored = await this.#read(name);
    return stored === undefined ? null : this.#engine(name, stored);
  }

  async create(name: string, bounds?: SqlBounds): Promise<{ readonly created: boolean }> {
    checkName(name);
    const [, created] = await this.#create(name, bounds);
    return { created };
  }

  async delete(name: string): Promise<void> {
    const stored = await this.#read(name);
    if (stored === undefined) throw unknown(name);
    const engine = this.#engine(name, stored);
    this.#open.delete(name);
    await engine.close(unknown(name));
    const { id, bytes } = engine.stored;
    const key = sqlKeys.database(this.#account, name);
    await this.#storage.mutex.run(key, async () => {
      await this.#storage.records.commit([removedRecord(id, this.#account, bytes), { type: 'del', key }], this.#work);
    });
    await clearDatabase(this.#storage, id);
  }

  async list(): Promise<SqlInfo[]> {
    const infos: SqlInfo[] = [];
    for await (const { name, created, bytes } of storedDatabases(this.#storage, this.#account)) {
      infos.push({ name, created, bytes });
    }
    return infos;
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
      owner: this.#owner,
      account: this.#account,
      name,
      stored,
      sum: this.#storage.sums.of(this.#account),
      wholeFiles: this.#wholeFiles,
    });
    this.#open.set(name, database);
    return database;
  }

  async #read(name: string): Promise<StoredDatabase | undefined> {
    if (!isDatabaseName(name)) return undefined;
    const record = await this.#storage.records.get(sqlKeys.database(this.#account, name), this.#work);
    return record === undefined ? undefined : parseDatabase(record);
  }

  /** One at a time, so that the account has no more than it may. */
  #create(name: string, bounds?: SqlBounds): Promise<readonly [StoredDatabase, boolean]> {
    const { records, mutex, sums, newId, now } = this.#storage;
    return mutex.run(sqlKeys.database(this.#account, ''), async () => {
      await records.awaitRecovery(this.#work);
      const existing = await this.#read(name);
      if (existing !== undefined) return [existing, false];
      if (bounds !== undefined && Number.isFinite(bounds.sqlDatabases)) {
        const count = (await this.list()).length + 1;
        const { sqlDatabases: allowed, plan } = bounds;
        const subject = `create SQL database "${name}"`;
        if (count > allowed)
          throw limitError('EDGE_LIMIT_EXCEEDED', { limit: 'sqlDatabases', subject, figure: count, allowed, plan });
      }
      const stored: StoredDatabase = { id: newId(), created: now(), bytes: 0 };
      const operation = {
        type: 'put',
        key: sqlKeys.database(this.#account, name),
        value: Buffer.from(JSON.stringify(stored)),
      } as const;
      await records.reserveSpace([operation]);
      await makeFolder(this.#storage, this.#account);
      const sum = sums.of(this.#account);
      await sum.ready();
      const change = sum.change({ bytes: 0, objects: 1 }, bounds, () => `create SQL database "${name}"`);
      await commitChange(records, [operation], change, this.#work);
      return [stored, true];
    });
  }
}

const PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
const DATABASE_NAME = new RegExp(PATTERN);
const NAME_RULE = '1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit';

/** The name of a database in the configuration of a function. */
export const CONFIGURED_DATABASE: Schema<string> = text({
  pattern: PATTERN,
  description: `the name or id of an SQL database: ${NAME_RULE}`,
});

function isDatabaseName(name: string): boolean {
  // The application's code need not be TypeScript.
  return typeof name === 'string' && DATABASE_NAME.test(name);
}

function checkName(name: string): void {
  if (isDatabaseName(name)) return;
  throw new SqlError(
    30001,
    `The name of the SQL database is ${JSON.stringify(`${name}`.slice(0, 100))}, it must be ${NAME_RULE}`,
  );
}

function unknown(name: string): SqlError {
  return new SqlError(30002, `There is no SQL database ${JSON.stringify(name.slice(0, 100))}`);
}
