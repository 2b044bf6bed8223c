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

export interface SqliteLibrary {
  readonly DatabaseSync: new (
    path: string,
    options: {
      readOnly?: boolean;
      enableForeignKeyConstraints?: boolean;
      enableDoubleQuotedStringLiterals?: boolean;
      allowExtension?: boolean;
      timeout?: number;
    },
  ) => SqliteDatabase;
}

/** The package, which is not a dependency: only who binds SQL databases needs it, and only on releases of Node without a complete SQLite. */
export const SQLITE_PACKAGE = '@photostructure/sqlite';
const BUILT_IN = 'node:sqlite';
const NEEDED = ['setAuthorizer', 'enableDefensive', 'limits'];

/** Rejects when there is neither. */
export async function loadSqlite(): Promise<SqliteLibrary> {
  const builtIn = await importLibrary(BUILT_IN);
  if (builtIn !== undefined && NEEDED.every(name => name in builtIn.DatabaseSync.prototype)) return builtIn;
  const library = await importLibrary(SQLITE_PACKAGE);
  if (library !== undefined) return library;
  throw new Error(`${BUILT_IN} is not complete here, and the package ${SQLITE_PACKAGE} is not installed`);
}

async function importLibrary(name: string): Promise<SqliteLibrary | undefined> {
  try {
    return (await import(name)) as SqliteLibrary; // both have this interface
  } catch {
    return undefined;
  }
}
