/** SQL databases of a storage in memory, for tests of the management API. */
import type { SqlDirectory } from '../../../src/bindings/sql/engine.js';
import { type AccountSqlDatabase, hostSql } from '../../../src/bindings/sql/host-sql.js';
import { sqlService } from '../../../src/bindings/sql/service.js';
import { sqlBinding } from '../../../src/bindings/sql/sql-binding.js';
import { sqlDirectoriesOf } from '../../../src/bindings/sql/store/sql-directory.js';
import { Storage } from '../../../src/storage/storage.js';

export interface MemoryDatabases {
  of(account: string): SqlDirectory;
  sql(account: string, name: string): AccountSqlDatabase;
}

export function memoryDatabases(): MemoryDatabases {
  let storage: Promise<Storage> | undefined;
  const { storage: owner } = sqlBinding;
  const directory = async (account: string): Promise<SqlDirectory> => {
    storage ??= Storage.open(':memory:', { owners: owner === undefined ? [] : [owner] });
    return sqlDirectoriesOf((await storage).context).of(account);
  };
  return {
    of: account => ({
      open: async (name, bounds) => (await directory(account)).open(name, bounds),
      find: async name => (await directory(account)).find(name),
      create: async (name, bounds) => (await directory(account)).create(name, bounds),
      delete: async name => (await directory(account)).delete(name),
      list: async () => (await directory(account)).list(),
    }),
    sql: (account, name) =>
      hostSql(sqlService(async () => (await directory(account)).open(name), { isApplication: true })),
  };
}
