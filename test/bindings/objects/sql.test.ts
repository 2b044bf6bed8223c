/** The databases of objects as the service has them: what is counted and removed, who may use them, and calls that no client of ours makes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { objectStorageOwner } from '../../../src/bindings/objects/store/object-storage-owner.js';
import type { Service, ServiceReply } from '../../../src/bindings/service.js';
import { EdgeError, errorCode } from '../../../src/quotas/errors.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { SQL_LIMITS } from '../../../src/sqlite/limits.js';
import { idOf, type OpenObjects, openObjects } from './open-objects.js';

const ID = idOf(1);
const BASE = { c: 'Room', i: ID };

interface Client extends OpenObjects {
  call(method: string, args: object, body?: string): Promise<ServiceReply>;
  user: number;
  sql(query: string, more?: object): Promise<string>;
  write(number: number, more?: object): Promise<ServiceReply>;
  use(): Promise<void>;
}

async function opened(t: ExecutionContext, location?: string): Promise<Client> {
  const objects = await openObjects(location);
  t.teardown(async () => {
    await objects.store.close();
    await objects.storage.close();
  });
  const { signal } = new AbortController();
  const { service }: { readonly service: Service } = objects;
  const client: Client = {
    ...objects,
    user: 0,
    call: (method, args, body) =>
      service({
        method,
        args: { ...BASE, s: client.user, ...args },
        body: body === undefined ? null : Buffer.from(body),
        signal,
        work: OWN_WORK,
      }),
    sql: async (query, more = {}) => {
      const { body } = await client.call('sql', { p: [], z: 0, ...more }, JSON.stringify([query]));
      return Buffer.from(body instanceof Uint8Array ? body : []).toString();
    },
    write: (number, more = {}) => client.call('write', { q: number, n: 0, x: true, ...more }),
    use: async () => {
      const { head } = await client.call('open', { s: 0 });
      client.user = (head as { readonly s: number }).s; // as OPEN answers
    },
  };
  await client.use();
  return client;
}

async function pagesOf({ storage }: OpenObjects): Promise<number> {
  let count = 0;
  for await (const page of storage.context.records.pages({ gte: 'zq', lt: 'zr' }, 100)) count += page.length;
  return count;
}

async function counted({ storage }: OpenObjects): Promise<unknown> {
  const sum = await storage.context.sums.read('acme');
  return { sum, recounted: await objectStorageOwner.count?.(storage.context, 'acme') };
}

test('the pages of a database are counted, found again, and go with deleteAll() and with the account', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const client = await opened(t, directory);
  await client.sql('CREATE TABLE t (x); CREATE INDEX i ON t (x); INSERT INTO t VALUES (hex(zeroblob(20000)))');
  t.is(await pagesOf(client), 0, 'nothing is stored before the write');
  await client.write(0);
  const pages = await pagesOf(client);
  t.true(pages > 10);
  const sum = { bytes: pages * 4096 + 256, objects: 2 };
  t.deepEqual(await counted(client), { sum, recounted: sum });
  // Fewer after it was made smaller: pages behind its end go.
  await client.sql('DROP INDEX i');
  await client.write(1);
  t.deepEqual(await counted(client), { sum, recounted: sum }, 'SQLite keeps free pages');
  for (const job of objectStorageOwner.jobs ?? []) if (job.kind === 'rebuild') await job.run(client.storage.context);
  t.deepEqual(await counted(client), { sum, recounted: sum });
  // Another process has none of it open.
  await client.store.close();
  await client.use();
  t.is(
    await client.sql('SELECT count(*), length(max(x)) FROM t'),
    '{"c":["count(*)","length(max(x))"],"r":[[1,40000]],"w":0}',
  );
  await client.write(0, { x: false, d: true });
  t.deepEqual(await counted(client), { sum: { bytes: 0, objects: 0 }, recounted: { bytes: 0, objects: 0 } });
  t.regex(await client.sql('SELECT * FROM t'), /no such table/);
  while ((await pagesOf(client)) > 0) await new Promise(resolve => setImmediate(resolve));
  await client.sql('CREATE TABLE u (x)');
  await client.write(1);
  t.true((await pagesOf(client)) > 0);
  await client.storage.removeAccount('acme', {
    error: new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone'),
    deleteData: true,
    beside: async () => {},
  });
  while ((await pagesOf(client)) > 0) await new Promise(resolve => setImmediate(resolve));
  t.pass();
});

test('what was not written is gone when another instance opens the object, and the earlier one can write nothing', async t => {
  const client = await opened(t);
  await client.sql('CREATE TABLE t (x)');
  await client.write(0);
  await client.sql('INSERT INTO t VALUES (1)');
  const earlier = client.user;
  await client.use();
  t.is(await client.sql('SELECT count(*) AS n FROM t'), '{"c":["n"],"r":[[0]],"w":0}');
  const later = client.user;
  client.user = earlier;
  for (const call of [client.sql('INSERT INTO t VALUES (2)'), client.write(1), client.call('sqlRollback', { y: 0 })])
    t.is(errorCode(await t.throwsAsync(call)), 'EDGE_OBJECT_RESET');
  client.user = later;
  // A write that says it has something of SQL, and nothing was written.
  t.is(errorCode(await t.throwsAsync(client.write(0))), 'EDGE_OBJECT_RESET');
});

test('calls that no client of ours makes are refused', async t => {
  const client = await opened(t);
  for (const more of [
    { p: 1 },
    { p: ['x'] },
    { p: [-1] },
    { p: [1.5] },
    { z: -1 },
    { z: 'x' },
    { p: Array.from({ length: 65 }, (_, at) => at) },
  ])
    await t.throwsAsync(client.sql('SELECT 1', more), { instanceOf: TypeError });
  await t.throwsAsync(client.call('sqlRollback', { y: 'x' }), { instanceOf: TypeError });
  await t.throwsAsync(client.write(0, { x: 1 }), { instanceOf: TypeError });
  for (const body of [
    '',
    '{',
    '{}',
    '[]',
    '[1]',
    '["SELECT ?", {}]',
    '["SELECT ?", {"h": 1}]',
    '["SELECT 1\\u0000"]',
  ]) {
    const { head } = await client.call('sql', { p: [], z: 0 }, body);
    t.deepEqual(head, { w: false, f: true }, body);
  }
  t.is(await client.sql('SELECT 1 AS x', { p: [1, 2], z: 3 }), '{"c":["x"],"r":[[1]],"w":0}');
  await client.call('sqlRollback', { y: 7 });
});

test.serial('a text that runs too long is ended and its time counts, while other objects go on', async t => {
  const limits: { queryMs: number } = SQL_LIMITS;
  const { queryMs } = limits;
  t.teardown(() => {
    limits.queryMs = queryMs;
  });
  const client = await opened(t);
  await client.sql('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
  await client.write(0);
  limits.queryMs = Number(process.env.EDGEHOST_TEST_SQL_MS ?? 1000);
  let chargedMs = 0;
  const work = {
    ...OWN_WORK,
    owner: {},
    charge: (ms: number) => {
      chargedMs += ms;
    },
  };
  const { signal } = new AbortController();
  const began = performance.now();
  const endless = client.service({
    method: 'sql',
    args: { ...BASE, s: client.user, p: [], z: 0 },
    body: Buffer.from(
      JSON.stringify([
        'INSERT INTO t VALUES (2); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c',
      ]),
    ),
    signal,
    work,
  });
  let isOver = false;
  const failed = t.throwsAsync(endless).finally(() => {
    isOver = true;
  });
  // Another object of another account, all the while.
  const beside = client.serviceOf('other');
  const call = async (method: string, args: object, body?: string) =>
    beside({
      method,
      args: { ...BASE, ...args },
      body: body === undefined ? null : Buffer.from(body),
      signal,
      work: OWN_WORK,
    });
  const { s } = (await call('open', { s: 0 })).head as { readonly s: number }; // as OPEN answers
  let texts = 0;
  let slowestMs = 0;
  while (!isOver || texts < 5) {
    const from = performance.now();
    await call('sql', { s, p: [], z: 0 }, JSON.stringify(['SELECT 1']));
    slowestMs = Math.max(slowestMs, performance.now() - from);
    texts++;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  const error = await failed;
  t.is(errorCode(error), 'EDGE_LIMIT_EXCEEDED');
  t.regex(error?.message ?? '', /took longer than/);
  t.log(
    `ended after ${(performance.now() - began).toFixed(0)} ms, charged ${chargedMs.toFixed(0)} ms, ${texts} texts beside it, the slowest ${slowestMs.toFixed(0)} ms`,
  );
  t.true(chargedMs >= limits.queryMs * 0.9, `${chargedMs} ms were charged`);
  t.true(texts >= 5);
  // What was committed is there, and what the text had written is not.
  await client.use();
  t.is(await client.sql('SELECT count(*) AS n FROM t'), '{"c":["n"],"r":[[1]],"w":0}');
});
