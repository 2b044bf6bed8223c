import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Level } from 'level';
import { objectStorageOwner } from '../../src/bindings/objects/store/object-storage-owner.js';
import { type ObjectStore, objectStoreOf } from '../../src/bindings/objects/store/object-store.js';
import { AlarmScheduler } from '../../src/host/events/alarm-scheduler.js';
import { OWN_WORK } from '../../src/quotas/host/call-work.js';
import { Storage } from '../../src/storage/storage.js';
import type { Benchmark } from '../benchmark.js';

const ALARMS = 10_000;
const ACCOUNTS = 10;
/** Objects whose alarms are set at the same time. */
const AT_ONCE = 256;
const BATCH = 64;

export const objectAlarms: Benchmark = {
  name: 'object-alarms',
  measures: `${ALARMS} alarms of ${ACCOUNTS} accounts that are due at one time: how late the last of them is started, and the processor time of each from the index of alarms to its removal. Handlers do nothing.`,
  floor: `LevelDB itself with \`sync\`: two records read and deleted for each, in batches of ${BATCH}.`,
  async run(context) {
    const late: number[] = [];
    const cpu: number[] = [];
    const floor: number[] = [];
    for (let round = 0; round < context.rounds; round++) {
      context.progress(`round ${round + 1}`);
      const ran = await runAlarms(join(context.folder, `alarms-${round}`));
      late.push(ran.lateMs);
      cpu.push(ran.cpuUs);
      floor.push(await runLevel(join(context.folder, `level-${round}`)));
    }
    return [
      { name: 'last alarm late', unit: 'ms', samples: late, target: { of: 'value', atMost: 2000 } },
      { name: 'CPU of an alarm', unit: 'us', samples: cpu, floor: { name: 'LevelDB', samples: floor } },
    ];
  },
};

async function runAlarms(folder: string): Promise<{ readonly lateMs: number; readonly cpuUs: number }> {
  const storage = await Storage.open(folder, { owners: [objectStorageOwner] });
  const store = objectStoreOf(storage.context);
  // Long enough to set all of them, and then to be waited for.
  const dueMs = Date.now() + 3_600_000;
  let left = ALARMS;
  let lastMs = 0;
  let done: () => void = () => {};
  const all = new Promise<void>(resolve => {
    done = resolve;
  });
  for (let at = 0; at < ALARMS; at += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, ALARMS - at) }, (_, index) => at + index);
    await Promise.all(numbers.map(number => setAlarm(store, number, dueMs)));
  }
  await storage.close();

  // The clock of the storage is that much ahead from here on.
  let aheadMs = 0;
  const opened = await Storage.open(folder, { owners: [objectStorageOwner], now: () => Date.now() + aheadMs });
  const { alarms } = objectStoreOf(opened.context);
  const scheduler = new AlarmScheduler({
    alarms: async () => alarms,
    deliver: async () => {
      lastMs = performance.now();
      if (--left === 0) done();
      return 'ok';
    },
    onError: () => {},
  });
  for (let account = 0; account < ACCOUNTS; account++) {
    await scheduler.serve({ account: `account-${account}`, functionName: 'room', share: { charge: () => {} } });
  }
  const cpuBefore = process.cpuUsage();
  const beganMs = performance.now();
  aheadMs = 3_600_000;
  alarms.check();
  await all;
  while (scheduler.running > 0) await new Promise(resolve => setImmediate(resolve));
  const { user, system } = process.cpuUsage(cpuBefore);
  await scheduler.close();
  await opened.close();
  return { lateMs: lastMs - beganMs, cpuUs: (user + system) / ALARMS };
}

async function setAlarm(store: ObjectStore, number: number, alarm: number): Promise<void> {
  const ref = {
    account: `account-${number % ACCOUNTS}`,
    functionName: 'room',
    className: 'Room',
    id: number.toString(16).padStart(64, '0'),
  };
  const { user } = await store.open(ref, OWN_WORK);
  const change = async () => ({ isClearing: false, entries: new Map<string, Uint8Array>(), alarm });
  const { signal } = new AbortController();
  await store.write({ ref, user }, 0, change, { bounds: undefined, work: OWN_WORK, signal });
}

/** Microseconds of the processor for each. */
async function runLevel(folder: string): Promise<number> {
  const level = new Level<string, string>(folder);
  const value = 'x'.repeat(80);
  const keys = Array.from({ length: ALARMS }, (_, number) => number.toString(16).padStart(100, '0'));
  await level.batch(keys.flatMap(key => ['a', 'b'].map(kind => ({ type: 'put' as const, key: kind + key, value }))));
  const before = process.cpuUsage();
  for (let at = 0; at < ALARMS; at += BATCH) {
    const some = keys.slice(at, at + BATCH).flatMap(key => [`a${key}`, `b${key}`]);
    await level.getMany(some);
    await level.batch(
      some.map(key => ({ type: 'del' as const, key })),
      { sync: true },
    );
  }
  const { user, system } = process.cpuUsage(before);
  await level.close();
  return (user + system) / ALARMS;
}
