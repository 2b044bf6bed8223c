/** SQL databases as functions and applications use them: through cells and threads, with hostile statements, removals and migrations. */
import { readdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import test from 'ava';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { handler, ISOLATIONS, newHost } from '../new-host.js';

const HOSTILE = [
  "ATTACH '/tmp/other.sqlite' AS other",
  'DETACH main',
  'VACUUM',
  "VACUUM INTO '/tmp/stolen.sqlite'",
  "SELECT load_extension('/tmp/x')",
  "SELECT fts3_tokenizer('x')",
  'PRAGMA journal_mode = DELETE',
  'PRAGMA writable_schema = ON',
  'PRAGMA temp_store_directory = "/tmp"',
  'PRAGMA max_page_count = 1000000',
  'CREATE TEMP TABLE t (a)',
  'CREATE VIRTUAL TABLE g USING rtree(a, b, c)',
  'CREATE TABLE _edge_migrations (a)',
  "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 2, 'CREATE TABLE x(a)')",
  'BEGIN',
  'COMMIT',
  'SAVEPOINT s',
  '/* ; */ ROLLBACK',
  'SELECT 1; BEGIN',
];

test('a value that is malformed is an error of the statement, and not a damaged database', async t => {
  const sql = newHost(t).sql('main');
  const query = (text: string): Promise<unknown> => sql.prepare(text).all();
  await t.throwsAsync(query("SELECT json('x')"), { message: 'D1_ERROR: malformed JSON: SQLITE_ERROR' });
  await sql.exec('CREATE VIRTUAL TABLE words USING fts5(word)');
  await t.throwsAsync(query("SELECT * FROM words WHERE words MATCH '\"'"), { message: /: SQLITE_ERROR$/ });
});

for (const isolation of ISOLATIONS) {
  test(`${isolation}: a function and the application share a database`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        await env.DB.exec('CREATE TABLE a (id INTEGER PRIMARY KEY, u TEXT UNIQUE, b BLOB, r REAL)');
        const insert = env.DB.prepare('INSERT INTO a (u, b, r) VALUES (?, ?, ?)');
        const first = await insert.bind('x', new Uint8Array([1, 255]), 0.5).run();
        const session = env.DB.withSession('first-primary');
        const before = session.getBookmark();
        const batch = await session.batch([insert.bind('y', null, NaN), env.DB.prepare('SELECT count(*) AS n FROM a')]);
        const failures = [];
        for (const run of [
          () => insert.bind('x', null, null).run(),
          () => env.DB.batch([insert.bind('z', null, null), insert.bind('z', null, null)]),
          () => env.DB.prepare('SELEC 1').all(),
          () => env.DB.prepare('SELECT u FROM a').first('nope'),
          () => env.DB.prepare('SELECT ?').all(),
          () => env.DB.prepare('SELECT :a').bind(1).all(),
          () => insert.bind(undefined),
          () => env.DB.exec('SELECT 1\\nSELEC'),
          () => env.DB.dump(),
        ]) {
          try { await run(); failures.push('no error'); } catch (error) {
            failures.push([error.message, error.cause?.message, error instanceof Error]);
          }
        }
        return Response.json({
          meta: { changes: first.meta.changes, id: first.meta.last_row_id, changed: first.meta.changed_db },
          rows: (await env.DB.prepare('SELECT * FROM a ORDER BY id').all()).results,
          raw: await env.DB.prepare('SELECT u, r AS u FROM a WHERE id = ?1').bind(1).raw({ columnNames: true }),
          one: await env.DB.prepare('SELECT u FROM a WHERE id = 2').first('u'),
          none: await env.DB.prepare('SELECT u FROM a WHERE id = 9').first(),
          batch: batch[1].results, before, isLater: session.getBookmark() > '',
          large: (await env.DB.prepare("SELECT hex(randomblob(50000)) AS t").first('t')).length,
          big: await env.DB.prepare('SELECT 9007199254740993 AS n, 1e999 AS i').first(),
          own: Object.getPrototypeOf(first.results) === Array.prototype, failures,
        });`),
      { sql: { DB: 'main' } },
    );
    const answer = await (await fn.fetch('http://x/')).json();
    t.like(answer, {
      meta: { changes: 1, id: 1, changed: true },
      raw: [
        ['u', 'u'],
        ['x', 0.5],
      ],
      one: 'y',
      none: null,
      batch: [{ n: 2 }],
      before: null,
      isLater: true,
      large: 100_000,
      big: { n: 9007199254740992, i: null },
      own: true,
    });
    t.deepEqual(Reflect.get(answer as object, 'rows'), [
      { id: 1, u: 'x', b: [1, 255], r: 0.5 },
      { id: 2, u: 'y', b: null, r: null },
    ]);
    const unique = 'UNIQUE constraint failed: a.u: SQLITE_CONSTRAINT';
    const texts: [string, string][] = [
      ['D1_ERROR', unique],
      ['D1_ERROR', unique],
      ['D1_ERROR', 'near "SELEC": syntax error at offset 0: SQLITE_ERROR'],
      ['D1_COLUMN_NOTFOUND', 'Column not found (nope)'],
      ['D1_ERROR', 'Wrong number of parameter bindings for SQL query.'],
      ['D1_ERROR', 'the parameter :a has a name: only ? and ?NNN are supported: SQLITE_ERROR'],
      ['D1_TYPE_ERROR', "Type 'undefined' not supported for value 'undefined'"],
      ['D1_EXEC_ERROR', 'near "SELEC": syntax error at offset 0: SQLITE_ERROR'],
      ['D1_DUMP_ERROR', 'dump() is not supported: the owner of the host exports databases'],
    ];
    t.deepEqual(
      Reflect.get(answer as object, 'failures'),
      texts.map(([prefix, text]) => [`${prefix}: ${text}`, text, true]),
    );
    t.is(await host.sql('main').prepare('SELECT count(*) AS n FROM a').first('n'), 2);
    const long = Array.from({ length: 3 }, () =>
      host.sql('main').prepare('SELECT hex(zeroblob(100000)) AS t').first('t'),
    );
    t.deepEqual(
      await Promise.all(long),
      Array.from({ length: 3 }, () => '0'.repeat(200_000)),
    );
    await t.throwsAsync(host.account('other').sql('main').prepare('SELECT * FROM a').all(), {
      message: /no such table: a/,
    });
  });

  test(`${isolation}: hostile statements are refused, and the database stays usable`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        const passed = [];
        for (const sql of ${JSON.stringify(HOSTILE)}) {
          try { await env.DB.prepare(sql).all(); passed.push(sql); } catch (error) { if (!/^D1_ERROR: /.test(error.message)) passed.push(error.message); }
        }
        await env.DB.exec('PRAGMA foreign_keys = OFF');
        const [keys] = await env.DB.batch([env.DB.prepare('PRAGMA foreign_keys')]);
        await env.DB.exec('CREATE VIRTUAL TABLE f USING fts5(t)');
        return Response.json({ passed, keys: keys.results, ok: await env.DB.prepare('SELECT 1 AS n').first('n') });`),
      { sql: { DB: 'main' } },
    );
    t.deepEqual(await (await fn.fetch('http://x/')).json(), { passed: [], keys: [{ foreign_keys: 1 }], ok: 1 });
  });
}

test('messages that no client writes are refused where they are read', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const database = host.sql('main');
  for (const sql of ['\0', 'SELECT 1\0; DROP TABLE a', '']) {
    await t.throwsAsync(database.prepare(sql).all(), { message: /^D1_ERROR: / });
  }
});

test('a query without end that needs memory ends, and that of another account goes on beside it', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const hog = host.account('hog').sql('main');
  const other = host.account('other').sql('main');
  await other.exec('CREATE TABLE a (x)');
  const ended = t.throwsAsync(
    hog
      .prepare(
        'WITH RECURSIVE c(x) AS (SELECT randomblob(100000) UNION SELECT randomblob(100000) FROM c) SELECT count(*) FROM c',
      )
      .all(),
    { message: /exceeded its memory limit/ },
  );
  let count = 0;
  for (; count < 5; count++) await other.prepare('INSERT INTO a VALUES (?)').bind(count).run();
  t.is(await other.prepare('SELECT count(*) AS n FROM a').first('n'), 5);
  await ended;
  t.is(await hog.prepare('SELECT 1 AS n').first('n'), 1);
});

test('a query ends with the CPU time of its invocation', async t => {
  const host = newHost(t, { isolation: 'thread', limits: { cpuMs: 200, cpuOverrunMs: 0 } });
  const fn = await host.load(
    handler(
      `return Response.json(await env.DB.prepare('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c').all())`,
    ),
    { sql: { DB: 'main' } },
  );
  await t.throwsAsync(async () => (await fn.fetch('http://x/')).text());
  t.is(await host.sql('main').prepare('SELECT 1 AS n').first('n'), 1);
});

test('exports, backups, imports and migrations', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const database = host.sql('main');
  const migrations = [
    { name: '0002_rows.sql', sql: "INSERT INTO a (t) VALUES ('it''s; x');" },
    {
      name: '0001_table.sql',
      sql: 'CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT);\nCREATE TRIGGER g AFTER DELETE ON a BEGIN SELECT 1; SELECT CASE 1 WHEN 1 THEN 2 END; END;\nCREATE VIRTUAL TABLE f USING fts5(t);',
    },
  ];
  t.deepEqual(await database.migrate(migrations), ['0001_table.sql', '0002_rows.sql']);
  t.deepEqual(await database.migrate(migrations), []);
  await t.throwsAsync(database.migrate([{ name: '0003.sql', sql: 'CREATE TABLE b (x); SELEC' }]), {
    message: /syntax error/,
  });
  t.deepEqual(
    (await database.migrations()).map(({ name }) => name),
    ['0001_table.sql', '0002_rows.sql'],
  );
  await t.throwsAsync(database.prepare('SELECT * FROM b').all(), { message: /no such table: b/ });
  await database.prepare("INSERT INTO f VALUES ('some words')").run();

  const backup = new Uint8Array(await new Response(await database.backup()).arrayBuffer());
  const text = await new Response(await database.export()).text();
  await database.exec('DELETE FROM a');
  await database.restore(backup);
  t.is(await database.prepare('SELECT t FROM a').first('t'), "it's; x");
  await t.throwsAsync(database.restore(new Uint8Array(8192).fill(7)), { message: /no intact SQLite database/ });
  t.is(await database.prepare('SELECT t FROM a').first('t'), "it's; x");

  const copy = host.sql('copy');
  await copy.import(text);
  t.is(await copy.prepare('SELECT t FROM a').first('t'), "it's; x");
  t.is(await copy.prepare("SELECT count(*) AS n FROM f WHERE f MATCH 'words'").first('n'), 1);
  t.deepEqual(
    (await copy.migrations()).map(({ name }) => name),
    ['0001_table.sql', '0002_rows.sql'],
  );
});

test('the files of a removed account are gone, and another of its id has none of them', async t => {
  const directory = await temporaryDirectory(t);
  const host = newHost(t, { storage: directory, isolation: 'thread' });
  const acme = host.account('acme');
  const before = acme.sql('main');
  await acme.sql('main').exec('CREATE TABLE a (x)');
  await host.account('other').sql('main').exec('CREATE TABLE a (x)');
  const files = async (): Promise<string[]> =>
    (await readdir(join(directory, 'sql'), { recursive: true })).filter(name => name.endsWith('.sqlite'));
  t.is((await files()).length, 2);
  const { deleted } = await host.removeAccount('acme', { deleteData: true });
  await deleted;
  t.is((await files()).length, 1);
  await t.throwsAsync(before.exec('SELECT 1'), { code: 'EDGE_ACCOUNT_REMOVED' });
  await t.throwsAsync(host.account('acme').sql('main').prepare('SELECT * FROM a').all(), { message: /no such table/ });
});

test('a database of a storage from before accounts had folders moves to its own when it is opened', async t => {
  const directory = await temporaryDirectory(t);
  const earlier = newHost(t, { storage: directory, isolation: 'thread' });
  await earlier.account('acme').sql('main').exec("CREATE TABLE a (x)\nINSERT INTO a VALUES ('kept')");
  await earlier.close();
  const folder = join(directory, 'sql');
  const files = (await readdir(folder, { recursive: true })).filter(name => name.includes('.sqlite'));
  t.true(files.length > 0);
  for (const file of files) await rename(join(folder, file), join(folder, basename(file)));
  const later = newHost(t, { storage: directory, isolation: 'thread' });
  t.is(await later.account('acme').sql('main').prepare('SELECT x FROM a').first('x'), 'kept');
  t.deepEqual(
    (await readdir(folder)).filter(name => name.includes('.sqlite')),
    [],
  );
});
