import test, { type ExecutionContext } from 'ava';
import { openMemoryDatabase } from '../../src/storage/records/memory-database.js';
import { RecordStore } from '../../src/storage/records/record-store.js';
import { StoredHoursMeter } from '../../src/usage/stored-bytes.js';
import type { ResolvedUsageQuery } from '../../src/usage/usage-query.js';
import { type UsageReport, usageReport } from '../../src/usage/usage-report.js';
import { UsageStore } from '../../src/usage/usage-store.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const DAY = 20_000;
const ISO_DAY = '2024-10-04';
const NEXT_DAY = '2024-10-05';

interface Made {
  now: number;
  stored: { readonly bytes: number; readonly objects: number };
  meter(): StoredHoursMeter;
  /** The account has this much from now on. */
  set(bytes: number, objects: number, meter?: StoredHoursMeter): Promise<void>;
  report(by?: ResolvedUsageQuery['by'], fromDay?: number, endDay?: number): Promise<UsageReport>;
}

async function setup(t: ExecutionContext): Promise<{ made: Made; store: UsageStore }> {
  const records = new RecordStore(await openMemoryDatabase());
  t.teardown(() => records.close());
  const store = new UsageStore(records);
  const made: Made = {
    now: DAY * DAY_MS,
    stored: { bytes: 0, objects: 0 },
    meter: () => new StoredHoursMeter({ of: async () => made.stored }, { now: () => made.now, keepDays: 400 }),
    async set(bytes, objects, meter = made.meter()) {
      made.stored = { bytes, objects };
      meter.noteChange('acme');
      await meter.write(store);
    },
    report: (by = 'day', fromDay = DAY, endDay = DAY + 10) =>
      usageReport(store, 'acme', { fromDay, endDay, by }, made.now),
  };
  return { made, store };
}

test('byte-hours are bytes by the time that they were stored', async t => {
  const { made } = await setup(t);
  await made.set(1000, 1);
  made.now += 2 * HOUR_MS;
  await made.set(500, 2);
  made.now += 4 * HOUR_MS;
  const { storage, stored } = await made.report();
  t.deepEqual(storage, [{ day: ISO_DAY, byteHours: 2 * 1000 + 4 * 500, objectHours: 2 * 1 + 4 * 2 }]);
  t.deepEqual(stored, { bytes: 500, objects: 2 });
});

test('byte-hours go on over days and restarts while nothing changes, and end with the last byte', async t => {
  const { made } = await setup(t);
  made.now += 22 * HOUR_MS;
  await made.set(10, 1);
  made.now += 30 * HOUR_MS;
  const days = [
    { day: ISO_DAY, byteHours: 20, objectHours: 2 },
    { day: NEXT_DAY, byteHours: 240, objectHours: 24 },
    { day: '2024-10-06', byteHours: 40, objectHours: 4 },
  ];
  t.deepEqual((await made.report()).storage, days);
  await made.set(0, 0);
  made.now += 30 * HOUR_MS;
  t.deepEqual((await made.report()).storage, days);
  t.deepEqual((await made.report('total')).storage, [{ day: undefined, byteHours: 300, objectHours: 30 }]);
  t.deepEqual((await made.report('day', DAY + 1, DAY + 2)).storage, days.slice(1, 2));
});

test('byte-hours count no time twice when the clock is set back a little', async t => {
  const { made } = await setup(t);
  await made.set(1, 1);
  made.now += 2 * HOUR_MS;
  await made.set(2, 1);
  made.now -= HOUR_MS;
  await made.set(3, 1);
  made.now += HOUR_MS;
  t.is((await made.report()).storage[0]?.byteHours, 2);
  made.now += HOUR_MS;
  t.is((await made.report()).storage[0]?.byteHours, 5);
});

test('byte-hours of days that a wrong clock has run ahead to are dropped', async t => {
  const { made } = await setup(t);
  await made.set(1, 1);
  made.now += 5 * DAY_MS;
  await made.set(2, 1);
  made.now -= 5 * DAY_MS;
  await made.set(3, 1);
  made.now += DAY_MS;
  const { storage } = await made.report();
  t.deepEqual(
    storage.map(({ day }) => day),
    [ISO_DAY],
  );
  made.now += 2 * HOUR_MS;
  t.deepEqual((await made.report()).storage.at(-1), { day: NEXT_DAY, byteHours: 6, objectHours: 2 });
});

test('write() tries an account again that the storage refused, and adds its hours once', async t => {
  const { made, store } = await setup(t);
  await made.set(1000, 1);
  made.now += HOUR_MS;
  const meter = made.meter();
  const commit = store.commit.bind(store);
  store.commit = async operations => {
    await commit(operations);
    throw new Error('written, or not');
  };
  await t.throwsAsync(made.set(2000, 1, meter), { message: 'written, or not' });
  t.true(meter.hasChanged);
  store.commit = commit;
  made.now += HOUR_MS;
  await meter.write(store);
  t.is((await made.report()).storage[0]?.byteHours, 3000);
});
