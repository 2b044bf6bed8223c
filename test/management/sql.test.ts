import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../src/index.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { newHost } from '../host/new-host.js';

const TOKEN = 't'.repeat(40);
const DATABASES = '/accounts/acme/sql/databases';

for (const backend of ['inline', 'process'] as const) {
  test(`databases are made, queried, exported, imported and deleted, by who may; backend: ${backend}`, async t => {
    const place = backend === 'process' && ({ backend, storage: await temporaryDirectory(t), usage: false } as const);
    await useDatabases(t, newHost(t, { isolation: backend === 'process' ? 'process' : 'thread', ...place }));
  });
}

async function useDatabases(t: ExecutionContext, host: EdgeHost): Promise<void> {
  host.account('acme', { limits: { sqlDatabases: 2 } });
  const caller = (permissions: 'all' | readonly ['sql:read'] | readonly ['kv:read']) => {
    const api = host.management({ tokens: [{ name: 'a', token: TOKEN, account: 'acme', permissions }] });
    return (method: string, path: string, body?: unknown): Promise<Response> =>
      api(
        new Request(`http://localhost${DATABASES}${path}`, {
          method,
          headers: {
            authorization: `Bearer ${TOKEN}`,
            ...(typeof body === 'object' && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      );
  };
  const call = caller('all');
  const resultOf = async (response: Promise<Response>): Promise<unknown> => {
    const { result }: { result?: unknown } = JSON.parse(await (await response).text());
    return result;
  };
  t.is((await call('POST', '', { name: 'main' })).status, 201);
  t.is((await call('POST', '', { name: 'main' })).status, 409);
  t.is((await call('POST', '', { name: 'a/b' })).status, 400);
  await resultOf(call('POST', '/main/query', { sql: 'CREATE TABLE a (x)' }));
  await host
    .account('acme')
    .sql('main')
    .migrate([{ name: '1.sql', sql: 'INSERT INTO a VALUES (5)' }]);
  const rows = await resultOf(call('POST', '/main/query', { sql: 'SELECT x FROM a WHERE x = ?', params: [5] }));
  t.like(rows, [{ success: true, results: [{ x: 5 }] }]);
  t.is((await call('POST', '/main/query', { sql: 'SELEC' })).status, 400);
  t.is((await call('POST', '/none/query', { sql: 'SELECT 1' })).status, 404);
  t.like(await resultOf(call('GET', '/main/migrations')), [{ name: '1.sql' }]);
  const text = await (await call('GET', '/main/export')).text();
  t.regex(text, /INSERT INTO "a" \("x"\) VALUES \(5\);/);
  t.is((await call('POST', '', { name: 'copy' })).status, 201);
  t.is((await call('POST', '/copy/import', text)).status, 200);
  t.is(await host.account('acme').sql('copy').prepare('SELECT x FROM a').first('x'), 5);
  t.is((await call('POST', '/copy/import', 'SELEC;')).status, 400);
  t.is((await call('POST', '', { name: 'third' })).status, 403);
  t.is((await call('DELETE', '/copy')).status, 200);
  t.is((await call('GET', '/copy')).status, 404);
  t.like(await resultOf(call('GET', '')), [{ id: 'main' }]);

  const reader = caller(['sql:read']);
  t.is((await reader('GET', '/main')).status, 200);
  t.is((await reader('POST', '/main/query', { sql: 'SELECT 1' })).status, 403);
  t.is((await caller(['kv:read'])('GET', '/main')).status, 403);
}
