/** Opens the file of a database: its settings, and the limits of every statement. */
import { isAbsolute } from 'node:path';
import { SQL_LIMITS } from '../limits.js';
import type { SqliteDatabase, SqliteLibrary } from './sqlite.js';

export type ConnectionMode = 'read' | 'write';

export const PAGE_BYTES = 4096;
/** How long a statement waits for the lock of another connection. */
export const BUSY_MS = 10_000;
const CACHE_KIB = 8 * 1024;
const LOG_BYTES = 4 * 1024 * 1024;
/** A row of the largest size as SQL, which is up to six times as long. */
export const LONG_TEXT_BYTES = 8 * SQL_LIMITS.valueBytes;

export function openFile(
  DatabaseSync: SqliteLibrary['DatabaseSync'],
  path: string,
  mode: ConnectionMode,
): SqliteDatabase {
  // A relative one would be of whichever folder the process is in; a URI would be whatever it says.
  if (!isAbsolute(path)) throw new Error(`the path of the database is not absolute: ${path.slice(0, 100)}`);
  const database = new DatabaseSync(path, {
    readOnly: mode === 'read',
    enableForeignKeyConstraints: true,
    // The hosted platform does the same: "text" that names no column is text.
    enableDoubleQuotedStringLiterals: true,
    allowExtension: false,
    timeout: BUSY_MS,
  });
  if (mode === 'write') database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL`);
  // Acknowledged writes are on the disk. Sorting stays in memory, where it has a bound.
  database.exec(
    `PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0;
     PRAGMA journal_size_limit = ${LOG_BYTES}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA recursive_triggers = OFF`,
  );
  database.enableDefensive(true);
  setLimits(database);
  return database;
}

/** The most characters of an expression in the place of a parameter. */
const MAX_EXPRESSION = 24;

export function setLimits({ limits }: SqliteDatabase): void {
  limits.length = SQL_LIMITS.valueBytes;
  // The text of a call is checked before; text with U+0000 may take an expression for each parameter.
  limits.sqlLength = SQL_LIMITS.sqlBytes + SQL_LIMITS.parameters * MAX_EXPRESSION;
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
