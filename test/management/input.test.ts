import test from 'ava';
import fc from 'fast-check';
import { API_CODES } from '../../src/management/http/codes.js';
import { makeApi, upload } from './support/api.js';

const RECORD = { type: 'A', name: 'a', content: '192.0.2.1' };

test('API_CODES has no code twice', t => {
  const codes = Object.values(API_CODES).map(({ code }) => code);
  t.is(new Set(codes).size, codes.length);
});

test('fetch() answers 404 for an unknown route', async t => {
  const { status, body } = await makeApi().call('GET', '/nothing/here');
  t.is(status, 404);
  t.deepEqual(body, {
    result: null,
    success: false,
    errors: [{ code: 2001, message: 'There is no route /nothing/here' }],
    messages: [],
  });
});

test('fetch() answers 405 with Allow for a method that the route does not have', async t => {
  const { status, headers, body } = await makeApi().call('PUT', '/zones');
  t.is(status, 405);
  t.is(headers.get('allow'), 'GET, POST, HEAD');
  t.is(body.errors[0]?.code, 2002);
});

test('fetch() answers HEAD as GET without a body', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const { status, headers, body } = await api.call('HEAD', `/zones/${zone}`);
  t.is(status, 200);
  t.true(headers.has('etag'));
  t.is(body.result, '');
});

for (const [what, code, text, headers] of [
  ['a body that is no JSON', 1001, '{"type":', {}],
  ['an empty body', 1001, '', {}],
  ['a body that is no UTF-8', 1001, '\u{fffd}', {}],
  ['a body that is a list', 1002, '[]', {}],
  ['a body of null', 1002, 'null', {}],
  ['a body with __proto__', 1002, '{"__proto__":{"type":"A"},"name":"a"}', {}],
  ['a body of another media type', 1007, 'x', { 'content-type': 'text/plain' }],
  ['a body nested a hundred thousand deep', 1002, '['.repeat(100_000) + ']'.repeat(100_000), {}],
] as const) {
  test(`fetch() refuses ${what}`, async t => {
    const api = makeApi();
    const zone = await api.zone();
    const { status, body } = await api.call('POST', `/zones/${zone}/dns_records`, text, { headers });
    t.true(status === 400 || status === 415);
    t.is(body.errors[0]?.code, code);
  });
}

test('fetch() takes content types in any case, with parameters', async t => {
  const api = makeApi();
  const zone = await api.zone();
  for (const [at, type] of [
    'Application/JSON',
    'APPLICATION/json ; Charset="UTF-8"',
    'application/Merge-Patch+JSON',
  ].entries()) {
    const headers = { 'content-type': type };
    const record = { ...RECORD, name: `a${at}` };
    t.is((await api.call('POST', `/zones/${zone}/dns_records`, JSON.stringify(record), { headers })).status, 201, type);
  }
  const part = (name: string, type: string, text: string): string =>
    `--x\r\nCONTENT-DISPOSITION: Form-Data; NAME="${name}"; FileName="${name}"\r\nCONTENT-TYPE: ${type}\r\n\r\n${text}\r\n`;
  const source = 'export default { fetch() {} }';
  const body = `${part('metadata', 'Application/JSON', '{"main_module":"index.js"}')}${part('index.js', 'Application/JavaScript+Module; Charset=utf-8', source)}--x--\r\n`;
  const headers = { 'content-type': 'Multipart/FORM-Data; BOUNDARY=x' };
  const uploaded = await api.call('PUT', '/accounts/acme/functions/hello', body, { headers });
  t.is(uploaded.status, 200, JSON.stringify(uploaded.body));
});

test('fetch() answers 413 to a body above the limit, whether its length is declared or not', async t => {
  const api = makeApi({ limits: { bodyBytes: 100 } });
  const zone = await api.zone();
  const { status, body } = await api.call('POST', `/zones/${zone}/dns_records`, {
    ...RECORD,
    comment: 'x'.repeat(100),
  });
  t.is(status, 413);
  t.is(body.errors[0]?.code, 1006);
  const declared = await api.call('POST', `/zones/${zone}/dns_records`, RECORD, {
    headers: { 'content-length': '101' },
  });
  t.is(declared.status, 413);
});

test('fetch() stops reading a body that never ends', async t => {
  const api = makeApi({ limits: { bodyBytes: 1000 } });
  const zone = await api.zone();
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 100;
      controller.enqueue(new Uint8Array(100));
    },
  });
  const headers = {
    authorization: 'Bearer test-token-of-acme-with-all-permissions',
    'content-type': 'application/json',
  };
  const request = new Request(`http://localhost/zones/${zone}/dns_records`, {
    method: 'POST',
    headers,
    body: endless,
    duplex: 'half',
  });
  t.is((await api.management.fetch(request)).status, 413);
  t.true(sent < 5000);
});

test('fetch() names the query parameter that is given twice, at once behind a hundred thousand others', async t => {
  const others = Array.from({ length: 100_000 }, (_, at) => `n${at}=1`).join('&');
  const { status, body } = await makeApi().call('GET', `/zones?${others}&n7=2`);
  t.is(status, 400);
  t.is(body.errors[0]?.code, 1003);
  t.is(body.errors[0]?.message, 'The query parameter "n7" is given twice');
});

test('fetch() names the field that is wrong', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const message = async (body: object) =>
    (await api.call('POST', `/zones/${zone}/dns_records`, body)).body.errors[0]?.message ?? '';
  t.is(
    await message({ ...RECORD, ttl: 'x' }),
    '/ttl is the string "x", expected a whole number of seconds from 60 to 86400, or 1 for automatic',
  );
  t.is(
    await message({ ...RECORD, tags: ['a', 1] }),
    '/tags/1 is the number 1, expected a string of 1 to 100 characters',
  );
  t.regex(
    await message({ ...RECORD, contnet: 1 }),
    /^the body has no property "contnet"; its properties are type, name/,
  );
  t.is(await message({ type: 'A' }), '/name is missing, expected a string of 1 to 255 characters');
});

test('fetch() names what is wrong in a binding by its type', async t => {
  const api = makeApi();
  await api.call('PUT', '/accounts/acme/functions/hello', upload('export default {}'));
  const message = async (binding: object) =>
    (await api.call('PUT', '/accounts/acme/functions/hello/bindings', [binding])).body.errors[0]?.message;
  t.is(
    await message({ type: 'store_bucket', name: 'A' }),
    '/0/bucket_name is missing, expected the name of a bucket: 3 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit',
  );
  t.is(
    await message({ type: 'kv', name: 'A' }),
    "/0/type is the string \"kv\", expected one of 'plain_text', 'json', 'store_bucket', 'kv_namespace', 'queue', 'service', 'worker_loader', 'sql_database', 'stateful_object', 'secret_text'",
  );
  t.is(await message({ type: 'json', name: 'A', json: 1, x: 1 }), '/0 has no key "x"; its keys are type, name, json');
  t.is(await message({ type: 'secret_text', name: 'A', text: 123456 }), '/0/text is a number, expected a string');
});

for (const path of [
  '/zones/x',
  `/zones/${'A'.repeat(32)}`,
  '/accounts/..%2Facme/functions',
  '/accounts/acme/functions/a%2Fb',
  '/accounts/acme/functions/%00',
  '/accounts/acme/buckets/%F0%9F',
]) {
  test(`fetch() refuses the path ${path}`, async t => {
    const { status, body } = await makeApi().call('GET', path);
    t.is(status, 400);
    t.is(body.errors[0]?.code, 1005);
  });
}

for (const query of ['page=0', 'page=x', 'per_page=1001', 'page=1&page=2', 'unknown=1', 'page=1e400', '__proto__=1']) {
  test(`fetch() refuses the query ${query}`, async t => {
    const { status, body } = await makeApi().call('GET', `/zones?${query}`);
    t.is(status, 400);
    t.is(body.errors[0]?.code, 1003);
  });
}

test('fetch() answers below the base path only', async t => {
  const api = makeApi({ basePath: '/client/v4', schedule: { endOfLife: { 'dns-settings-endpoints': '2030-01-01' } } });
  t.is((await api.call('GET', '/zones')).status, 404);
  t.is((await api.call('GET', '/client/v4/zones')).status, 200);
  t.is((await api.call('GET', '/client/v4')).status, 404);
  const { result } = await api.call('POST', '/client/v4/zones', { name: 'example.com', account: { id: 'acme' } });
  const { headers } = await api.call('GET', `/client/v4/zones/${String(result.id)}/dns_settings/use_apex_ns`);
  t.true(
    headers.get('link')?.includes(`</client/v4/zones/${String(result.id)}/dns_settings>; rel="successor-version"`),
  );
});

for (const basePath of ['x', '/x/', '/x y', '/']) {
  test(`createManagement() refuses the base path ${JSON.stringify(basePath)}`, t => {
    t.throws(() => makeApi({ basePath }), { instanceOf: RangeError, message: /basePath/ });
  });
}

for (const [what, options] of [
  ['a limit of zero', { limits: { bodyBytes: 0 } }],
  ['a rate limit of a half', { rateLimit: { requests: 0.5 } }],
  ['a secrets key of 31 bytes', { secretsKey: new Uint8Array(31) }],
  ['a zone setting that the schedule ends', { zoneSettings: { brotli: { schema: {}, default: 'on' } } }],
  ['a zone setting whose default does not fit', { zoneSettings: { a: { schema: { type: 'string' }, default: 1 } } }],
] as const) {
  test(`createManagement() refuses ${what}`, t => {
    t.throws(() => makeApi(options), { instanceOf: RangeError });
  });
}

test('zones are found by name, and a name is taken once', async t => {
  const api = makeApi();
  await api.zone('Example.COM.');
  await api.zone('example.net');
  const { body } = await api.call('GET', '/zones?name=example.com');
  t.is(body.result_info?.total_count, 1);
  t.is((await api.call('POST', '/zones', { name: 'example.com', account: { id: 'acme' } })).status, 409);
  const both = await Promise.all(
    [1, 2].map(() => api.call('POST', '/zones', { name: 'twice.example', account: { id: 'acme' } })),
  );
  t.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
});

test('zone settings of the owner are checked by their schema and kept', async t => {
  const api = makeApi({ zoneSettings: { always_use_https: { schema: { enum: ['on', 'off'] }, default: 'off' } } });
  const zone = await api.zone();
  const setting = `/zones/${zone}/settings/always_use_https`;
  t.is((await api.call('GET', setting)).result.value, 'off');
  const refused = await api.call('PATCH', setting, { value: 'maybe' });
  t.is(refused.status, 400);
  t.is(refused.body.errors[0]?.message, "/value is the string \"maybe\", expected one of 'on', 'off'");
  const changed = await api.call('PATCH', setting, { value: 'on' });
  t.is((await api.call('GET', setting)).result.value, 'on');
  const stale = { headers: { 'if-match': '"default"' } };
  t.is((await api.call('PATCH', setting, { value: 'off' }, stale)).status, 412);
  t.is(
    (await api.call('PATCH', setting, { value: 'off' }, { headers: { 'if-match': changed.headers.get('etag') ?? '' } }))
      .status,
    200,
  );
});

test('fetch() answers every request in the envelope, whatever its method, path and headers', async t => {
  const errors: unknown[] = [];
  const api = makeApi({ onError: error => errors.push(error), datePin: 'any', rateLimit: { requests: 100_000 } });
  const segment = fc.oneof(
    fc.constantFrom(
      'zones',
      'accounts',
      'acme',
      'functions',
      'hello',
      'settings',
      'dns_records',
      '__proto__',
      'constructor',
    ),
    fc.webSegment(),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'),
      fc.array(segment, { maxLength: 7 }),
      fc.option(fc.string({ unit: 'grapheme-ascii' }), { nil: undefined }),
      fc.option(fc.string({ unit: fc.constantFrom(...'0123456789-TZ:') }), { nil: undefined }),
      async (method, segments, text, date) => {
        const body = method === 'GET' || method === 'HEAD' ? undefined : text;
        const headers = date === undefined ? {} : { 'edge-api-date': date };
        const answer = await api.call(method, `/${segments.join('/')}`, body, { headers });
        return answer.status < 500 && (method === 'HEAD' || answer.status === 304 || 'result' in answer.body);
      },
    ),
    { numRuns: 500 },
  );
  t.deepEqual(errors, []);
});
