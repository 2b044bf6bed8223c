import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Storage } from '../../src/storage/storage.js';
import type { StorageContext } from '../../src/storage/storage-context.js';
import type { StorageJob, StorageOwner } from '../../src/storage/storage-owner.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';

const put = (key: string) => ({ type: 'put', key, value: Buffer.from(key) }) as const;

/** An owner that counts its records in a derived one, and whose records expire at their time. */
function counter(log: string[], fail: { rebuild?: boolean; sweep?: boolean } = {}): StorageOwner {
  const job = (kind: StorageJob['kind'], run: StorageJob['run']): StorageJob => ({
    kind,
    run: async storage => {
      log.push(kind);
      if (fail[kind] === true) throw new Error(`The ${kind} fails`);
      await run(storage);
    },
  });
  return {
    name: 'counter',
    keyspace: ['k', 'n'],
    jobs: [
      job('rebuild', async storage => {
        const count = (await keysOf(storage)).length;
        await storage.records.commit([{ type: 'put', key: 'n', value: Buffer.from(`${count}`) }]);
      }),
      job('sweep', async storage => {
        const expired = (await keysOf(storage)).filter(key => Number(key.slice(1)) <= storage.now());
        await storage.records.commit(expired.map(key => ({ type: 'del', key })));
      }),
    ],
  };
}

async function keysOf({ records }: StorageContext): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of records.pages({ gte: 'k', lt: 'l' })) keys.push(...page.map(([key]) => key));
  return keys;
}

const version1 = (directory: string) =>
  writeFile(join(directory, 'FORMAT'), '{"format":"edgehost storage","version":1}');

async function written(t: ExecutionContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  const storage = await Storage.open(directory, { owners: [counter([])], now: () => 0 });
  await storage.context.records.commit([put('k1'), put('k2'), put('k3')]);
  await storage.close();
  return directory;
}

test('Storage.open() runs the sweeps of its owners, and no rebuild, when the directory is complete', async t => {
  const directory = await written(t);
  const log: string[] = [];
  const storage = await Storage.open(directory, { owners: [counter(log)], now: () => 2 });
  t.teardown(() => storage.close());
  t.deepEqual(log, ['sweep']);
  t.deepEqual(await keysOf(storage.context), ['k3']);
});

for (const [title, prepare] of [
  ['an earlier release wrote the directory', version1],
  ['the directory was repaired', (directory: string) => Storage.repair(directory)],
] as const) {
  test(`Storage.open() runs the rebuilds of its owners first, and once, when ${title}`, async t => {
    const directory = await written(t);
    await prepare(directory);
    for (const expected of [['rebuild', 'sweep'], ['sweep']]) {
      const log: string[] = [];
      const storage = await Storage.open(directory, { owners: [counter(log)], now: () => 0 });
      t.deepEqual(log, expected);
      t.is((await storage.context.records.get('n'))?.toString(), '3');
      await storage.close();
    }
  });
}

test('Storage.open() leaves the rebuilds to the next opening when one fails, or when no owner has any', async t => {
  const directory = await written(t);
  await version1(directory);
  await t.throwsAsync(Storage.open(directory, { owners: [counter([], { rebuild: true })] }), {
    message: 'The rebuild fails',
  });
  await (await Storage.open(directory)).close();
  const log: string[] = [];
  await (await Storage.open(directory, { owners: [counter(log)] })).close();
  t.deepEqual(log, ['rebuild', 'sweep']);
});

test('Storage.open() rejects when a sweep fails, and leaves the directory to the next opening', async t => {
  const directory = await written(t);
  await t.throwsAsync(Storage.open(directory, { owners: [counter([], { sweep: true })] }), {
    message: 'The sweep fails',
  });
  await (await Storage.open(directory, { owners: [counter([])] })).close();
  t.pass();
});

/** The timer of the storage does not keep a process running, and nothing else of these tests does. */
function keepRunning(t: ExecutionContext): void {
  const timer = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(timer));
}

const sweeper = (name: string, run: () => Promise<void>): StorageOwner => ({
  name,
  keyspace: [name],
  jobs: [{ kind: 'sweep', run }],
});

test('an open storage sweeps at intervals, also after a sweep that failed', async t => {
  keepRunning(t);
  let failed = 0;
  let swept = 0;
  await new Promise<void>((resolve, reject) => {
    const failing = sweeper('a', async () => {
      if (swept === 0) return;
      failed++;
      throw new Error('The disk is full');
    });
    const other = sweeper('b', async () => {
      if (++swept === 4) resolve();
    });
    Storage.open(':memory:', { owners: [failing, other], sweepIntervalMs: 1 }).then(
      storage => t.teardown(() => storage.close()),
      reject,
    );
  });
  t.is(failed, 3);
});

/** A promise and what resolves it. */
function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}

test('close() waits for the sweep under way, and begins no other', async t => {
  keepRunning(t);
  const log: string[] = [];
  const begun = gate();
  const finish = gate();
  const first = sweeper('a', async () => {
    log.push('begin');
    if (log.length < 3) return;
    begun.resolve();
    await finish.promise;
    log.push('end');
  });
  const second = sweeper('b', async () => {
    log.push('second');
  });
  const storage = await Storage.open(':memory:', { owners: [first, second], sweepIntervalMs: 1 });
  await begun.promise;
  const closed = storage.close().then(() => log.push('closed'));
  finish.resolve();
  await closed;
  t.deepEqual(log, ['begin', 'second', 'begin', 'end', 'closed']);
});

for (const [title, owners, message] of [
  [
    'two owners have one prefix',
    [
      { name: 'one', keyspace: ['k'] },
      { name: 'two', keyspace: ['v', 'k'] },
    ],
    'Cannot register "two" with the storage: its prefix "k" overlaps "k" of "one"',
  ],
  [
    'the prefix of one begins with that of another',
    [
      { name: 'one', keyspace: ['kv'] },
      { name: 'two', keyspace: ['k'] },
    ],
    'Cannot register "two" with the storage: its prefix "k" overlaps "kv" of "one"',
  ],
  [
    'an owner has a prefix of the storage',
    [{ name: 'one', keyspace: ['tomb'] }],
    'Cannot register "one" with the storage: its prefix "tomb" overlaps "t" of the storage itself',
  ],
  [
    'a prefix is empty',
    [{ name: 'one', keyspace: [''] }],
    'Cannot register "one" with the storage: its prefix "" is not one or more lower-case letters',
  ],
] as const) {
  test(`Storage.open() rejects with a TypeError when ${title}`, async t => {
    await t.throwsAsync(Storage.open(':memory:', { owners }), { instanceOf: TypeError, message });
  });
}
