/** The limits of caches, at the bound and past it. */
import test from 'ava';
import { LIMITS } from '../../../src/quotas/limits.js';
import { handler, newHost, textOf } from '../new-host.js';

const CALLS = {
  match: 'caches.default.match(url)',
  put: 'caches.default.put(url, new Response("x"))',
  delete: 'caches.default.delete(url)',
} as const;

for (const [method, call] of Object.entries(CALLS)) {
  test(`${method}() shares the quota of fetch: at the bound it is allowed, past it not, and what it rejects with says so`, async t => {
    const allowed = LIMITS.subrequests.values.free;
    const fn = await newHost(t, { plan: 'free', outbound: () => new Response('') }).load(
      handler(`
        const url = 'http://x/';
        await (await fetch('http://y/')).text();
        for (let n = 1; n < ${allowed}; n++) await ${call};
        return Response.json(await Promise.all([${call}, fetch('http://y/')].map(each => each.then(() => 'done', error => [error.name, error.code]))));`),
    );
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      ['Error', 'EDGE_SUBREQUEST_LIMIT'],
      ['TypeError', 'EDGE_SUBREQUEST_LIMIT'],
    ]);
  });
}

test('cacheCalls bounds the calls of caches where it is tighter', async t => {
  const fn = await newHost(t, { limits: { cacheCalls: 3 } }).load(
    handler(`
      const url = 'http://x/';
      await ${CALLS.match}; await ${CALLS.put}; await ${CALLS.delete};
      return new Response(await ${CALLS.match}.catch(error => error.message));`),
  );
  t.regex(await textOf(fn.fetch('http://x/')), /limit cacheCalls is 3/);
});

test('match() of a stream holds one of the connections until its body is read', async t => {
  const fn = await newHost(t, { limits: { connections: 1 } }).load(
    handler(`
      const cache = caches.default;
      await cache.put('http://x/', new Response(new Uint8Array(500_000)));
      const first = await cache.match('http://x/');
      const order = [];
      const second = cache.match('http://x/').then(response => { order.push('second'); return response.arrayBuffer(); });
      await scheduler.wait(1);
      order.push('read');
      await first.arrayBuffer();
      await second;
      return Response.json(order);`),
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), ['read', 'second']);
});

for (const kind of ['bytes', 'a stream'] as const) {
  test(`cacheObjectBytes bounds a body of ${kind}: so many bytes are kept, one more is an error that names the limit`, async t => {
    const body =
      kind === 'bytes' ? 'bytes' : 'new ReadableStream({ type: "bytes", start(c) { c.enqueue(bytes); c.close(); } })';
    const fn = await newHost(t, { limits: { cacheObjectBytes: 100_000 } }).load(
      handler(`
        const results = [];
        for (const size of [100_000, 100_001]) {
          const bytes = new Uint8Array(size);
          results.push(await caches.default.put('http://x/' + size, new Response(${body})).catch(error => error.code + ' ' + error.message));
          results.push((await (await caches.default.match('http://x/' + size))?.arrayBuffer())?.byteLength);
        }
        return Response.json(results);`),
    );
    const [first, kept, error, none] = JSON.parse(await textOf(fn.fetch('http://x/')));
    t.deepEqual([first, kept, none], [null, 100_000, null]);
    t.regex(error, /^EDGE_LIMIT_EXCEEDED .*limit cacheObjectBytes is .*option limits\.cacheObjectBytes/);
  });
}

test('cacheBytes bounds what is kept, of the account and by its own options: more makes the least recently used go', async t => {
  const host = newHost(t, { limits: { cacheBytes: 50_000 } });
  const put = handler(`
    const { searchParams } = new URL(request.url);
    await caches.default.put('http://x/' + searchParams.get('n'), new Response(new Uint8Array(Number(searchParams.get('size')))));
    return new Response('');`);
  for (const account of [host.account('host'), host.account('own', { limits: { cacheBytes: 100_000 } })]) {
    const fn = await account.load(put);
    for (let n = 0; n < 6; n++) await (await fn.fetch(`http://x/?n=${n}&size=20000`)).text();
    const { bytes, entries } = await account.caches.usage();
    t.is(entries, account.id === 'host' ? 2 : 4);
    t.true(bytes <= (account.id === 'host' ? 50_000 : 100_000));
    await (await fn.fetch('http://x/?n=large&size=100001')).text();
    t.is((await account.caches.usage()).entries, entries);
  }
  t.deepEqual(await host.account('own').storage(), { bytes: 0, objects: 0 });
});
