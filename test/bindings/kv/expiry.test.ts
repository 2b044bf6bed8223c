import test from 'ava';
import { expireEntries, nextExpiry } from '../../../src/bindings/kv/store/expire-entries.js';
import { kvKeys } from '../../../src/bindings/kv/store/kv-keys.js';
import { rebuildExpiries } from '../../../src/bindings/kv/store/rebuild-expiries.js';
import { countStored } from '../../../src/bindings/kv/store/stored-namespaces.js';
import { afterPrefix } from '../../../src/storage/records/level-database.js';
import type { Storage } from '../../../src/storage/storage.js';
import { cleanerOf, namespacesOf } from './open-namespaces.js';
import { contractWithClock, LOCAL_KINDS, openStore, START_SECONDS } from './stores.js';

contractWithClock('a key is gone from the second on at which it expires', async (t, { kv, clock }) => {
  await kv.put('a', 'v', { expiration: START_SECONDS + 60 });
  clock.now = (START_SECONDS + 60) * 1000 - 1;
  t.is(await kv.get('a'), 'v');
  clock.now++;
  t.is(await kv.get('a'), null);
  t.deepEqual(await kv.getWithMetadata('a'), { value: null, metadata: null, cacheStatus: null });
  t.deepEqual([...(await kv.get(['a']))], [['a', null]]);
  t.deepEqual((await kv.list()).keys, []);
});

contractWithClock('a sweep removes what has expired, and gives its space back', async (t, { kv, clock, storage }) => {
  await kv.put('small', 'v', { expirationTtl: 60 });
  await kv.put('large', new Uint8Array(100_000), { expirationTtl: 60 });
  await kv.put('later', 'v', { expirationTtl: 120 });
  await kv.put('for good', 'v');
  clock.now += 60_000;
  await expireEntries(storage.context);
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 2, objects: 2 });
  t.deepEqual(await recordsOf(storage, kvKeys.expiries()), 1);
  t.is(await nextExpiry(storage.context), START_SECONDS + 120);
  t.is(await kv.get('later'), 'v');
});

contractWithClock('a sweep leaves a key that was written again', async (t, { kv, clock, storage }) => {
  await kv.put('a', 'old', { expirationTtl: 60 });
  await kv.put('b', 'old', { expirationTtl: 60 });
  clock.now += 60_000;
  await kv.put('a', 'new', { expirationTtl: 60 });
  await kv.put('b', 'new');
  await expireEntries(storage.context);
  t.is(await kv.get('a'), 'new');
  t.is(await kv.get('b'), 'new');
  t.is(await recordsOf(storage, kvKeys.expiries()), 1);
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 6, objects: 2 });
});

test('the sum is what the records hold after writes, expiries and sweeps at the same time', async t => {
  const { storage, kv, clock } = await openStore(t, 'LevelDB');
  const write = async (n: number): Promise<void> => {
    const options = n % 3 === 0 ? {} : { expirationTtl: 60 + (n % 2) };
    await kv.put(`${n % 7}`, new Uint8Array((n * 7919) % 90_000), options);
    if (n % 5 === 0) await kv.delete(`${(n + 1) % 7}`);
    if (n % 10 === 0) {
      clock.now += 30_000;
      await expireEntries(storage.context);
    }
  };
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 30 }, (_, n) => write(round * 30 + n)));
  }
  t.deepEqual(await storage.context.sums.read('acme'), await countStored(storage.context, 'acme'));
});

test('the records of expiries are made anew from those of the keys', async t => {
  const { storage, kv } = await openStore(t, 'memory');
  await kv.put('a', 'v', { expirationTtl: 60 });
  await kv.put('b', 'v');
  const { records } = storage.context;
  const key = kvKeys.expiry(5, 'gone', 'x');
  const [right = ''] = await keysOf(storage, kvKeys.expiries());
  await records.commit([
    { type: 'del', key: right },
    { type: 'put', key, value: Buffer.from('acme') },
  ]);
  await rebuildExpiries(storage.context);
  t.deepEqual(await keysOf(storage, kvKeys.expiries()), [right]);
});

contractWithClock('a namespace that is deleted is not found, and gives its space back', async (t, { kv, storage }) => {
  const directory = namespacesOf(storage, 'acme');
  const other = await directory.open('other');
  await other.put('kept', Buffer.from('v'), {});
  for (let n = 0; n < 150; n++) await kv.put(`k${n}`, 'v', { expirationTtl: 60 });
  await kv.put('large', new Uint8Array(100_000));
  await directory.delete('sessions');
  t.is(await directory.find('sessions'), null);
  t.deepEqual(
    (await directory.list()).map(({ name }) => name),
    ['other'],
  );
  for (const call of [kv.get('k1'), kv.get(['k1']), kv.put('k1', 'v'), kv.delete('k1'), kv.list()]) {
    await t.throwsAsync(call, { message: /The key-value namespace "sessions" was deleted/ });
  }
  await t.throwsAsync(directory.delete('sessions'), { message: /There is no key-value namespace "sessions"/ });
  const again = await directory.open('sessions');
  t.is(await again.get('k1'), null);
  await cleanerOf(storage).idle();
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 1, objects: 1 });
  t.is(await recordsOf(storage, kvKeys.expiries()), 0);
  t.is(await recordsOf(storage, kvKeys.allRemoved()), 0);
});

contractWithClock(
  'what was in the namespaces of a removed account is gone, also of those deleted before',
  async (t, { kv, storage }) => {
    await kv.put('a', 'v', { expirationTtl: 60 });
    const { records } = storage.context;
    // As a kill leaves it, between the deletion and the removal of the keys.
    const removed = kvKeys.removed('left');
    await records.commit([
      { type: 'put', key: removed, value: Buffer.from('acme') },
      {
        type: 'put',
        key: `${kvKeys.entries('left')}k`,
        value: (await records.get(await firstEntry(storage))) ?? Buffer.of(),
      },
    ]);
    const error = Object.assign(new Error('gone'), { code: 'EDGE_ACCOUNT_REMOVED' });
    const { deleted } = await storage.removeAccount('acme', {
      error: error as never,
      deleteData: true,
      beside: async () => {},
    });
    await deleted;
    for (const prefix of ['kn', 'kv', 'kr', 'kx']) t.is(await recordsOf(storage, prefix), 0, prefix);
    t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
    await t.throwsAsync(kv.put('a', 'v'), { code: 'EDGE_ACCOUNT_REMOVED' } as object);
  },
  LOCAL_KINDS,
);

test('an account has 1000 namespaces at most', async t => {
  const { storage } = await openStore(t, 'memory');
  const directory = namespacesOf(storage, 'acme');
  for (let n = 1; n < 1000; n++) await directory.create(`n${n}`);
  t.deepEqual(await directory.create('n1'), { created: false });
  await t.throwsAsync(directory.create('more'), { message: /the account has 1000/ });
  await t.throwsAsync(directory.open('more'), { message: /the account has 1000/ });
  await t.notThrowsAsync(directory.open('n1'));
});

test('the name of a namespace is 1 to 64 letters, digits, ".", "_" and "-"', async t => {
  const { storage } = await openStore(t, 'memory');
  const directory = namespacesOf(storage, 'acme');
  for (const name of ['a', '0f2ac74b498b48028cb68387c421e279', 'A.b_c-d', 'x'.repeat(64)]) {
    t.deepEqual(await directory.create(name), { created: true });
  }
  for (const name of ['', '-a', 'a/b', 'é', 'x'.repeat(65), undefined]) {
    await t.throwsAsync(directory.create(name as never), { message: /it must be 1 to 64 letters/ });
    t.is(await directory.find(name as never), null);
  }
});

async function keysOf(storage: Storage, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of storage.context.records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [key] of page) keys.push(key);
  }
  return keys;
}

async function recordsOf(storage: Storage, prefix: string): Promise<number> {
  return (await keysOf(storage, prefix)).length;
}

async function firstEntry(storage: Storage): Promise<string> {
  return (await keysOf(storage, 'kv'))[0] ?? '';
}
