import { contract, contractWithClock, namesOf, START_SECONDS } from './stores.js';

contract('list() has the keys in the order of their UTF-8 bytes', async (t, { kv }) => {
  const keys = ['a', 'a/b', 'B', '\uffff', '\u{1f600}', '\u00e9', '~'];
  for (const key of keys) await kv.put(key, '');
  const inOrder = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.deepEqual(await namesOf(kv), inOrder);
  t.deepEqual(await namesOf(kv, { limit: 1 }), inOrder);
});

contract('list() has the keys of a prefix, and pages that meet without a gap', async (t, { kv }) => {
  for (let n = 0; n < 25; n++) await kv.put(`k${n % 5}/${n}`, '');
  const names = await namesOf(kv, { prefix: 'k3/' });
  t.deepEqual(names, ['k3/13', 'k3/18', 'k3/23', 'k3/3', 'k3/8']);
  for (const limit of [1, 2, 4, 5, 6]) t.deepEqual(await namesOf(kv, { prefix: 'k3/', limit }), names);
  t.is((await namesOf(kv, { limit: 7 })).length, 25);
  t.deepEqual(await namesOf(kv, { prefix: 'k9' }), []);
});

contract('list() shows expiry and metadata where they are, and a cursor while there are more', async (t, { kv }) => {
  await kv.put('a', '1', { metadata: { n: 1 } });
  await kv.put('b', '2', { expirationTtl: 60 });
  await kv.put('c', '3', { expirationTtl: 120, metadata: null });
  await kv.put('d', '4');
  const expiration = START_SECONDS + 60;
  const first = await kv.list({ limit: 2 });
  t.deepEqual(first.keys, [
    { name: 'a', metadata: { n: 1 } },
    { name: 'b', expiration },
  ]);
  t.false(first.list_complete);
  const second = await kv.list({ limit: 2, cursor: first.list_complete ? '' : first.cursor });
  t.deepEqual(second, {
    keys: [{ name: 'c', expiration: expiration + 60, metadata: null }, { name: 'd' }],
    list_complete: true,
    cacheStatus: null,
  });
});

contract('list() takes a cursor that does not begin with the prefix as a position', async (t, { kv }) => {
  for (const key of ['a1', 'b1', 'b2']) await kv.put(key, '');
  const page = await kv.list({ limit: 1 });
  const cursor = page.list_complete ? '' : page.cursor;
  t.deepEqual((await kv.list({ prefix: 'b', cursor })).keys, [{ name: 'b1' }, { name: 'b2' }]);
  t.deepEqual((await kv.list({ prefix: 'a', cursor })).keys, []);
});

contract('list() ends a page early when its metadata is large, and goes on where it ended', async (t, { kv }) => {
  const metadata = 'm'.repeat(1000);
  await Promise.all(Array.from({ length: 600 }, (_, n) => kv.put(`k${1000 + n}`, '', { metadata })));
  const page = await kv.list();
  t.false(page.list_complete);
  t.true(page.keys.length > 500 && page.keys.length < 600);
  t.is((await namesOf(kv)).length, 600);
});

contractWithClock(
  'list() passes over what has expired, also where that is a page of its own',
  async (t, { kv, clock }) => {
    await Promise.all(Array.from({ length: 1500 }, (_, n) => kv.put(`k${10_000 + n}`, '', { expirationTtl: 60 })));
    await kv.put('z', 'v');
    clock.now += 60_000;
    const page = await kv.list({ limit: 10 });
    t.deepEqual(page.keys, []);
    t.false(page.list_complete);
    t.deepEqual(await namesOf(kv, { limit: 10 }), ['z']);
  },
);
