import { mock } from 'node:test';
import test from 'ava';
import { openMemoryDatabase } from '../../src/storage/records/memory-database.js';
import { RecordStore } from '../../src/storage/records/record-store.js';
import { FunctionUsage } from '../../src/usage/function-usage.js';
import { StoredHoursMeter } from '../../src/usage/stored-bytes.js';
import { UsageRecorder } from '../../src/usage/usage-recorder.js';
import { UsageStore } from '../../src/usage/usage-store.js';

const ONE = {
  kind: 'fetch',
  cpuMs: 0,
  wallMs: 0,
  requestBytes: 0,
  responseBytes: 0,
  subrequests: 0,
  accounting: undefined,
} as const;

test.serial('usage is written within a second, leaves memory when nothing is added, and no timer is left', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const records = new RecordStore(await openMemoryDatabase());
  t.teardown(() => records.close());
  let opened = 0;
  let isBroken = false;
  const errors: unknown[] = [];
  const now = () => 0;
  const recorder = new UsageRecorder({
    now,
    store: async () => {
      opened++;
      if (isBroken) throw new Error('the disk is gone');
      return new UsageStore(records);
    },
    stored: new StoredHoursMeter({ of: async () => ({ bytes: 0, objects: 0 }) }, { now, keepDays: 400 }),
    onError: error => errors.push(error),
  });
  const rest = () => new Promise(setImmediate);
  const passed = async (ms: number): Promise<void> => {
    mock.timers.tick(ms);
    for (let turn = 0; turn < 10; turn++) await rest();
  };
  const usage = new FunctionUsage('acme', 'hello', recorder);
  usage.add('ok', ONE);
  t.is(opened, 0);
  await passed(999);
  t.is(opened, 1);
  t.is(recorder.rows, 1);
  // Active ones stay.
  usage.add('ok', ONE);
  await passed(999);
  t.is(opened, 2);
  await passed(999);
  t.is(recorder.rows, 0);
  // Nothing goes on for one that is idle.
  await passed(3_600_000);
  t.is(opened, 2);

  // Failures are reported once, and tried again ever more seldom.
  isBroken = true;
  usage.add('ok', ONE);
  await passed(999);
  await passed(2000);
  await passed(4000);
  t.is(errors.length, 1);
  t.is(recorder.failures, 3);
  isBroken = false;
  await passed(60_000);
  t.is(recorder.failures, 0);
  await passed(60_000);
  t.is(recorder.rows, 0);
});
