/** The jobs of a group, in one connection: what each of them runs, and which run in one transaction. */

import { SQL_LIMITS } from '../limits.js';
import { SAME_SQL } from '../same-sql.js';
import { type DatabaseConnection, NeedsOwnTransaction, NeedsWriter } from './connection.js';
import type { JobHead, JobOutcome } from './frames.js';
import { checkDatabase, copyDatabase, dumpDatabase, importText, verifyDatabase } from './maintenance.js';
import { appliedMigrations, migrate } from './migrations.js';
import { malformedCall, parameterOf } from './parameters.js';
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
  readonly tookMs?: number;
}

/** The transaction is gone: its earlier jobs must be repeated. */
class LostTransaction extends Error {}

/** Jobs of one transaction are answered together: finished jobs wait this long for the next one. */
const TOGETHER_MS = 100;

/** Whether the job took no time when it ran last: answers may wait for it. */
export function isQuick(connection: DatabaseConnection, { head, payload }: Job): boolean {
  return head.kind === 'query' && head.statements === 1 && connection.isQuick(firstSql(payload));
}

/** Jobs that read: one after the other, each by itself. */
export function runReading(connection: DatabaseConnection, job: Job): JobResult {
  try {
    return done(perform(connection, job));
  } catch (error) {
    return error instanceof NeedsWriter ? notRun('writer') : failed(connection, job, error);
  }
}

/** One job that changes the database. */
export function runWriting(connection: DatabaseConnection, job: Job): JobResult {
  try {
    return done(perform(connection, job));
  } catch (error) {
    rollback(connection);
    return isFull(error) ? notRun('full') : failed(connection, job, error);
  }
}

/**
 * Several jobs that change the database, in one transaction: they reach the disk together, which takes as long as one. Each can fail for itself.
 *
 * @param onJob called before each, and with -1 before the transaction ends
 */
export function runTogether(
  connection: DatabaseConnection,
  jobs: readonly Job[],
  onJob: (index: number) => void,
): JobResult[] {
  if (connection.isDeferrable) return jobs.map(() => notRun('alone'));
  const begun = performance.now();
  connection.isShared = true;
  try {
    connection.trusted('BEGIN IMMEDIATE');
    const results = jobs.map((job, index) => {
      if (index > 0 && performance.now() - begun > TOGETHER_MS) return notRun('later');
      onJob(index);
      return runInSavepoint(connection, job);
    });
    onJob(-1);
    connection.trusted('COMMIT');
    return results;
  } catch (error) {
    rollback(connection);
    return jobs.map(() => notRun(isFull(error) ? 'full' : 'alone'));
  } finally {
    connection.isShared = false;
  }
}

function runInSavepoint(connection: DatabaseConnection, job: Job): JobResult {
  const begun = performance.now();
  connection.trusted(SAVEPOINT);
  try {
    const text = perform(connection, job, true);
    connection.trusted(RELEASE);
    return { ...done(text), tookMs: performance.now() - begun };
  } catch (error) {
    if (isFull(error) || error instanceof NeedsOwnTransaction) throw error;
    if (!connection.isTransaction) throw new LostTransaction();
    connection.trusted('ROLLBACK TO job; RELEASE job');
    return { ...failed(connection, job, error), tookMs: performance.now() - begun };
  }
}

const SAVEPOINT = 'SAVEPOINT job';
const RELEASE = 'RELEASE job';

function notRun(outcome: Exclude<JobOutcome, 'done'>): JobResult {
  return { outcome, text: '', isFailure: false };
}

function done(text: string): JobResult {
  return { outcome: 'done', text, isFailure: false };
}

function failed(connection: DatabaseConnection, { payload, head }: Job, error: unknown): JobResult {
  const text = sqliteText(error, head.kind === 'query' ? firstSql(payload) : '', connection.authorizer.reason);
  return { outcome: 'done', text: JSON.stringify({ e: text }), isFailure: true };
}

function rollback(connection: DatabaseConnection): void {
  if (!connection.isTransaction) return;
  try {
    connection.trusted('ROLLBACK');
  } catch {
    // SQLite has ended it itself.
  }
}

function perform(connection: DatabaseConnection, { head, payload }: Job, isInTransaction = false): string {
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
      return checkDatabase(connection);
    case 'verify':
      return verifyDatabase(connection);
  }
}

interface Query {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

function runQueries(connection: DatabaseConnection, queries: readonly Query[], isInTransaction: boolean): string {
  const isOwnTransaction = queries.length > 1 && !isInTransaction;
  if (isOwnTransaction) connection.trusted('BEGIN');
  let text = '';
  for (const { sql, values } of queries) {
    const result = runQuery(connection, sql, values, SQL_LIMITS.resultBytes - text.length);
    text += text === '' ? result : `,${result}`;
  }
  if (isOwnTransaction) connection.trusted('COMMIT');
  return `[${connection.size},[${text}]]`;
}

function runQuery(connection: DatabaseConnection, sql: string, values: readonly SqliteValue[], room: number): string {
  const started = performance.now();
  const { columns, rows, writes, hasChanged, changes, lastRowId } = connection.run(sql, values, room);
  const duration = Math.round((performance.now() - started) * 1000) / 1000;
  return writes
    ? `[[${columns}],[${rows}],${duration},${changes},${lastRowId},${hasChanged}]`
    : `[[${columns}],[${rows}],${duration}]`;
}

/** Each line is a text of its own; all are one transaction. */
function execute(connection: DatabaseConnection, text: string, isInTransaction: boolean): string {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  if (lines.length === 0) throw new Error('No SQL statements detected.');
  const started = performance.now();
  if (!isInTransaction) connection.trusted('BEGIN');
  for (const line of lines) {
    try {
      connection.run(line, [], SQL_LIMITS.resultBytes);
    } catch (error) {
      if (error instanceof NeedsWriter || error instanceof NeedsOwnTransaction || isFull(error)) throw error;
      throw new Error(sqliteText(error, line, connection.authorizer.reason), { cause: error });
    }
  }
  if (!isInTransaction) connection.trusted('COMMIT');
  return JSON.stringify({ count: lines.length, duration: performance.now() - started });
}

/** The call of a function, which may be anything. */
function parseQueries(payload: Buffer, statements: number): Query[] {
  const queries: unknown = parsed(payload);
  if (!Array.isArray(queries) || queries.length !== statements) throw malformedCall();
  let last = '';
  return queries.map((query: unknown) => {
    if (!Array.isArray(query)) throw malformedCall();
    const [given, ...values]: unknown[] = query;
    const sql: unknown = given === SAME_SQL ? last : given;
    if (typeof sql !== 'string') throw malformedCall();
    last = sql;
    for (let at = 0; at < values.length; at++) values[at] = parameterOf(values[at]);
    return { sql, values: values as SqliteValue[] }; // as parameterOf has made them
  });
}

function parsed(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    throw malformedCall();
  }
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
