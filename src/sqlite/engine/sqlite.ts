/** SQLite as the engine uses it: Node's own where it is complete, else the package @photostructure/sqlite, which has the same interface. */

export type SqliteValue = null | number | bigint | string | Uint8Array;

export interface SqliteStatement {
  run(...values: SqliteValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  all(...values: SqliteValue[]): unknown[];
  get(...values: SqliteValue[]): unknown;
  iterate(...values: SqliteValue[]): IterableIterator<unknown>;
  setReadBigInts(enabled: boolean): void;
  setReturnArrays(enabled: boolean): void;
  columns(): readonly { readonly name: string }[];
  /** Gives its memory back at once. Absent where the garbage collector does so; the package's waits for the end of the job, which may have made many. */
  [Symbol.dispose]?(): void;
}

export interface SqliteDatabase {
  readonly isTransaction: boolean;
  readonly limits: SqliteLimits;
  close(): void;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): void;
  enableDefensive(active: boolean): void;
  setAuthorizer(
    callback:
      | ((
          action: number,
          first: string | null,
          second: string | null,
          database: string | null,
          trigger: string | null,
        ) => number)
      | null,
  ): void;
}

export interface SqliteLimits {
  length: number;
  sqlLength: number;
  column: number;
  exprDepth: number;
  compoundSelect: number;
  vdbeOp: number;
  functionArg: number;
  attach: number;
  likePatternLength: number;
  variableNumber: number;
  triggerDepth: number;
}

export type OpenSqlite = new (
  path: string,
  options: {
    readOnly?: boolean;
    enableForeignKeyConstraints?: boolean;
    enableDoubleQuotedStringLiterals?: boolean;
    allowExtension?: boolean;
    timeout?: number;
  },
) => SqliteDatabase;

export interface SqliteLibrary {
  readonly DatabaseSync: OpenSqlite;
  /** Whether text that is bound is stored whole. Otherwise it ends at its first U+0000, and the connection binds such text in another way. */
  readonly bindsWholeText: boolean;
}

/** The package, which is not a dependency: only applications that bind SQL databases need it, and only on releases of Node without a complete SQLite. */
export const SQLITE_PACKAGE = '@photostructure/sqlite';
export const BUILT_IN = 'node:sqlite';

/** Rejects when neither library can be used; the message says why for each of them. */
export async function loadSqlite(names: readonly string[] = [BUILT_IN, SQLITE_PACKAGE]): Promise<SqliteLibrary> {
  const reasons: string[] = [];
  for (const name of names) {
    const DatabaseSync = await importDatabase(name);
    const checked = DatabaseSync === undefined ? 'it is not installed' : checkedLibrary(DatabaseSync);
    if (typeof checked !== 'string') return checked;
    reasons.push(`${name} cannot be used (${checked})`);
  }
  throw new Error(reasons.join(', and '));
}

async function importDatabase(name: string): Promise<OpenSqlite | undefined> {
  try {
    const { DatabaseSync } = await import(name);
    return DatabaseSync; // checked below by what it can do
  } catch {
    return undefined;
  }
}

/** Missing features are found by trying them out: releases of both libraries differ, also in where they keep `limits`. */
function checkedLibrary(DatabaseSync: OpenSqlite): SqliteLibrary | string {
  try {
    const database = new DatabaseSync(':memory:', {});
    try {
      for (const name of ['setAuthorizer', 'enableDefensive'] as const)
        if (typeof database[name] !== 'function') return `it has no ${name}()`;
      if (typeof database.limits !== 'object') return 'it has no limits';
      const read = firstRow(database, "SELECT 'a' || char(0) || 'b'");
      if (read[0] !== 'a\0b') return 'it cuts text at U+0000 when it is read';
      if (firstRow(database, 'SELECT typeof(?)', 1)[0] !== 'real') return 'it binds whole numbers as integers';
      return { DatabaseSync, bindsWholeText: Number(firstRow(database, 'SELECT octet_length(?)', 'a\0b')[0]) === 3 };
    } finally {
      database.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : 'it does not start';
  }
}

function firstRow(database: SqliteDatabase, sql: string, ...values: SqliteValue[]): readonly unknown[] {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const row: unknown = statement.get(...values);
  return Array.isArray(row) ? row : [];
}
