import test from 'ava';
import { makeApi, OTHER_TOKEN, TOKEN } from './support/api.js';

const RANGE = 'from=2024-01-01&to=2024-01-03';
const EVERYTHING = 'a token for every account, long enough';

test('usage/records of an account has its days', async t => {
  const { status, result } = await makeApi().call('GET', `/accounts/acme/usage/records?${RANGE}`);
  t.is(status, 200);
  t.like(result, {
    account: 'acme',
    from: '2024-01-01',
    to: '2024-01-03',
    stored: { bytes: 3, objects: 1 },
    storage: [{ day: '2024-01-01', byte_hours: 72, object_hours: 24 }, { day: '2024-01-02' }],
    records: [
      { day: '2024-01-01', function: null, requests: 1, request_outcomes: { ok: 1, exception: 0 } },
      { day: '2024-01-02' },
    ],
  });
});

test('usage/csv is CSV with a line for each record', async t => {
  const { management } = makeApi();
  const request = new Request(`http://localhost/accounts/acme/usage/csv?${RANGE}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const response = await management.fetch(request);
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/csv/);
  const lines = (await response.text()).split('\r\n');
  t.is(lines.length, 6);
  t.true(lines[1]?.startsWith('acme,2024-01-01,2024-01-03,2024-01-01,,1,1,'));
});

test('the token of an account sees the usage of that account alone', async t => {
  const api = makeApi();
  t.is((await api.call('GET', `/accounts/acme/usage/records`, undefined, { token: OTHER_TOKEN })).status, 403);
  t.is((await api.call('GET', `/accounts/acme/usage/csv`, undefined, { token: OTHER_TOKEN })).status, 403);
  const { result } = await api.call('GET', `/usage/records?${RANGE}`, undefined, { token: OTHER_TOKEN });
  t.deepEqual(accountsOf(result), ['other']);
});

test('a token without usage:read sees no usage', async t => {
  const tokens = [{ name: 'deploys', token: TOKEN, account: 'acme', permissions: ['functions:edit'] }] as const;
  const api = makeApi({ tokens });
  for (const path of ['/accounts/acme/usage/records', '/accounts/acme/usage/csv', '/usage/records', '/usage/csv'])
    t.is((await api.call('GET', path)).status, 403, path);
});

test('a token of all accounts sees the usage of each, also of those that are removed, by pages', async t => {
  const tokens = [
    { name: 'billing', token: EVERYTHING.replaceAll(' ', '-'), account: '*', permissions: ['usage:read'] },
  ] as const;
  const api = makeApi({ tokens });
  const token = tokens[0].token;
  const { result } = await api.call('GET', `/usage/records?${RANGE}`, undefined, { token });
  t.deepEqual(accountsOf(result), ['acme', 'other', 'removed']);
  const second = await api.call('GET', `/usage/records?${RANGE}&per_page=2&page=2`, undefined, { token });
  t.deepEqual(accountsOf(second.result), ['removed']);
  t.like(second.body, { result_info: { page: 2, per_page: 2, count: 1, total_count: 3, total_pages: 2 } });
});

for (const [query, message] of [
  ['from=2024-02-30', /from/],
  ['from=yesterday', /from/],
  ['from=2024-01-03&to=2024-01-01', /expected a time after from/],
  ['from=2000-01-01&to=2024-01-01', /at most 3660/],
  ['by=hour', /by/],
  ['per_page=101', /per_page/],
  ['since=2024-01-01', /since/],
] as const) {
  test(`usage/records refuses ${query}`, async t => {
    const { status, body } = await makeApi().call('GET', `/usage/records?${query}`);
    t.is(status, 400);
    t.is(body.errors[0]?.code, 1003);
    t.regex(body.errors[0]?.message ?? '', message);
  });
}

function accountsOf(result: unknown): unknown[] {
  return Array.isArray(result) ? result.map((report: { account: unknown }) => report.account) : [];
}
