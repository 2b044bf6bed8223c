import test from 'ava';
import type { EdgeHost } from '../../src/index.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { makeApi } from './support/api.js';

const NAMESPACES = '/accounts/acme/kv/namespaces';
const TOKEN = 't'.repeat(40);

test('namespaces are made, listed, read and deleted', async t => {
  const api = makeApi();
  const made = await api.call('POST', NAMESPACES, { name: 'sessions' });
  t.is(made.status, 201);
  t.like(made.result, { id: 'sessions' });
  t.is((await api.call('POST', NAMESPACES, { name: 'sessions' })).status, 409);
  t.is((await api.call('POST', NAMESPACES, { name: 'a/b' })).status, 400);
  t.like((await api.call('GET', NAMESPACES)).body, { result_info: { count: 1 } });
  t.like((await api.call('GET', `${NAMESPACES}/sessions`)).result, { id: 'sessions' });
  t.like((await api.call('DELETE', `${NAMESPACES}/sessions`)).result, { id: 'sessions' });
  t.is((await api.call('GET', `${NAMESPACES}/sessions`)).status, 404);
  t.is((await api.call('DELETE', `${NAMESPACES}/sessions`)).status, 404);
  t.is((await api.call('GET', `${NAMESPACES}/sessions/keys`)).status, 404);
  t.is((await api.call('GET', `${NAMESPACES}/sessions/values/a`)).status, 404);
});

/** A host with its API, and a caller with one token. */
function served(t: Parameters<typeof newHost>[0], permissions: 'all' | readonly ['kv:read']) {
  const host: EdgeHost = newHost(t);
  host.account('acme', { limits: { storageBytes: 1000 } });
  const api = host.management({ tokens: [{ name: 'a', token: TOKEN, account: 'acme', permissions }] });
  const call = (
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    api(
      new Request(`http://localhost${NAMESPACES}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, ...headers },
        ...(body === undefined ? {} : { body }),
      }),
    );
  return { host, call };
}

test('values are put, read, listed and deleted, and functions see them', async t => {
  const { host, call } = served(t, 'all');
  await call('POST', '', JSON.stringify({ name: 'sessions' }), { 'content-type': 'application/json' });
  const key = encodeURIComponent('user/1 ü?%');
  const put = await call(
    'PUT',
    `/sessions/values/${key}?expiration_ttl=60&metadata=${encodeURIComponent('{"a":1}')}`,
    'hello',
  );
  t.is(put.status, 200);
  const fn = await host.account('acme').load(handler(`return new Response(await env.KV.get('user/1 ü?%'))`), {
    kv: { KV: 'sessions' },
  });
  t.is(await textOf(fn.fetch('http://x/')), 'hello');
  const value = await call('GET', `/sessions/values/${key}`);
  t.is(value.headers.get('content-type'), 'application/octet-stream');
  t.is(value.headers.get('x-content-type-options'), 'nosniff');
  t.is(await value.text(), 'hello');
  const { result } = JSON.parse(await textOf(call('GET', `/sessions/metadata/${key}`)));
  t.like(result, { name: 'user/1 ü?%', metadata: { a: 1 } });
  t.true(result.expiration > Date.now() / 1000);
  await call('PUT', '/sessions/values/b', 'second');
  const first = JSON.parse(await textOf(call('GET', '/sessions/keys?per_page=1')));
  t.deepEqual(first.result, [{ name: 'b' }]);
  const { cursor } = first.result_info;
  const second = JSON.parse(await textOf(call('GET', `/sessions/keys?per_page=1&cursor=${cursor}`)));
  t.like(second, { result: [{ name: 'user/1 ü?%' }], result_info: { count: 1 } });
  t.false('cursor' in second.result_info);
  t.deepEqual(JSON.parse(await textOf(call('GET', '/sessions/keys?prefix=c'))).result, []);
  t.is((await call('HEAD', '/sessions/values/b')).status, 200);
  t.is((await call('DELETE', '/sessions/values/b')).status, 200);
  t.is((await call('GET', '/sessions/values/b')).status, 404);
});

test('a value is refused for what is wrong with it, and for the quota of the account', async t => {
  const { host, call } = served(t, 'all');
  await host.account('acme').kv('sessions').put('a', 'v');
  const cases: [string, string | Uint8Array<ArrayBuffer>, number][] = [
    ['/sessions/values/a?expiration_ttl=59', 'v', 400],
    ['/sessions/values/a?expiration=5', 'v', 400],
    ['/sessions/values/a?expiration_ttl=x', 'v', 400],
    ['/sessions/values/a?metadata={', 'v', 400],
    ['/sessions/values/a?other=1', 'v', 400],
    [`/sessions/values/${'k'.repeat(513)}`, 'v', 400],
    ['/sessions/values/a', 'x'.repeat(1001), 403],
    ['/none/values/a', 'v', 404],
  ];
  for (const [path, body, status] of cases) {
    const response = await call('PUT', path, body);
    t.is(response.status, status, `${path} ${await response.text()}`);
  }
  t.is(await host.account('acme').kv('sessions').get('a'), 'v');
  const large = await call('PUT', '/sessions/values/a', new Uint8Array(26_214_401));
  t.is(large.status, 413);
  t.deepEqual(await host.account('acme').storage(), { bytes: 1, objects: 1 });
});

test('large values come back whole', async t => {
  const host = newHost(t);
  host.account('acme');
  const api = host.management({ tokens: [{ name: 'a', token: TOKEN, account: 'acme', permissions: 'all' }] });
  await host.account('acme').kv('large').put('a', 'x'.repeat(300_000));
  const request = new Request(`http://localhost${NAMESPACES}/large/values/a`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  t.is((await textOf(api(request))).length, 300_000);
});

test('kv:read reads and does not write, and says nothing of other accounts', async t => {
  const { host, call } = served(t, ['kv:read']);
  await host.account('acme').kv('sessions').put('a', 'v');
  t.is(await textOf(call('GET', '/sessions/values/a')), 'v');
  t.is((await call('PUT', '/sessions/values/a', 'w')).status, 403);
  t.is((await call('DELETE', '/sessions/values/a')).status, 403);
  t.is((await call('DELETE', '/sessions')).status, 403);
  t.is(await host.account('acme').kv('sessions').get('a'), 'v');
});

test('a function that is uploaded binds a namespace by its id', async t => {
  const api = makeApi();
  const metadata = {
    main_module: 'index.js',
    bindings: [{ type: 'kv_namespace', name: 'KV', namespace_id: '0f2ac74b498b48028cb68387c421e279' }],
  };
  const form = new FormData();
  form.set('metadata', new Blob([JSON.stringify(metadata)], { type: 'application/json' }));
  form.set('index.js', new File(['export default {}'], 'index.js', { type: 'application/javascript+module' }));
  t.is((await api.call('PUT', '/accounts/acme/functions/hello', form)).status, 200);
  const [deployment] = api.functions.serving.values();
  t.deepEqual(deployment?.bindings, [{ name: 'KV', option: 'kv', config: '0f2ac74b498b48028cb68387c421e279' }]);
});

const JSON_TYPE = { 'content-type': 'application/json' };

interface BulkAnswer {
  readonly result: unknown;
  readonly errors: readonly { readonly message: string }[];
}

test('many values are put and deleted at once, and functions see them', async t => {
  const { host, call } = served(t, 'all');
  host.account('acme').update({ limits: { storageBytes: 100_000_000 } });
  await call('POST', '', JSON.stringify({ name: 'sessions' }), JSON_TYPE);
  const expiration = Math.floor(Date.now() / 1000) + 3600;
  const large = 'ü"\\\n'.repeat(200_000);
  const many = Array.from({ length: 3000 }, (_, index) => ({ key: `n/${index}`, value: `value ${index}` }));
  const pairs = [
    ...many,
    { key: 'twice', value: 'first' },
    { key: 'bytes', value: Buffer.from([0, 255, 1]).toString('base64'), base64: true },
    { key: 'all "\\" of it', value: large, expiration, metadata: { deep: [1, { a: ']' }] } },
    { key: 'twice', value: 'last', expiration_ttl: 60 },
  ];
  const put = await call('PUT', '/sessions/bulk', JSON.stringify(pairs, undefined, 1), JSON_TYPE);
  t.like(await put.json(), { result: { successful_key_count: many.length + 3, unsuccessful_keys: [] } });
  const kv = host.account('acme').kv('sessions');
  t.deepEqual(await kv.getWithMetadata('all "\\" of it'), {
    value: large,
    metadata: { deep: [1, { a: ']' }] },
    cacheStatus: null,
  });
  t.deepEqual([...new Uint8Array((await kv.get('bytes', 'arrayBuffer')) ?? new ArrayBuffer(0))], [0, 255, 1]);
  t.is(await kv.get('twice'), 'last');
  t.is(await kv.get('n/2999'), 'value 2999');
  const keys = [...many.slice(0, 2000).map(({ key }) => key), 'never there'];
  const gone = await call('POST', '/sessions/bulk/delete', JSON.stringify(keys), JSON_TYPE);
  t.like(await gone.json(), { result: { successful_key_count: 2001, unsuccessful_keys: [] } });
  t.is((await kv.list({ prefix: 'n/' })).keys.length, 1000);
  t.is(await kv.get('n/1999'), null);
  const empty = await call('PUT', '/sessions/bulk', ' [ ] ', JSON_TYPE);
  t.like(await empty.json(), { result: { successful_key_count: 0 } });
});

const GOOD = '{"key":"good","value":"1"}';
const WRONG_BULKS: readonly (readonly [what: string, body: string, status: number, message: RegExp])[] = [
  ['no JSON', `[${GOOD},{"key":]`, 400, /not valid JSON/],
  ['an end too early', `[${GOOD}`, 400, /not valid JSON/],
  ['more behind its end', `[${GOOD}] []`, 400, /not valid JSON/],
  ['a comma too many', `[${GOOD},]`, 400, /not valid JSON/],
  ['brackets that do not match', `[${GOOD},{"key":"a","value":"b"]]`, 400, /not valid JSON/],
  ['an object', GOOD, 400, /must be array/],
  ['a pair without a value', `[${GOOD},{"key":"a"}]`, 400, /^\/1\/value is missing/],
  ['an unknown field', `[${GOOD},{"key":"a","value":"","ttl":1}]`, 400, /^\/1 /],
  ['a value that is no text', `[${GOOD},{"key":"a","value":1}]`, 400, /^\/1\/value/],
  ['an empty key', `[${GOOD},{"key":"","value":""}]`, 400, /^\/1\/key/],
  ['a dot as a key', `[${GOOD},{"key":"..","value":""}]`, 400, /^\/1: "\.\." is not allowed as a key name/],
  ['a long key', `[${GOOD},{"key":"${'k'.repeat(513)}","value":""}]`, 400, /414 UTF-8 encoded length of 513/],
  ['what is no base64', `[${GOOD},{"key":"a","value":"a*b","base64":true}]`, 400, /^\/1: .*base64/],
  [
    'a time to live too short',
    `[${GOOD},{"key":"a","value":"","expiration_ttl":59}]`,
    400,
    /Invalid expiration_ttl of 59/,
  ],
  ['an expiry that is over', `[${GOOD},{"key":"a","value":"","expiration":5}]`, 400, /Invalid expiration of 5/],
  [
    'long metadata',
    `[${GOOD},{"key":"a","value":"","metadata":"${'m'.repeat(1023)}"}]`,
    400,
    /413 Metadata length of 1025/,
  ],
  [
    'a million arrays',
    `[${GOOD},{"key":"a","value":"","metadata":[${'[],'.repeat(1_000_000)}0]}]`,
    400,
    /^\/1 must not have more/,
  ],
  ['white space without end', `[${GOOD},${' '.repeat(100_000)}${GOOD}]`, 400, /^\/1 must not have more/],
  ['too many pairs', `[${`${GOOD},`.repeat(10_000)}${GOOD}]`, 400, /more than 10000 items/],
];

test('a bulk is refused whole for what is wrong with any of its pairs', async t => {
  const { call } = served(t, 'all');
  await call('POST', '', JSON.stringify({ name: 'sessions' }), JSON_TYPE);
  for (const [what, body, status, message] of WRONG_BULKS) {
    const answer = await call('PUT', '/sessions/bulk', body, JSON_TYPE);
    const { errors } = (await answer.json()) as BulkAnswer;
    t.is(answer.status, status, what);
    t.regex(errors[0]?.message ?? '', message, what);
  }
  const deletion = await call('POST', '/sessions/bulk/delete', '["a", 1]', JSON_TYPE);
  t.is(deletion.status, 400);
  t.regex(((await deletion.json()) as BulkAnswer).errors[0]?.message ?? '', /^\/1 /);
  t.is((await call('PUT', '/sessions/bulk', '[]', { 'content-type': 'text/plain' })).status, 415);
  t.is((await call('PUT', '/other/bulk', '[]', JSON_TYPE)).status, 404);
  t.like(await (await call('GET', '/sessions/keys')).json(), { result: [] });
});

test('what a bulk could not write for the quota of the account is named, and nothing at all is an error', async t => {
  const { call } = served(t, 'all');
  await call('POST', '', JSON.stringify({ name: 'sessions' }), JSON_TYPE);
  const small = Array.from({ length: 70 }, (_, index) => ({ key: `small/${index}`, value: 'x' }));
  const over = [...small, { key: 'over', value: 'x'.repeat(2000) }];
  const part = await call('PUT', '/sessions/bulk', JSON.stringify(over), JSON_TYPE);
  t.like(await part.json(), { result: { successful_key_count: 70, unsuccessful_keys: ['over'] } });
  const none = await call('PUT', '/sessions/bulk', JSON.stringify([over[70]]), JSON_TYPE);
  t.is(none.status, 403);
});

test('a bulk needs kv:edit', async t => {
  const { call } = served(t, ['kv:read']);
  t.is((await call('PUT', '/sessions/bulk', '[]', JSON_TYPE)).status, 403);
  t.is((await call('POST', '/sessions/bulk/delete', '[]', JSON_TYPE)).status, 403);
});

test('a bulk lets others go on between what it writes at once', async t => {
  const { host, call } = served(t, 'all');
  await host.account('acme').update({ limits: { storageBytes: 100_000 } });
  await call('POST', '', JSON.stringify({ name: 'sessions' }), JSON_TYPE);
  let rounds = 0;
  const count = (): void => {
    rounds++;
    round = setImmediate(count);
  };
  let round = setImmediate(count);
  t.teardown(() => clearImmediate(round));
  const pairs = Array.from({ length: 2000 }, (_, i) => ({ key: `k${i}`, value: '' }));
  t.is((await call('PUT', '/sessions/bulk', JSON.stringify(pairs), JSON_TYPE)).status, 200);
  const batches = 2000 / 64;
  t.true(rounds >= batches, `${rounds}`);
  rounds = 0;
  const keys = pairs.map(({ key }) => key);
  t.is((await call('POST', '/sessions/bulk/delete', JSON.stringify(keys), JSON_TYPE)).status, 200);
  t.true(rounds >= batches, `${rounds}`);
});
