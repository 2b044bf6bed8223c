/** What hostile SQL tries: to reach files, what belongs to the project, and more memory or time than it has. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { handler, ISOLATIONS, newHost } from '../new-host.js';

/** Where the processes of the engine run: a file with a relative name would be made there. */
const ENGINE = dirname(fileURLToPath(new URL('../../../src/sqlite/engine/main.js', import.meta.url)));

/** Each is refused, in every way in which a text can be run. */
const REFUSED = (directory: string): string[] => [
  `ATTACH '${directory}/stolen.sqlite' AS other`,
  `ATTACH 'stolen' AS other`,
  `ATTACH 'file:${directory}/stolen.sqlite?mode=rwc' AS other`,
  `ATTACH ':memory:' AS other`,
  `ATTACH '' AS other`,
  'DETACH main',
  'VACUUM',
  'VACUUM main',
  `VACUUM INTO '${directory}/stolen.sqlite'`,
  `VACUUM INTO 'stolen'`,
  `VACUUM INTO 'file:${directory}/stolen.sqlite'`,
  `SELECT load_extension('${directory}/x')`,
  `SELECT readfile('/etc/passwd')`,
  `SELECT writefile('${directory}/stolen', 'x')`,
  `SELECT edit('x', 'touch ${directory}/stolen')`,
  "SELECT fts3_tokenizer('simple')",
  "SELECT fts5('x')",
  "SELECT rtreecheck('main', 'a')",
  "SELECT sqlite_log(1, 'x')",
  "SELECT sqlite_compileoption_used('USE_URI')",
  'SELECT geopoly_debug(1)',
  'SELECT * FROM dbstat',
  'SELECT * FROM sqlite_dbpage',
  'SELECT * FROM sqlite_stmt',
  `SELECT * FROM fsdir('/')`,
  `CREATE VIRTUAL TABLE v USING csv(filename = '/etc/passwd')`,
  'CREATE VIRTUAL TABLE v USING rtree(a, b, c)',
  'CREATE VIRTUAL TABLE v USING geopoly(a)',
  'CREATE VIRTUAL TABLE v USING fts3(a)',
  'CREATE VIRTUAL TABLE v USING fts4(a)',
  'CREATE VIRTUAL TABLE v USING dbstat',
  'CREATE VIRTUAL TABLE temp.v USING fts5(a)',
  'CREATE TEMP TABLE t (a)',
  'CREATE TABLE temp.t (a)',
  'CREATE TABLE temp.t2 AS SELECT 1',
  'CREATE VIEW temp.w AS SELECT 1',
  'CREATE INDEX temp.i ON a (x)',
  'CREATE TRIGGER temp.g AFTER INSERT ON main.a BEGIN SELECT 1; END',
  'CREATE TEMP VIEW w AS SELECT 1',
  'CREATE TEMP TRIGGER g AFTER INSERT ON a BEGIN SELECT 1; END',
  "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 2, 'CREATE TABLE x(a)')",
  'DELETE FROM sqlite_schema',
  'UPDATE sqlite_schema SET sql = NULL',
  "INSERT INTO f_data VALUES (99, x'00')",
  'DELETE FROM f_config',
  'DROP TABLE f_data',
  'CREATE TABLE _edge_x (a)',
  'CREATE VIEW _EDGE_x AS SELECT 1',
  'CREATE TABLE "_edge_x" AS SELECT 1',
  'ALTER TABLE a RENAME TO _edge_migrations',
  'ALTER TABLE a RENAME TO "_EDGE_migrations"',
  'SELECT * FROM _edge_migrations',
  'DROP TABLE _edge_migrations',
  'DELETE FROM _edge_migrations',
  'CREATE INDEX i ON _edge_migrations (name)',
  'CREATE TRIGGER g AFTER INSERT ON a BEGIN DELETE FROM _edge_migrations; END; INSERT INTO a VALUES (1)',
  'CREATE VIRTUAL TABLE v USING fts5(name, content = _edge_migrations); SELECT * FROM v',
  'SELECT 1; BEGIN',
  'BEGIN',
  'BEGIN EXCLUSIVE',
  'COMMIT',
  'END',
  'ROLLBACK',
  'SAVEPOINT s',
  'RELEASE s',
  ...[
    'writable_schema = ON',
    'writable_schema',
    'journal_mode = DELETE',
    'journal_mode = MEMORY',
    'main.journal_mode = OFF',
    'locking_mode = EXCLUSIVE',
    'synchronous = OFF',
    'mmap_size = 1000000000',
    'cache_size = 1000000',
    'cache_spill = 0',
    'page_size = 65536',
    'max_page_count = 4294967294',
    'temp_store = FILE',
    `temp_store_directory = '${directory}'`,
    `data_store_directory = '${directory}'`,
    `key = 'x'`,
    `rekey = 'x'`,
    `hexkey = '00'`,
    'auto_vacuum = 1',
    'incremental_vacuum',
    'wal_checkpoint(TRUNCATE)',
    'wal_autocheckpoint = 0',
    'journal_size_limit = -1',
    'busy_timeout = 100000000',
    'threads = 8',
    'hard_heap_limit = 1',
    'soft_heap_limit = 1',
    'trusted_schema = ON',
    'cell_size_check = OFF',
    'query_only = ON',
    'read_uncommitted = ON',
    'secure_delete = ON',
    'user_version = 5',
    'application_id = 5',
    `encoding = 'UTF-16'`,
    'schema_version = 99',
    'data_version = 99',
    'database_list',
    'compile_options',
    'module_list',
    'pragma_list',
    'collation_list',
    'shrink_memory',
    'stats',
    'integrity_check',
    'lock_status',
    'vdbe_trace = ON',
    'parser_trace = ON',
  ].map(pragma => `PRAGMA ${pragma}`),
  'SELECT * FROM pragma_database_list',
  'SELECT * FROM pragma_compile_options',
  'SELECT * FROM pragma_journal_mode',
];

/** These do nothing, whether they are refused or not. */
const HARMLESS = (directory: string): string[] => [
  `EXPLAIN VACUUM INTO '${directory}/stolen.sqlite'`,
  `EXPLAIN QUERY PLAN ATTACH '${directory}/stolen.sqlite' AS other`,
  "SELECT length(printf('%.*c', 2000000000, 'x'))",
  "SELECT length(printf('%2000000000d', 1))",
  `SELECT 'file:${directory}/stolen.sqlite'`,
  'PRAGMA foreign_keys = OFF',
];

/** Each is ended by SQLite or by the walls around it, and the database is usable afterwards. */
const BOMBS = [
  'SELECT zeroblob(2147483647)',
  'SELECT length(randomblob(1000000000))',
  "SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000)))",
  `SELECT 'x' LIKE '${'%x'.repeat(26)}'`,
  `SELECT 'x' GLOB '${'*x'.repeat(26)}'`,
  `SELECT ${'abs('.repeat(200)}1${')'.repeat(200)}`,
  `SELECT 1${'+1'.repeat(500)}`,
  `SELECT ${Array.from({ length: 200 }, () => '1').join(' UNION SELECT ')}`,
  `SELECT ${Array.from({ length: 200 }, () => '1').join()}`,
  `SELECT max(${Array.from({ length: 200 }, () => '1').join()})`,
  `CREATE TABLE wide (${Array.from({ length: 200 }, (_, at) => `c${at}`).join()})`,
  `SELECT ${'-'.repeat(99)} ?1000000000`,
  'SELECT * FROM r, r, r, r, r, r, r, r, r, r',
  'INSERT INTO loop VALUES (1)',
  'SELECT group_concat(x, hex(zeroblob(900000))) FROM r',
];

for (const isolation of ISOLATIONS) {
  test(`${isolation}: no statement reaches a file, a module or what is reserved, in whatever way it is run`, async t => {
    const directory = await temporaryDirectory(t);
    const host = newHost(t, { isolation, storage: join(directory, 'storage') });
    const before = { here: await readdir(process.cwd()), engine: await readdir(ENGINE) };
    const fn = await host.load(
      handler(`
        const { sqls, harmless } = await request.json();
        for (const sql of harmless) await env.DB.prepare(sql).all().catch(() => {});
        const passed = [];
        const ways = {
          prepare: sql => env.DB.prepare(sql).all(),
          batch: sql => env.DB.batch([env.DB.prepare('SELECT 1'), env.DB.prepare(sql)]),
          exec: sql => env.DB.exec(sql),
          commented: sql => env.DB.prepare('/* ; */ -- x\\n' + sql + ' -- ;').all(),
          group: sql => Promise.all([env.DB.prepare('INSERT INTO a VALUES (7)').run(), env.DB.prepare(sql).run()]),
        };
        for (const sql of sqls) for (const way in ways) {
          try { await ways[way](sql); passed.push(way + ': ' + sql); }
          catch (error) { if (!/^D1_(EXEC_)?ERROR: /.test(error.message)) passed.push(error.message + ' of ' + sql); }
        }
        return Response.json({ passed, ok: await env.DB.prepare('SELECT count(*) > 0 AS n FROM a').first('n') });`),
      { sql: { DB: 'main' }, limits: { sqlQueries: 5000, cpuMs: 60_000 } },
    );
    await prepareDatabase(host);
    const body = JSON.stringify({ sqls: REFUSED(directory), harmless: HARMLESS(directory) });
    const answer = await (await fn.fetch('http://x/', { method: 'POST', body })).json();
    t.deepEqual(answer, { passed: [], ok: 1 });
    t.deepEqual((await readdir(directory)).sort(), ['storage']);
    t.deepEqual(await readdir(process.cwd()), before.here);
    t.deepEqual(await readdir(ENGINE), before.engine);
    const files = (await readdir(join(directory, 'storage', 'sql'), { recursive: true }))
      .filter(name => name.includes('.'))
      .map(name => name.replace(/^[^.]+/, ''));
    t.deepEqual([...new Set(files)].sort(), ['.sqlite', '.sqlite-shm', '.sqlite-wal']);
    t.deepEqual(
      await host
        .sql('main')
        .migrations()
        .then(all => all.map(({ name }) => name)),
      ['1.sql'],
    );
    t.deepEqual(await host.sql('main').prepare('PRAGMA quick_check').raw(), [['ok']]);
  });
}

async function prepareDatabase(host: EdgeHost): Promise<void> {
  const database = host.sql('main');
  await database.migrate([{ name: '1.sql', sql: 'CREATE TABLE a (x); CREATE VIRTUAL TABLE f USING fts5(t)' }]);
  await database.exec(
    'CREATE TABLE r (x); INSERT INTO r VALUES (1), (2), (3), (4); CREATE TABLE loop (x); CREATE TRIGGER again AFTER INSERT ON loop BEGIN INSERT INTO loop VALUES (new.x + 1); END; PRAGMA recursive_triggers = ON',
  );
}

test('statements that want more than there is end, and the database and its process stay usable', async t => {
  const host = newHost(t, { isolation: 'thread' });
  await prepareDatabase(host);
  const database = host.sql('main');
  for (const sql of BOMBS) {
    const session = database.batch([database.prepare('PRAGMA recursive_triggers = ON'), database.prepare(sql)]);
    await t.throwsAsync(session, { message: /^D1_ERROR/ }, sql.slice(0, 60));
  }
  t.is(await database.prepare('SELECT count(*) AS n FROM loop').first('n'), 0, 'nothing of it stays');
  t.deepEqual(await database.prepare('PRAGMA recursive_triggers').raw(), [[0]], 'settings last for their call');
});

test('thousands of different statements of many databases do not add up', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const names = Array.from({ length: 20 }, (_, at) => `db${at}`);
  await Promise.all(
    names.map(async name => {
      const database = host.sql(name);
      await database.exec('CREATE TABLE a (x)');
      const all = Array.from({ length: 60 }, (_, at) =>
        database.prepare(`SELECT ${at}, ${Array.from({ length: 90 }, (__, n) => `abs(x) + ${n}`).join()} FROM a`).all(),
      );
      await Promise.all(all);
    }),
  );
  if (process.platform === 'linux') t.true((await openFilesOfChildren()) < 500);
  t.is(await host.sql('db0').prepare('SELECT 1 AS n').first('n'), 1);
});

/** Descriptors of the processes of the engine that this process has started. */
async function openFilesOfChildren(): Promise<number> {
  let open = 0;
  for (const id of await readdir('/proc')) {
    const status = /^\d+$/.test(id) ? await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '') : '';
    if (status.split(') ')[1]?.split(' ')[1] !== String(process.pid)) continue;
    open += (await readdir(`/proc/${id}/fd`).catch(() => [])).length;
  }
  return open;
}

test('what an import has run with more rights is not run with them by a function', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const database = host.sql('main');
  await database.migrate([{ name: '1.sql', sql: 'CREATE TABLE a (x)' }]);
  const text = await new Response(await database.export()).text();
  const line = text.split('\n').find(one => one.startsWith('INSERT INTO "_edge_migrations"')) ?? '';
  const copy = host.sql('copy');
  await copy.import(text);
  await t.throwsAsync(copy.prepare(line.replace(/;$/, '')).run(), { message: /not authorized|prohibited/ });
  await t.throwsAsync(copy.prepare(line).run(), { message: /not authorized|prohibited/ });
});

test('a statement that is known returns the columns of a changed table', async t => {
  const database = newHost(t, { isolation: 'thread' }).sql('main');
  await database.exec('CREATE TABLE a (x)');
  await database.exec('INSERT INTO a VALUES (1)');
  const all = database.prepare('SELECT * FROM a');
  t.deepEqual(await all.first(), { x: 1 });
  await database.exec('ALTER TABLE a RENAME COLUMN x TO y');
  t.deepEqual(await all.first(), { y: 1 });
  await database.exec('ALTER TABLE a ADD COLUMN z DEFAULT 2');
  t.deepEqual(await all.raw({ columnNames: true }), [
    ['y', 'z'],
    [1, 2],
  ]);
  t.deepEqual((await database.prepare('INSERT INTO a VALUES (3, 4)').run()).meta.changes, 1);
  await database.exec(
    'CREATE TRIGGER g AFTER INSERT ON a WHEN new.y < 10 BEGIN INSERT INTO a VALUES (new.y + 10, 0); END',
  );
  const insert = database.prepare('INSERT INTO a VALUES (5, 5)');
  await insert.run();
  t.is((await insert.run()).meta.changes, 2, 'those of triggers count');
});
