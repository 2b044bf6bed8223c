/** SQL databases, as functions and the application have them: `env.DB` and `host.sql('main')`. */

/** A value that can be bound to a statement. Booleans become 1 and 0; bytes become a BLOB. */
export type SqlValue = null | number | string | boolean | ArrayBuffer | ArrayBufferView | readonly number[];

/** The effect of a statement. */
export interface SqlMeta {
  /** In SQLite, in milliseconds. */
  readonly duration: number;
  /** Rows that were inserted, changed or deleted, also by triggers. */
  readonly changes: number;
  /** The id of the row that was inserted last. */
  readonly last_row_id: number;
  /** The statement has changed rows or the schema. */
  readonly changed_db: boolean;
  /** The size of the database afterwards, in bytes. */
  readonly size_after: number;
  /** Rows that were returned: SQLite does not tell how many it has looked at. */
  readonly rows_read: number;
  /** As `changes`: entries of indexes are not counted. */
  readonly rows_written: number;
  readonly served_by: string;
  readonly served_by_primary: boolean;
  readonly timings: { readonly sql_duration_ms: number };
  readonly total_attempts: number;
}

export interface SqlResult<Row = Record<string, unknown>> {
  readonly success: true;
  /** A row is an object with a property for each column; of columns with the same name it has the last. BLOBs are arrays of numbers. */
  readonly results: Row[];
  readonly meta: SqlMeta;
}

export interface SqlExecResult {
  /** The lines that were run. */
  readonly count: number;
  /** In milliseconds. */
  readonly duration: number;
}

/** A statement with its values. It is immutable and can be run any number of times. */
export interface SqlStatement {
  /** The same statement with these values for `?`, in order, or for `?1`, `?2`. @throws Error D1_TYPE_ERROR for a value that cannot be bound */
  bind(...values: readonly SqlValue[]): SqlStatement;
  /** The first row, or the value of one of its columns; null when the result has no rows. Rejects with D1_COLUMN_NOTFOUND. */
  first<Value = unknown>(column: string): Promise<Value | null>;
  first<Row = Record<string, unknown>>(): Promise<Row | null>;
  all<Row = Record<string, unknown>>(): Promise<SqlResult<Row>>;
  /** The same as `all`. */
  run<Row = Record<string, unknown>>(): Promise<SqlResult<Row>>;
  /** Rows as arrays, in the order of the columns. */
  raw<Row = unknown[]>(options: { readonly columnNames: true }): Promise<[string[], ...Row[]]>;
  raw<Row = unknown[]>(options?: { readonly columnNames?: false }): Promise<Row[]>;
}

export interface SqlSession {
  prepare(sql: string): SqlStatement;
  batch<Row = Record<string, unknown>>(statements: readonly SqlStatement[]): Promise<SqlResult<Row>[]>;
  /** The place up to which the session has seen writes; null before its first query. A session that begins with it has seen them too. */
  getBookmark(): string | null;
}

export interface SqlDatabase {
  /** Nothing is checked before the statement runs. */
  prepare(sql: string): SqlStatement;
  /** Runs the statements in order in one transaction: all of them, or none when one fails. */
  batch<Row = Record<string, unknown>>(statements: readonly SqlStatement[]): Promise<SqlResult<Row>[]>;
  /** Runs each line, without values, in one transaction. Rejects with D1_EXEC_ERROR. */
  exec(sql: string): Promise<SqlExecResult>;
  /** @param constraint 'first-primary', 'first-unconstrained' or the bookmark of another session. @default 'first-unconstrained' */
  withSession(constraint?: string): SqlSession;
  /** Always rejects with D1_DUMP_ERROR: the host exports databases. */
  dump(): Promise<ArrayBuffer>;
}
