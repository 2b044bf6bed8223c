/** Accounts in the management API, of a host. */
import test, { type ExecutionContext } from 'ava';
import { handler, newHost } from '../host/new-host.js';

type Caller = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Answer }>;

interface Answer {
  readonly result: Readonly<Record<string, unknown>> & unknown[];
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly result_info?: unknown;
}

async function openApi(t: ExecutionContext) {
  const host = newHost(t);
  const acme = host.account('acme', { plan: 'free', zones: ['acme.example'] });
  host.account('other', { zones: ['other.example'] });
  const api = host.management();
  const callerOf = async (account: string): Promise<Caller> => {
    const { value } = await api.issueToken({ name: 'test', account, permissions: ['accounts:edit', 'audit:read'] });
    return async (method, path, body) => {
      const response = await api(
        new Request(`http://localhost${path}`, {
          method,
          headers: { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      );
      const answer: Answer = JSON.parse(await response.text());
      return { status: response.status, body: answer };
    };
  };
  return { host, acme, call: await callerOf('*'), callOwn: await callerOf('acme') };
}

test('GET accounts lists them, and one says what it stores', async t => {
  const { acme, call } = await openApi(t);
  await acme.bucket('files').put('a', 'xyz');
  await acme.load(handler('return new Response()'), { name: 'hello' });
  const { status, body } = await call('GET', '/accounts?per_page=1');
  t.is(status, 200);
  const account = { id: 'acme', plan: 'free', zone_plan: 'free', functions: ['hello'], zones: ['acme.example'] };
  t.deepEqual([...body.result], [account]);
  t.like(body.result_info, { total_count: 2 });
  const one = await call('GET', '/accounts/acme');
  t.deepEqual({ ...one.body.result }, { ...account, storage: { bytes: 3, objects: 1 } });
  t.is((await call('GET', '/accounts/none')).status, 404);
});

test('PATCH accounts changes plan, limits, caps and zones, or nothing', async t => {
  const { acme, call } = await openApi(t);
  const changed = {
    plan: 'standard',
    zone_plan: 'business',
    limits: { storage_bytes: 10, cpu_ms: 70 },
    caps: { cpu_ms: 60 },
  };
  const { status, body } = await call('PATCH', '/accounts/acme', { ...changed, zones: ['new.example'] });
  t.is(status, 200);
  t.like(body.result, { plan: 'standard', zone_plan: 'business', zones: ['new.example'] });
  t.like(acme.limits, { plan: 'standard', storageBytes: 10, cpuMs: { fetch: 60 } });
  await t.throwsAsync(acme.bucket('files').put('a', 'x'.repeat(11)), { code: 'EDGE_STORAGE_QUOTA' });
  const refused: readonly (readonly [unknown, number, number])[] = [
    [{}, 400, 1002],
    [{ plan: 'gold' }, 400, 1002],
    [{ limits: { nothing: 1 } }, 400, 1002],
    [{ limits: { cpu_ms: 0 } }, 400, 1002],
    [{ plan: 'free', zones: ['other.example'] }, 409, 4007],
    [{ plan: 'free', zones: ['co.uk'] }, 400, 1002],
  ];
  for (const [given, expected, code] of refused) {
    const answer = await call('PATCH', '/accounts/acme', given);
    t.deepEqual([answer.status, answer.body.errors[0]?.code], [expected, code], JSON.stringify(given));
  }
  t.is(acme.limits.plan, 'standard');
});

test('DELETE accounts ends one, with its data when it is asked to', async t => {
  const { host, acme, call } = await openApi(t);
  await acme.bucket('files').put('a', 'x');
  t.is((await call('DELETE', '/accounts/acme?delete_data=yes')).status, 400);
  t.is((await call('DELETE', '/accounts/acme')).status, 200);
  t.is((await call('GET', '/accounts/acme')).status, 404);
  t.is((await host.account('acme').storage()).bytes, 1);
  t.is((await call('DELETE', '/accounts/acme?delete_data=true')).status, 200);
  t.is((await host.account('acme').storage()).bytes, 0);
  const log = await call('GET', '/accounts/acme/audit_logs');
  t.deepEqual([...log.body.result], []);
});

test('tokens of one account reach no account, not even their own', async t => {
  const { host, callOwn } = await openApi(t);
  for (const [method, path, body] of [
    ['GET', '/accounts'],
    ['GET', '/accounts/acme'],
    ['PATCH', '/accounts/acme', { plan: 'standard' }],
    ['DELETE', '/accounts/acme'],
    ['DELETE', '/accounts/other?delete_data=true'],
  ] as const) {
    const answer = await callOwn(method, path, body);
    t.is(answer.status, 403, `${method} ${path}`);
  }
  t.is(host.account('acme').limits.plan, 'free');
  t.is(host.accounts().length, 2);
});
