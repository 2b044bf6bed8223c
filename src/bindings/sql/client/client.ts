import { isSparseIndex, makeSparse } from '../../../quotas/host/chosen-names.js';
import { readAll } from '../../client-bytes.js';
import type { ClientPlatform, ClientStream } from '../../client-platform.js';
import { isRecord } from '../../is-record.js';
import {
  SAME_SQL,
  type WireAnswer,
  type WireExecuted,
  type WireFailure,
  type WireParameter,
  type WireQueryArguments,
  type WireReply,
  type WireResult,
  type WireResults,
} from '../wire.js';
import { wireValues } from './client-values.js';

/**
 * The database as a program sees it (SqlDatabase): one implementation, for functions inside their realm and for the application. It uses no
 * types and objects of a platform except those that it is given.
 */

// Captured before function code runs, because it may replace them.
const { isArray } = Array;
const { parse, stringify } = JSON;
const { freeze, defineProperty } = Object;
const ErrorCtor = Error;
const TypeErrorCtor = TypeError;
const test: (pattern: RegExp, text: string) => boolean = Function.prototype.call.bind(RegExp.prototype.test);

type Constraint = string;

/** The newest bookmark that a session has seen. */
interface SessionState {
  bookmark: string | null;
}

interface StatementParts {
  readonly sql: string;
  readonly values: readonly WireParameter[];
  /** The database that it was prepared by. */
  readonly database: object;
}

const SERVED_BY = 'edgehost';
const READING = /^\s*(?:select|values|with|explain|pragma)\b/i;
const BOOKMARK = /^[0-9a-f]{12}-[0-9a-f]{8}$/;

export function createSqlClient<Stream extends ClientStream, BlobType>(platform: ClientPlatform<Stream, BlobType>) {
  const statements = new WeakMap<object, StatementParts>();
  const database = {};

  const call = async (
    method: 'query' | 'exec',
    args: WireQueryArguments,
    body: string,
    session: SessionState | undefined,
  ): Promise<WireAnswer> => {
    const { head, body: content } = await platform.call(method, args, body);
    const { a, s, b } = head as WireReply; // the host's
    if (session !== undefined && b !== undefined && (session.bookmark === null || session.bookmark < b)) {
      session.bookmark = b;
    }
    if (a !== undefined) return a;
    const bytes =
      content instanceof Uint8ArrayCtor ? content : content ? await readAll(content, s ?? 0) : new Uint8ArrayCtor(0);
    return parse(new platform.TextDecoder().decode(bytes));
  };

  const query = async (parts: readonly StatementParts[], session: SessionState | undefined): Promise<WireResults> => {
    const queries: unknown[] = [];
    let isReading = true;
    let last: string | undefined;
    for (let at = 0; at < parts.length; at++) {
      const { sql, values } = parts[at] ?? NO_STATEMENT;
      const written: unknown[] = [sql === last ? SAME_SQL : sql];
      for (let index = 0; index < values.length; index++) written[index + 1] = values[index];
      queries[at] = written;
      if (isReading && sql !== last && !test(READING, sql)) isReading = false;
      last = sql;
    }
    const args: WireQueryArguments = {
      n: parts.length,
      ...(isReading && READ),
      ...(session !== undefined && IN_SESSION),
    };
    const answer = await call('query', args, stringify(queries), session);
    if (isFailure(answer)) throw sqlError('D1_ERROR', answer.e);
    return answer as WireResults; // the answer to query
  };

  const statement = (parts: StatementParts, session: SessionState | undefined): object => {
    const rows = async (): Promise<WireResult> => (await query([parts], session))[1][0] ?? NO_RESULT;
    const all = async (): Promise<unknown> => {
      const [size, results] = await query([parts], session);
      return resultOf(results[0] ?? NO_RESULT, size);
    };
    const made = {
      bind: (...values: unknown[]): object => statement({ ...parts, values: wireValues(values) }, session),
      async first(column?: unknown): Promise<unknown> {
        const [c, [row]] = await rows();
        if (column === undefined || column === null) return row === undefined ? null : rowOf(c, row, areSparse(c));
        if (row === undefined) return null;
        const name = `${column}`;
        for (let at = c.length - 1; at >= 0; at--) if (c[at] === name) return row[at];
        throw sqlError('D1_COLUMN_NOTFOUND', `Column not found (${name})`);
      },
      all,
      run: all,
      async raw(options?: unknown): Promise<unknown> {
        const [c, r] = await rows();
        const hasNames = isRecord(options) && options.columnNames === true;
        return hasNames ? [c, ...r] : r;
      },
    };
    freeze(made);
    statements.set(made, parts);
    return made;
  };

  const prepare = (session: SessionState | undefined) => (sql: unknown) =>
    statement({ sql: `${sql}`, values: NO_VALUES, database }, session);

  const batch =
    (session: SessionState | undefined) =>
    async (given: unknown): Promise<unknown[]> => {
      if (!isArray(given)) throw new TypeErrorCtor('batch() takes an array of statements');
      const parts: StatementParts[] = [];
      for (let at = 0; at < given.length; at++) {
        const known: unknown = given[at];
        const found = isRecord(known) ? statements.get(known) : undefined;
        if (found === undefined) throw new TypeErrorCtor(`batch(): element ${at} is no statement of this database`);
        parts[at] = found;
      }
      if (parts.length === 0) throw sqlError('D1_ERROR', 'No SQL statements detected.');
      const [size, results] = await query(parts, session);
      const all: unknown[] = [];
      for (let at = 0; at < results.length; at++) all[at] = resultOf(results[at] ?? NO_RESULT, size);
      return all;
    };

  const withSession = (given?: Constraint | null): object => {
    const constraint = given === undefined || given === null || given === '' ? 'first-unconstrained' : `${given}`;
    const isBookmark = constraint !== 'first-primary' && constraint !== 'first-unconstrained';
    if (isBookmark && !test(BOOKMARK, constraint)) {
      throw sqlError('D1_SESSION_ERROR', `Invalid bookmark or constraint: ${constraint}`);
    }
    // One host has one copy of a database: each query sees every earlier write.
    const state: SessionState = { bookmark: isBookmark ? constraint : null };
    return freeze({ prepare: prepare(state), batch: batch(state), getBookmark: () => state.bookmark });
  };

  return freeze(
    assign(database, {
      prepare: prepare(undefined),
      batch: batch(undefined),
      async exec(sql: unknown): Promise<WireExecuted> {
        const answer = await call('exec', { n: 1 }, `${sql}`, undefined);
        if (isFailure(answer)) throw sqlError('D1_EXEC_ERROR', answer.e);
        const { count, duration } = answer as WireExecuted; // the answer to exec
        return { count, duration };
      },
      withSession,
      async dump(): Promise<never> {
        throw sqlError('D1_DUMP_ERROR', 'dump() is not supported: the owner of the host exports databases');
      },
    }),
  );
}

const { assign } = Object;
const Uint8ArrayCtor = Uint8Array;
const NO_VALUES: readonly WireParameter[] = [];
const NO_STATEMENT: StatementParts = { sql: '', values: NO_VALUES, database: {} };
const NO_RESULT: WireResult = [[], [], 0];
const READ = { r: true } as const;
const IN_SESSION = { s: true } as const;

function sqlError(prefix: string, text: string): Error {
  return new ErrorCtor(`${prefix}: ${text}`, { cause: new ErrorCtor(text) });
}

function isFailure(answer: WireAnswer): answer is WireFailure {
  return !isArray(answer) && 'e' in (answer as object);
}

function resultOf([columns, rows, duration, changes, lastRowId, hasChanged]: WireResult, size: number): object {
  const results: object[] = [];
  const isSparse = areSparse(columns);
  for (let at = 0; at < rows.length; at++) results[at] = rowOf(columns, rows[at] ?? [], isSparse);
  const changed = changes ?? 0;
  const meta = {
    served_by: SERVED_BY,
    served_by_primary: true,
    duration,
    timings: { sql_duration_ms: duration },
    changes: changed,
    last_row_id: lastRowId ?? 0,
    changed_db: hasChanged ?? false,
    size_after: size,
    rows_read: rows.length,
    rows_written: changed,
    total_attempts: 1,
  };
  return { success: true, meta, results };
}

/**
 * Makes the object of a row. The customer chooses the names of columns: one may be called `__proto__`, and rows with numbers as names must not become long
 * lists.
 */
function rowOf(columns: readonly string[], row: readonly unknown[], isSparse: boolean): object {
  const object: Record<string, unknown> = {};
  if (isSparse) makeSparse(object);
  for (let at = 0; at < columns.length; at++) {
    const name = columns[at] ?? '';
    if (name !== '__proto__') object[name] = row[at];
    else defineProperty(object, name, { value: row[at], enumerable: true, configurable: true, writable: true });
  }
  return object;
}

/** Whether rows of these columns would be lists with gaps. */
function areSparse(columns: readonly string[]): boolean {
  for (let at = 0; at < columns.length; at++) if (isSparseIndex(columns[at] ?? '', columns.length)) return true;
  return false;
}
