import test from 'ava';
import { MemoryLevel } from 'memory-level';
import { createManagement } from '../../src/management/management.js';
import { EdgeError } from '../../src/quotas/errors.js';
import { type Api, makeApi, newNames, OTHER_TOKEN, SECRETS_KEY, TOKEN, upload } from './support/api.js';
import { MemoryFunctions, memoryDirectories } from './support/memory-port.js';
import { asStorage } from './support/open-level.js';

const HELLO = '/accounts/acme/functions/hello';
const SOURCE = 'export default { fetch() { return new Response("hi") } }';

function serving(api: Api) {
  const deployment = api.functions.serving.get('acme/hello');
  if (deployment === undefined) throw new Error('nothing serves');
  return deployment;
}

/** Every record but the audit log. */
async function stored(api: Api): Promise<string> {
  const entries = await api.storage.iterator().all();
  return JSON.stringify(entries.filter(([key]) => !key.startsWith('!audit!')));
}

test('PUT functions lets an upload serve with its configuration', async t => {
  const api = makeApi();
  const form = upload(SOURCE, {
    compatibility_date: '2024-01-01',
    compatibility_flags: ['store_list_honor_include'],
    bindings: [
      { type: 'plain_text', name: 'constructor', text: 'hi' },
      { type: 'json', name: 'CONFIG', json: { retries: [1, 2] } },
      { type: 'store_bucket', name: 'FILES', bucket_name: 'files' },
      { type: 'secret_text', name: 'TOKEN', text: 's3cret' },
    ],
    limits: { cpu_ms: 20 },
    usage_model: 'standard',
  });
  form.set('index.js.map', new File(['{}'], 'index.js.map', { type: 'application/source-map' }));
  form.set(
    'lib/data.bin',
    new File([new Uint8Array([0, 255, 13, 10])], 'data.bin', { type: 'application/octet-stream' }),
  );
  const { status, result } = await api.call('PUT', HELLO, form);
  t.is(status, 200);
  t.like(result, { id: 'hello', startup_time_ms: 3, usage_model: 'standard' });
  const deployment = serving(api);
  t.is(deployment.version, String(result.version_id));
  t.deepEqual(
    deployment.modules.map(({ name, type }) => [name, type]),
    [
      ['index.js', 'esm'],
      ['index.js.map', 'text'],
      ['lib/data.bin', 'data'],
    ],
  );
  t.deepEqual([...(deployment.modules[2]?.content ?? [])], [0, 255, 13, 10]);
  t.is(deployment.vars.get('constructor'), 'hi');
  t.deepEqual(deployment.vars.get('CONFIG'), { retries: [1, 2] });
  t.deepEqual(deployment.bindings, [{ name: 'FILES', option: 'buckets', config: 'files' }]);
  t.is(deployment.secrets.get('TOKEN'), 's3cret');
  t.deepEqual(deployment.limits, { cpuMs: 20 });
});

test('PUT functions takes a classic script as body_part', async t => {
  const api = makeApi();
  const form = new FormData();
  form.set('metadata', JSON.stringify({ body_part: 'script' }));
  form.set(
    'script',
    new File(['addEventListener("fetch", () => {})'], 'script.js', { type: 'application/javascript' }),
  );
  t.is((await api.call('PUT', HELLO, form)).status, 200);
  t.is(serving(api).modules[0]?.type, 'script');
});

test('PUT functions changes nothing when the script does not load', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE));
  const before = await stored(api);
  const { version } = serving(api);
  const { status, body } = await api.call('PUT', HELLO, upload('syntax error'));
  t.is(status, 400);
  t.is(body.errors[0]?.code, 5001);
  t.regex(body.errors[0]?.message ?? '', /EDGE_SCRIPT_SYNTAX: .*does not parse/);
  t.is(await stored(api), before);
  t.is(serving(api).version, version);
});

test('PUT functions brings the former version back when the disk is full', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE));
  const before = await stored(api);
  const { version } = serving(api);
  const { batch } = api.storage;
  Object.assign(api.storage, {
    batch: async () => {
      throw Object.assign(new Error('No space left on device'), { code: 'LEVEL_IO_ERROR' });
    },
  });
  const { status, body } = await api.call('PUT', HELLO, upload(`${SOURCE} // 2`));
  Object.assign(api.storage, { batch });
  t.is(status, 507);
  t.is(body.errors[0]?.code, 8002);
  t.is(serving(api).version, version);
  t.is(await stored(api), before);
});

test('PUT functions ends the function again when its first upload cannot be stored', async t => {
  const api = makeApi();
  const { batch } = api.storage;
  Object.assign(api.storage, { batch: () => Promise.reject(new Error('broken')) });
  t.is((await api.call('PUT', HELLO, upload(SOURCE))).status, 500);
  Object.assign(api.storage, { batch });
  t.is(api.functions.serving.size, 0);
});

const UPLOADS: readonly (readonly [string, number, (form: FormData) => void])[] = [
  ['without metadata', 1011, form => form.delete('metadata')],
  ['with two parts metadata', 1011, form => form.append('metadata', '{}')],
  ['whose metadata is no JSON', 1001, form => form.set('metadata', '{')],
  ['whose metadata names no main module', 1002, form => form.set('metadata', '{}')],
  ['whose metadata has an unknown field', 1002, form => form.set('metadata', '{"main_module":"index.js","x":1}')],
  ['whose main module is missing', 1011, form => form.set('metadata', '{"main_module":"other.js"}')],
  [
    'whose main module is data',
    1011,
    form => form.set('index.js', new File(['x'], 'x', { type: 'application/octet-stream' })),
  ],
  ['with a part that is no file', 1011, form => form.set('lib.js', 'text')],
  [
    'with a part of an unknown type',
    1011,
    form => form.set('a.wasm', new File(['x'], 'a.wasm', { type: 'application/wasm' })),
  ],
  [
    'with a part whose type is a name that every object has',
    1011,
    form => form.set('a.js', new File(['x'], 'a.js', { type: 'constructor' })),
  ],
  [
    'with two parts of one name',
    1011,
    form => form.append('index.js', new File(['x'], 'x', { type: 'text/javascript' })),
  ],
  [
    'with more modules than allowed',
    1011,
    form => {
      for (let at = 0; at < 3; at += 1) form.set(`m${at}`, new File(['x'], 'x', { type: 'text/plain' }));
    },
  ],
  [
    'whose binding is no identifier',
    1002,
    form =>
      form.set('metadata', '{"main_module":"index.js","bindings":[{"type":"plain_text","name":"a-b","text":""}]}'),
  ],
  [
    'whose binding is a reserved word',
    1002,
    form =>
      form.set('metadata', '{"main_module":"index.js","bindings":[{"type":"plain_text","name":"class","text":""}]}'),
  ],
  [
    'with two bindings of one name',
    1002,
    form =>
      form.set(
        'metadata',
        '{"main_module":"index.js","bindings":[{"type":"plain_text","name":"A","text":""},{"type":"store_bucket","name":"A","bucket_name":"files"}]}',
      ),
  ],
];

for (const [what, code, change] of UPLOADS) {
  test(`PUT functions refuses an upload ${what}`, async t => {
    const api = makeApi({ limits: { uploadModules: 3 } });
    const form = upload(SOURCE);
    change(form);
    const { status, body } = await api.call('PUT', HELLO, form);
    t.is(status, 400);
    t.is(body.errors[0]?.code, code, body.errors[0]?.message);
    t.is(api.functions.serving.size, 0);
  });
}

test('PUT functions refuses a body that is not multipart, broken, or too large', async t => {
  const api = makeApi({ limits: { uploadBytes: 1000 } });
  t.is((await api.call('PUT', HELLO, {})).status, 415);
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  t.is((await api.call('PUT', HELLO, '--x\r\nbroken', { headers })).body.errors[0]?.code, 1011);
  const { status, body } = await api.call('PUT', HELLO, upload('x'.repeat(2000)));
  t.is(status, 413);
  t.regex(body.errors[0]?.message ?? '', /^Request entity too large/);
});

test('PUT functions refuses metadata that would take long to parse, before it is parsed', async t => {
  const api = makeApi();
  for (const [metadata, status, message] of [
    [
      `{"main_module":"index.js","x":"${'x'.repeat(1024 ** 2)}"}`,
      413,
      /The part "metadata" has \d+ bytes: at most 1048576/,
    ],
    ['['.repeat(500_000), 400, /500000 arrays and objects, at most 50000 are allowed/],
    [
      `{${Array.from({ length: 30_000 }, (_, i) => `"k${i}":0`).join()}}`,
      400,
      /30000 named values, at most 20000 are allowed/,
    ],
  ] as const) {
    const form = upload(SOURCE);
    form.set('metadata', metadata);
    const refused = await api.call('PUT', HELLO, form);
    t.is(refused.status, status);
    t.regex(refused.body.errors[0]?.message ?? '', message);
  }
});

test('PUT functions with If-None-Match: * only makes a function', async t => {
  const api = makeApi();
  const headers = { 'if-none-match': '*' };
  t.is((await api.call('PUT', HELLO, upload(SOURCE), { headers })).status, 200);
  t.is((await api.call('PUT', HELLO, upload(SOURCE), { headers })).status, 412);
});

test('GET content answers the modules as they were uploaded', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE));
  const request = new Request(`http://localhost${HELLO}/content`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const form = await (await api.management.fetch(request)).formData();
  const part = form.get('index.js');
  t.is(part instanceof File ? await part.text() : null, SOURCE);
});

test('POST versions stores a version that does not serve until it is deployed', async t => {
  const api = makeApi();
  const first = await api.call('PUT', HELLO, upload(SOURCE));
  const second = await api.call('POST', `${HELLO}/versions`, upload(`${SOURCE} // 2`));
  t.is(second.status, 201);
  t.like(second.result, { number: 2, startup_time_ms: 3 });
  t.is(serving(api).version, String(first.result.version_id));
  const deployed = await api.call('POST', `${HELLO}/deployments`, {
    versions: [{ version_id: second.result.id, percentage: 100 }],
  });
  t.is(deployed.status, 201);
  t.is(deployed.result.startup_time_ms, 3);
  t.is(serving(api).version, String(second.result.id));
  const { body } = await api.call('GET', `${HELLO}/deployments`);
  t.is(Array.isArray(body.result) ? body.result.length : 0, 2);
});

test('POST deployments refuses to split traffic', async t => {
  const api = makeApi();
  const { result } = await api.call('PUT', HELLO, upload(SOURCE));
  const share = { version_id: result.version_id, percentage: 50 };
  const { status, body } = await api.call('POST', `${HELLO}/deployments`, { versions: [share, share] });
  t.is(status, 501);
  t.is(body.errors[0]?.code, 5005);
});

test('PUT functions keeps no more versions and modules than allowed, and never drops the one that serves', async t => {
  const api = makeApi({ limits: { versionsKept: 3 } });
  for (let at = 0; at < 6; at += 1) await api.call('PUT', HELLO, upload(`${SOURCE} // ${at}`));
  for (let at = 0; at < 4; at += 1) await api.call('PATCH', `${HELLO}/settings`, { limits: { cpu_ms: at + 1 } });
  for (let at = 0; at < 4; at += 1) await api.call('POST', `${HELLO}/versions`, upload(`${SOURCE} // v${at}`));
  const { result } = await api.call('GET', HELLO);
  t.is((await api.call('GET', `${HELLO}/versions/${String(result.version_id)}`)).status, 200);
  const keys = await api.storage.keys().all();
  t.is(keys.filter(key => key.startsWith('!versions!')).length, 3);
  t.true(keys.filter(key => key.startsWith('!contents!')).length <= 3);
  t.is(keys.filter(key => key.startsWith('!deployments!')).length, 3);
  // What serves can be read, so it can be loaded again.
  t.is((await api.call('GET', `${HELLO}/content`)).status, 200);
});

test('tail_consumers of an upload and of settings are the tails of the function', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE, { tail_consumers: [{ service: 'watcher' }] }));
  t.deepEqual(serving(api).tails, ['watcher']);
  const { result } = await api.call('GET', `${HELLO}/settings`);
  t.deepEqual(result.tail_consumers, [{ service: 'watcher' }]);
  await api.call('PATCH', `${HELLO}/settings`, { tail_consumers: [{ service: 'one' }, { service: 'two' }] });
  t.deepEqual(serving(api).tails, ['one', 'two']);
  t.is((await api.call('PATCH', `${HELLO}/settings`, { tail_consumers: ['one'] })).status, 400);
});

test('egress of an upload and of settings are the hosts of the function, and never secrets', async t => {
  const api = makeApi();
  const egress = { hosts: ['api.example.com', { host: 'b.example.com', methods: ['GET'] }] };
  const { result: uploaded } = await api.call('PUT', HELLO, upload(SOURCE, { egress }));
  t.deepEqual(serving(api).egress, egress);
  t.deepEqual((await api.call('GET', `${HELLO}/settings`)).result.egress, egress);
  t.deepEqual((await api.call('GET', `${HELLO}/versions/${String(uploaded.version_id)}`)).result.egress, egress);
  await api.call('PATCH', `${HELLO}/settings`, { egress: { hosts: [] } });
  t.deepEqual(serving(api).egress, { hosts: [] });
  for (const wrong of [{}, { hosts: ['https://a.example'] }, { hosts: [], secrets: {} }])
    t.is((await api.call('PATCH', `${HELLO}/settings`, { egress: wrong })).status, 400);
  await api.call('PUT', HELLO, upload(SOURCE));
  t.is(serving(api).egress, undefined);
});

test('PATCH settings makes a version of the same modules and lets it serve', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE, { bindings: [{ type: 'plain_text', name: 'A', text: 'a' }] }));
  const { result } = await api.call('PATCH', `${HELLO}/settings`, { limits: { cpu_ms: 5 }, usage_model: 'bundled' });
  t.like(result, { limits: { cpu_ms: 5 }, usage_model: 'bundled', bindings: [{ name: 'A' }] });
  t.deepEqual(serving(api).limits, { cpuMs: 5 });
  t.is(serving(api).vars.get('A'), 'a');
  t.is(new TextDecoder().decode(serving(api).modules[0]?.content), SOURCE);
});

test('PUT bindings keeps secrets that are left out', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE, { bindings: [{ type: 'secret_text', name: 'S', text: 's' }] }));
  await api.call('PUT', `${HELLO}/bindings`, [{ type: 'plain_text', name: 'A', text: 'a' }]);
  t.is(serving(api).secrets.get('S'), 's');
  const read = await api.call('GET', `${HELLO}/bindings`);
  t.is((await api.call('PUT', `${HELLO}/bindings`, read.body.result)).status, 200);
  t.is((await api.call('PUT', `${HELLO}/bindings`, [{ type: 'plain_text', name: 'S', text: 'a' }])).status, 400);
});

test('PUT secrets sets a secret whose text no answer and no log shows', async t => {
  const api = makeApi();
  const text = 'correct-horse-battery';
  const answers = [
    await api.call('PUT', HELLO, upload(SOURCE)),
    await api.call('PUT', `${HELLO}/secrets`, { name: 'KEY', text }),
    await api.call('GET', `${HELLO}/secrets`),
    await api.call('GET', `${HELLO}/settings`),
    await api.call('GET', `${HELLO}/versions`),
    await api.call('GET', '/accounts/acme/audit_logs'),
  ];
  t.is(serving(api).secrets.get('KEY'), text);
  t.false(JSON.stringify(answers.map(({ body }) => body)).includes(text));
  // Nor the storage.
  t.false((await stored(api)).includes(text));
});

test('DELETE secrets takes a secret away', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE));
  await api.call('PUT', `${HELLO}/secrets`, { name: 'KEY', text: 'x' });
  t.is((await api.call('DELETE', `${HELLO}/secrets/KEY`)).status, 200);
  t.is(serving(api).secrets.size, 0);
  t.is((await api.call('DELETE', `${HELLO}/secrets/KEY`)).status, 404);
});

test('PUT schedules replaces cron triggers, and refuses what is none or too many', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE));
  t.is((await api.call('PUT', `${HELLO}/schedules`, [{ cron: '*/5  * * * *' }])).status, 200);
  t.deepEqual(api.functions.triggers.get('acme/hello')?.crons, ['*/5 * * * *']);
  for (const cron of ['61 * * * *', '* * * * * *', '@daily   ', '* * * * mondaay']) {
    t.is((await api.call('PUT', `${HELLO}/schedules`, [{ cron }])).status, 400, cron);
  }
  const many = Array.from({ length: 6 }, (_, at) => ({ cron: `${at} * * * *` }));
  const { status, body } = await api.call('PUT', `${HELLO}/schedules`, many);
  t.is(status, 403);
  t.is(body.errors[0]?.code, 4005);
  t.deepEqual(api.functions.triggers.get('acme/hello')?.crons, ['*/5 * * * *']);
});

test('PUT schedules keeps what is to be done about missed and overlapping runs', async t => {
  const api = makeApi();
  await api.call('PUT', HELLO, upload(SOURCE));
  const schedule = { cron: '0 4 * * *', missed: 'latest', overlap: 'skip', jitter_ms: 5000 };
  const { body } = await api.call('PUT', `${HELLO}/schedules`, [schedule, { cron: '0 5 * * *' }]);
  t.like(body.result, [schedule, { cron: '0 5 * * *' }]);
  t.deepEqual(api.functions.triggers.get('acme/hello')?.crons, [
    { cron: '0 4 * * *', missed: 'latest', overlap: 'skip', jitterMs: 5000 },
    '0 5 * * *',
  ]);
  for (const wrong of [{ missed: 'all' }, { overlap: 'wait' }, { jitter_ms: -1 }, { jitter_ms: 3_600_001 }]) {
    t.is((await api.call('PUT', `${HELLO}/schedules`, [{ cron: '0 4 * * *', ...wrong }])).status, 400);
  }
});

test('POST schedules/run runs the scheduled handler once', async t => {
  const api = makeApi();
  t.is((await api.call('POST', `${HELLO}/schedules/run`, {})).status, 404);
  await api.call('PUT', HELLO, upload(SOURCE));
  await api.call('PUT', `${HELLO}/schedules`, [{ cron: '0 4 * * *' }]);
  const { status, result } = await api.call('POST', `${HELLO}/schedules/run`, {});
  t.is(status, 200);
  t.deepEqual(result, { outcome: 'ok', cron: '0 4 * * *', no_retry: true, error: null });
  const time = '2026-03-01T04:00:00Z';
  await api.call('POST', `${HELLO}/schedules/run`, { cron: '0 5 * * *', scheduled_time: time });
  t.deepEqual(api.functions.scheduled, [
    { cron: '0 4 * * *', scheduledTime: null },
    { cron: '0 5 * * *', scheduledTime: new Date(time) },
  ]);
  for (const wrong of [{ cron: '61 * * * *' }, { scheduled_time: 'now' }, { time }]) {
    t.is((await api.call('POST', `${HELLO}/schedules/run`, wrong)).status, 400);
  }
});

test('POST routes attaches a function to a pattern of the zone', async t => {
  const api = makeApi();
  const zone = await api.zone();
  await api.call('PUT', HELLO, upload(SOURCE));
  const route = { pattern: 'example.com/api/*', function: 'hello', mode: 'fail-closed' };
  const made = await api.call('POST', `/zones/${zone}/routes`, route);
  t.is(made.status, 201);
  t.deepEqual(api.functions.triggers.get('acme/hello')?.routes, [
    { pattern: 'example.com/api/*', mode: 'fail-closed' },
  ]);
  t.is((await api.call('POST', `/zones/${zone}/routes`, route)).status, 409);
  t.is((await api.call('DELETE', HELLO)).status, 409);
  t.is((await api.call('DELETE', `/zones/${zone}`)).status, 409);
  t.is((await api.call('DELETE', `/zones/${zone}/routes/${String(made.result.id)}`)).status, 200);
  t.deepEqual(api.functions.triggers.get('acme/hello')?.routes, []);
  t.is((await api.call('DELETE', HELLO)).status, 200);
});

test('PUT routes moves a route to another function', async t => {
  const api = makeApi();
  const zone = await api.zone();
  await api.call('PUT', HELLO, upload(SOURCE));
  await api.call('PUT', '/accounts/acme/functions/other', upload(SOURCE));
  const made = await api.call('POST', `/zones/${zone}/routes`, { pattern: '*.example.com/*', function: 'hello' });
  const moved = await api.call('PUT', `/zones/${zone}/routes/${String(made.result.id)}`, {
    pattern: '*.example.com/*',
    function: 'other',
  });
  t.is(moved.status, 200);
  t.deepEqual(api.functions.triggers.get('acme/hello')?.routes, []);
  t.is(api.functions.triggers.get('acme/other')?.routes.length, 1);
});

for (const pattern of [
  'example.net/*',
  '*example.com/*',
  'example.com.evil.net/*',
  'notexample.com/*',
  '*/x',
  'example.com/a*b',
  'example.com/?x',
  'exa mple.com/',
]) {
  test(`POST routes refuses the pattern ${pattern}`, async t => {
    const api = makeApi();
    const zone = await api.zone();
    await api.call('PUT', HELLO, upload(SOURCE));
    const { status, body } = await api.call('POST', `/zones/${zone}/routes`, { pattern, function: 'hello' });
    t.is(status, 400);
    t.regex(body.errors[0]?.message ?? '', /^\/pattern/);
  });
}

test('POST routes refuses a function of another account', async t => {
  const api = makeApi();
  const zone = await api.zone();
  t.is((await api.call('POST', `/zones/${zone}/routes`, { pattern: 'example.com/*', function: 'hello' })).status, 404);
});

test('PUT routes takes back what the host was told when the storage fails', async t => {
  const api = makeApi();
  const zone = await api.zone();
  await api.call('PUT', HELLO, upload(SOURCE));
  const { batch } = api.storage;
  Object.assign(api.storage, { batch: () => Promise.reject(new Error('broken')) });
  t.is((await api.call('POST', `/zones/${zone}/routes`, { pattern: 'example.com/*', function: 'hello' })).status, 500);
  Object.assign(api.storage, { batch });
  t.deepEqual(api.functions.triggers.get('acme/hello')?.routes, []);
});

test('restore() loads what was stored into another host, and reports what does not load', async t => {
  const api = makeApi();
  const zone = await api.zone();
  await api.call('PUT', HELLO, upload(SOURCE, { bindings: [{ type: 'secret_text', name: 'S', text: 's' }] }));
  await api.call('PUT', '/accounts/acme/functions/second', upload(SOURCE));
  await api.call('POST', `/zones/${zone}/routes`, { pattern: 'example.com/*', function: 'hello' });
  await api.call('PUT', `${HELLO}/schedules`, [{ cron: '0 0 * * *' }]);
  const before = serving(api);
  const functions = new MemoryFunctions();
  functions.failNext = new EdgeError('EDGE_CELL_START', 'no process');
  const again = createManagement({
    storage: api.storage,
    functions,
    directoryOf: memoryDirectories(),
    names: newNames(),
    secretsKey: SECRETS_KEY,
  });
  await again.start();
  const report = await again.restore();
  t.is(report.restored, 1);
  t.deepEqual(
    report.failed.map(({ account, name }) => `${account}/${name}`),
    ['acme/hello'],
  );
  t.deepEqual(await again.restore(), { restored: 2, failed: [] });
  const after = functions.serving.get('acme/hello');
  t.deepEqual(after?.triggers, { routes: [{ pattern: 'example.com/*', mode: 'fail-closed' }], crons: ['0 0 * * *'] });
  t.is(after?.version, before.version);
  t.is(after?.secrets.get('S'), 's');
});

test('restore() fails a function whose secrets were sealed with another key, and keeps it', async t => {
  const storage = asStorage(new MemoryLevel());
  const first = makeApi({ storage, secretsKey: new Uint8Array(32).fill(1) });
  await first.call('PUT', HELLO, upload(SOURCE, { bindings: [{ type: 'secret_text', name: 'S', text: 's' }] }));
  const second = makeApi({ storage, secretsKey: new Uint8Array(32).fill(2) });
  const { failed } = await second.management.restore();
  t.is(failed.length, 1);
  t.is((await second.call('GET', HELLO)).status, 200);
});

test('PUT functions of many writers at once stores each upload whole', async t => {
  const api = makeApi();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => api.call('PUT', HELLO, upload(`${SOURCE} // ${at}`))),
  );
  t.true(answers.every(({ status }) => status === 200));
  const { body } = await api.call('GET', `${HELLO}/versions`);
  const numbers = Array.isArray(body.result) ? body.result.map((version: { number: number }) => version.number) : [];
  t.deepEqual(numbers, [8, 7, 6, 5, 4, 3, 2, 1]);
  t.is(serving(api).version, String((await api.call('GET', HELLO)).result.version_id));
});

test('PUT functions answers 503 when too many uploads wait', async t => {
  const api = makeApi({ limits: { uploadsAtOnce: 1, uploadsWaiting: 1 } });
  const slow = new ReadableStream<Uint8Array>();
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'multipart/form-data; boundary=x' };
  const request = new Request(`http://localhost${HELLO}`, { method: 'PUT', headers, body: slow, duplex: 'half' });
  void api.management.fetch(request);
  void api.call('PUT', '/accounts/other/functions/hello', upload(SOURCE), { token: OTHER_TOKEN });
  await new Promise(resolve => setImmediate(resolve));
  await new Promise(resolve => setImmediate(resolve));
  const refused = await api.call('PUT', '/accounts/other/functions/second', upload(SOURCE), { token: OTHER_TOKEN });
  t.is(refused.status, 503);
  t.true(refused.headers.has('retry-after'));
});

test('buckets are made, listed, read and deleted', async t => {
  const api = makeApi();
  const buckets = '/accounts/acme/buckets';
  t.is((await api.call('POST', buckets, { name: 'files', storage_class: 'InfrequentAccess' })).status, 201);
  t.is((await api.call('POST', buckets, { name: 'files' })).status, 409);
  t.like((await api.call('GET', `${buckets}/files`)).result, { name: 'files', storage_class: 'InfrequentAccess' });
  api.buckets.full.add('files');
  const refused = await api.call('DELETE', `${buckets}/files`);
  t.is(refused.status, 409);
  t.regex(refused.body.errors[0]?.message ?? '', /not empty/);
  api.buckets.full.clear();
  t.is((await api.call('DELETE', `${buckets}/files`)).status, 200);
  t.is((await api.call('GET', `${buckets}/files`)).status, 404);
});

test('an upload under way while its account is removed writes nothing', async t => {
  const api = makeApi();
  const before = await stored(api);
  const { functions } = api;
  const activate = functions.activate.bind(functions);
  functions.activate = async deployment => {
    const answer = await activate(deployment);
    await functions.removeAccount('acme');
    return answer;
  };
  const { status, body } = await api.call('PUT', HELLO, upload(SOURCE));
  t.is(status, 404);
  t.like(body.errors[0], { message: 'There is no account "acme"' });
  t.is(await stored(api), before);
});
