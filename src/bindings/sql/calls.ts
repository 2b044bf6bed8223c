/**
 * The messages between the client of a database and its service. The statements of a call are its body, JSON in UTF-8, which the host hands on as it
 * is: it is read where the statements run, and nothing of it is trusted there.
 */

/** A value of a statement: numbers are finite; `h` is a BLOB in hexadecimal digits. */
export type WireParameter = null | number | string | { readonly h: string };

/** The body of `query`: the statements with their values. */
export type WireQueries = readonly (readonly [sql: string, ...values: WireParameter[]])[];

/** The arguments of `query` and `exec`. */
export interface WireQueryArguments {
  /** The number of statements in the body. */
  readonly n: number;
  /** The statements seem to change nothing. They are run where they can if they do. */
  readonly r?: true;
}

/** The result of one statement. BLOBs are arrays of numbers. */
export interface WireResult {
  /** The names of the columns. */
  readonly c: readonly string[];
  readonly r: readonly (readonly unknown[])[];
  readonly m: WireMeta;
}

export interface WireMeta {
  /** Milliseconds. */
  readonly duration: number;
  readonly changes: number;
  readonly last_row_id: number;
  readonly changed_db: boolean;
  readonly size_after: number;
  readonly rows_read: number;
  readonly rows_written: number;
}

/** The JSON of an answer: the results of `query`, what `exec` did, or why it failed. */
export type WireAnswer = readonly WireResult[] | WireExecuted | WireFailure;

export interface WireExecuted {
  readonly count: number;
  readonly duration: number;
}

export interface WireFailure {
  /** The text without prefix: `no such table: a: SQLITE_ERROR`. */
  readonly e: string;
}

/** The head of an answer: its JSON where it is short, and the bookmark. A long one follows as the body. */
export interface WireReply {
  readonly t?: string;
  /** The bytes of the body. */
  readonly s?: number;
  readonly b: string;
}

/** The configuration of the client in a function: nothing. */
export type GuestSqlConfig = null;
