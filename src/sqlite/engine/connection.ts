/** One open database: its settings, its compiled statements, and how a statement runs in it. Everything is synchronous: it has a process of its own. */
import { statSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { SQL_LIMITS } from '../limits.js';
import { Authorizer } from './authorizer.js';
import { BUSY_MS, type ConnectionMode, LONG_TEXT_BYTES, openFile, PAGE_BYTES, setLimits } from './open-file.js';
import { arrays, namesOf, numberIn, rowsText } from './rows.js';
import type { SqliteDatabase, SqliteLibrary, SqliteStatement, SqliteValue } from './sqlite.js';
import { type ParameterPlace, replaceParameters, type Statement, splitStatements } from './statements.js';

/** A statement was not run: it changes the database, and this connection reads. */
export class NeedsWriter extends Error {}

/** A statement was not run: it depends on its transaction, which it shares. */
export class NeedsOwnTransaction extends Error {}

/** A text of SQL that was taken apart, and compiled where it is one statement. */
interface Compiled {
  readonly sql: string;
  /** The statement alone, and where its parameters stand in it. */
  readonly text: string;
  readonly places: readonly ParameterPlace[];
  readonly parameters: number;
  readonly prepared: SqliteStatement;
  /** The names of its columns as JSON; empty when it returns no rows. */
  readonly columns: string;
  readonly writes: boolean;
  /** It inserts rows and does nothing else: what SQLite says that it has changed is all that it has. */
  readonly isInsert: boolean;
  readonly needsOwnTransaction: boolean;
  /** The time that it took at last. */
  tookMs: number;
}

/** The result of a statement. */
export interface StatementRows {
  /** The names of its columns, and its rows, as JSON, each without the brackets around all of them. */
  readonly columns: string;
  readonly rows: string;
  readonly writes: boolean;
  /** Rows were changed, or the schema. */
  readonly hasChanged: boolean;
  readonly changes: number;
  readonly lastRowId: number;
}

const CACHED_STATEMENTS = 100;
const CACHED_CHARACTERS = 8 * 1024;
const WRONG_COUNT = 'Wrong number of parameter bindings for SQL query.';
const QUICK_MS = 0.3;
/** The log of writes that a reader keeps from being moved into the file; from there on writers wait for readers, each time for this long at most. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;
const CHECKPOINT_MS = 1000;
export class DatabaseConnection {
  readonly authorizer = new Authorizer();
  readonly #database: SqliteDatabase;
  readonly #mode: ConnectionMode;
  readonly #path: string;
  readonly #pageBytes: number;
  readonly #cache = new LRUCache<string, Compiled>({
    max: CACHED_STATEMENTS,
    dispose: ({ prepared }) => prepared[Symbol.dispose]?.(),
  });
  readonly #totals: SqliteStatement;
  readonly #pages: SqliteStatement;
  readonly #schemaVersion: SqliteStatement;
  #deferrable: { readonly version: unknown; readonly isDeferrable: boolean } | undefined;
  #maxPages = 0;
  /** How text is stored, where the library does not bind all of it. */
  readonly #encoding: string | undefined;
  /** All changes since it was opened; undefined when they have to be asked for. */
  #changes: number | undefined;
  /** The statement that ran last, which often is the next one, too. */
  #last: Compiled | undefined;
  /** Several jobs are in the transaction that is open: each statement is to do what it would do in one of its own. */
  isShared = false;
  #sqlBytes: number = SQL_LIMITS.sqlBytes;

  constructor({ DatabaseSync, bindsWholeText }: SqliteLibrary, path: string, mode: ConnectionMode) {
    this.#mode = mode;
    this.#path = path;
    const database = openFile(DatabaseSync, path, mode);
    this.#database = database;
    this.#totals = arrays(database.prepare('SELECT total_changes(), last_insert_rowid()'));
    this.#pages = arrays(database.prepare('PRAGMA page_count'));
    this.#schemaVersion = arrays(database.prepare('PRAGMA schema_version'));
    // One that was restored may have others than those that are made here.
    this.#pageBytes = numberIn(arrays(database.prepare('PRAGMA page_size')).get(), 0) || PAGE_BYTES;
    if (!bindsWholeText) {
      const row: unknown = arrays(database.prepare('PRAGMA encoding')).get();
      this.#encoding = Array.isArray(row) ? `${row[0]}` : '';
    }
    database.setAuthorizer(this.authorizer.callback);
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** The size of the database in bytes. */
  get size(): number {
    return numberIn(this.#pages.get(), 0) * this.#pageBytes;
  }

  /** The most pages that the database may have. */
  bound(bytes: number): void {
    const pages = Math.max(1, Math.floor(bytes / this.#pageBytes));
    if (pages === this.#maxPages || this.#mode === 'read') return;
    this.trusted(`PRAGMA max_page_count = ${pages}`);
    this.#maxPages = pages;
  }

  /** Runs a text of the engine's own. */
  trusted(sql: string): void {
    this.#changes = undefined;
    this.authorizer.isTrusted = true;
    try {
      this.#database.exec(sql);
    } finally {
      this.authorizer.isTrusted = false;
    }
  }

  /** As {@link trusted}, for the rows that it returns. */
  trustedRows(sql: string, ...values: SqliteValue[]): unknown[] {
    const statement = arrays(this.trustedStatement(sql));
    try {
      return statement.all(...values);
    } finally {
      statement[Symbol.dispose]?.();
    }
  }

  trustedStatement(sql: string): SqliteStatement {
    this.#changes = undefined;
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

  /** Exported SQL may be longer than a value, and imported SQL longer than a statement of a call: a BLOB has two digits a byte. */
  withLongTexts(run: () => void): void {
    const { limits } = this.#database;
    limits.length = LONG_TEXT_BYTES;
    limits.sqlLength = LONG_TEXT_BYTES;
    this.#sqlBytes = LONG_TEXT_BYTES;
    try {
      run();
    } finally {
      setLimits(this.#database);
      this.#sqlBytes = SQL_LIMITS.sqlBytes;
    }
  }

  /** Whether constraints may be checked as late as the end of a transaction: then statements of one transaction cannot be distinguished. */
  get isDeferrable(): boolean {
    const version = JSON.stringify(this.#schemaVersion.get());
    if (this.#deferrable?.version !== version) {
      const found = this.trustedRows("SELECT 1 FROM sqlite_schema WHERE upper(sql) LIKE '%DEFERR%' LIMIT 1");
      this.#deferrable = { version, isDeferrable: found.length > 0 };
    }
    return this.#deferrable.isDeferrable;
  }

  /** Whether the text took no time when it ran last: an answer may wait for it. */
  isQuick(sql: string): boolean {
    const cached = this.#cache.get(sql);
    return cached !== undefined && cached.tookMs < QUICK_MS;
  }

  /**
   * Runs a text: one statement, or several of which the last takes the values and gives the result.
   *
   * @param room the most characters of JSON that the rows may have
   * @throws Error of SQLite; NeedsWriter before anything was run; NeedsOwnTransaction
   */
  run(sql: string, values: readonly SqliteValue[], room: number): StatementRows {
    const cached = this.#last?.sql === sql ? this.#last : this.#cached(sql);
    if (cached !== undefined) return this.#step(cached, values, room);
    if (Buffer.byteLength(sql) > this.#sqlBytes) throw new Error('statement too long: SQLITE_TOOBIG');
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
    for (const statement of statements) this.#stepOnce(this.#compile(statement, ''), NO_VALUES, room);
    const compiled = this.#compile(last, sql);
    const { isInternal, hasSettings } = this.authorizer;
    if (statements.length > 0 || sql.length > CACHED_CHARACTERS || hasSettings || isInternal) {
      return this.#stepOnce(compiled, values, room);
    }
    this.#cache.set(sql, compiled);
    this.#last = compiled;
    return this.#step(compiled, values, room);
  }

  /**
   * Runs one statement of very many, whose rows nobody wants: compiled statements cost memory until the job has ended. It may have run when it is refused,
   * so it belongs in a transaction.
   *
   * @throws Error of SQLite
   */
  execute({ text, named, parameters }: Statement): void {
    if (Buffer.byteLength(text) > this.#sqlBytes) throw new Error('statement too long: SQLITE_TOOBIG');
    if (parameters > 0 || named !== undefined) throw new Error(WRONG_COUNT);
    this.authorizer.reset();
    this.#changes = undefined;
    this.#database.exec(text);
    if (this.authorizer.isRefusedText(text)) throw new Error('not authorized');
  }

  /** Forgets its compiled statements, which take memory. */
  shrink(): void {
    this.#cache.clear();
    this.#last = undefined;
  }

  /** Moves the contents of the log beside the database into it when the log is long: SQLite cannot restart the log while somebody always reads. */
  checkpoint(): void {
    const log = statSync(`${this.#path}-wal`, { throwIfNoEntry: false });
    if (log === undefined || log.size <= MAX_LOG_BYTES) return;
    this.trusted(`PRAGMA busy_timeout = ${CHECKPOINT_MS}`);
    try {
      this.trustedRows('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.trusted(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  close(): void {
    this.shrink();
    this.#database.close();
  }

  /** Internal jobs and functions share no compiled statement. */
  #cached(sql: string): Compiled | undefined {
    if (this.authorizer.isInternal) return undefined;
    const cached = this.#cache.get(sql);
    if (cached !== undefined) this.#last = cached;
    return cached;
  }

  #compile({ text, named, parameters, places }: Statement, sql: string): Compiled {
    const { authorizer } = this;
    authorizer.reset();
    if (named !== undefined) {
      throw new Error(`the parameter ${named} has a name: only ? and ?NNN are supported: SQLITE_ERROR`);
    }
    const prepared = arrays(this.#database.prepare(text));
    // SQLite fills and reads the pages of deleted rows only through this statement.
    const { writes, needsOwnTransaction, isMoreThanInsert } = authorizer;
    if (writes && this.#mode === 'read') throw new NeedsWriter();
    if (authorizer.isRefusedText(text)) throw new Error('not authorized');
    prepared.setReadBigInts(true);
    const columns = namesOf(prepared);
    // REPLACE deletes rows, for which SQLite does not ask.
    const isInsert = writes && !isMoreThanInsert && !/replace/i.test(text);
    return { sql, text, places, parameters, prepared, columns, writes, isInsert, needsOwnTransaction, tookMs: 0 };
  }

  /**
   * The statement for values of which some have U+0000, where the library would end them: they are bound as bytes, and the statement makes text of these. `+`
   * leaves the expression without an affinity, as a parameter is.
   */
  #forWholeText(compiled: Compiled, values: readonly SqliteValue[]): Compiled {
    const { text, places } = compiled;
    const whole = replaceParameters(text, places, index =>
      hasNul(values[index - 1]) ? `(+CAST(?${index} AS TEXT))` : undefined,
    );
    // A column may be called as its parameter is written.
    const named = this.#database.prepare(text);
    const columns = namesOf(named);
    named[Symbol.dispose]?.();
    const prepared = arrays(this.#database.prepare(whole));
    prepared.setReadBigInts(true);
    return { ...compiled, prepared, columns };
  }

  /** As {@link #step}, for a statement that nobody keeps. */
  #stepOnce(compiled: Compiled, values: readonly SqliteValue[], room: number): StatementRows {
    try {
      return this.#step(compiled, values, room);
    } finally {
      compiled.prepared[Symbol.dispose]?.();
    }
  }

  #step(compiled: Compiled, values: readonly SqliteValue[], room: number): StatementRows {
    if (this.isShared && compiled.needsOwnTransaction) throw new NeedsOwnTransaction();
    if (values.length !== compiled.parameters) throw new Error(WRONG_COUNT);
    const encoding = this.#encoding;
    if (encoding === undefined || !values.some(hasNul)) return this.#stepWith(compiled, values, room);
    const bound = values.map(value => (hasNul(value) ? encoded(value, encoding) : value));
    const whole = this.#forWholeText(compiled, values);
    try {
      return this.#stepWith(whole, bound, room);
    } finally {
      whole.prepared[Symbol.dispose]?.();
    }
  }

  #stepWith(compiled: Compiled, values: readonly SqliteValue[], room: number): StatementRows {
    if (!compiled.writes || !compiled.needsOwnTransaction) return this.#stepCounted(compiled, values, room);
    // One about the schema, which may find it as it wants to have it.
    const before = numberIn(this.#schemaVersion.get(), 0);
    const rows = this.#stepCounted(compiled, values, room);
    return { ...rows, hasChanged: rows.hasChanged || numberIn(this.#schemaVersion.get(), 0) !== before };
  }

  #stepCounted(compiled: Compiled, values: readonly SqliteValue[], room: number): StatementRows {
    const { prepared, columns, writes, isInsert } = compiled;
    const { decisions } = this.authorizer;
    const begun = performance.now();
    const isCounted = writes && !(isInsert && columns === '');
    const before = isCounted ? (this.#changes ?? this.#totals.get()) : undefined;
    try {
      if (columns === '') {
        const { changes, lastInsertRowid } = prepared.run(...values);
        if (writes && !isCounted) {
          this.#changes = undefined;
          const lastRowId = Number(lastInsertRowid);
          return { columns, rows: '', writes, hasChanged: changes > 0, changes: Number(changes), lastRowId };
        }
        return this.#counted(compiled, columns, '', before);
      }
      const rows = rowsText(prepared.iterate(...values), room);
      // The schema has changed, and with it perhaps what the statement returns.
      const isSame = this.authorizer.decisions === decisions;
      const names = isSame ? columns : namesOf(prepared);
      return this.#counted(compiled, names, rows, before);
    } finally {
      compiled.tookMs = performance.now() - begun;
      if (this.authorizer.decisions !== decisions) this.#forget(compiled);
    }
  }

  #counted({ writes }: Compiled, columns: string, rows: string, before: unknown): StatementRows {
    if (!writes) return { columns, rows, writes, hasChanged: false, changes: 0, lastRowId: 0 };
    const row = this.#totals.get();
    const total = numberIn(row, 0);
    const changes = total - (typeof before === 'number' ? before : numberIn(before, 0));
    this.#changes = total;
    return { columns, rows, writes, hasChanged: changes > 0, changes, lastRowId: numberIn(row, 1) };
  }

  #forget(compiled: Compiled): void {
    if (this.#last === compiled) this.#last = undefined;
    if (this.#cache.peek(compiled.sql) === compiled) this.#cache.delete(compiled.sql);
  }
}

const NO_VALUES: readonly SqliteValue[] = [];
function hasNul(value: SqliteValue | undefined): value is string {
  return typeof value === 'string' && value.includes('\0');
}

/** The bytes of a text as the database stores it. */
function encoded(text: string, encoding: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (!encoding.startsWith('UTF-16')) return bytes;
  // From UTF-8, which has no lone surrogates.
  const wide = Buffer.from(bytes.toString(), 'utf16le');
  return encoding === 'UTF-16be' ? wide.swap16() : wide;
}
