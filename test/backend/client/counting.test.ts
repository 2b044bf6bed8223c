/** What several applications have used is one sum, what they count one count, and what is due runs once: also when messages come twice and processes begin anew. */
import test, { type ExecutionContext } from 'ava';
import { RemoteCounters } from '../../../src/backend/client/remote-counters.js';
import { remotePart } from '../../../src/backend/client/remote-part.js';
import { KeptUsage } from '../../../src/backend/server/kept-usage.js';
import { RequestCounters } from '../../../src/backend/server/request-counters.js';
import { storedSums } from '../../../src/backend/stored-sums.js';
import { CRON_CONTRACT } from '../../../src/bindings/cron/contract.js';
import { cronStorage } from '../../../src/bindings/cron/cron-records.js';
import { Storage } from '../../../src/storage/storage.js';
import { StoredHoursMeter } from '../../../src/usage/stored-bytes.js';
import { encodeSlots, newSlots, SLOT_NAMES } from '../../../src/usage/usage-slots.js';
import { UsageStore, usageStorage } from '../../../src/usage/usage-store.js';
import { bucketsOf } from '../../bindings/bucket/open-buckets.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { remotePair } from './pair.js';
import { servedObjects } from './served.js';

const DAY = 20_000;

async function openStorage(t: ExecutionContext, directory = ':memory:'): Promise<Storage> {
  const usage = usageStorage({ keepDays: () => Number.POSITIVE_INFINITY, now: Date.now });
  const storage = await Storage.open(directory, { owners: [usage, cronStorage(Date.now)] });
  t.teardown(() => storage.close());
  return storage;
}

function usageOf(storage: Storage): { kept: KeptUsage; store: UsageStore } {
  const { records } = storage.context;
  const meter = new StoredHoursMeter(
    storedSums(async () => records),
    { now: Date.now, keepDays: 400 },
  );
  const store = new UsageStore(records);
  return { kept: new KeptUsage({ store, meter, now: Date.now }), store };
}

function requests(count: number): string {
  const slots = newSlots();
  slots[SLOT_NAMES.indexOf('fetch.ok')] = count;
  return encodeSlots(slots).toString();
}

async function rowsOf(store: UsageStore): Promise<Record<string, number>> {
  const rows: Record<string, number> = {};
  for await (const { name, slots } of store.functionDays('acme', DAY, DAY + 1))
    rows[name] = slots[SLOT_NAMES.indexOf('fetch.ok')] ?? 0;
  return rows;
}

test('usage of several senders adds up, and a message that comes again changes nothing', async t => {
  const { kept, store } = usageOf(await openStorage(t));
  await Promise.all([
    kept.add('one', 1, [['acme', 'fn', DAY, requests(3)]]),
    kept.add('two', 1, [
      ['acme', 'fn', DAY, requests(5)],
      ['acme', 'other', DAY, requests(1)],
    ]),
    kept.add('one', 2, [['acme', 'fn', DAY, requests(7)]]),
    kept.add('one', 1, [['acme', 'fn', DAY, requests(3)]]),
    kept.add('one', 2, [['acme', 'fn', DAY, requests(7)]]),
  ]);
  t.deepEqual(await rowsOf(store), { fn: 15, other: 1 });
  t.deepEqual(await store.accounts(DAY, DAY + 1), ['acme']);
});

test('a message is known again by the next process, until its sender has left', async t => {
  const directory = await temporaryDirectory(t);
  const first = await openStorage(t, directory);
  await usageOf(first).kept.add('one', 4, [['acme', 'fn', DAY, requests(3)]]);
  await first.close();
  const { kept, store } = usageOf(await openStorage(t, directory));
  await kept.add('one', 4, [['acme', 'fn', DAY, requests(3)]]);
  t.deepEqual(await rowsOf(store), { fn: 3 });
  await kept.left('one');
  await kept.add('one', 1, [['acme', 'fn', DAY, requests(2)]]);
  t.deepEqual(await rowsOf(store), { fn: 5 });
});

test('counters are shared, go on over a restart, and count nothing twice that is said again', async t => {
  const directory = await temporaryDirectory(t);
  const first = await openStorage(t, directory);
  const counters = new RequestCounters(first.sublevel('counts'));
  const [day, minute] = ['day:20000:acme', 'minute:28800000:acme'];
  t.deepEqual(
    await counters.set('one', [
      [day, 1],
      [minute, 1],
      [day, 2],
    ]),
    [1, 1, 2],
  );
  t.deepEqual(await counters.set('two', [[day, 1]]), [3]);
  await counters.write();
  await first.close();
  const again = new RequestCounters((await openStorage(t, directory)).sublevel('counts'));
  t.is(await again.read(day), 3);
  // Three more were answered before the end of the first that it had not written.
  t.deepEqual(await again.set('one', [[day, 5]]), [6]);
  t.deepEqual(await again.set('one', [[day, 4]]), [5]);
  t.deepEqual(await again.set('three', [[minute, 1]]), [2]);
  t.deepEqual(await again.set('three', [['minute:28800001:acme', 1]]), [1]);
  await again.write();
  await t.throwsAsync(again.read('hour:1:acme'), { instanceOf: TypeError });
});

test('an application says later what it could not say', async t => {
  const storage = await openStorage(t);
  const { link, application } = remotePair(servedObjects(storage, account => bucketsOf(storage, account)));
  const counters = new RemoteCounters(link);
  const day = 'day:20000:acme';
  // Not connected yet.
  await t.throwsAsync(counters.increment(day, 60), { code: 'EDGE_SERVICES_LOST' });
  await counters.ready();
  t.deepEqual(await Promise.all([1, 2, 3].map(() => counters.increment(day, 60))), [2, 3, 4]);
  await counters.decrement(day, 60);
  t.is(await counters.increment(day, 60), 4);
  application.close();
  await t.throwsAsync(counters.increment(day, 60), { code: 'EDGE_SERVICES_LOST' });
});

test('of two applications one runs a cron trigger, and the other the next one when that is gone', async t => {
  const storage = await openStorage(t);
  const objects = servedObjects(storage, account => bucketsOf(storage, account));
  const [one, two] = [remotePair(objects), remotePair(objects)];
  const target = { account: 'acme', function: 'nightly' };
  const minute = Math.ceil(Date.now() / 60_000) * 60_000;
  const [first, second] = [one, two].map(({ link }) => remotePart(link, 'crons', CRON_CONTRACT));
  if (first === undefined || second === undefined) return t.fail();
  for (const crons of [first, second]) await crons.track(target, ['* * * * *'], minute);
  const wish = (dueMs: number) => ({ ...target, cron: '* * * * *', dueMs, isExclusive: true, isMissed: false });
  const claims = await Promise.all([
    first.claim('one', [wish(minute + 60_000)]),
    second.claim('two', [wish(minute + 60_000)]),
  ]);
  t.deepEqual(
    claims.flat().map(({ kind }) => kind),
    ['run', 'taken'],
  );
  // The first has not said that its run is over.
  one.application.close();
  const [next] = await second.claim('two', [wish(minute + 120_000)]);
  t.is(next?.kind, 'run');
});
