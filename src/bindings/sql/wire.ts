/**
 * The messages between the client of a database and its service. The statements of a call are its body, JSON in UTF-8, which the host hands on as it
 * is: it is read where the statements run, and nothing of it is trusted there.
 */
import { SAME_SQL } from '../../sqlite/same-sql.js';

/** A value of a statement: numbers are finite; `h` is a BLOB in hexadecimal digits. */
export type WireParameter = null | number | string | { readonly h: string };

export { SAME_SQL };

/** The body of `query`: the statements with their values. */
export type WireQueries = readonly (readonly [sql: string | typeof SAME_SQL, ...values: WireParameter[]])[];

/** The arguments of `query` and `exec`. */
export interface WireQueryArguments {
  /** The number of statements in the body. */
  readonly n: number;
  /** The statements seem to change nothing. They are run where they can if they do. */
  readonly r?: true;
  /** The answer is to have a bookmark. */
  readonly s?: true;
}

/** The result of one statement: the fields after the duration belong to a statement that writes. BLOBs are arrays of numbers. */
export type WireResult = readonly [
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  milliseconds: number,
  changes?: number,
  lastRowId?: number,
  hasChanged?: boolean,
];

/** The size of the database in bytes when the call has ended, and a result for each statement. */
export type WireResults = readonly [size: number, results: readonly WireResult[]];

/** The JSON of an answer: the results of `query`, what `exec` did, or why it failed. */
export type WireAnswer = WireResults | WireExecuted | WireFailure;

export interface WireExecuted {
  readonly count: number;
  readonly duration: number;
}

export interface WireFailure {
  /** The text without prefix: `no such table: a: SQLITE_ERROR`. */
  readonly e: string;
}

/** The head of an answer: the answer itself where it is short, and the bookmark where one was asked for. A long one follows as the body. */
export interface WireReply {
  readonly a?: WireAnswer;
  /** The bytes of the body. */
  readonly s?: number;
  readonly b?: string;
}
