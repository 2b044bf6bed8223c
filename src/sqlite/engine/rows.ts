/** The rows of statements as JSON. */
import { SQL_LIMITS } from '../limits.js';
import type { SqliteStatement } from './sqlite.js';

/** The rows of a call have more bytes than it may return. */
export class ResultTooLarge extends Error {
  constructor() {
    super(`the result is larger than ${SQL_LIMITS.resultBytes} bytes: SQLITE_TOOBIG`);
  }
}

/** The statement gives rows as arrays. */
export function arrays(statement: SqliteStatement): SqliteStatement {
  statement.setReturnArrays(true);
  return statement;
}

/** The names of its columns as JSON, without the brackets around all of them. */
export function namesOf(statement: SqliteStatement): string {
  return statement
    .columns()
    .map(({ name }) => JSON.stringify(name))
    .join();
}

/** The rows as JSON. */
export function rowsText(rows: Iterable<unknown>, room: number): string {
  let text = '';
  for (const row of rows) {
    text += text === '' ? rowText(row) : `,${rowText(row)}`;
    if (text.length > room) throw new ResultTooLarge();
  }
  return text;
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

export function numberIn(row: unknown, at: number): number {
  const value: unknown = Array.isArray(row) ? row[at] : 0;
  return typeof value === 'bigint' || typeof value === 'number' ? Number(value) : 0;
}
