/** Shows that an engine can work behind a wall: in the folder that its command line names it makes a database, as it does for customers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { DatabaseConnection } from './connection.js';
import { copyDatabase, dumpDatabase } from './maintenance.js';
import { WATCH_LIMITS } from './serving.js';
import { loadSqlite } from './sqlite.js';

const [, , library, folder = ''] = process.argv;

try {
  const connection = new DatabaseConnection(await loadSqlite(), join(folder, 'probe.sqlite'), 'write');
  connection.trusted('CREATE TABLE probe (a)');
  connection.run('INSERT INTO probe VALUES (?)', ['text'], 0);
  connection.trustedRows('PRAGMA wal_checkpoint(TRUNCATE)');
  copyDatabase(connection, join(folder, 'copy.sqlite'));
  dumpDatabase(connection, join(folder, 'dump.sql'));
  connection.close();
} catch (error) {
  // Without SQLite there is nothing to try out but the folder; the first call says that it is missing.
  if (library === 'installed') throw error;
  writeFileSync(join(folder, 'probe'), '');
}
new Worker('', { eval: true, resourceLimits: WATCH_LIMITS });
