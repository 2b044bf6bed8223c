/** The libraries of SQLite that the engine may use: the same values from each of them that is complete here, and why another one is refused. */
import { join } from 'node:path';
import test from 'ava';
import { DatabaseConnection } from '../../src/sqlite/engine/connection.js';
import { BUILT_IN, loadSqlite, SQLITE_PACKAGE, type SqliteValue } from '../../src/sqlite/engine/sqlite.js';
import { replaceParameters, splitStatements } from '../../src/sqlite/engine/statements.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';

const ROOM = 1024 * 1024;

for (const name of [BUILT_IN, SQLITE_PACKAGE]) {
  test(`${name}: values are the same in databases of every encoding`, async t => {
    const library = await loadSqlite([name]).catch((error: Error) => error.message);
    if (typeof library === 'string') {
      t.regex(library, name === BUILT_IN ? /not installed|it has no|it cuts text/ : /not installed/);
      t.log(library);
      return;
    }
    const directory = await temporaryDirectory(t);
    for (const encoding of ['UTF-8', 'UTF-16le', 'UTF-16be']) {
      const path = join(directory, `${encoding}.sqlite`);
      const made = new library.DatabaseSync(path, {});
      made.exec(`PRAGMA encoding = '${encoding}'; CREATE TABLE t (v, w)`);
      made.close();
      const connection = new DatabaseConnection(library, path, 'write');
      const rows = (sql: string, ...values: SqliteValue[]): unknown =>
        JSON.parse(`[${connection.run(sql, values, ROOM).rows}]`);
      rows('INSERT INTO t VALUES (?2, ?1)', 'whole', 'a\0\u00e4\ud800');
      t.deepEqual(rows('SELECT v, w, length(CAST(v AS BLOB)), typeof(v) FROM t'), [
        ['a\0\u00e4\ufffd', 'whole', encoding === 'UTF-8' ? 7 : 8, 'text'],
      ]);
      t.deepEqual(rows('SELECT w FROM t WHERE v = ?', 'a\0\u00e4\ufffd'), [['whole']]);
      t.deepEqual(rows('SELECT w FROM t WHERE v = ?', 'a'), []);
      t.deepEqual(rows('SELECT typeof(?), typeof(?), typeof(?)', 1, 1.5, 'x\0'), [['real', 'real', 'text']]);
      connection.close();
    }
  });
}

test('loadSqlite() says of each library why it cannot be used', async t => {
  await t.throwsAsync(loadSqlite(['node:no-such-module', 'node:path']), {
    message:
      'node:no-such-module cannot be used (it is not installed), and node:path cannot be used (it is not installed)',
  });
});

test('replaceParameters() keeps the numbers of those that stay', t => {
  const [statement] = splitStatements("  SELECT ?, '?', ?3, ? -- ?\n, ?1");
  t.is(
    replaceParameters(statement?.text ?? '', statement?.places ?? [], index => (index === 3 ? '(x)' : undefined)),
    "SELECT ?1, '?', (x), ?4 -- ?\n, ?1",
  );
});
