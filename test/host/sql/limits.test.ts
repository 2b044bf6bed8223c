/** Limits of SQL databases, at the bound and past it. */
import test from 'ava';
import { SQL_LIMITS } from '../../../src/sqlite/limits.js';
import { handler, newHost, nextInvocation, textOf } from '../new-host.js';

test('sqlQueries bounds the queries of an invocation, and counts each statement of a batch', async t => {
  const host = newHost(t, { isolation: 'thread', limits: { sqlQueries: 5 } });
  const fn = await host.load(
    handler(`
      const one = env.DB.prepare('SELECT 1');
      await env.DB.batch([one, one, one]);
      await one.all();
      await one.all();
      return one.all().then(() => new Response('no'), error => new Response(error.message));`),
    { sql: { DB: 'main' } },
  );
  t.regex(await textOf(fn.fetch('http://x/')), /number of SQL queries is 6, limit sqlQueries is 5/);
});

test('sqlDatabases bounds the databases of an account', async t => {
  const acme = newHost(t, { isolation: 'thread' }).account('acme', { limits: { sqlDatabases: 1 } });
  await acme.sql('one').exec('SELECT 1');
  await t.throwsAsync(acme.sql('two').exec('SELECT 1'), {
    code: 'EDGE_LIMIT_EXCEEDED',
    message: /limit sqlDatabases is 1/,
  });
});

const FILL = 'INSERT INTO a SELECT randomblob(8000) FROM (VALUES (1), (2), (3), (4))';

test('sqlDatabaseBytes and storageBytes bound what is stored; reading and deleting still work', async t => {
  for (const [limit, code] of [
    ['sqlDatabaseBytes', 'EDGE_LIMIT_EXCEEDED'],
    ['storageBytes', 'EDGE_STORAGE_QUOTA'],
  ] as const) {
    const acme = newHost(t, { isolation: 'thread' }).account('acme', { limits: { [limit]: 300_000 } });
    const database = acme.sql('main');
    await database.exec('CREATE TABLE a (x BLOB)');
    await t.throwsAsync(
      async () => {
        for (let n = 0; n < 20; n++) await database.prepare(FILL).run();
      },
      { code },
    );
    const { size_after: size } = (await database.prepare('SELECT 1').all()).meta;
    t.true(size > 150_000 && size <= 300_000, `${size}`);
    await database.exec('DELETE FROM a');
    await database.prepare(FILL).run();
  }
});

test('values, parameters, texts and results have bounds', async t => {
  const database = newHost(t, { isolation: 'thread' }).sql('main');
  await database.exec('CREATE TABLE a (x)');
  const { valueBytes, parameters, sqlBytes } = SQL_LIMITS;
  await database
    .prepare('INSERT INTO a VALUES (?)')
    .bind('x'.repeat(valueBytes - 100))
    .run();
  await t.throwsAsync(
    database
      .prepare('SELECT ? AS x')
      .bind('x'.repeat(valueBytes + 1))
      .all(),
    { message: /too big/ },
  );
  const list = (count: number): string => `SELECT ${Array.from({ length: count }, () => '?').join(' + ')}`;
  const ones = (count: number): number[] => Array.from({ length: count }, () => 1);
  t.deepEqual(
    await database
      .prepare(list(parameters))
      .bind(...ones(parameters))
      .raw(),
    [[parameters]],
  );
  await t.throwsAsync(
    database
      .prepare(list(parameters + 1))
      .bind(...ones(parameters + 1))
      .all(),
    { message: /D1_ERROR/ },
  );
  await t.throwsAsync(database.prepare(`SELECT 1 -- ${'x'.repeat(sqlBytes)}`).all(), { message: /SQLITE_TOOBIG/ });
  for (let n = 0; n < 8; n++) await database.exec('INSERT INTO a SELECT x FROM a LIMIT 1');
  await t.throwsAsync(database.prepare('SELECT x FROM a').all(), { message: /the result is larger than/ });
  t.is(await database.prepare('SELECT count(*) AS n FROM a').first('n'), 9);
});

test.serial('a call ends at its deadline and its time counts, while another database goes on', async t => {
  const limits: { queryMs: number } = SQL_LIMITS;
  const { queryMs } = limits;
  t.teardown(() => {
    limits.queryMs = queryMs;
  });
  const host = newHost(t, { isolation: 'thread', limits: { cpuMs: 60_000 } });
  const fn = await host.load(
    handler(`
      const endless = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c';
      return env.DB.prepare(endless).all().then(() => new Response('no'), error => Response.json([error.code, error.message]));`),
    { sql: { DB: 'main' } },
  );
  const other = host.sql('other');
  await other.exec('CREATE TABLE a (x)');
  limits.queryMs = 1200;
  const ended = nextInvocation(host);
  const answer = textOf(fn.fetch('http://x/'));
  for (let at = 0; at < 20; at++) await other.prepare('INSERT INTO a VALUES (?)').bind(at).run();
  t.is(await other.prepare('SELECT count(*) AS n FROM a').first('n'), 20);
  t.deepEqual(JSON.parse(await answer), [
    30005,
    'D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.',
  ]);
  t.true((await ended).cpuMs >= 1200, 'what runs in the process of the engine is the time of the invocation');
});
