import test from 'ava';
import fc from 'fast-check';
import { DiskSpace } from '../../../src/storage/files/disk-space.js';
import {
  afterPrefix,
  compareKeys,
  type LevelDatabase,
  type LevelOperation,
} from '../../../src/storage/records/level-database.js';
import { openMemoryDatabase } from '../../../src/storage/records/memory-database.js';
import { RecordStore } from '../../../src/storage/records/record-store.js';

const put = (key: string): LevelOperation => ({ type: 'put', key, value: Buffer.from(key) });

interface Faults {
  batch: Error | undefined;
  /** Takes the place of `batch` at the next opening, when it is there. */
  batchAfterOpen?: Error | undefined;
  open: Error | undefined;
  opened: number;
}

/** A database that fails when the test asks it to. */
async function failing(space?: DiskSpace) {
  const database = await openMemoryDatabase();
  const faults: Faults = { batch: undefined, open: undefined, opened: 0 };
  const level: LevelDatabase = {
    ...database,
    open: async () => {
      if (faults.open !== undefined) throw faults.open;
      faults.opened++;
      if ('batchAfterOpen' in faults) faults.batch = faults.batchAfterOpen;
      await database.open();
    },
    batch: async (operations, options) => {
      if (faults.batch !== undefined) throw faults.batch;
      await database.batch(operations, options);
    },
  };
  return { faults, records: new RecordStore(level, space) };
}

const FULL = Object.assign(new Error('IO error: 000003.log: No space left on device'), { code: 'LEVEL_IO_ERROR' });

test('commit() opens the database again and tries once more when a write failed', async t => {
  const { faults, records } = await failing();
  await records.commit([put('a')]);
  faults.batch = FULL;
  await t.throwsAsync(records.commit([put('b')]), { code: 'EDGE_STORAGE_FULL' });
  t.is(faults.opened, 1);
  let recovered = 0;
  records.onRecovered(() => recovered++);
  t.deepEqual([(await records.get('a'))?.toString(), recovered], ['a', 0]);
  faults.batch = undefined;
  await records.commit([put('c')]);
  t.deepEqual([faults.opened, recovered], [2, 1]);
  records.onRecovered(() => recovered++);
  t.is(recovered, 2);
});

test('commit() succeeds when opening again is what the database needed', async t => {
  const { faults, records } = await failing();
  faults.batch = FULL;
  faults.batchAfterOpen = undefined;
  await records.commit([put('a')]);
  t.deepEqual([faults.opened, (await records.get('a'))?.toString()], [1, 'a']);
});

test('commit() leaves the database open for reading when there is no room to open it again', async t => {
  const space = new DiskSpace({ readFreeBytes: async () => 1000, reserveBytes: 0, now: () => 0 });
  const { faults, records } = await failing(space);
  await records.commit([put('a')]);
  faults.batch = FULL;
  await t.throwsAsync(records.commit([put('b')]), { code: 'EDGE_STORAGE_FULL' });
  t.deepEqual([faults.opened, (await records.get('a'))?.toString()], [0, 'a']);
});

test('commit() and get() reject while the database cannot be opened again, and go on when it can', async t => {
  const { faults, records } = await failing();
  faults.batch = new Error('IO error: sync failed');
  faults.open = FULL;
  await t.throwsAsync(records.commit([put('a')]), { code: 'EDGE_STORAGE_FULL' });
  faults.batch = undefined;
  await t.throwsAsync(records.get('a'), { code: 'EDGE_STORAGE_FULL' });
  faults.open = undefined;
  t.is(await records.get('a'), undefined);
  await records.commit([put('c')]);
  t.is((await records.get('c'))?.toString(), 'c');
  await records.close();
});

test('commit() counts what many count at once, and get() gives the number that was written last', async t => {
  const { records } = await failing();
  const count = (by: number) => records.commit([{ type: 'count', key: 'n', by }]);
  await count(1);
  for (const expected of [101, 201]) {
    await Promise.all(Array.from({ length: 100 }, () => count(1)));
    t.is((await records.get('n'))?.toString(), `${expected}`);
  }
  await Promise.all([count(-200), count(-1)]);
  t.is(await records.get('n'), undefined);
});

test('awaitRecovery() opens the database again after a write that failed, and rejects when that is impossible', async t => {
  const { faults, records } = await failing();
  await records.awaitRecovery();
  t.is(faults.opened, 0);
  faults.batch = new Error('IO error: sync failed');
  await t.throwsAsync(records.commit([put('a')]), { code: 'EDGE_INTERNAL' });
  await records.awaitRecovery();
  t.is(faults.opened, 2);
  await t.throwsAsync(records.commit([put('a')]), { code: 'EDGE_INTERNAL' });
  faults.open = FULL;
  await t.throwsAsync(records.awaitRecovery(), { code: 'EDGE_STORAGE_FULL' });
});

test('snapshot() is read as it was, whatever is written', async t => {
  const { records } = await failing();
  await records.commit([put('a'), put('b')]);
  const snapshot = await records.snapshot();
  await records.commit([{ type: 'del', key: 'a' }, put('c')]);
  const keys = await records.keys({ gte: 'a', lt: 'z' }, { snapshot });
  t.deepEqual(await keys.nextv(10), ['a', 'b']);
  t.deepEqual(
    (await records.getMany(['a', 'c'], { snapshot })).map(value => value?.toString()),
    ['a', undefined],
  );
  await keys.close();
  await snapshot.close();
});

test('afterPrefix() is the smallest string after all with the prefix', t => {
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 4 })
    .filter(prefix => !/^\u{10ffff}+$/u.test(prefix));
  fc.assert(
    fc.property(text, fc.string({ unit: 'binary', maxLength: 4 }), (prefix, rest) => {
      const bound = afterPrefix(prefix);
      const isBetween = compareKeys(rest, prefix) >= 0 && compareKeys(rest, bound) < 0;
      return compareKeys(prefix + rest, bound) < 0 && isBetween === rest.startsWith(prefix);
    }),
    {
      examples: [
        ['\ud7ff', '\ue000'],
        ['a\u{10ffff}', 'b'],
        ['\uffff', '\u{10000}'],
      ],
    },
  );
  t.throws(() => afterPrefix('\u{10ffff}'), { instanceOf: RangeError });
});
