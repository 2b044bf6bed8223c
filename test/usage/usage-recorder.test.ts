import test, { type ExecutionContext } from 'ava';
import { openMemoryDatabase } from '../../src/storage/records/memory-database.js';
import { RecordStore } from '../../src/storage/records/record-store.js';
import { FunctionUsage } from '../../src/usage/function-usage.js';
import { StoredHoursMeter } from '../../src/usage/stored-bytes.js';
import { usageKeys } from '../../src/usage/usage-keys.js';
import { OTHER_FUNCTIONS, UsageRecorder } from '../../src/usage/usage-recorder.js';
import { UsageStore } from '../../src/usage/usage-store.js';
import { usageValues } from '../../src/usage/usage-values.js';
import { MAX_FUNCTIONS_A_DAY } from '../../src/usage/write-rows.js';

const DAY_MS = 86_400_000;
const DAY = 20_000;

interface Setup {
  readonly records: RecordStore;
  readonly store: UsageStore;
  recorder(options?: { store?: () => Promise<UsageStore>; onError?: (error: unknown) => void }): UsageRecorder;
  now: number;
}

async function setup(t: ExecutionContext): Promise<Setup> {
  const records = new RecordStore(await openMemoryDatabase());
  t.teardown(() => records.close());
  const store = new UsageStore(records);
  const made: Setup = {
    records,
    store,
    now: DAY * DAY_MS,
    recorder: ({ store: open = async () => store, onError = (error: unknown) => t.fail(String(error)) } = {}) => {
      const now = () => made.now;
      const stored = new StoredHoursMeter({ of: async () => ({ bytes: 0, objects: 0 }) }, { now, keepDays: 400 });
      const recorder = new UsageRecorder({ now, store: open, stored, onError });
      t.teardown(() => recorder.close());
      return recorder;
    },
  };
  return made;
}

const ONE = {
  kind: 'fetch',
  cpuMs: 0.1,
  wallMs: 1.005,
  requestBytes: 3,
  responseBytes: 5,
  subrequests: 2,
  accounting: { calls: { bucket: 2 }, egressSentBytes: 7, egressReceivedBytes: 11 },
} as const;

async function requestsOf(store: UsageStore, account: string): Promise<[number, string, number][]> {
  const found: [number, string, number][] = [];
  for await (const { day, name, slots } of store.functionDays(account, 0, DAY + 10)) {
    found.push([day, name, usageValues(slots).requests]);
  }
  return found;
}

test('write() keeps what was added, to the microsecond and the byte', async t => {
  const { recorder, store } = await setup(t);
  const written = recorder();
  const usage = new FunctionUsage('acme', 'hello', written);
  for (let count = 0; count < 10; count++) usage.add('ok', ONE);
  usage.add('exception', { ...ONE, kind: 'queue', accounting: undefined, subrequests: 0 });
  await written.write();
  for await (const { slots } of store.functionDays('acme', DAY, DAY + 1)) {
    const values = usageValues(slots);
    t.like(values, { invocations: 11, requests: 10, cpuMs: 1.1, wallMs: 11.055, requestBytes: 33, responseBytes: 55 });
    t.like(values, { subrequests: 20, egressSentBytes: 70, egressReceivedBytes: 110 });
    t.like(values.calls, { bucket: 20, fetch: 0 });
    t.like(values.outcomes, { ok: 10, exception: 1 });
    t.like(values.requestOutcomes, { ok: 10, exception: 0 });
  }
});

test('a recorder goes on from what an earlier one has written', async t => {
  const { recorder, store } = await setup(t);
  for (let run = 0; run < 3; run++) {
    const written = recorder();
    const usage = new FunctionUsage('acme', 'hello', written);
    usage.add('ok', ONE);
    await written.write();
    usage.add('ok', ONE);
    await written.close();
  }
  t.deepEqual(await requestsOf(store, 'acme'), [[DAY, 'hello', 6]]);
});

test('a row from before a counter existed is read without it, and added to', async t => {
  const { records, store, recorder } = await setup(t);
  const before = Buffer.from(JSON.stringify({ 'fetch.ok': 3, cpuUs: 500, 'calls.bucket': 2 }));
  await records.commit([{ type: 'put', key: usageKeys.functionDay('acme', DAY, 'agent'), value: before }]);
  const now = recorder();
  new FunctionUsage('acme', 'agent', now).add('ok', { ...ONE, run: { toolCalls: 2, toolMs: 1.5 } });
  await now.write();
  for await (const { slots } of store.functionDays('acme', DAY, DAY + 1)) {
    t.like(usageValues(slots), { requests: 4, cpuMs: 0.6, runs: 1, toolCalls: 2, toolMs: 1.5 });
  }
});

test('two versions of a function that are active at once add to one row', async t => {
  const { recorder, store } = await setup(t);
  const written = recorder();
  const [one, two] = [new FunctionUsage('acme', 'hello', written), new FunctionUsage('acme', 'hello', written)];
  one.add('ok', ONE);
  two.add('ok', ONE);
  await written.write();
  two.add('ok', ONE);
  await written.write();
  t.deepEqual(await requestsOf(store, 'acme'), [[DAY, 'hello', 3]]);
  t.is(written.rows, 1);
});

test('a write of which it is not known whether it was made counts once', async t => {
  const { recorder, store, records } = await setup(t);
  const errors: unknown[] = [];
  let fails: 'before' | 'behind' | undefined;
  const unsure = new UsageStore(
    Object.assign(Object.create(records), {
      async commit(operations: Parameters<RecordStore['commit']>[0]) {
        if (fails === 'before') throw new Error('not written');
        await records.commit(operations);
        if (fails === 'behind') throw new Error('written, or not');
      },
      getMany: (keys: string[]) => records.getMany(keys),
    }),
  );
  const written = recorder({ store: async () => unsure, onError: error => errors.push(error) });
  const usage = new FunctionUsage('acme', 'hello', written);
  for (fails of ['behind', 'before', 'behind', undefined] as const) {
    usage.add('ok', ONE);
    const writing = written.write();
    usage.add('ok', ONE);
    await (fails === undefined ? writing : t.throwsAsync(writing, { message: /written/ }));
  }
  await written.write();
  t.deepEqual(await requestsOf(store, 'acme'), [[DAY, 'hello', 8]]);
  t.is(written.failures, 0);
});

test('what is added while a write reads and writes is in the next one', async t => {
  const { recorder, store } = await setup(t);
  const written = recorder();
  const usage = new FunctionUsage('acme', 'hello', written);
  let count = 0;
  for (let round = 0; round < 20; round++) {
    usage.add('ok', ONE);
    const writing = written.write();
    for (let turn = 0; turn < 5; turn++) {
      usage.add('ok', ONE);
      t.is(usageValues(written.sums()).requests, ++count + round + 1);
      await Promise.resolve();
    }
    await writing;
  }
  await written.write();
  t.deepEqual(await requestsOf(store, 'acme'), [[DAY, 'hello', 120]]);
});

test('functions past the bound of an account and day are added up in one row', async t => {
  const { recorder, store } = await setup(t);
  const more = 3;
  for (let run = 1; run <= 2; run++) {
    const written = recorder();
    const usages = Array.from(
      { length: MAX_FUNCTIONS_A_DAY + more },
      (_, index) => new FunctionUsage('acme', `f${run}-${index}`, written),
    );
    for (const usage of usages) usage.add('ok', ONE);
    new FunctionUsage('else', 'hello', written).add('ok', ONE);
    await written.write();
    for (const usage of usages) usage.add('ok', ONE);
    t.is(usageValues(written.sums('acme')).requests, usages.length * 2);
    await written.close();
  }
  const rows = await requestsOf(store, 'acme');
  t.is(rows.length, MAX_FUNCTIONS_A_DAY + 1);
  t.deepEqual(rows[0], [DAY, OTHER_FUNCTIONS, (more + MAX_FUNCTIONS_A_DAY + more) * 2]);
  t.is(
    rows.reduce((sum, [, , requests]) => sum + requests, 0),
    (MAX_FUNCTIONS_A_DAY + more) * 4,
  );
  t.deepEqual(await requestsOf(store, 'else'), [[DAY, 'hello', 2]]);
});

test('accounts() has those with usage on the days, in order', async t => {
  const made = await setup(t);
  const written = made.recorder();
  for (const account of ['b', 'a-b', 'a', 'a0']) new FunctionUsage(account, 'hello', written).add('ok', ONE);
  made.now += DAY_MS;
  new FunctionUsage('later', 'hello', written).add('ok', ONE);
  await written.write();
  t.deepEqual(await made.store.accounts(DAY, DAY + 1), ['a', 'a-b', 'a0', 'b']);
  t.deepEqual(await made.store.accounts(DAY + 1, DAY + 2), ['later']);
});
