/** The SQL databases of an account: their contents, queries, exports, imports and migrations. */

import type { SqlEngine, SqlInfo } from '../../bindings/sql/engine.js';
import type { AccountSqlDatabase } from '../../bindings/sql/host-sql.js';
import { sqlBinding } from '../../bindings/sql/sql-binding.js';
import type { SqlValue } from '../../bindings/sql/types.js';
import { SQL_LIMITS } from '../../sqlite/limits.js';
import { type Context, pageQuery, param } from '../context.js';
import { readBytes } from '../http/body.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { pageOf } from '../state/records.js';

export async function listDatabases(context: Context): Promise<Reply> {
  const { items, info } = await pageOf(await directoryOf(context).list(), pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getDatabase(context: Context): Promise<Reply> {
  return { result: shown(await infoOf(context, param(context, 'database_id'))) };
}

export async function createDatabase(context: Context, { name }: Bodies['SqlDatabaseCreate']): Promise<Reply> {
  const { created } = await directoryOf(context).create(name, boundsOf(context));
  if (!created) throw new ApiError('ALREADY_EXISTS', `The database ${JSON.stringify(name)} exists already`);
  await context.commit([]);
  return { result: shown(await infoOf(context, name)) };
}

export async function deleteDatabase(context: Context): Promise<Reply> {
  const name = param(context, 'database_id');
  await directoryOf(context).delete(name);
  await context.commit([]);
  return { result: { id: name } };
}

export async function queryDatabase(context: Context, { sql, params = [] }: Bodies['SqlQuery']): Promise<Reply> {
  const database = await clientOf(context);
  const statement = database.prepare(sql);
  const result = await refusing(async () =>
    (params.length === 0 ? statement : statement.bind(...params.map(parameterOf))).all(),
  );
  await context.commit([]);
  return { result: [result] };
}

export async function exportDatabase(context: Context): Promise<Reply> {
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

export async function importDatabase(context: Context): Promise<Reply> {
  const engine = await engineOf(context);
  const { uploads, limits } = context.services;
  if (uploads.size >= limits.uploadsWaiting) {
    throw new ApiError('UNAVAILABLE', `${uploads.size} uploads are waiting: retry later`, {
      headers: { 'retry-after': '10' },
    });
  }
  const count = await uploads.add(async () => {
    const body = await readBytes(context.request, SQL_LIMITS.importBytes, limits.bodyMs);
    return refusing(() => engine.import(body, boundsOf(context)));
  });
  await context.commit([]);
  return { result: { num_statements: count } };
}

export async function listMigrations(context: Context): Promise<Reply> {
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
  if (engine === null) throw unknown(name);
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

async function infoOf(context: Context, name: string): Promise<SqlInfo> {
  const info = (await directoryOf(context).list()).find(one => one.name === name);
  if (info === undefined) throw unknown(name);
  return info;
}

function unknown(name: string): ApiError {
  return new ApiError('NOT_FOUND', `There is no database ${JSON.stringify(name)}`);
}

function shown({ name, created, bytes }: SqlInfo): unknown {
  return { id: name, created_on: new Date(created).toISOString(), allotted_bytes: bytes };
}
