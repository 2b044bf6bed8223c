/** How SQL databases are administered from another process. Statements go to the service of the binding, which runs them where the storage is. */
import { EdgeError } from '../../quotas/errors.js';
import { directoryContract, engineContract, NAMED_ENGINES } from '../contract.js';
import type { SqlBounds, SqlDirectory, SqlEngine } from './engine.js';
import { SqlError } from './errors.js';

const DATABASE = engineContract<SqlEngine, 'name' | 'isClosed' | 'query' | 'exec' | 'bookmark', undefined>({
  methods: {
    export: { isSafe: true, answer: 'stream' },
    import: { body: 0, send: (text, bounds) => [text, onlyBounds(bounds)] },
    backup: { isSafe: true, answer: 'stream' },
    restore: { body: 0, send: (file, bounds) => [file, onlyBounds(bounds)] },
    migrate: { send: (name, sql, bounds) => [name, sql, onlyBounds(bounds)] },
    migrations: { isSafe: true },
  },
  state: () => undefined,
  local: ({ name }) => ({
    name,
    isClosed: false,
    query: async () => notHere(),
    exec: async () => notHere(),
    bookmark: notHere,
  }),
  missing: name => new SqlError(30002, `There is no SQL database ${JSON.stringify(name.slice(0, 100))}`),
});

export const SQL_CONTRACT = directoryContract<SqlDirectory>({
  methods: {
    ...NAMED_ENGINES,
    open: { ...NAMED_ENGINES.open, send: (name, bounds) => [name, onlyBounds(bounds)] },
    create: { send: (name, bounds) => [name, onlyBounds(bounds)] },
  },
  engine: DATABASE,
});

/** The limits of an account have much else. */
function onlyBounds(bounds: SqlBounds | undefined): SqlBounds | undefined {
  if (bounds === undefined) return undefined;
  const { plan, storageBytes, storageObjects, sqlDatabases, sqlDatabaseBytes } = bounds;
  return { plan, storageBytes, storageObjects, sqlDatabases, sqlDatabaseBytes };
}

function notHere(): never {
  throw new EdgeError('EDGE_NOT_SUPPORTED', 'Statements are run where the storage is: use account.sql()');
}
