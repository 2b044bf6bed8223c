/** Key-value namespaces as functions and applications use them: through cells and threads, with quotas, files and removals. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { repairStorage } from '../../src/index.js';
import { LIMITS } from '../../src/quotas/limits.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from './new-host.js';

for (const isolation of ISOLATIONS) {
  test(`${isolation}: a function and the application share a namespace`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        await env.KV.put('text', 'héllo', { metadata: { by: 'function' }, expirationTtl: 60 });
        await env.KV.put('json', JSON.stringify({ a: [1] }));
        await env.KV.put('stream', request.body);
        await env.OTHER.put('number', 5);
        const stream = await env.KV.get('stream', 'stream');
        return Response.json({
          text: await env.KV.get('text'),
          json: await env.KV.get('json', 'json'),
          bytes: [...new Uint8Array(await env.KV.get('json', 'arrayBuffer'))].length,
          stream: (await new Response(stream).text()).length,
          whole: (await env.KV.get('stream')).length,
          none: await env.KV.get('none'),
          metadata: (await env.KV.getWithMetadata('text')).metadata,
          many: [...await env.KV.get(['text', 'none', 'number'])],
          keys: (await env.KV.list()).keys.map(({ name }) => name),
          isMap: (await env.KV.get(['text'])) instanceof Map,
        });`),
      { kv: { KV: 'shared', OTHER: 'shared' } },
    );
    const response = await fn.fetch('http://x/', { method: 'POST', body: 'x'.repeat(200_000) });
    t.deepEqual(await response.json(), {
      text: 'héllo',
      json: { a: [1] },
      bytes: 9,
      stream: 200_000,
      whole: 200_000,
      none: null,
      metadata: { by: 'function' },
      many: [
        ['text', 'héllo'],
        ['none', null],
        ['number', '5'],
      ],
      keys: ['json', 'number', 'stream', 'text'],
      isMap: true,
    });
    t.is(await host.kv('shared').get('number'), '5');
    await host.kv('shared').delete('number');
    t.is(await host.account('other').kv('shared').get('text'), null);
  });

  test(`${isolation}: errors reach the function with their texts and codes`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        const errors = [];
        const attempt = async call => { try { await call(); errors.push('none') } catch (error) {
          errors.push([error.constructor === globalThis[error.name], error.name, error.message, error.code ?? null]);
        } };
        await attempt(() => env.KV.get(''));
        await attempt(() => env.KV.put('k'.repeat(513), 'v'));
        await attempt(() => env.KV.put('a', 'v', { expirationTtl: 5 }));
        await attempt(() => env.KV.put('a', {}));
        await attempt(() => env.KV.put('a', new Uint8Array(26214401)));
        await env.KV.put('a', 'no json');
        await attempt(() => env.KV.get('a', 'json'));
        return Response.json(errors);`),
      { kv: { KV: 'errors' }, limits: { cpuMs: 5000 } },
    );
    t.deepEqual(
      JSON.parse(await textOf(fn.fetch('http://x/'))).map(([, ...rest]: unknown[]) => rest),
      [
        ['TypeError', 'Key name cannot be empty.', null],
        ['Error', 'KV PUT failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512.', 20005],
        ['Error', 'KV PUT failed: 400 Invalid expiration_ttl of 5. Expiration TTL must be at least 60.', 20001],
        [
          'TypeError',
          'KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.',
          null,
        ],
        ['Error', 'KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400.', 20004],
        ['SyntaxError', `The value of key "a" is not JSON: Unexpected token 'o', "no json" is not valid JSON`, null],
      ],
    );
  });
}

test('calls at global scope are refused', async t => {
  const host = newHost(t);
  const fn = await host.load(
    `let failed; addEventListener('fetch', event => event.respondWith(new Response(failed)));
     KV.get('a').catch(error => { failed = error.message });`,
    { kv: { KV: 'scope' } },
  );
  t.regex(await textOf(fn.fetch('http://x/')), /KV\.get\(\)/);
});

const METHODS: Readonly<Record<string, string>> = {
  get: `env.KV.get('a')`,
  getWithMetadata: `env.KV.getWithMetadata('a')`,
  'get of many keys': `env.KV.get(['a', 'b', 'c'])`,
  put: `env.KV.put('a', 'v')`,
  delete: `env.KV.delete('a')`,
  list: `env.KV.list()`,
};

for (const [name, call] of Object.entries(METHODS)) {
  test(`${name} is one internal subrequest: it succeeds at the bound, and fails past it`, async t => {
    const host = newHost(t, { limits: { internalSubrequests: 3, subrequests: 1 } });
    const fn = await host.load(
      handler(`let done = 0, message = '';
        for (let n = 0; n < 4; n++) await ${call}.then(() => done++, error => { message = error.message });
        return Response.json({ done, message })`),
      { kv: { KV: 'counted' } },
    );
    const event = nextInvocation(host);
    const { done, message } = JSON.parse(await textOf(fn.fetch('http://x/')));
    t.is(done, 3);
    t.regex(message, /limit internalSubrequests is 3/);
    t.like(await event, { subrequests: 3 });
  });
}

test('a request makes 1000 calls on every plan, and not one more', async t => {
  for (const plan of ['free', 'standard'] as const) {
    const host = newHost(t, { plan, limits: { cpuMs: 10_000 } });
    const fn = await host.load(
      handler(`let done = 0;
        for (let n = 0; n < 1001; n++) await env.KV.get('a').then(() => done++, () => {});
        return new Response(String(done))`),
      { kv: { KV: 'counted' } },
    );
    t.is(LIMITS.internalSubrequests.values[plan], 1000);
    t.is(await textOf(fn.fetch('http://x/')), '1000');
  }
});

test('values count into the storage of the account, together with its buckets', async t => {
  const host = newHost(t);
  const account = host.account('acme', { limits: { storageBytes: 100, storageObjects: 3 } });
  const kv = account.kv('a');
  await kv.put('a', 'x'.repeat(60));
  await account.bucket('files').put('b', 'x'.repeat(40));
  t.deepEqual(await account.storage(), { bytes: 100, objects: 2 });
  await t.throwsAsync(kv.put('c', 'x'), {
    code: 'EDGE_STORAGE_QUOTA',
    message:
      /^Cannot put "c" into key-value namespace "a": what the account stores is 101 bytes, limit storageBytes is 100/,
  });
  await t.throwsAsync(kv.put('a', 'x'.repeat(61)), { code: 'EDGE_STORAGE_QUOTA' });
  await kv.put('a', 'x'.repeat(10));
  await account.kv('b').put('c', '');
  await t.throwsAsync(kv.put('d', ''), { code: 'EDGE_STORAGE_QUOTA', message: /limit storageObjects is 3/ });
  await kv.delete('a');
  t.deepEqual(await account.storage(), { bytes: 40, objects: 2 });
});

test('large values at the same time cannot pass storageBytes together', async t => {
  const host = newHost(t);
  const account = host.account('acme', { limits: { storageBytes: 500_000 } });
  const kv = account.kv('a');
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) => kv.put(`${n}`, new Uint8Array(100_000))),
  );
  const kept = outcomes.filter(({ status }) => status === 'fulfilled').length;
  t.deepEqual(await account.storage(), { bytes: kept * 100_000, objects: kept });
  t.true(kept > 0 && kept <= 5);
});

test('an account that is removed leaves nothing to another of its id', async t => {
  const host = newHost(t);
  const before = host.account('acme');
  const kv = before.kv('a');
  await kv.put('a', 'v', { expirationTtl: 60 });
  const removed = await host.removeAccount('acme', { deleteData: true });
  await t.throwsAsync(kv.get('a'), { code: 'EDGE_ACCOUNT_REMOVED' });
  const after = host.account('acme');
  t.is(await after.kv('a').get('a'), null);
  await removed.deleted;
  t.deepEqual(await after.storage(), { bytes: 0, objects: 0 });
});

test('values are there after a restart, and repair counts them', async t => {
  const storage = await temporaryDirectory(t);
  const first = newHost(t, { storage });
  await first.kv('a').put('small', 'v', { metadata: [1], expirationTtl: 1000 });
  await first.kv('a').put('large', 'x'.repeat(100_000));
  await first.close();
  await repairStorage(storage);
  const second = newHost(t, { storage });
  t.deepEqual(await second.kv('a').getWithMetadata('small'), { value: 'v', metadata: [1], cacheStatus: null });
  t.is((await second.kv('a').get('large'))?.length, 100_000);
  t.deepEqual(await second.account('default').storage(), { bytes: 100_001, objects: 2 });
});

test('loadFile() takes the namespaces of a file from the hosted platform, and names', async t => {
  const directory = await temporaryDirectory(t);
  const file = (tables: string): string => `name = "kv"\nmain = "index.js"\n${tables}`;
  await writeFile(
    join(directory, 'index.js'),
    handler(`await env.A.put('k', 'v'); return new Response(await env.B.get('k'))`),
  );
  const hosted = `[[kv_namespaces]]\nbinding = "A"\nid = "0f2ac74b498b48028cb68387c421e279"\npreview_id = "6a1ddb03f3ec250963f0a1e46820076f"\n`;
  const toml = join(directory, 'edgehost.toml');
  await writeFile(toml, file(`${hosted}[[kv_namespaces]]\nbinding = "B"\nname = "0f2ac74b498b48028cb68387c421e279"\n`));
  const host = newHost(t);
  const fn = await host.loadFile(directory);
  t.is(await textOf(fn.fetch('http://x/')), 'v');
  const refused: [string, RegExp][] = [
    [`binding = "A"`, /kv_namespaces\[0\]\.id is missing, expected the name or id of a key-value namespace/],
    [`binding = "A"\nid = "a"\nname = "b"`, /kv_namespaces.*either name or id/],
    [`binding = "A"\nid = "<your id>"`, /kv_namespaces\[0\]\.id is the string "<your id>", expected the name or id/],
    [`binding = "A"\nid = "a"\nremote = true`, /has no key "remote"/],
  ];
  for (const [table, message] of refused) {
    await writeFile(toml, file(`[[kv_namespaces]]\n${table}\n`));
    await t.throwsAsync(host.loadFile(directory), { code: 'EDGE_CONFIG_INVALID', message });
  }
});

test('load() refuses a name that is none', async t => {
  const host = newHost(t);
  await t.throwsAsync(host.load(handler(''), { kv: { KV: 'a/b' } }), {
    name: 'TypeError',
    message: /Option kv\.KV of load\(\) is the string "a\/b", expected the name or id of a key-value namespace/,
  });
  await t.throwsAsync(host.kv('a/b').get('k'), { message: /it must be 1 to 64 letters/ });
});
