/**
 * Decides which actions statements of functions may perform. SQLite asks about each action while it compiles a statement, including actions of triggers, views
 * and virtual tables. The numbers come from sqlite3_set_authorizer().
 */
import { isAllowedFunction } from './functions.js';

const OK = 0;
const DENY = 1;
const IGNORE = 2;

enum Action {
  CreateIndex = 1,
  CreateTable = 2,
  CreateTrigger = 7,
  CreateView = 8,
  Delete = 9,
  DropIndex = 10,
  DropTable = 11,
  DropTrigger = 16,
  DropView = 17,
  Insert = 18,
  Pragma = 19,
  Read = 20,
  Select = 21,
  Transaction = 22,
  Update = 23,
  AlterTable = 26,
  Reindex = 27,
  Analyze = 28,
  CreateVirtualTable = 29,
  DropVirtualTable = 30,
  Function = 31,
  Savepoint = 32,
  Recursive = 33,
}

/** Tables of the project itself: functions neither see nor change them. */
export const RESERVED_PREFIX = '_edge_';
const RESERVED_NAME = new RegExp(RESERVED_PREFIX, 'i');
/** Modules of virtual tables that may be made. */
export const MODULES: ReadonlySet<string> = new Set(['fts5', 'fts5vocab']);
/** Tables that SQLite itself brings along: of those whose names are reserved for it, these are data. Others show the inside of the file or of the process. */
const SYSTEM_TABLES = /^sqlite_(?:schema|master|temp_schema|temp_master|sequence|stat[1-4]|autoindex_.*)$/;
const DENIED_TABLES: ReadonlySet<string> = new Set([
  'dbstat',
  'bytecode',
  'tables_used',
  'completion',
  'fsdir',
  'lsdir',
]);
/** The pragmas that may be read, without a value. */
const READ_PRAGMAS: ReadonlySet<string> = new Set([
  'data_version',
  'page_size',
  'page_count',
  'freelist_count',
  'function_list',
  // Read by the engine itself, too.
  'schema_version',
  'optimize',
]);
/** The pragmas whose value names their subject, such as a table. */
const LISTING_PRAGMAS: ReadonlySet<string> = new Set([
  'foreign_key_check',
  'foreign_key_list',
  'index_info',
  'index_list',
  'index_xinfo',
  'table_info',
  'table_xinfo',
  'table_list',
  'quick_check',
]);
/** Settings of the connection: they last for the call. */
const SETTING_PRAGMAS: ReadonlySet<string> = new Set([
  'case_sensitive_like',
  'defer_foreign_keys',
  'ignore_check_constraints',
  'legacy_alter_table',
  'recursive_triggers',
  'reverse_unordered_selects',
]);

export class Authorizer {
  /** Statements of the engine itself are being compiled. */
  isTrusted = false;
  /** The job is one of the project itself, and may use reserved tables. */
  isInternal = false;
  /** A statement that was compiled since this was reset changes the database. */
  writes = false;
  /** One that was compiled since then changes it in another way than by inserting rows into a table, without triggers. */
  isMoreThanInsert = false;
  /** One that was compiled since then changes the schema, or depends on what else is in its transaction. */
  needsOwnTransaction = false;
  /** One that was compiled since then gives a table another name, or may. */
  alters = false;
  /** A statement that was compiled has changed a setting of the connection. */
  hasSettings = false;
  /** Grows with each statement that SQLite compiles, also when it compiles one again because the schema has changed. */
  decisions = 0;
  /** Why the last statement was refused, where SQLite's text says too little. */
  reason: string | undefined;

  readonly callback = (
    action: number,
    first: string | null,
    second: string | null,
    database: string | null,
    trigger: string | null,
  ): number => {
    this.decisions++;
    if (this.isTrusted) return OK;
    // SQLite does not report a name such as temp.a as temporary.
    if (database === 'temp' && !isOfRenaming(action, first ?? '')) return DENY;
    if (trigger !== null) this.isMoreThanInsert = true;
    return this.#decide(action, first ?? '', second);
  };

  /** Before a statement is compiled. */
  reset(): void {
    this.writes = false;
    this.isMoreThanInsert = false;
    this.needsOwnTransaction = false;
    this.alters = false;
    this.reason = undefined;
  }

  /** SQLite does not ask for the new name of a table. */
  isRefusedText(sql: string): boolean {
    return this.alters && !this.isInternal && RESERVED_NAME.test(sql);
  }

  #decide(action: number, first: string, second: string | null): number {
    switch (action) {
      case Action.Select:
      case Action.Recursive:
        return OK;
      case Action.Read:
        return this.#table(first);
      case Action.Function:
        return isAllowedFunction((second ?? '').toLowerCase()) ? OK : DENY;
      case Action.Pragma:
        return this.#pragma(first.toLowerCase(), second);
      case Action.Insert:
        this.writes = true;
        return this.#table(first);
      case Action.Update:
      case Action.Delete:
        this.#writesMore();
        return this.#table(first);
      case Action.CreateTable:
      case Action.DropTable:
      case Action.CreateView:
      case Action.DropView:
      case Action.Reindex:
      case Action.Analyze:
        this.#changesSchema();
        return this.#table(first);
      case Action.AlterTable:
        this.alters = true;
        this.#changesSchema();
        return this.#table(first) === OK ? this.#table(second ?? '') : DENY;
      case Action.CreateIndex:
      case Action.DropIndex:
      case Action.CreateTrigger:
      case Action.DropTrigger:
        this.#changesSchema();
        return this.#table(first) === OK ? this.#table(second ?? '') : DENY;
      case Action.CreateVirtualTable:
      case Action.DropVirtualTable:
        this.#changesSchema();
        return MODULES.has((second ?? '').toLowerCase()) ? this.#table(first) : DENY;
      case Action.Transaction:
      case Action.Savepoint:
        this.reason = TRANSACTION_TEXT;
        return DENY;
      default:
        // ATTACH, DETACH, temporary objects, and any action that a later release adds.
        return DENY;
    }
  }

  #writesMore(): void {
    this.writes = true;
    this.isMoreThanInsert = true;
  }

  #changesSchema(): void {
    this.#writesMore();
    this.needsOwnTransaction = true;
  }

  #table(name: string): number {
    if (this.isInternal) return OK;
    const lower = name.toLowerCase();
    if (lower.startsWith(RESERVED_PREFIX) || DENIED_TABLES.has(lower)) return DENY;
    return !lower.startsWith('sqlite_') || SYSTEM_TABLES.test(lower) ? OK : DENY;
  }

  #pragma(name: string, value: string | null): number {
    this.needsOwnTransaction = true;
    if (LISTING_PRAGMAS.has(name)) return OK;
    if (name === 'optimize') this.#writesMore();
    if (READ_PRAGMAS.has(name)) return value === null ? OK : DENY;
    // It is on, and stays so.
    if (name === 'foreign_keys') return value === null ? OK : IGNORE;
    if (!SETTING_PRAGMAS.has(name)) return DENY;
    if (value !== null) this.hasSettings = true;
    return OK;
  }
}

/** SQLite itself looks for triggers of a table that gets another name. It lets no statement write there. */
function isOfRenaming(action: number, table: string): boolean {
  return (action === Action.Read || action === Action.Update) && /^sqlite_temp_(?:schema|master)$/i.test(table);
}

export const TRANSACTION_TEXT =
  'To execute a transaction, please use batch() instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements: its statements run in one transaction';
