/** Alarms on the storage, by a clock of the test. */
import test, { type ExecutionContext } from 'ava';
import type { AlarmOutcome, ClaimedAlarm } from '../../../src/bindings/objects/alarm-claims.js';
import type { ObjectRef } from '../../../src/bindings/objects/object-ref.js';
import { MAX_RUNNING_OF_ACCOUNT } from '../../../src/bindings/objects/store/alarm-clock.js';
import type { ObjectStore } from '../../../src/bindings/objects/store/object-store.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import type { Storage } from '../../../src/storage/storage.js';
import { temporaryFolder } from '../queue/temporary-folder.js';
import { idOf, openObjects } from './open-objects.js';

const HOST = 'host';

class Alarms {
  now = 1_000_000;
  readonly #users = new Map<string, { readonly user: number; next: number }>();
  storage!: Storage; // set by open()
  store!: ObjectStore; // set by open()

  async open(location?: string): Promise<this> {
    ({ storage: this.storage, store: this.store } = await openObjects(location, { now: () => this.now }));
    this.#users.clear();
    return this;
  }

  ref(number: number, account = 'acme', functionName = 'chat'): ObjectRef {
    return { account, functionName, className: 'Room', id: idOf(number) };
  }

  async set(ref: ObjectRef, alarm: number | null): Promise<void> {
    const key = JSON.stringify(ref);
    const use = this.#users.get(key) ?? { user: (await this.store.open(ref, OWN_WORK)).user, next: 0 };
    this.#users.set(key, use);
    const change = async () => ({ isClearing: false, entries: new Map(), alarm });
    const { signal } = new AbortController();
    await this.store.write({ ref, user: use.user }, use.next++, change, { bounds: undefined, work: OWN_WORK, signal });
  }

  async get(ref: ObjectRef): Promise<number | null> {
    const { user } = this.#users.get(JSON.stringify(ref)) ?? (await this.store.open(ref, OWN_WORK));
    return this.store.getAlarm({ ref, user }, OWN_WORK);
  }

  serve(ref: ObjectRef, owner = HOST): Promise<void> {
    return this.store.alarms.serve(owner, { account: ref.account, functionName: ref.functionName });
  }

  /** What is due by then: it answers when something is, so something must be. */
  async dueAt(ms: number, owner = HOST, most = 100): Promise<readonly ClaimedAlarm[]> {
    this.now = ms;
    const claiming = this.store.alarms.claim(owner, most);
    this.store.alarms.check();
    return claiming;
  }

  /** Whether nothing of the function of the object is due by then. */
  async isQuietAt(ms: number, ref: ObjectRef): Promise<boolean> {
    const owner = 'probe';
    this.now = ms;
    let isQuiet = true;
    await this.serve(ref, owner);
    const claiming = this.store.alarms.claim(owner, 1).then(claims => {
      if (claims.length > 0) isQuiet = false;
    });
    this.store.alarms.check();
    for (let round = 0; round < 10; round++) await new Promise(resolve => setImmediate(resolve));
    await this.store.alarms.left(owner);
    await claiming;
    return isQuiet;
  }

  settle(claim: ClaimedAlarm | undefined, outcome: AlarmOutcome, owner = HOST): Promise<void> {
    return this.store.alarms.settle(owner, claim?.claim ?? 0, outcome);
  }
}

async function opened(t: ExecutionContext): Promise<Alarms> {
  const alarms = await new Alarms().open();
  t.teardown(() => alarms.storage.close());
  return alarms;
}

test('an alarm is due at its time, once, and gone when its handler has run', async t => {
  const alarms = await opened(t);
  const ref = alarms.ref(1);
  await alarms.set(ref, 1_005_000);
  await alarms.set(alarms.ref(2), 1_006_000);
  await alarms.serve(ref);
  t.true(await alarms.isQuietAt(1_004_999, ref));
  const [first, ...more] = await alarms.dueAt(1_005_000);
  t.like(first, { object: ref, scheduledTime: 1_005_000, retryCount: 0 });
  t.is(more.length, 0);
  t.is(await alarms.get(ref), null, 'its handler runs');
  t.true(await alarms.isQuietAt(1_005_999, ref), 'it was claimed');
  await alarms.settle(first, 'ok');
  t.is(await alarms.get(ref), null);
  const [second] = await alarms.dueAt(1_006_000);
  t.is(second?.object.id, idOf(2));
  await alarms.settle(second, 'ok');
  t.deepEqual(await alarms.storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
});

test('an alarm whose handler throws runs six times more, later each time, and is then given up', async t => {
  const alarms = await opened(t);
  const ref = alarms.ref(1);
  await alarms.set(ref, 1);
  await alarms.serve(ref);
  let [claim] = await alarms.dueAt(alarms.now);
  for (let retry = 0; retry < 6; retry++) {
    t.is(claim?.retryCount, retry);
    await alarms.settle(claim, 'failed');
    t.is(await alarms.get(ref), 1);
    const delayMs = (2 << retry) * 1000;
    t.true(await alarms.isQuietAt(alarms.now + delayMs - 1, ref));
    [claim] = await alarms.dueAt(alarms.now + 1 + delayMs / 4);
  }
  t.is(claim?.retryCount, 6);
  await alarms.settle(claim, 'failed');
  t.is(await alarms.get(ref), null);
});

test('failures of the host do not count, back off to 1,024 s, and the delays begin anew with one of the object', async t => {
  const alarms = await opened(t);
  const ref = alarms.ref(1);
  await alarms.set(ref, 1);
  await alarms.serve(ref);
  for (let failure = 0; failure < 12; failure++) {
    const [claim] = await alarms.dueAt(alarms.now);
    t.is(claim?.retryCount, 0);
    await alarms.settle(claim, 'internal');
    alarms.now += (2 << Math.min(failure, 9)) * 1250;
  }
  const [claim] = await alarms.dueAt(alarms.now);
  await alarms.settle(claim, 'failed');
  const [again] = await alarms.dueAt(alarms.now + 2500);
  t.is(again?.retryCount, 1);
});

for (const outcome of ['ok', 'failed'] as const) {
  test(`an alarm that is set while the handler runs comes after it, also when that has ended with ${outcome}`, async t => {
    const alarms = await opened(t);
    const ref = alarms.ref(1);
    await alarms.set(ref, 1);
    await alarms.serve(ref);
    const [claim] = await alarms.dueAt(alarms.now);
    await alarms.set(ref, 2);
    t.is(await alarms.get(ref), 2);
    const next = alarms.dueAt(alarms.now);
    let isThere = false;
    void next.then(() => {
      isThere = true;
    });
    for (let round = 0; round < 10; round++) await new Promise(resolve => setImmediate(resolve));
    t.false(isThere, 'never two at once');
    await alarms.settle(claim, outcome);
    const [second] = await next;
    t.like(second, { scheduledTime: 2, retryCount: 0 });
    await alarms.settle(second, 'ok');
    t.is(await alarms.get(ref), null);
  });
}

test('an alarm that is deleted while its handler runs is not tried again', async t => {
  const alarms = await opened(t);
  const ref = alarms.ref(1);
  await alarms.set(ref, 1);
  await alarms.serve(ref);
  const [claim] = await alarms.dueAt(alarms.now);
  await alarms.set(ref, null);
  await alarms.settle(claim, 'failed');
  t.is(await alarms.get(ref), null);
  t.true(await alarms.isQuietAt(alarms.now + 1e9, ref));
});

test('what a process had claimed is due again when that has ended, and after a restart', async t => {
  const directory = temporaryFolder(t);
  const alarms = await new Alarms().open(directory);
  const ref = alarms.ref(1);
  await alarms.set(ref, 1);
  await alarms.serve(ref);
  const [claim] = await alarms.dueAt(alarms.now);
  await alarms.store.alarms.left(HOST);
  await alarms.serve(ref, 'other');
  const [again] = await alarms.dueAt(alarms.now, 'other');
  t.is(again?.scheduledTime, 1);
  await alarms.settle(claim, 'ok');
  await alarms.storage.close();
  await alarms.open(directory);
  t.teardown(() => alarms.storage.close());
  await alarms.serve(ref);
  const [restarted] = await alarms.dueAt(alarms.now);
  t.is(restarted?.scheduledTime, 1);
});

test('one account that has many alarms due does not keep others from theirs', async t => {
  const alarms = await opened(t);
  const many = MAX_RUNNING_OF_ACCOUNT + 50;
  await Promise.all(Array.from({ length: many }, (_, i) => alarms.set(alarms.ref(i), 1)));
  const other = alarms.ref(1, 'globex');
  await alarms.set(other, 2);
  await alarms.serve(alarms.ref(0));
  await alarms.serve(other);
  const first = await alarms.dueAt(alarms.now, HOST, 32);
  t.true(first.some(({ object }) => object.account === 'globex'));
  const claimed = [...first];
  while (claimed.length < MAX_RUNNING_OF_ACCOUNT + 1) claimed.push(...(await alarms.dueAt(alarms.now, HOST, 500)));
  t.is(claimed.length, MAX_RUNNING_OF_ACCOUNT + 1);
  const rest = alarms.dueAt(alarms.now, HOST, 500);
  await alarms.settle(
    claimed.find(({ object }) => object.account === 'acme'),
    'ok',
  );
  t.true((await rest).length > 0);
  t.is(new Set(claimed.map(({ object }) => JSON.stringify(object))).size, claimed.length);
});

test('the outcome of an alarm that cannot be written does not keep back what the object writes', async t => {
  const alarms = await opened(t);
  const ref = alarms.ref(1);
  await alarms.set(ref, 1);
  await alarms.serve(ref);
  const [claim] = await alarms.dueAt(alarms.now);
  const { records } = alarms.storage.context;
  const { commit } = records;
  records.commit = async () => {
    records.commit = commit;
    throw new Error('The disk does not answer');
  };
  let isSettled = false;
  void alarms.settle(claim, 'ok').then(() => {
    isSettled = true;
  });
  await alarms.set(ref, 2);
  t.false(isSettled);
  t.is(await alarms.get(ref), 2);
});
