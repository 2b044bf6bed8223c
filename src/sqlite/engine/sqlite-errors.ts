/** The texts of SQLite's errors, as hosted platforms write them: `<text> at offset N: SQLITE_ERROR`. */

const NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  4: 'SQLITE_ABORT',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  17: 'SQLITE_SCHEMA',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  21: 'SQLITE_MISUSE',
  23: 'SQLITE_AUTH',
  25: 'SQLITE_RANGE',
  26: 'SQLITE_NOTADB',
};

/** Not every build of SQLite's binding gives the number of an error. */
const BY_TEXT: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/constraint failed|^cannot store |^FOREIGN KEY/, 'SQLITE_CONSTRAINT'],
  [/^database or disk is full/, 'SQLITE_FULL'],
  [/^out of memory/, 'SQLITE_NOMEM'],
  [/^attempt to write a readonly/, 'SQLITE_READONLY'],
  [/too big$|too long/, 'SQLITE_TOOBIG'],
  [/^datatype mismatch/, 'SQLITE_MISMATCH'],
  [/is locked$/, 'SQLITE_BUSY'],
  [/not authorized|prohibited/, 'SQLITE_AUTH'],
  // Not texts such as "malformed JSON", which are about a value.
  [/^database disk image is malformed|^malformed (?:database schema|inverted index)/, 'SQLITE_CORRUPT'],
];

/** Texts of the engine, which are whole. */
const WHOLE = /: SQLITE_[A-Z]+$|^Wrong number of |^When executing multiple |^No SQL statements/;

export function isFull(error: unknown): boolean {
  return error instanceof Error && nameOf(error) === 'SQLITE_FULL';
}

/** @param reason why it was refused, where that is known better */
export function sqliteText(error: unknown, sql: string, reason?: string): string {
  if (!(error instanceof Error)) return 'unknown error: SQLITE_ERROR';
  const { message } = error;
  if (WHOLE.test(message)) return message;
  const name = nameOf(error);
  if (name === 'SQLITE_AUTH') return `${reason ?? message}: SQLITE_AUTH`;
  if (name === 'SQLITE_FULL') return 'Exceeded maximum DB size: SQLITE_FULL';
  const offset = offsetOf(message, sql);
  return `${message}${offset === undefined ? '' : ` at offset ${offset}`}: ${name}`;
}

function nameOf(error: Error): string {
  const code: unknown = Reflect.get(error, 'errcode');
  if (typeof code === 'number') return NAMES[code & 0xff] ?? 'SQLITE_ERROR';
  return BY_TEXT.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'SQLITE_ERROR';
}

/** SQLite's binding does not say where the error is: it is known where the text that it quotes stands once. */
function offsetOf(message: string, sql: string): number | undefined {
  const found = /^near "(.+)": syntax error$/s.exec(message) ?? /^no such (?:column|function): (.+)$/s.exec(message);
  const quoted = found?.[1];
  if (quoted === undefined) return undefined;
  const at = sql.indexOf(quoted);
  if (at < 0 || sql.indexOf(quoted, at + 1) >= 0) return undefined;
  return Buffer.byteLength(sql.slice(0, at));
}
