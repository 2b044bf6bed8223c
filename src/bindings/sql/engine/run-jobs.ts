/** The jobs of a group, in one connection: what each of them runs, and which run in one transaction. */
import type { WireMeta } from '../calls.js';
import { SQL_LIMITS } from '../limits.js';
import { type Connection, NeedsWriter } from './connection.js';
import type { JobHead, JobOutcome } from './frames.js';
import { copyDatabase, dumpDatabase, importText } from './maintenance.js';
import { appliedMigrations, migrate } from './migrations.js';
import type { SqliteValue } from './sqlite.js';
import { isFull, sqliteText } from './sqlite-errors.js';

export interface Job {
  readonly head: JobHead;
  readonly payload: Buffer;
}

export interface JobResult {
  readonly outcome: JobOutcome;
  /** JSON. */
  readonly text: string;
  readonly isFailure: boolean;
}

/** The transaction is gone: what was done in it before has to be repeated. */
class LostTransaction extends Error {}

const NOT_RUN: JobResult = { outcome: 'alone', text: '', isFailure: false };

/** Jobs that read: one after the other, each by itself. */
export function runReading(connection: Connection, job: Job): JobResult {
  try {
    return done(perform(connection, job));
  } catch (error) {
    return error instanceof NeedsWriter
      ? { outcome: 'writer', text: '', isFailure: false }
      : failed(connection, job, error);
  }
}

/** One job that changes the database. */
export function runWriting(connection: Connection, job: Job): JobResult {
  try {
    return done(perform(connection, job));
  } catch (error) {
    rollback(connection);
    return isFull(error) ? { outcome: 'full', text: '', isFailure: false } : failed(connection, job, error);
  }
}

/**
 * Several jobs that change the database, in one transaction: they reach the disk together, which takes as long as one. Each can fail for itself.
 *
 * @param onJob called before each, and with -1 before the transaction ends
 */
export function runTogether(connection: Connection, jobs: readonly Job[], onJob: (index: number) => void): JobResult[] {
  if (connection.isDeferrable || jobs.some(mayDefer)) return jobs.map(() => NOT_RUN);
  try {
    connection.trusted('BEGIN IMMEDIATE');
    const results = jobs.map((job, index) => {
      onJob(index);
      return runInSavepoint(connection, job);
    });
    onJob(-1);
    connection.trusted('COMMIT');
    return results;
  } catch (error) {
    rollback(connection);
    const outcome = isFull(error) ? 'full' : 'alone';
    return jobs.map(() => ({ outcome, text: '', isFailure: false }));
  }
}

function runInSavepoint(connection: Connection, job: Job): JobResult {
  connection.trusted('SAVEPOINT job');
  try {
    const text = perform(connection, job, true);
    connection.trusted('RELEASE job');
    return done(text);
  } catch (error) {
    if (isFull(error)) throw error;
    if (!connection.isTransaction) throw new LostTransaction();
    connection.trusted('ROLLBACK TO job; RELEASE job');
    return failed(connection, job, error);
  }
}

/** Such a job decides by the end of its own transaction, or by settings that the next one does not have. */
function mayDefer({ payload }: Job): boolean {
  return /pragma|defer/i.test(payload.toString('latin1'));
}

function done(text: string): JobResult {
  return { outcome: 'done', text, isFailure: false };
}

function failed(connection: Connection, { payload, head }: Job, error: unknown): JobResult {
  const text = sqliteText(error, head.kind === 'query' ? firstSql(payload) : '', connection.authorizer.reason);
  return { outcome: 'done', text: JSON.stringify({ e: text }), isFailure: true };
}

function rollback(connection: Connection): void {
  if (!connection.isTransaction) return;
  try {
    connection.trusted('ROLLBACK');
  } catch {
    // SQLite has ended it itself.
  }
}

function perform(connection: Connection, { head, payload }: Job, isInTransaction = false): string {
  connection.authorizer.isInternal = head.isInternal === true;
  connection.authorizer.reason = undefined;
  switch (head.kind) {
    case 'query':
      return runQueries(connection, parseQueries(payload, head.statements), isInTransaction);
    case 'exec':
      return execute(connection, payload.toString(), isInTransaction);
    case 'dump':
      return dumpDatabase(connection, payload.toString());
    case 'copy':
      return copyDatabase(connection, payload.toString());
    case 'import':
      return importText(connection, payload.toString());
    case 'migrate':
      return migrate(connection, payload.toString());
    case 'migrations':
      return appliedMigrations(connection);
    case 'check':
      return JSON.stringify(connection.trustedRows('PRAGMA quick_check(1)'));
  }
}

interface Query {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

function runQueries(connection: Connection, queries: readonly Query[], isInTransaction: boolean): string {
  const isOwnTransaction = queries.length > 1 && !isInTransaction;
  if (isOwnTransaction) connection.trusted('BEGIN');
  let text = '';
  for (const { sql, values } of queries) {
    const room = SQL_LIMITS.resultBytes - text.length;
    text += `${text === '' ? '' : ','}${runQuery(connection, sql, values, room)}`;
  }
  if (isOwnTransaction) connection.trusted('COMMIT');
  return `[${text}]`;
}

function runQuery(connection: Connection, sql: string, values: readonly SqliteValue[], room: number): string {
  const before = connection.totals();
  const started = performance.now();
  const { columns, rows, count, writes } = connection.run(sql, values, room);
  const duration = Math.round((performance.now() - started) * 1e4) / 1e4;
  const after = writes ? connection.totals() : before;
  const changes = after.changes - before.changes;
  const meta: WireMeta = {
    duration,
    changes,
    last_row_id: after.lastRowId,
    changed_db: writes,
    size_after: connection.size,
    rows_read: count,
    rows_written: changes,
  };
  return `{"c":${JSON.stringify(columns)},"r":[${rows}],"m":${JSON.stringify(meta)}}`;
}

/** Each line is a text of its own; all are one transaction. */
function execute(connection: Connection, text: string, isInTransaction: boolean): string {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  if (lines.length === 0) throw new Error('No SQL statements detected.');
  const started = performance.now();
  if (!isInTransaction) connection.trusted('BEGIN');
  for (const line of lines) {
    try {
      connection.run(line, [], SQL_LIMITS.resultBytes);
    } catch (error) {
      if (error instanceof NeedsWriter || isFull(error)) throw error;
      throw new Error(sqliteText(error, line, connection.authorizer.reason), { cause: error });
    }
  }
  if (!isInTransaction) connection.trusted('COMMIT');
  return JSON.stringify({ count: lines.length, duration: performance.now() - started });
}

/** The call of a function, which may be anything. */
function parseQueries(payload: Buffer, statements: number): Query[] {
  const queries: unknown = parsed(payload);
  if (!Array.isArray(queries) || queries.length !== statements) throw malformed();
  return queries.map((query: unknown) => {
    if (!Array.isArray(query)) throw malformed();
    const [sql, ...values]: unknown[] = query;
    if (typeof sql !== 'string') throw malformed();
    if (sql.includes('\0')) throw new Error('the statement has a NUL character: SQLITE_ERROR');
    return { sql, values: values.map(parameterOf) };
  });
}

function parsed(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    throw malformed();
  }
}

function malformed(): Error {
  return new Error('the call is malformed: SQLITE_MISUSE');
}

function parameterOf(value: unknown): SqliteValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'object' && 'h' in value && typeof value.h === 'string')
    return new Uint8Array(Buffer.from(value.h, 'hex'));
  throw malformed();
}

function firstSql(payload: Buffer): string {
  try {
    const queries: unknown = JSON.parse(payload.toString());
    const first: unknown = Array.isArray(queries) && queries.length === 1 ? queries[0] : undefined;
    const sql: unknown = Array.isArray(first) ? first[0] : undefined;
    return typeof sql === 'string' ? sql : '';
  } catch {
    return '';
  }
}
