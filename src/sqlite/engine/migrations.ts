/** Migrations: texts of SQL with names, each applied once. The database itself records the applied ones. */
import type { DatabaseConnection } from './connection.js';
import { splitStatements } from './statements.js';

const TABLE = '_edge_migrations';
const ROOM = 256 * 1024;

/** @param text the name of the migration, a newline, and its SQL */
export function migrate(connection: DatabaseConnection, text: string): string {
  const nameEnd = text.indexOf('\n');
  const name = text.slice(0, nameEnd);
  const sql = text.slice(nameEnd + 1);
  connection.trusted(
    `BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS ${TABLE} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, applied_at TEXT NOT NULL)`,
  );
  const isApplied = connection.trustedRows(`SELECT 1 FROM ${TABLE} WHERE name = ?`, name).length > 0;
  if (!isApplied) {
    const statements = splitStatements(sql);
    if (statements.length === 0) throw new Error('No SQL statements detected.');
    for (const statement of statements) connection.run(statement.text, [], ROOM);
    connection
      .trustedStatement(`INSERT INTO ${TABLE} (name, applied_at) VALUES (?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`)
      .run(name);
  }
  connection.trusted('COMMIT');
  return JSON.stringify({ applied: !isApplied });
}

/** In the order in which they were applied. */
export function appliedMigrations(connection: DatabaseConnection): string {
  const exists =
    connection.trustedRows(`SELECT 1 FROM sqlite_schema WHERE name = '${TABLE}' AND type = 'table'`).length > 0;
  if (!exists) return '[]';
  const rows = connection.trustedRows(`SELECT name, applied_at FROM ${TABLE} ORDER BY id`);
  return JSON.stringify(rows.map(row => (Array.isArray(row) ? { name: row[0], appliedAt: row[1] } : {})));
}
