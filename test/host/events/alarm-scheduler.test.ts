/** What runs the alarms that are due. When they are due: test/bindings/objects/alarms.test.ts. */
import test, { type ExecutionContext } from 'ava';
import { RemoteStore } from '../../../src/backend/client/remote-store.js';
import type { AlarmClaims, AlarmOutcome } from '../../../src/bindings/objects/alarm-claims.js';
import { AlarmScheduler, type DeliverAlarm } from '../../../src/host/events/alarm-scheduler.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { remotePair } from '../../backend/client/pair.js';
import { servedObjects } from '../../backend/client/served.js';
import { idOf, type OpenObjects, openObjects } from '../../bindings/objects/open-objects.js';

const CHAT = { account: 'acme', functionName: 'chat', share: { charge: () => {} } };

async function opened(t: ExecutionContext): Promise<OpenObjects> {
  const objects = await openObjects();
  t.teardown(() => objects.storage.close());
  return objects;
}

async function setAlarms({ store }: OpenObjects, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    const ref = { account: 'acme', functionName: 'chat', className: 'Room', id: idOf(number) };
    const { user } = await store.open(ref, OWN_WORK);
    const change = async () => ({ isClearing: false, entries: new Map<string, Uint8Array>(), alarm: number + 1 });
    const { signal } = new AbortController();
    await store.write({ ref, user }, 0, change, { bounds: undefined, work: OWN_WORK, signal });
  }
}

function scheduler(t: ExecutionContext, alarms: () => Promise<AlarmClaims>, deliver: DeliverAlarm): AlarmScheduler {
  const made = new AlarmScheduler({ alarms, deliver, onError: error => t.log(String(error)) });
  t.teardown(() => made.close());
  return made;
}

/** As when the answer of `serve` and that of another call come together, and the application closes the host because of the other. */
function servedAtOnce(alarms: AlarmClaims): AlarmClaims {
  return {
    serve: async () => {},
    drop: (owner, served) => alarms.drop(owner, served),
    claim: (owner, most) => alarms.claim(owner, most),
    settle: (owner, claim, outcome) => alarms.settle(owner, claim, outcome),
    left: owner => alarms.left(owner),
  };
}

/** Resolves with the times of so many deliveries. */
function deliveries(
  count: number,
  outcome: AlarmOutcome = 'ok',
): { readonly deliver: DeliverAlarm; readonly all: Promise<number[]> } {
  const times: number[] = [];
  let done: (times: number[]) => void = () => {};
  const all = new Promise<number[]>(resolve => {
    done = resolve;
  });
  const deliver: DeliverAlarm = async (_object, { scheduledTime }) => {
    times.push(scheduledTime);
    if (times.length === count) done(times);
    return outcome;
  };
  return { deliver, all };
}

test('each alarm runs once, though several applications have the function, in this process and over a connection', async t => {
  const objects = await opened(t);
  await setAlarms(objects, 200);
  const pair = await remotePair(
    servedObjects(objects.storage, () => {
      throw new Error('There are no buckets');
    }),
  );
  const remote = await RemoteStore.open({ connection: async () => pair.application });
  const { deliver, all } = deliveries(200);
  const local = scheduler(t, async () => objects.store.alarms, deliver);
  const far = scheduler(t, async () => remote.alarms, deliver);
  await Promise.all([local.serve(CHAT), far.serve(CHAT)]);
  const times = await all;
  t.is(new Set(times).size, 200);
  await Promise.all([local.close(), far.close()]);
});

test('a scheduler closes at whatever moment it is told to, here and over a connection', async t => {
  t.timeout(60_000);
  const objects = await opened(t);
  const pair = await remotePair(
    servedObjects(objects.storage, () => {
      throw new Error('There are no buckets');
    }),
  );
  const remote = await RemoteStore.open({ connection: async () => pair.application });
  for (const { alarms } of [objects.store, remote]) {
    for (let turns = 0; turns < 60; turns++) {
      const closing = new AlarmScheduler({
        alarms: async () => servedAtOnce(alarms),
        deliver: async () => 'ok',
        onError: error => t.log(String(error)),
      });
      const served = closing.serve(CHAT);
      for (let turn = 0; turn < turns; turn++) await null;
      await closing.close();
      await served;
    }
  }
  t.pass();
});

test('what a scheduler had not settled when it was closed runs in the next one', async t => {
  const objects = await opened(t);
  await setAlarms(objects, 1);
  let begun: () => void = () => {};
  const started = new Promise<void>(resolve => {
    begun = resolve;
  });
  let fail: (outcome: AlarmOutcome) => void = () => {};
  const first = scheduler(
    t,
    async () => objects.store.alarms,
    () => {
      begun();
      return new Promise(resolve => {
        fail = resolve;
      });
    },
  );
  await first.serve(CHAT);
  await started;
  t.is(first.running, 1);
  await first.close();
  fail('failed');
  const { deliver, all } = deliveries(1);
  await scheduler(t, async () => objects.store.alarms, deliver).serve(CHAT);
  t.deepEqual(await all, [1]);
});

test('alarms of a function that was dropped wait', async t => {
  const objects = await opened(t);
  const { deliver, all } = deliveries(1);
  const one = scheduler(t, async () => objects.store.alarms, deliver);
  await one.serve(CHAT);
  one.drop(CHAT);
  await setAlarms(objects, 1);
  t.false(objects.store.alarms.hasTimer);
  await one.serve(CHAT);
  t.deepEqual(await all, [1]);
});
