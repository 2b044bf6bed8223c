import { createHash } from 'node:crypto';
import test from 'ava';
import { Schedule } from '../../src/management/deprecations/deprecation-timeline.js';
import { allRoutes } from '../../src/management/routes.js';
import { makeApi, OTHER_TOKEN, READ_TOKEN, TOKEN, upload } from './support/api.js';

const TOKENS = '/accounts/acme/tokens';
const A_RECORD = { type: 'A', name: 'www', content: '192.0.2.1' };

test('fetch() refuses every request when no token is configured', async t => {
  const api = makeApi({ tokens: [] });
  t.is((await api.call('GET', '/zones')).status, 401);
  t.is((await api.call('GET', '/zones', undefined, { token: null })).status, 401);
});

for (const [what, authorization] of [
  ['no token', null],
  ['an unknown token', `Bearer ${TOKEN}x`],
  ['a token that is a prefix', `Bearer ${TOKEN.slice(0, -1)}`],
  ['an empty token', 'Bearer '],
  ['another scheme', `Basic ${TOKEN}`],
  ['a token of 10000 characters', `Bearer ${'x'.repeat(10_000)}`],
  ['the token of an id that is not stored', `Bearer edge_0123456789abcdef_${'x'.repeat(43)}`],
] as const) {
  test(`fetch() answers 401 to ${what}`, async t => {
    const api = makeApi();
    const { status, body, headers } = await api.call('GET', '/zones', undefined, {
      token: null,
      ...(authorization === null ? {} : { headers: { authorization } }),
    });
    t.is(status, 401);
    t.is(body.errors[0]?.code, authorization === null ? 3001 : 3002);
    t.true(headers.get('www-authenticate')?.startsWith('Bearer'));
  });
}

test('fetch() takes no token for any route that is not public', async t => {
  const api = makeApi({ rateLimit: { failures: 1000 } });
  for (const route of allRoutes(new Schedule())) {
    if (route.access === 'public') continue;
    const path = route.path
      .replace(/\{zone_\w+\}/g, 'a'.repeat(32))
      .replace(/\{(dns_record|route)_id\}/g, 'a'.repeat(32));
    const url = path
      .replace(/\{(version|deployment)_id\}/g, '6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d')
      .replace('{token_id}', 'a'.repeat(16))
      .replace(/\{[\w.]+\}/g, 'x');
    t.is((await api.call(route.method, url, undefined, { token: null })).status, 401, `${route.method} ${route.path}`);
  }
});

test('fetch() takes a token that is configured by its hash', async t => {
  const sha256 = createHash('sha256').update(TOKEN).digest('hex');
  const api = makeApi({ tokens: [{ name: 'hashed', token: { sha256 }, account: 'acme', permissions: 'all' }] });
  t.is((await api.call('GET', '/zones')).status, 200);
});

for (const token of ['short', 'with a space in it, but long enough to be one', 'x'.repeat(513), { sha256: 'abc' }]) {
  test(`createManagement() refuses the token ${JSON.stringify(token).slice(0, 40)}`, t => {
    t.throws(() => makeApi({ tokens: [{ name: 'bad', token, account: 'acme', permissions: 'all' }] }), {
      instanceOf: RangeError,
    });
  });
}

test('fetch() refuses a configured token from its expiry on', async t => {
  const expiresOn = new Date('2026-01-01T12:00:00Z');
  const api = makeApi({ tokens: [{ name: 'a', token: TOKEN, account: 'acme', permissions: 'all', expiresOn }] });
  t.is((await api.call('GET', '/zones')).status, 200);
  api.clock.now = '2026-01-01T12:00:00Z';
  t.is((await api.call('GET', '/zones')).status, 401);
});

test('fetch() answers 403 to a token without the permission, before it looks at anything else', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const reader = { token: READ_TOKEN };
  t.is((await api.call('GET', `/zones/${zone}`, undefined, reader)).status, 200);
  for (const [method, path] of [
    ['POST', '/zones'],
    ['DELETE', `/zones/${zone}`],
    ['GET', `/zones/${zone}/dns_records`],
    ['GET', '/accounts/acme/functions'],
    ['GET', '/accounts/acme/tokens'],
    ['GET', '/accounts/acme/audit_logs'],
  ] as const) {
    const { status, body } = await api.call(method, path, undefined, reader);
    t.is(status, 403, path);
    t.is(body.errors[0]?.code, 3003);
  }
});

test('fetch() shows nothing of an account to a token of another', async t => {
  const api = makeApi();
  const zone = await api.zone();
  await api.call('PUT', '/accounts/acme/functions/hello', upload('export default {}'));
  const { result } = await api.call('POST', TOKENS, { name: 'mine', permissions: ['zones:read'] });
  const other = { token: OTHER_TOKEN };
  t.is((await api.call('GET', `/zones/${zone}`, undefined, other)).status, 404);
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, A_RECORD, other)).status, 404);
  t.deepEqual((await api.call('GET', '/zones', undefined, other)).body.result, []);
  t.is((await api.call('GET', '/accounts/acme/functions/hello', undefined, other)).status, 403);
  t.is((await api.call('POST', '/zones', { name: 'example.net', account: { id: 'acme' } }, other)).status, 403);
  t.is((await api.call('DELETE', `/accounts/other/tokens/${String(result.id)}`, undefined, other)).status, 404);
});

test('fetch() answers 404 for an account that the host does not have', async t => {
  const api = makeApi({ tokens: [{ name: 'root', token: TOKEN, account: '*', permissions: 'all' }] });
  t.is((await api.call('GET', '/accounts/nobody/functions')).status, 404);
  t.is((await api.call('POST', '/zones', { name: 'example.net', account: { id: 'nobody' } })).status, 400);
});

test('POST tokens makes a token that works, whose text is neither shown again nor stored', async t => {
  const api = makeApi();
  const made = await api.call('POST', TOKENS, { name: 'deploys', permissions: ['functions:edit'] });
  t.is(made.status, 201);
  const value = String(made.result.value);
  t.is((await api.call('GET', '/accounts/acme/functions', undefined, { token: value })).status, 200);
  t.is((await api.call('GET', '/zones', undefined, { token: value })).status, 403);
  t.false('value' in (await api.call('GET', `${TOKENS}/${String(made.result.id)}`)).result);
  const keys = JSON.stringify(await api.storage.iterator().all());
  t.false(keys.includes(value));
  t.false(keys.includes(value.slice(-20)));
});

test('DELETE tokens revokes a token at once', async t => {
  const api = makeApi();
  const { result } = await api.call('POST', TOKENS, { name: 'x', permissions: ['zones:read'] });
  const token = String(result.value);
  t.is((await api.call('GET', '/zones', undefined, { token })).status, 200);
  await api.call('DELETE', `${TOKENS}/${String(result.id)}`);
  t.is((await api.call('GET', '/zones', undefined, { token })).status, 401);
});

test('POST tokens makes a token that expires', async t => {
  const api = makeApi();
  const { result } = await api.call('POST', TOKENS, {
    name: 'x',
    permissions: ['zones:read'],
    expires_on: '2026-01-02T00:00:00Z',
  });
  const token = String(result.value);
  t.is((await api.call('GET', '/zones', undefined, { token })).status, 200);
  api.clock.now = '2026-01-02T00:00:00Z';
  t.is((await api.call('GET', '/zones', undefined, { token })).status, 401);
});

test('POST tokens refuses to make a token that may do more, or lives longer, than the one that asks', async t => {
  const api = makeApi();
  const { result } = await api.call('POST', TOKENS, {
    name: 'minter',
    permissions: ['tokens:edit', 'zones:read'],
    expires_on: '2026-02-01T00:00:00Z',
  });
  const minter = { token: String(result.value) };
  const ask = (body: object) => api.call('POST', TOKENS, { name: 'x', ...body }, minter);
  t.is((await ask({ permissions: ['zones:edit'], expires_on: '2026-01-15T00:00:00Z' })).status, 403);
  t.is((await ask({ permissions: ['zones:read'] })).status, 403);
  t.is((await ask({ permissions: ['zones:read'], expires_on: '2026-03-01T00:00:00Z' })).status, 403);
  t.is((await ask({ permissions: ['zones:read'], expires_on: '2026-01-15T00:00:00Z' })).status, 201);
});

test('issueToken() and revokeToken() serve the owner of the host', async t => {
  const api = makeApi({ tokens: [] });
  const { id, value } = await api.management.issueToken({
    name: 'first',
    account: 'acme',
    permissions: ['zones:read'],
  });
  t.is((await api.call('GET', '/zones', undefined, { token: value })).status, 200);
  await api.management.revokeToken(id);
  t.is((await api.call('GET', '/zones', undefined, { token: value })).status, 401);
  await t.throwsAsync(api.management.revokeToken(id), { instanceOf: RangeError });
});

test('fetch() answers 429 with Retry-After when a token asks too often, and serves the others', async t => {
  const api = makeApi({ rateLimit: { requests: 3 } });
  for (let at = 0; at < 3; at += 1) t.is((await api.call('GET', '/zones')).status, 200);
  const { status, body, headers } = await api.call('GET', '/zones');
  t.is(status, 429);
  t.is(body.errors[0]?.code, 1015);
  t.regex(headers.get('retry-after') ?? '', /^\d+$/);
  t.is((await api.call('GET', '/zones', undefined, { token: OTHER_TOKEN })).status, 200);
});

test('fetch() answers 429 to an address that keeps failing, and still serves its valid tokens', async t => {
  const api = makeApi({ rateLimit: { failures: 2 } });
  const guess = () => api.call('GET', '/zones', undefined, { token: `${TOKEN}x` });
  t.deepEqual([(await guess()).status, (await guess()).status, (await guess()).status], [401, 401, 429]);
  t.is((await api.call('GET', '/zones')).status, 200);
});

test('audit_logs lists every change, the newest first, and no reading', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const { result } = await api.call('POST', `/zones/${zone}/dns_records`, A_RECORD);
  await api.call('GET', `/zones/${zone}/dns_records`);
  await api.call('POST', `/zones/${zone}/dns_records`, { ...A_RECORD, content: 'x' });
  await api.call('DELETE', `/zones/${zone}/dns_records/${String(result.id)}`);
  const { body } = await api.call('GET', '/accounts/acme/audit_logs');
  const entries: {
    action: { route: string; method: string; status: number };
    actor: { token_name: string; address: string };
  }[] = Array.isArray(body.result) ? body.result : [];
  t.deepEqual(
    entries.map(({ action }) => action.route),
    ['dns-record-delete', 'dns-record-create', 'zone-create'],
  );
  t.like(entries[0]?.actor, { token_name: 'all', address: '192.0.2.7' });
});

test('audit_logs pages by cursor through all entries, each once', async t => {
  const api = makeApi();
  const zone = await api.zone();
  for (let at = 0; at < 9; at += 1)
    await api.call('POST', `/zones/${zone}/dns_records`, { ...A_RECORD, name: `n${at}` });
  const seen = new Set<string>();
  for (let cursor: unknown = '', pages = 0; cursor !== undefined && pages < 10; pages += 1) {
    const { body } = await api.call(
      'GET',
      `/accounts/acme/audit_logs?per_page=4${cursor === '' ? '' : `&cursor=${String(cursor)}`}`,
    );
    for (const { id } of Array.isArray(body.result) ? body.result : []) seen.add(String(id));
    cursor = body.result_info?.cursor;
  }
  t.is(seen.size, 10);
});

test('audit_logs has no entry for a change that could not be written', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const { batch } = api.storage;
  Object.assign(api.storage, { batch: () => Promise.reject(new Error('broken')) });
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, A_RECORD)).status, 500);
  Object.assign(api.storage, { batch });
  const { body } = await api.call('GET', '/accounts/acme/audit_logs');
  t.is(Array.isArray(body.result) ? body.result.length : 0, 1);
  t.deepEqual((await api.call('GET', `/zones/${zone}/dns_records`)).body.result, []);
});

test('audit_logs cannot be changed or deleted', async t => {
  const api = makeApi();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const { status, headers } = await api.call(method, '/accounts/acme/audit_logs');
    t.is(status, 405);
    t.is(headers.get('allow'), 'GET, HEAD');
  }
});
