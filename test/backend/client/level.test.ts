import type { AbstractBatchOperation, AbstractLevel } from 'abstract-level';
import test, { type ExecutionContext } from 'ava';
import { RemoteLevel } from '../../../src/backend/client/remote-level.js';
import { openBuckets } from '../../bindings/bucket/open-buckets.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { remotePair } from './pair.js';
import { servedObjects } from './served.js';

type Level = AbstractLevel<string | Buffer | Uint8Array, string, string>;

/** It is such a database. Only the types of hooks, which are not used here, name the class itself. */
function asDatabase(level: object): Level {
  return level as Level; // see above
}

async function databases(
  t: ExecutionContext,
  location = ':memory:',
): Promise<{ local: Level; remote: RemoteLevel; direct: Level }> {
  const storage = await openBuckets(location);
  t.teardown(() => storage.close());
  const { link } = remotePair(
    servedObjects(storage, () => {
      throw new Error('no buckets');
    }),
  );
  return {
    local: storage.database('local'),
    remote: new RemoteLevel(link, 'other'),
    direct: storage.database('other'),
  };
}

/** The same for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

async function change(level: Level, next: (below: number) => number): Promise<void> {
  const part = level.sublevel<string, unknown>(`part-${next(2)}`, { valueEncoding: 'json' });
  const key = `k${next(50)}é`;
  switch (next(5)) {
    case 0:
      return level.put(key, `v${next(1000)}`);
    case 1:
      return level.del(key);
    case 2:
      return part.put(key, { number: next(1000), text: 'ü' });
    case 3:
      return writeMany(level, [
        {
          type: 'put',
          key,
          value: new Uint8Array([next(256), 0, 255]),
          sublevel: level.sublevel<string, Uint8Array>('bytes', { valueEncoding: 'view' }),
        },
        { type: 'del', key: `k${next(50)}é` },
        { type: 'put', key: `k${next(50)}é`, value: { a: 1 }, sublevel: part },
      ]);
    default:
      return part.clear({ gte: `k${next(50)}`, limit: next(5) });
  }
}

function writeMany(level: Level, operations: AbstractBatchOperation<Level, string, unknown>[]): Promise<void> {
  return level.batch<string, unknown>(operations, {});
}

async function seen(level: Level, next: (below: number) => number): Promise<unknown> {
  const part = level.sublevel<string, unknown>(`part-${next(2)}`, { valueEncoding: 'json' });
  const bytes = level.sublevel<string, Uint8Array>('bytes', { valueEncoding: 'view' });
  const [low, high] = [`k${next(50)}`, `k${next(50)}`];
  const range = [{}, { gte: low }, { gt: low, lte: high }, { gte: low, lt: high }][next(4)] ?? {};
  const options = { ...range, reverse: next(2) === 0, limit: [-1, 0, 1, 7][next(4)] ?? -1 };
  const keys = Array.from({ length: 5 }, () => `k${next(50)}é`);
  const found: unknown[] = [
    await part.iterator(options).all(),
    await part.keys(options).all(),
    await part.values(options).all(),
    await level.iterator(options).all(),
    await level.getMany(keys),
    await part.getMany(keys),
    (await bytes.values(options).all()).map(value => [...value]),
  ];
  const iterator = part.iterator(options);
  found.push(await iterator.nextv(3), await iterator.next(), await iterator.nextv(2));
  await iterator.close();
  return found;
}

for (const kind of ['memory', 'LevelDB']) {
  test(`a database of the backend process does what one here does: ${kind}`, async t => {
    const { local, remote } = await databases(t, kind === 'memory' ? ':memory:' : await temporaryDirectory(t));
    for (let seed = 0; seed < 300; seed++) {
      await change(local, random(seed));
      await change(asDatabase(remote), random(seed));
      t.deepEqual(await seen(asDatabase(remote), random(seed)), await seen(local, random(seed)));
    }
  });
}

test('a range of more than a page is read to its end, forwards and backwards', async t => {
  const { remote, direct } = await databases(t);
  const keys = Array.from({ length: 2500 }, (_, at) => `k${String(at).padStart(5, '0')}`);
  await direct.batch(keys.map(key => ({ type: 'put' as const, key, value: 'x' })));
  t.deepEqual(await remote.keys().all(), keys);
  t.deepEqual(await remote.keys({ reverse: true, limit: 2100 }).all(), keys.toReversed().slice(0, 2100));
  await remote.clear();
  t.deepEqual(await direct.keys().all(), []);
});

test('entries that are large come in several pages', async t => {
  const { remote, direct } = await databases(t);
  const value = 'x'.repeat(600_000);
  for (let at = 0; at < 5; at++) await direct.put(`k${at}`, value);
  t.deepEqual(
    (await remote.values().all()).map(({ length }) => length),
    Array(5).fill(600_000),
  );
  await remote.batch([{ type: 'put', key: 'k9', value: 'y'.repeat(9_000_000) }]);
  t.is((await direct.get('k9'))?.length, 9_000_000);
  t.is((await remote.get('k9'))?.length, 9_000_000);
});

test('compactRange() is for databases that have it', async t => {
  const { remote } = await databases(t);
  await t.notThrowsAsync(remote.compactRange('a', 'b'));
  const { remote: onDisk } = await databases(t, await temporaryDirectory(t));
  await t.notThrowsAsync(onDisk.compactRange('a', 'b'));
});

test('a database that is closed refuses its calls', async t => {
  const { remote } = await databases(t);
  await remote.open();
  await remote.close();
  await t.throwsAsync(remote.get('k'), { code: 'LEVEL_DATABASE_NOT_OPEN' });
});
