/** Exports, backups, imports and restores while a database is in use, and files that come from elsewhere. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { DatabaseConnection } from '../../../src/sqlite/engine/connection.js';
import { loadSqlite } from '../../../src/sqlite/engine/sqlite.js';
import { SQL_LIMITS } from '../../../src/sqlite/limits.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { newHost } from '../new-host.js';

test('a backup is of one moment while others write, and a restore is while they read', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const database = host.sql('main');
  await database.exec('CREATE TABLE a (x); CREATE TABLE b (x)');
  let isOver = false;
  let lost = 0;
  const work = async (): Promise<void> => {
    const both = [database.prepare('INSERT INTO a VALUES (1)'), database.prepare('INSERT INTO b VALUES (1)')];
    while (!isOver) {
      try {
        await database.batch(both);
        await database.prepare('SELECT count(*) FROM a').all();
      } catch (error) {
        t.is(Reflect.get(error as object, 'code'), 30007);
        lost++;
      }
    }
  };
  const workers = [work(), work(), work()];
  for (let round = 0; round < 4; round++) {
    const backup = new Uint8Array(await new Response(await database.backup()).arrayBuffer());
    await database.restore(backup);
    const [[a] = [], [b] = []] = await database
      .prepare('SELECT count(*) FROM a UNION ALL SELECT count(*) FROM b')
      .raw<[number]>();
    t.is(a, b);
  }
  isOver = true;
  await Promise.all(workers);
  t.true(lost <= 4 * workers.length);
  t.deepEqual(await database.prepare('PRAGMA quick_check').raw(), [['ok']]);
});

test('an account has few copies under way at once, and their files are gone with them', async t => {
  const directory = await temporaryDirectory(t);
  const host = newHost(t, { isolation: 'thread', storage: directory });
  const database = host.sql('main');
  await database.exec('CREATE TABLE a (x)');
  for (let at = 0; at < 4; at++) await database.exec('INSERT INTO a VALUES (randomblob(500000))');
  const readers = await Promise.all(
    Array.from({ length: SQL_LIMITS.wholeFiles }, async () => (await database.backup()).getReader()),
  );
  for (const reader of readers) await reader.read();
  await t.throwsAsync(new Response(await database.export()).text(), { code: 30004 });
  for (const reader of readers) await reader.cancel();
  t.regex(await new Response(await database.export()).text(), /CREATE TABLE a/);
  t.deepEqual(
    (await readdir(join(directory, 'sql'), { recursive: true })).filter(name => name.includes('tmp.')),
    [],
  );
});

test('a file with large pages, or with modules that may not be made, gets no further than its account may', async t => {
  const library = await loadSqlite();
  const directory = await temporaryDirectory(t);
  const fileOf = async (name: string, sql: string): Promise<Uint8Array> => {
    const path = join(directory, name);
    const made = new library.DatabaseSync(path, {});
    made.exec(sql);
    made.close();
    return new Uint8Array(await readFile(path));
  };
  const host = newHost(t, { isolation: 'thread' });
  const acme = host.account('acme', { limits: { sqlDatabaseBytes: 1_000_000 } }).sql('main');
  await acme.exec('SELECT 1');
  await acme.restore(await fileOf('pages', 'PRAGMA page_size = 65536; CREATE TABLE a (x)'));
  await t.throwsAsync(
    async () => {
      for (let at = 0; at < 40; at++) await acme.exec('INSERT INTO a VALUES (randomblob(60000))');
    },
    { code: 'EDGE_LIMIT_EXCEEDED' },
  );
  t.true((await acme.prepare('SELECT 1').all()).meta.size_after <= 1_000_000);
  await t.throwsAsync(acme.restore(await fileOf('module', 'CREATE VIRTUAL TABLE v USING rtree(a, b, c)')), {
    code: 30001,
    message: /of the module rtree/,
  });
  t.throws(() => new DatabaseConnection(library, 'x', 'write'), { message: /not absolute/ });
});

test('an import of many statements is one transaction, whose statements do not stay in memory', async t => {
  const database = newHost(t, { isolation: 'thread' }).sql('main');
  await database.exec('CREATE TABLE a (x, y)');
  // With all of them the engine would have more memory than it may.
  const lines = Array.from({ length: 150_000 }, (_, at) => `INSERT INTO a VALUES (${at}, 'row \u2603 ${at}');`);
  await t.throwsAsync(database.import(`${lines.join('\n')}\nSELEC;`), { code: 30008 });
  t.is(await database.prepare('SELECT count(*) AS n FROM a').first('n'), 0);
  t.is(await database.import(lines.join('\n')), lines.length);
  t.is(await database.prepare('SELECT count(*) AS n FROM a').first('n'), lines.length);
  t.is(await database.prepare('SELECT y FROM a WHERE x = 149999').first('y'), 'row \u2603 149999');
});
