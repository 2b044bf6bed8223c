/** What caches keep in the storage: how much, for how long, and what goes first. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { normalPurge } from '../../../src/bindings/cache/check-purge.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { Storage } from '../../../src/storage/storage.js';
import { countedWork } from '../counted-work.js';
import { bytesOf, kept, keysIn, openCaches, PUT, textAt } from './open-caches.js';

const KIB = 1024;

async function directory(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'edgehost-cache-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

const bytes = (size: number, fill = 'x'): Buffer => Buffer.alloc(size, fill);

/** The bodies in files that are on the disk. */
function filesIn(path: string): number {
  const bodies = join(path, 'bodies');
  if (!existsSync(bodies)) return 0;
  return readdirSync(bodies).reduce((count, name) => count + readdirSync(join(bodies, name)).length, 0);
}

test('put() makes room: the least recently used goes first, also after a restart', async t => {
  const path = await directory(t);
  const options = { ...PUT, cacheBytes: 10 * 100 * KIB };
  let now = 1e12;
  const open = async () => openCaches(t, path, { now: () => now });
  let caches = await open();
  let engine = caches.shared.of('acme');
  for (let n = 0; n < 9; n++) {
    now++;
    t.true(await engine.put(kept(`http://x/${n}`), bytes(100 * KIB), options));
  }
  now++;
  t.is((await textAt(engine, 'http://x/0'))?.length, 100 * KIB);
  await caches.close();

  caches = await open();
  engine = caches.shared.of('acme');
  t.is((await engine.usage()).entries, 9);
  now++;
  await textAt(engine, 'http://x/2');
  for (let n = 10; n < 13; n++) {
    now++;
    t.true(await engine.put(kept(`http://x/${n}`), bytes(100 * KIB), options));
  }
  const there = [];
  for (let n = 0; n < 13; n++) if ((await textAt(engine, `http://x/${n}`)) !== undefined) there.push(n);
  t.deepEqual(there, [0, 2, 5, 6, 7, 8, 10, 11, 12]);
  t.true((await engine.usage()).bytes <= options.cacheBytes);
  await caches.storage.context.collector.idle();
  t.is(filesIn(path), 9);
});

test('put() of what can never fit keeps nothing, removes nothing and ends the body', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  const options = { ...PUT, cacheBytes: 100 * KIB };
  await engine.put(kept('http://x/small'), bytes(10), options);
  t.false(await engine.put(kept('http://x/large'), bytes(100 * KIB), options));
  let asked = 0;
  let isEnded = false;
  async function* endless() {
    try {
      for (;;) {
        asked++;
        yield bytes(64 * KIB);
      }
    } finally {
      isEnded = true;
    }
  }
  t.false(await engine.put(kept('http://x/endless'), endless(), options));
  t.true(isEnded && asked < 4);
  t.is((await textAt(engine, 'http://x/small'))?.length, 10);
  t.false(await engine.put(kept('http://x/none'), null, { ...options, cacheBytes: 0 }));
});

test('bodies that are being received count: many at once do not pass the bound together', async t => {
  const path = await directory(t);
  const { shared, storage } = await openCaches(t, path);
  const engine = shared.of('acme');
  const options = { ...PUT, cacheBytes: 2000 * KIB };
  let most = 0;
  async function* body() {
    for (let n = 0; n < 10; n++) {
      most = Math.max(most, filesIn(path));
      yield bytes(100 * KIB);
    }
  }
  const done = await Promise.all(
    Array.from({ length: 8 }, (_, n) => engine.put(kept(`http://x/${n}`), body(), options)),
  );
  t.true(done.filter(Boolean).length <= 1);
  t.true((await engine.usage()).bytes <= options.cacheBytes);
  await storage.context.collector.idle();
  t.is(filesIn(path), done.filter(Boolean).length);
});

test('usage() follows puts, replacements and deletes, and is what the records say', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  t.deepEqual(await engine.usage(), { bytes: 0, entries: 0 });
  await engine.put(kept('http://x/a'), bytes(10_000), PUT);
  const one = await engine.usage();
  t.is(one.entries, 1);
  t.true(one.bytes > 10_000 && one.bytes < 11_000);
  await engine.put(kept('http://x/a'), bytes(10_000), PUT);
  t.deepEqual(await engine.usage(), one);
  await engine.put(kept('http://x/a'), bytes(100), PUT);
  t.is((await engine.usage()).bytes, one.bytes - 9900);
  t.true(await engine.delete('d', 'http://x/a'));
  t.deepEqual(await engine.usage(), { bytes: 0, entries: 0 });
});

test('nothing of an entry is left in the storage after delete()', async t => {
  const path = await directory(t);
  const { shared, storage } = await openCaches(t, path);
  const engine = shared.of('acme');
  for (const size of [10, 10_000, 100_000]) {
    await engine.put(kept(`http://x/${size}`, { tags: ['a', 'b'] }), bytes(size), PUT);
    await textAt(engine, `http://x/${size}`);
    t.true(await engine.delete('d', `http://x/${size}`));
  }
  await storage.context.collector.idle();
  t.deepEqual(
    (await keysIn(storage)).map(key => key.slice(0, 3)),
    ['zca', 'zcs'],
  );
  t.deepEqual(await keysIn(storage, 'i'), []);
  t.is(filesIn(path), 0);
});

test('an entry that has expired is not used, and a sweep removes it', async t => {
  let now = 1e12;
  const path = await directory(t);
  let caches = await openCaches(t, path, { now: () => now });
  let engine = caches.shared.of('acme');
  await engine.put(kept('http://x/short', { freshMs: 1000, staleMs: 500 }), bytes(100_000), PUT);
  await engine.put(kept('http://x/long'), bytes(10), PUT);
  now += 999;
  t.is((await textAt(engine, 'http://x/short'))?.length, 100_000);
  now += 1;
  t.is(await textAt(engine, 'http://x/short'), undefined);
  const stale = await engine.match({ cache: 'd', url: 'http://x/short', headers: [], takesStale: true });
  t.like(stale, { kind: 'hit', isStale: true, ttlSeconds: 0 });
  if (stale.kind === 'hit') await bytesOf(stale.body);
  t.false(await engine.delete('d', 'http://x/nothing'));
  await caches.close();
  now += 500;
  caches = await openCaches(t, path, { now: () => now });
  engine = caches.shared.of('acme');
  t.is((await engine.usage()).entries, 1);
  t.is((await textAt(engine, 'http://x/long'))?.length, 10);
  await caches.storage.context.collector.idle();
  t.is(filesIn(path), 0);
});

test('a sweep while the storage is open removes what has expired', async t => {
  let now = 1e12;
  const { shared } = await openCaches(t, ':memory:', { now: () => now, sweepIntervalMs: 1 });
  const engine = shared.of('acme');
  for (let n = 0; n < 40; n++) await engine.put(kept(`http://x/${n}`, { freshMs: 10 }), bytes(10), PUT);
  now += 11;
  while ((await engine.usage()).entries > 0) await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(await engine.usage(), { bytes: 0, entries: 0 });
});

test('the caches of an account that is removed are gone, and those of another one of its id are new', async t => {
  const path = await directory(t);
  const { shared, storage } = await openCaches(t, path);
  const engine = shared.of('acme');
  await shared.of('other').put(kept('http://x/a'), bytes(5), PUT);
  for (const size of [10, 10_000, 100_000]) await engine.put(kept(`http://x/${size}`), bytes(size), PUT);
  let release = () => {};
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  async function* slow() {
    yield bytes(100_000);
    await held;
    yield bytes(1);
  }
  const late = engine.put(kept('http://x/late'), slow(), PUT);
  shared.forget('acme');
  const error = new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone');
  const { deleted } = await storage.removeAccount('acme', { error, deleteData: true, beside: async () => {} });
  const fresh = shared.of('acme');
  t.is(await textAt(fresh, 'http://x/10'), undefined);
  release();
  await t.throwsAsync(late, { code: 'EDGE_ACCOUNT_REMOVED' });
  await t.throwsAsync(async () => engine.match({ cache: 'd', url: 'http://x/10', headers: [] }), {
    code: 'EDGE_ACCOUNT_REMOVED',
  });
  await deleted;
  await storage.context.collector.idle();
  t.is(filesIn(path), 0);
  t.is((await keysIn(storage)).filter(key => key.startsWith('zce')).length, 1);
  t.true(await fresh.put(kept('http://x/10'), bytes(3), PUT));
  t.is(await textAt(fresh, 'http://x/10'), 'xxx');
  t.is(await textAt(shared.of('other'), 'http://x/a'), 'xxxxx');
});

test('purge() removes by URL, prefix and tag, and nothing else', async t => {
  const { shared, storage } = await openCaches(t);
  const engine = shared.of('acme');
  const all = [
    'http://a.x/',
    'https://a.x/',
    'http://a.x/img/1?q',
    'http://a.x/img/2',
    'http://a.xy/img/1',
    'http://b.x/',
  ];
  const fill = async (): Promise<void> => {
    for (const url of all) {
      await engine.put(kept(url, { tags: url.includes('img') ? ['img', 'a b/ü'] : ['page'] }), bytes(1), PUT);
      await engine.put(kept(url, { cache: 'n"x"' }), bytes(1), PUT);
    }
  };
  const left = async (): Promise<string[]> => {
    const there = [];
    for (const url of all) if ((await textAt(engine, url)) !== undefined) there.push(url);
    return there;
  };
  await fill();
  t.deepEqual(await engine.purge({ urls: ['http://a.x/', 'http://a.x/img', 'http://none/'] }), { purged: 2 });
  t.deepEqual(await left(), all.slice(1));
  t.is(await textAt(engine, 'http://a.x/', 'n"x"'), undefined);
  t.deepEqual(await engine.purge({ prefixes: ['a.x/img/'] }), { purged: 4 });
  t.deepEqual(await left(), ['https://a.x/', 'http://a.xy/img/1', 'http://b.x/']);
  await fill();
  t.deepEqual(await engine.purge({ prefixes: ['https://a.x'] }), { purged: 2 });
  t.deepEqual(await engine.purge({ tags: ['IMG', 'none'] }), { purged: 3 });
  t.deepEqual(await engine.purge({ tags: ['A b/Ü'] }), { purged: 0 });
  t.deepEqual(await left(), ['http://a.x/', 'http://b.x/']);
  await fill();
  t.deepEqual(await engine.purge({ everything: true }), { purged: 12 });
  t.deepEqual(await left(), []);
  t.deepEqual(await engine.usage(), { bytes: 0, entries: 0 });
  t.deepEqual(await keysIn(storage), []);
  await fill();
  t.deepEqual(await left(), all);
});

test('what was fetched before a purge is not kept after it', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  const miss = await engine.match({ cache: 'd', url: 'http://x/', headers: [] });
  await engine.purge({ urls: ['http://y/'] });
  t.false(await engine.put(kept('http://x/'), bytes(1), { ...PUT, epoch: miss.kind === 'miss' ? miss.epoch : -1 }));
  t.is(await textAt(engine, 'http://x/'), undefined);
});

test('everything may be purged while bodies are received and read', async t => {
  const path = await directory(t);
  const { shared, storage } = await openCaches(t, path);
  const engine = shared.of('acme');
  await engine.put(kept('http://x/a'), bytes(900_000), PUT);
  const read = await engine.match({ cache: 'd', url: 'http://x/a', headers: [] });
  let release = () => {};
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  async function* slow() {
    yield bytes(100_000);
    await held;
  }
  const late = engine.put(kept('http://x/late'), slow(), PUT);
  t.deepEqual(await engine.purge({ everything: true }), { purged: 1 });
  t.is(read.kind === 'hit' ? (await bytesOf(read.body)).length : 0, 900_000);
  release();
  t.false(await late);
  await storage.context.collector.idle();
  t.is(filesIn(path), 0);
});

test('responses of a URL that vary are kept side by side', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  const put = async (language: string): Promise<void> => {
    const response = kept('http://x/', { vary: [['accept-language', language]], headers: ['vary', 'accept-language'] });
    await engine.put(response, Buffer.from(language), PUT);
  };
  await put('de');
  await put('fr');
  const found = async (language: string): Promise<string> => {
    const query = { cache: 'd', url: 'http://x/', headers: ['Accept-Language', language], varies: true };
    const hit = await engine.match(query);
    return hit.kind === 'miss' ? 'nothing' : String(await bytesOf(hit.body));
  };
  t.deepEqual([await found('de'), await found('fr'), await found('it')], ['de', 'fr', 'nothing']);
  t.deepEqual(await engine.purge({ urls: ['http://x/'] }), { purged: 2 });
  t.is(await found('de'), 'nothing');
  await engine.put(kept('http://x/'), Buffer.from('all'), PUT);
  t.is(await found('de'), 'all');
});

test('who does not choose by what responses vary gets none of them, also when they were read before', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  await engine.put(kept('http://x/', { vary: [['accept-language', 'de']] }), Buffer.from('de'), PUT);
  const choosing = { cache: 'd', url: 'http://x/', headers: ['Accept-Language', 'de'], varies: true };
  for (let round = 0; round < 3; round++) {
    t.is((await engine.match(choosing)).kind, 'hit');
    t.is((await engine.match({ ...choosing, varies: false })).kind, 'miss');
  }
});

test('the bytes of a hit are those of its reader alone, unless it shares them', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  await engine.put(kept('http://x/'), Buffer.from('kept'), PUT);
  const bodyOf = async (sharesBody: boolean): Promise<Uint8Array> => {
    const hit = await engine.match({ cache: 'd', url: 'http://x/', headers: [], sharesBody });
    if (hit.kind === 'miss' || !(hit.body instanceof Uint8Array)) throw new Error('expected a body that is all there');
    return hit.body;
  };
  for (let round = 0; round < 3; round++) (await bodyOf(false)).fill(0);
  t.is(String(await bodyOf(true)), 'kept');
  t.is((await bodyOf(true)).buffer, (await bodyOf(true)).buffer);
});

test('a repair empties the caches and leaves no file', async t => {
  const path = await directory(t);
  let caches = await openCaches(t, path);
  for (const size of [10, 10_000, 100_000])
    await caches.shared.of('acme').put(kept(`http://x/${size}`), bytes(size), PUT);
  await caches.close();
  await Storage.repair(path);
  caches = await openCaches(t, path);
  t.is(await textAt(caches.shared.of('acme'), 'http://x/10'), undefined);
  await caches.storage.context.collector.idle();
  t.deepEqual(await keysIn(caches.storage), []);
  t.is(filesIn(path), 0);
});

test('the work of an account is charged, its bytes are given back and its files closed', async t => {
  const path = await directory(t);
  const { shared } = await openCaches(t, path);
  const engine = shared.of('acme');
  const work = countedWork();
  async function* body() {
    for (let n = 0; n < 40; n++) yield bytes(10_000);
  }
  await engine.put(kept('http://x/'), body(), PUT, work);
  const spentMs = work.spentMs;
  t.true(spentMs > 0.5);
  for (const isRead of [true, false]) {
    const hit = await engine.match({ cache: 'd', url: 'http://x/', headers: [] }, work);
    if (hit.kind === 'miss' || hit.body === null || hit.body instanceof Uint8Array) return t.fail();
    if (isRead) t.is((await bytesOf(hit.body)).length, 400_000);
    else await hit.body[Symbol.asyncIterator]().return?.();
  }
  t.true(work.spentMs > spentMs);
  t.is(work.open, 0);
  t.is(work.heldBytes, 0);
});

test('an entry counts for no less than its records take, whatever characters are in them', async t => {
  const { storage, shared } = await openCaches(t);
  const engine = shared.of('acme');
  for (const [cache, more] of [
    ['d', { headers: ['x-text', '\u0001'.repeat(20_000)] }],
    [`n${'\u3042'.repeat(1000)}`, {}],
    ['d', { tags: Array.from({ length: 100 }, (_, n) => `${n}${'\u00e9'.repeat(1000)}`) }],
    ['d', { statusText: '\u0001'.repeat(1024), vary: [['x', '\u0001'.repeat(4000)]] }],
  ] as const) {
    t.true(await engine.put({ ...kept(`http://x/${'a'.repeat(3000)}`), ...more, cache }, bytes(10), PUT));
    let taken = 0;
    for await (const page of storage.context.records.pages({ gte: 'zce', lt: 'zd' }))
      for (const [key, record] of page) taken += Buffer.byteLength(key) + record.byteLength;
    const counted = (await engine.usage()).bytes;
    t.true(counted >= taken, `${counted} are counted, ${taken} are taken`);
    await engine.purge({ everything: true });
  }
});

test('what waits to be written is counted to its account', async t => {
  const { storage, shared } = await openCaches(t);
  const engine = shared.of('acme');
  const work = countedWork();
  t.true(await engine.put(kept('http://x/'), bytes(10), PUT, work));
  const [key = ''] = await keysIn(storage, 'zce');
  const { mutex } = storage.context;
  await mutex.lock(key);
  const putting = engine.put(kept('http://x/'), bytes(60_000), PUT, work);
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
  t.is(work.heldBytes, 60_000);
  mutex.unlock(key);
  t.true(await putting);
  t.is(work.heldBytes, 0);
});

test('purge() of a tag that no response can have removes nothing', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  t.true(await engine.put(kept('http://x/', { tags: ['a'] }), bytes(10), PUT));
  t.deepEqual(await engine.purge(normalPurge({ tags: ['\ud800', 'a\udc00'] })), { purged: 0 });
});
