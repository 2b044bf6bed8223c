/** SQL databases as a binding: `env.DB` of a function, `host.sql('main')` of the application. */

import { ServiceId } from '../../quotas/service-calls.js';
import { checkLibrary } from '../../sqlite/library.js';
import { lazyDirectory, openEngine } from '../account-engines.js';
import type { AccountContext, NamedBinding } from '../binding.js';
import { errorRestorer, statusIn } from '../numeric-code.js';
import type { Service } from '../service.js';
import { SQL_CONTRACT } from './contract.js';
import type { SqlDirectory, SqlEngine } from './engine.js';
import { SQL_ERRORS, SqlError } from './errors.js';
import { type AccountSqlDatabase, hostSql } from './host-sql.js';
import { sqlService } from './service.js';
import { endAccountDatabases, type SqlDirectories, sqlDirectoriesOf } from './store/sql-directory.js';
import { DATABASE_NAMES, sqlStorage } from './store/stored-databases.js';

/** The databases of each account, in a storage that opens with their first use. */
export interface HostDatabases {
  of(account: string): SqlDirectory;
  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void;
  close(): Promise<void>;
}

/** The configuration is the name of a database of the account, which is made when it does not exist. */
export const sqlBinding: NamedBinding<string, HostDatabases, AccountSqlDatabase> = {
  id: ServiceId.Sql,
  name: 'sql',
  subrequest: 'sql',
  methods: {},
  option: 'sql',
  application: 'sql',
  toml: {
    table: 'sql_databases',
    nameKey: 'database_name',
    unusedKeys: ['database_id', 'preview_database_id', 'migrations_dir', 'migrations_table'],
  },
  managementType: 'sql_database',
  managementKey: 'database_id',
  schema: DATABASE_NAMES.schema,
  storage: sqlStorage(endAccountDatabases),
  directory: SQL_CONTRACT,
  share({ storage }) {
    let directories: SqlDirectories | undefined;
    const directoryOf = async (account: string): Promise<SqlDirectory> => {
      checkLibrary();
      const { context } = await storage();
      const ended = context.sums.whenEnded(account);
      if (ended !== undefined) await ended;
      directories ??= sqlDirectoriesOf(context);
      return directories.of(account);
    };
    return {
      of: account => lazyDirectory(SQL_CONTRACT, () => directoryOf(account)),
      forget: account => void directories?.forget(account),
      close: async () => directories?.close(),
    };
  },
  open: (context, name) => sqlService(opener(context, name), { limits: context.limits }),
  endAccount: (shared, account) => shared.forget(account),
  closeShared: shared => shared.close(),
  async prepare(context, name) {
    await engineOf(context, name);
  },
  client: (context, name) => hostSql(applicationService(context, name)),
  remote: { service: applicationService, client: hostSql },
  errorFrom: errorRestorer(SQL_ERRORS, code => new SqlError(code, '')),
  errorStatus: error => statusIn(SQL_ERRORS, error),
};

function applicationService(context: AccountContext<HostDatabases>, name: string): Service {
  return sqlService(opener(context, name), {
    check: () => context.check?.(),
    isApplication: true,
    get limits() {
      return context.limits;
    },
  });
}

function opener(context: AccountContext<HostDatabases>, name: string): () => Promise<SqlEngine> {
  return () => engineOf(context, name);
}

function engineOf(context: AccountContext<HostDatabases>, name: string): Promise<SqlEngine> {
  return openEngine(context, databases => databases.open(name, context.limits));
}
