/** One open database: its settings, its compiled statements, and how a statement runs in it. Everything is synchronous: it has a process of its own. */
import { LRUCache } from 'lru-cache';
import { SQL_LIMITS } from '../limits.js';
import { Authorizer } from './authorizer.js';
import type { SqliteDatabase, SqliteLibrary, SqliteStatement, SqliteValue } from './sqlite.js';
import { type Statement, splitStatements } from './statements.js';

export type ConnectionMode = 'read' | 'write';

/** A statement was not run: it changes the database, and this connection reads. */
export class NeedsWriter extends Error {}

/** A text of SQL that was taken apart, and compiled where it is one statement. */
interface Compiled {
  readonly statement: Statement;
  readonly prepared: SqliteStatement;
  readonly columns: readonly string[];
  readonly writes: boolean;
}

/** What a statement returned. */
export interface StatementRows {
  readonly columns: readonly string[];
  /** Its rows as JSON, without the brackets around all of them. */
  readonly rows: string;
  readonly count: number;
  readonly writes: boolean;
}

const CACHED_STATEMENTS = 100;
const CACHED_CHARACTERS = 8 * 1024;
const PAGE_BYTES = 4096;
const BUSY_MS = 10_000;
const CACHE_KIB = 8 * 1024;
const LOG_BYTES = 4 * 1024 * 1024;

export class Connection {
  readonly authorizer = new Authorizer();
  readonly #database: SqliteDatabase;
  readonly #mode: ConnectionMode;
  readonly #cache = new LRUCache<string, Compiled>({ max: CACHED_STATEMENTS });
  readonly #totals: SqliteStatement;
  readonly #pages: SqliteStatement;
  readonly #schemaVersion: SqliteStatement;
  #deferrable: { readonly version: unknown; readonly isDeferrable: boolean } | undefined;
  #maxPages = 0;

  constructor({ DatabaseSync }: SqliteLibrary, path: string, mode: ConnectionMode) {
    this.#mode = mode;
    const database = new DatabaseSync(path, {
      readOnly: mode === 'read',
      enableForeignKeyConstraints: true,
      enableDoubleQuotedStringLiterals: false,
      allowExtension: false,
      timeout: BUSY_MS,
    });
    this.#database = database;
    if (mode === 'write') database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL`);
    // What is acknowledged is on the disk. What is sorted stays in memory, where it has a bound.
    database.exec(
      `PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0;
       PRAGMA journal_size_limit = ${LOG_BYTES}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA recursive_triggers = OFF`,
    );
    database.enableDefensive(true);
    setLimits(database);
    this.#totals = arrays(database.prepare('SELECT total_changes(), last_insert_rowid()'));
    this.#pages = arrays(database.prepare('PRAGMA page_count'));
    this.#schemaVersion = arrays(database.prepare('PRAGMA schema_version'));
    database.setAuthorizer(this.authorizer.callback);
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** The size of the database in bytes. */
  get size(): number {
    return numberIn(this.#pages.get(), 0) * PAGE_BYTES;
  }

  /** All changes since it was opened, and the id of the last row that was inserted. */
  totals(): { readonly changes: number; readonly lastRowId: number } {
    if (this.#mode === 'read') return NO_CHANGES;
    const row = this.#totals.get();
    return { changes: numberIn(row, 0), lastRowId: numberIn(row, 1) };
  }

  /** The most pages that the database may have. */
  bound(bytes: number): void {
    const pages = Math.max(1, Math.floor(bytes / PAGE_BYTES));
    if (pages === this.#maxPages || this.#mode === 'read') return;
    this.trusted(`PRAGMA max_page_count = ${pages}`);
    this.#maxPages = pages;
  }

  /** Runs a text of the engine's own. */
  trusted(sql: string): void {
    this.authorizer.isTrusted = true;
    try {
      this.#database.exec(sql);
    } finally {
      this.authorizer.isTrusted = false;
    }
  }

  /** As {@link trusted}, for the rows that it returns. */
  trustedRows(sql: string, ...values: SqliteValue[]): unknown[] {
    return arrays(this.trustedStatement(sql)).all(...values);
  }

  trustedStatement(sql: string): SqliteStatement {
    this.authorizer.isTrusted = true;
    try {
      return this.#database.prepare(sql);
    } finally {
      this.authorizer.isTrusted = false;
    }
  }

  /** Other databases may be attached: for copies, which the engine itself makes. */
  attaching(run: () => void): void {
    const { limits } = this.#database;
    limits.attach = 1;
    try {
      run();
    } finally {
      limits.attach = 0;
    }
  }

  /**
   * Whether constraints may be checked as late as the end of a transaction: then what runs in one transaction cannot be told apart.
   */
  get isDeferrable(): boolean {
    const version = JSON.stringify(this.#schemaVersion.get());
    if (this.#deferrable?.version !== version) {
      const found = this.trustedRows("SELECT 1 FROM sqlite_schema WHERE upper(sql) LIKE '%DEFERR%' LIMIT 1");
      this.#deferrable = { version, isDeferrable: found.length > 0 };
    }
    return this.#deferrable.isDeferrable;
  }

  /**
   * Runs a text: one statement, or several of which the last takes the values and gives the result.
   *
   * @param room the most characters of JSON that the rows may have
   * @throws Error of SQLite; NeedsWriter before anything was run
   */
  run(sql: string, values: readonly SqliteValue[], room: number): StatementRows {
    const cached = this.#cache.get(sql);
    if (cached !== undefined) return this.#step(cached, values, room);
    if (Buffer.byteLength(sql) > SQL_LIMITS.sqlBytes) throw new Error('statement too long: SQLITE_TOOBIG');
    const statements = splitStatements(sql);
    const last = statements.pop();
    if (last === undefined) throw new Error('No SQL statements detected.');
    for (const statement of statements) {
      if (statement.parameters > 0 || statement.named !== undefined) {
        throw new Error(
          'When executing multiple SQL statements in a single call, only the last statement can have parameters.',
        );
      }
    }
    for (const statement of statements) this.#step(this.#compile(statement), NO_VALUES, room);
    const compiled = this.#compile(last);
    if (statements.length === 0 && sql.length <= CACHED_CHARACTERS && !this.authorizer.hasSettings)
      this.#cache.set(sql, compiled);
    return this.#step(compiled, values, room);
  }

  close(): void {
    this.#cache.clear();
    this.#database.close();
  }

  #compile(statement: Statement): Compiled {
    const { authorizer } = this;
    authorizer.writes = false;
    authorizer.reason = undefined;
    if (statement.named !== undefined) {
      throw new Error(`the parameter ${statement.named} has a name: only ? and ?NNN are supported: SQLITE_ERROR`);
    }
    const prepared = arrays(this.#database.prepare(statement.text));
    // The pages of what is deleted are filled and read by this alone.
    if (authorizer.writes && this.#mode === 'read') throw new NeedsWriter();
    prepared.setReadBigInts(true);
    const columns = prepared.columns().map(({ name }) => name);
    return { statement, prepared, columns, writes: authorizer.writes };
  }

  #step(
    { statement, prepared, columns, writes }: Compiled,
    values: readonly SqliteValue[],
    room: number,
  ): StatementRows {
    if (values.length !== statement.parameters) throw new Error('Wrong number of parameter bindings for SQL query.');
    if (columns.length === 0) {
      prepared.run(...values);
      return { columns, rows: '', count: 0, writes };
    }
    let rows = '';
    let count = 0;
    for (const row of prepared.iterate(...values)) {
      rows += count === 0 ? rowText(row) : `,${rowText(row)}`;
      count++;
      if (rows.length > room) throw new ResultTooLarge();
    }
    return { columns, rows, count, writes };
  }
}

/** The rows of a call have more bytes than it may return. */
export class ResultTooLarge extends Error {
  constructor() {
    super(`the result is larger than ${SQL_LIMITS.resultBytes} bytes: SQLITE_TOOBIG`);
  }
}

const NO_VALUES: readonly SqliteValue[] = [];
const NO_CHANGES = { changes: 0, lastRowId: 0 } as const;

function setLimits({ limits }: SqliteDatabase): void {
  limits.length = SQL_LIMITS.valueBytes;
  limits.sqlLength = SQL_LIMITS.sqlBytes;
  limits.column = SQL_LIMITS.columns;
  limits.exprDepth = SQL_LIMITS.expressionDepth;
  limits.compoundSelect = SQL_LIMITS.compoundSelect;
  limits.vdbeOp = SQL_LIMITS.programSteps;
  limits.functionArg = SQL_LIMITS.functionArguments;
  limits.attach = 0;
  limits.likePatternLength = SQL_LIMITS.likePatternBytes;
  limits.variableNumber = SQL_LIMITS.parameters;
  limits.triggerDepth = SQL_LIMITS.triggerDepth;
}

function arrays(statement: SqliteStatement): SqliteStatement {
  statement.setReturnArrays(true);
  return statement;
}

/** Integers are read as BigInt, because one that is too large for a number would be an error: they lose digits, as in JSON. */
function rowText(row: unknown): string {
  if (!Array.isArray(row)) throw new TypeError('SQLite has given a row that is no array');
  for (let at = 0; at < row.length; at++) {
    const value: unknown = row[at];
    if (typeof value === 'bigint') row[at] = Number(value);
    else if (value instanceof Uint8Array) row[at] = Array.from(value);
  }
  return JSON.stringify(row);
}

function numberIn(row: unknown, at: number): number {
  const value: unknown = Array.isArray(row) ? row[at] : 0;
  return typeof value === 'bigint' || typeof value === 'number' ? Number(value) : 0;
}
