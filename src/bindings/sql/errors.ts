import { NumericError } from '../numeric-code.js';

/** The numeric error codes of SQL databases, with their meaning and their HTTP status. A code never changes its meaning. */
export const SQL_ERRORS = {
  30001: { status: 400, text: 'an argument is not valid' },
  30002: { status: 404, text: 'the database does not exist' },
  30003: { status: 409, text: 'the database exists already' },
  30004: { status: 503, text: 'too many calls of the database wait, or too many take long' },
  30005: { status: 504, text: 'the call took too long' },
  30006: { status: 413, text: 'the call needed too much memory' },
  30007: { status: 503, text: 'the call was lost, and may have been carried out or not' },
  30008: { status: 400, text: 'SQLite refused a statement' },
} as const;

export type SqlErrorCode = keyof typeof SQL_ERRORS;

/** An error of a database that SQLite has no part in: an `Error` with the message `D1_ERROR: ...`. Decide by `code`. */
export class SqlError extends NumericError<SqlErrorCode> {
  constructor(code: SqlErrorCode, message: string) {
    super(code, `D1_ERROR: ${message}`);
  }
}
