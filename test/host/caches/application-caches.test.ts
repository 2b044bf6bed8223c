/** `account.caches`: the caches of functions, for the application. */
import test from 'ava';
import { handler, newHost, textOf } from '../new-host.js';

const KEPT = { headers: { 'cache-control': 'max-age=60', etag: '"1"', 'cache-tag': 'a, B' } };

test('account.caches has what functions put, and they have what it puts', async t => {
  const host = newHost(t);
  const account = host.account('acme');
  const fn = await account.load(
    handler(`
      const cache = await caches.open('own');
      if (request.url.endsWith('/put')) await cache.put('http://x/f', new Response('of the function'));
      return new Response(await (await cache.match('http://x/a'))?.text() ?? 'nothing');`),
  );
  t.is(await textOf(fn.fetch('http://f/put')), 'nothing');
  const own = await account.caches.open('own');
  t.is(await (await own.match('http://x/f'))?.text(), 'of the function');
  await own.put(new Request('http://x/a'), new Response('of the application', KEPT));
  t.is(await textOf(fn.fetch('http://f/')), 'of the application');
  t.is(await account.caches.default.match('http://x/a'), undefined);
  t.is(await host.caches.default.match('http://x/a'), undefined);
  t.is(account.caches, account.caches, 'one client, however often it is read');
  t.is(host.caches, host.caches);
});

test('match(), put() and delete() of the application have the rules of functions', async t => {
  const cache = newHost(t).caches.default;
  const large = new Uint8Array(300_000).fill(7);
  await cache.put('http://x/', new Response(large, KEPT));
  const hit = await cache.match(new URL('http://x/#part'));
  t.deepEqual(
    [hit?.status, hit?.headers.get('cache-status'), hit?.headers.get('content-length')],
    [200, 'EdgeHost; hit', '300000'],
  );
  t.deepEqual(new Uint8Array((await hit?.arrayBuffer()) ?? []), large);
  const part = await cache.match(new Request('http://x/', { headers: { range: 'bytes=1-2' } }));
  t.deepEqual([part?.status, (await part?.arrayBuffer())?.byteLength], [206, 2]);
  t.is((await cache.match(new Request('http://x/', { headers: { 'if-none-match': '"1"' } })))?.status, 304);
  t.is(await cache.match(new Request('http://x/', { method: 'POST' })), undefined);
  t.is((await cache.match(new Request('http://x/', { method: 'POST' }), { ignoreMethod: true }))?.status, 200);
  await t.throwsAsync(cache.put('http://x/', new Response('', { status: 206 })), {
    instanceOf: TypeError,
    message: /206/,
  });
  await t.throwsAsync(cache.put(new Request('http://x/', { method: 'POST' }), new Response('')), {
    message: /non-GET/,
  });
  await t.throwsAsync(cache.put('/a', new Response('')), { instanceOf: TypeError, message: /fully-qualified/ });
  await t.throwsAsync(cache.match('data:,a'), { instanceOf: TypeError });
  t.deepEqual([await cache.delete('http://x/'), await cache.delete('http://x/')], [true, false]);
});

test('purge() forgets by URL, prefix, tag and all, and usage() says what is left', async t => {
  const { caches } = newHost(t);
  const fill = async (): Promise<void> => {
    for (const path of ['a', 'b/1', 'b/2'])
      await caches.default.put(`https://x.example/${path}`, new Response(path, KEPT));
  };
  await fill();
  t.is((await caches.usage()).entries, 3);
  t.deepEqual(await caches.purge({ urls: ['https://X.example:443/a#part'] }), { purged: 1 });
  t.deepEqual(await caches.purge({ prefixes: ['X.example/b/'] }), { purged: 2 });
  await fill();
  t.deepEqual(await caches.purge({ tags: ['b'] }), { purged: 3 });
  await fill();
  t.deepEqual(await caches.purge({ everything: true }), { purged: 3 });
  t.deepEqual(await caches.usage(), { bytes: 0, entries: 0 });
});

test('purge() refuses what is not valid, and says what is allowed', async t => {
  const { caches } = newHost(t);
  for (const [purge, message] of [
    [{}, /purge\(\)/],
    [{ urls: [] }, /urls/],
    [{ urls: ['/a'] }, /Cannot purge "\/a": expected an absolute URL/],
    [{ urls: 'https://x/' }, /urls/],
    [{ prefixes: ['/images'] }, /prefixes\[0\].*beginning of a URL/],
    [{ tags: ['a,b'] }, /tags\[0\].*without commas/],
    [{ everything: false }, /everything/],
    [{ hosts: ['x'] }, /hosts/],
    [{ tags: Array.from({ length: 1001 }, String) }, /tags/],
    [undefined, /missing/],
  ] as const) {
    // Also what the types do not allow.
    await t.throwsAsync(caches.purge(purge as never), { message });
  }
});

test('the caches of an account that was removed are refused, and another one of its id has none of it', async t => {
  const host = newHost(t);
  const { caches } = host.account('acme');
  await caches.default.put('http://x/', new Response('x', KEPT));
  await (await host.removeAccount('acme', { deleteData: true })).deleted;
  await t.throwsAsync(caches.default.match('http://x/'), { code: 'EDGE_ACCOUNT_REMOVED' });
  await t.throwsAsync(caches.purge({ everything: true }), { code: 'EDGE_ACCOUNT_REMOVED' });
  t.is(await host.account('acme').caches.default.match('http://x/'), undefined);
  t.deepEqual(await host.account('acme').caches.usage(), { bytes: 0, entries: 0 });
});
