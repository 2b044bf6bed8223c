/** Inserts rows one by one into a database, and prints the number of each that was acknowledged: `node write-until-killed.js DIR FIRST`. */
import process from 'node:process';
import { EdgeHost } from '../../../../src/index.js';

const [, , directory = '', first = '0'] = process.argv;
const host = new EdgeHost({ storage: directory, spareIsolates: 0, warmCells: 0 });
const database = host.sql('main');
await database.exec('CREATE TABLE IF NOT EXISTS a (n INTEGER PRIMARY KEY, t TEXT)');
for (let n = Number(first); ; n += 3) {
  const insert = (value: number): Promise<unknown> =>
    database.prepare('INSERT INTO a VALUES (?, ?)').bind(value, 'x'.repeat(500)).run();
  await Promise.all([insert(n), insert(n + 1), insert(n + 2)]);
  process.stdout.write(`${n + 2}\n`);
}
