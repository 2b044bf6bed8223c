/** Operations on a database as a whole: written as text, copied while it is in use, filled from a text. */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { MODULES } from './authorizer.js';
import type { DatabaseConnection } from './connection.js';
import { LONG_TEXT_BYTES } from './open-file.js';
import { eachStatement } from './statements.js';

const CHUNK = 256 * 1024;
const PIECE = 1024 * 1024;
const FILE_MODE = 0o600;

/** Writes the database as SQL into a new file: tables with their rows, then indexes, views and triggers. It is the state of one moment. */
export function dumpDatabase(connection: DatabaseConnection, path: string): string {
  const file = openSync(path, 'wx', FILE_MODE);
  let text = 'PRAGMA defer_foreign_keys=TRUE;\n';
  const write = (line: string): void => {
    text += line;
    if (text.length < CHUNK) return;
    writeSync(file, text);
    text = '';
  };
  connection.trusted('BEGIN');
  try {
    connection.withLongTexts(() => dumpObjects(connection, write));
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    connection.trusted('ROLLBACK');
    closeSync(file);
  }
  return '{}';
}

function dumpObjects(connection: DatabaseConnection, write: (line: string) => void): void {
  const objects = connection
    .trustedRows(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
    )
    .map(asTexts);
  const virtual = objects.filter(([, , , sql]) => /^create\s+virtual\s+table/i.test(sql));
  for (const [type, name, , sql] of objects) {
    if (type !== 'table' || isShadow(name, virtual) || virtual.some(([, other]) => other === name)) continue;
    write(`${sql};\n`);
    dumpRows(connection, name, write);
  }
  for (const [, name, , sql] of virtual) {
    write(`${sql};\n`);
    dumpRows(connection, name, write);
  }
  dumpSequence(connection, write);
  for (const [type, , , sql] of objects) if (type !== 'table') write(`${sql};\n`);
}

/** Writes a copy of the file, while others write to the database. */
export function copyDatabase(connection: DatabaseConnection, path: string): string {
  connection.attaching(() => connection.trusted(`VACUUM INTO '${path.replaceAll("'", "''")}'`));
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return '{}';
}

/** Checks a file from elsewhere. @returns JSON: "ok", or its defect */
export function checkDatabase(connection: DatabaseConnection): string {
  const found = connection.trustedRows('PRAGMA quick_check(1)')[0];
  const text = Array.isArray(found) ? `${found[0]}` : 'nothing';
  if (text !== 'ok') return JSON.stringify(text);
  // SQLite does not ask the authorizer about objects that a schema already has. A module may show, or reach, more than the database.
  for (const row of connection.trustedRows(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0",
  )) {
    const [name, sql]: unknown[] = Array.isArray(row) ? row : [];
    const module = /\busing\s+["'`[]?(\w+)/i.exec(`${sql}`)?.[1] ?? '';
    if (!MODULES.has(module.toLowerCase()))
      return JSON.stringify(`the virtual table ${name} is of the module ${module}`);
  }
  return '"ok"';
}

/** Checks the indexes, too, which takes longer. @returns JSON: "ok", or the damage */
export function verifyDatabase(connection: DatabaseConnection): string {
  const found = connection.trustedRows('PRAGMA integrity_check(1)')[0];
  return JSON.stringify(Array.isArray(found) ? `${found[0]}` : 'nothing');
}

/** Runs the statements of a file, in one transaction, as a function could run them: a dump, for example. */
export function importText(connection: DatabaseConnection, path: string): string {
  let count = 0;
  connection.trusted('BEGIN IMMEDIATE; PRAGMA defer_foreign_keys = ON');
  connection.withLongTexts(() => {
    for (const statement of eachStatement(piecesOf(path), LONG_TEXT_BYTES)) {
      const { words } = statement;
      const text = Buffer.from(statement.text, 'latin1').toString();
      // A dump of SQLite's own shell is one transaction, too.
      if (words[0] !== undefined && IN_TRANSACTION.has(words[0]) && words.length <= 2) continue;
      if (/^pragma\s+foreign_keys\s*=/i.test(text)) continue;
      connection.execute({ ...statement, text });
      count++;
    }
  });
  connection.trusted('COMMIT');
  return JSON.stringify({ count });
}

/** The bytes of a file, each as a character: what begins with one piece may end with the next, and SQLite tells tokens apart by bytes, too. */
function* piecesOf(path: string): Generator<string> {
  const file = openSync(path, 'r');
  const piece = Buffer.allocUnsafe(PIECE);
  try {
    for (let length = readSync(file, piece); length > 0; length = readSync(file, piece)) {
      yield piece.toString('latin1', 0, length);
    }
  } finally {
    closeSync(file);
  }
}

const IN_TRANSACTION: ReadonlySet<string> = new Set(['BEGIN', 'COMMIT', 'END']);

type Texts = readonly [type: string, name: string, table: string, sql: string];

function asTexts(row: unknown): Texts {
  const [type, name, table, sql]: unknown[] = Array.isArray(row) ? row : [];
  return [`${type}`, `${name}`, `${table}`, `${sql}`];
}

/** FTS5 keeps its index in tables of its own, which are made with it. */
function isShadow(name: string, virtual: readonly Texts[]): boolean {
  return virtual.some(([, table]) => name.startsWith(`${table}_`) && SHADOWS.has(name.slice(table.length + 1)));
}

const SHADOWS: ReadonlySet<string> = new Set(['data', 'idx', 'content', 'docsize', 'config']);

function dumpRows(connection: DatabaseConnection, table: string, write: (line: string) => void): void {
  const name = quoted(table);
  const columns = connection
    .trustedRows('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid', table)
    .map(row => (Array.isArray(row) ? `${row[0]}` : ''));
  if (columns.length === 0) return;
  const list = columns.map(quoted).join(', ');
  const select = connection.trustedStatement(`SELECT ${columns.map(literalOf).join(', ')} FROM ${name}`);
  select.setReturnArrays(true);
  for (const row of select.iterate()) {
    if (Array.isArray(row)) write(`INSERT INTO ${name} (${list}) VALUES (${row.map(withNul).join(', ')});\n`);
  }
}

/** An expression that gives the value as SQL has it. Text with U+0000, which quote() would cut, comes as it is behind such a character. */
function literalOf(column: string): string {
  const value = quoted(column);
  return `CASE WHEN typeof(${value}) = 'text' AND instr(${value}, char(0)) > 0 THEN char(0) || ${value} ELSE quote(${value}) END`;
}

/** Text with U+0000 as SQL: in JSON, which can be read by every database whatever its encoding. */
function withNul(literal: unknown): string {
  const text = `${literal}`;
  if (!text.startsWith('\0')) return text;
  return `json_extract('${JSON.stringify([text.slice(1)]).replaceAll("'", "''")}', '$[0]')`;
}

/** Ids that AUTOINCREMENT has given are not given again. */
function dumpSequence(connection: DatabaseConnection, write: (line: string) => void): void {
  const has = connection.trustedRows("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'");
  if (has.length === 0) return;
  write('DELETE FROM sqlite_sequence;\n');
  for (const row of connection.trustedRows('SELECT quote(name), quote(seq) FROM sqlite_sequence')) {
    if (Array.isArray(row)) write(`INSERT INTO sqlite_sequence (name, seq) VALUES (${row.join(', ')});\n`);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
