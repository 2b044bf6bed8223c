/** SQLite called directly in a thread of its own: the floor of the SQL databases. Each message is a number of calls, answered when they are done. */
import { parentPort, workerData } from 'node:worker_threads';
import { loadSqlite } from '../../src/sqlite/engine/sqlite.js';

const { DatabaseSync } = await loadSqlite();
const database = new DatabaseSync(String(workerData), {});
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT)');
const insert = database.prepare('INSERT INTO a (t) VALUES (?)');
const select = database.prepare('SELECT id, t FROM a WHERE id = ?');
for (let row = 0; row < 1000; row++) insert.run('x'.repeat(100));
let serial = 0;

parentPort?.on('message', (action: 'read' | 'insert' | 'batch') => {
  if (action === 'read') select.all((++serial % 1000) + 1);
  else if (action === 'insert') insert.run('x'.repeat(100));
  else {
    database.exec('BEGIN');
    for (let row = 0; row < 100; row++) insert.run('x'.repeat(100));
    database.exec('COMMIT');
  }
  parentPort?.postMessage(0);
});
