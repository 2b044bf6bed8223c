/** The SQL databases of an account: their contents, queries, exports, imports and migrations. */

import type { SqlEngine, SqlInfo } from '../../bindings/sql/engine.js';
import type { AccountSqlDatabase } from '../../bindings/sql/host-sql.js';
import { sqlBinding } from '../../bindings/sql/sql-binding.js';
import { DATABASE_NAMES } from '../../bindings/sql/store/stored-databases.js';
import type { SqlValue } from '../../bindings/sql/types.js';
import { anything, list, object, text } from '../../quotas/schema/schema.js';
import { SQL_LIMITS } from '../../sqlite/limits.js';
import { type Context, param, uploadsOf } from '../context.js';
import { readBytes } from '../http/body.js';
import { ApiError, type ListReply, type OneReply, type RawReply } from '../http/envelope.js';
import { parameter } from '../http/parameters.js';
import { ACCOUNT_PATH, created, many, one, type Resource, route, routeWithBody } from '../route.js';
import { anyObject, body, boolean, DELETED, dateTime, integer, named, string, type ValueOf } from '../schemas.js';
import { namedThings } from './named-things.js';

const DATABASE_PATH = `${ACCOUNT_PATH}/sql/databases/{database_id}`;

const SQL_DATABASE_CREATE = body('SqlDatabaseCreate', object({ name: DATABASE_NAMES.schema }), { name: 'main' });
const SQL_QUERY = body(
  'SqlQuery',
  object({ sql: text({ minLength: 1, maxLength: 100_000 }), 'params?': list(anything(), { maxItems: 100 }) }),
  { sql: 'SELECT ?1 + 1 AS answer', params: [41] },
);
const SQL_DATABASE = named('SqlDatabase', object({ id: string, created_on: dateTime, allotted_bytes: integer }));
const SQL_RESULT = named('SqlResult', object({ success: boolean, meta: anyObject, results: list(anything()) }));
const SQL_IMPORTED = named('SqlImported', object({ num_statements: integer }));
const SQL_MIGRATION = named('SqlMigration', object({ name: string, applied_at: dateTime }));

const DATABASES = namedThings({
  noun: 'database',
  parameter: 'database_id',
  directoryOf,
  shown: ({ name, created, bytes }: SqlInfo): ValueOf<typeof SQL_DATABASE> => ({
    id: name,
    created_on: new Date(created).toISOString(),
    allotted_bytes: bytes,
  }),
});

export const DATABASES_API: Resource = {
  parameters: { database_id: parameter('^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', 'main') },
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/sql/databases`, id: 'sql-database-list', access: 'sql:read', summary: 'SQL databases of an account', answer: many(SQL_DATABASE) }, DATABASES.list),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/sql/databases`, id: 'sql-database-create', access: 'sql:edit', summary: 'Make an SQL database', answer: created(SQL_DATABASE) }, SQL_DATABASE_CREATE, createDatabase),
    route({ method: 'GET', path: DATABASE_PATH, id: 'sql-database-get', access: 'sql:read', summary: 'An SQL database', answer: one(SQL_DATABASE) }, DATABASES.get),
    route({ method: 'DELETE', path: DATABASE_PATH, id: 'sql-database-delete', access: 'sql:edit', summary: 'Delete an SQL database with all that is in it', answer: one(DELETED) }, DATABASES.delete),
    routeWithBody({ method: 'POST', path: `${DATABASE_PATH}/query`, id: 'sql-query', access: 'sql:edit', summary: 'Run a statement', answer: many(SQL_RESULT, 'no') }, SQL_QUERY, queryDatabase),
    route({ method: 'GET', path: `${DATABASE_PATH}/export`, id: 'sql-export', access: 'sql:read', summary: 'The database as SQL', answer: { kind: 'raw', mediaType: 'application/sql' } }, exportDatabase),
    route({ method: 'POST', path: `${DATABASE_PATH}/import`, id: 'sql-import', access: 'sql:edit', summary: 'Run the SQL of the body as one transaction', answer: one(SQL_IMPORTED) }, importDatabase, 'bytes'),
    route({ method: 'GET', path: `${DATABASE_PATH}/migrations`, id: 'sql-migration-list', access: 'sql:read', summary: 'Migrations that were applied', answer: many(SQL_MIGRATION, 'no') }, listMigrations),
  ],
};

function createDatabase(
  context: Context,
  { name }: ValueOf<typeof SQL_DATABASE_CREATE>,
): Promise<OneReply<typeof SQL_DATABASE>> {
  return DATABASES.create(context, name, directory => directory.create(name, boundsOf(context)));
}

async function queryDatabase(
  context: Context,
  { sql, params = [] }: ValueOf<typeof SQL_QUERY>,
): Promise<ListReply<typeof SQL_RESULT>> {
  const database = await clientOf(context);
  const statement = database.prepare(sql);
  const result = await refusing(async () =>
    (params.length === 0 ? statement : statement.bind(...params.map(parameterOf))).all(),
  );
  await context.commit([]);
  return { result: [result] };
}

async function exportDatabase(context: Context): Promise<RawReply> {
  const engine = await engineOf(context);
  return { result: null, raw: ReadableStream.from(await begun(engine.export())), mediaType: 'application/sql' };
}

/** A database that cannot be read at all gets an answer with a status of its own. */
async function begun(source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = source[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await iterator.next();
  const rest: AsyncIterator<Uint8Array> = {
    async next() {
      const result = first ?? (await iterator.next());
      first = undefined;
      return result;
    },
    return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => rest };
}

async function importDatabase(context: Context): Promise<OneReply<typeof SQL_IMPORTED>> {
  const engine = await engineOf(context);
  const { bodyMs } = context.services.limits;
  const count = await uploadsOf(context).add(async () => {
    const body = await readBytes(context.request, SQL_LIMITS.importBytes, bodyMs);
    return refusing(() => engine.import(body, boundsOf(context)));
  });
  await context.commit([]);
  return { result: { num_statements: count } };
}

async function listMigrations(context: Context): Promise<ListReply<typeof SQL_MIGRATION>> {
  const migrations = await (await engineOf(context)).migrations();
  return { result: migrations.map(({ name, appliedAt }) => ({ name, applied_at: appliedAt })) };
}

function directoryOf({ services, account }: Context) {
  return services.directoryOf(sqlBinding, account);
}

function boundsOf({ services, account }: Context) {
  return services.functions.sqlBounds?.(account);
}

/** @throws ApiError NOT_FOUND */
async function engineOf(context: Context): Promise<SqlEngine> {
  const name = param(context, 'database_id');
  const engine = await directoryOf(context).find(name);
  if (engine === null) throw DATABASES.unknown(name);
  return engine;
}

async function clientOf(context: Context): Promise<AccountSqlDatabase> {
  const { name } = await engineOf(context);
  return context.services.functions.clientOf(sqlBinding, context.account, name);
}

/** Reports errors of the customer's SQL as errors of the request body. */
async function refusing<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error && /^D1_(?:ERROR|TYPE_ERROR)/.test(error.message) && !isTransient(error)) {
      throw new ApiError('BODY_INVALID', error.message, { cause: error });
    }
    throw error;
  }
}

/** Transient errors have a number, which decides their status. */
function isTransient(error: Error): boolean {
  return 'code' in error && typeof error.code === 'number' && error.code !== 30008;
}

function parameterOf(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  throw new ApiError('BODY_INVALID', 'A value is a string, a number, a boolean or null');
}
