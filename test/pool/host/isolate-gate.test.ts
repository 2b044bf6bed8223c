import { mock } from 'node:test';
import test, { type ExecutionContext } from 'ava';
import { IsolateCache } from '../../../src/pool/host/isolate-cache.js';
import { IsolateGate } from '../../../src/pool/host/isolate-gate.js';
import { type FakeIsolate, fakeIsolate } from './fake-isolate.js';

const NEVER = new AbortController().signal;

interface Rig {
  readonly gate: IsolateGate;
  /** An isolate of the account, in the cache under its name. */
  readonly start: (account: string, name: string, signal?: AbortSignal) => Promise<FakeIsolate>;
}

function rig(t: ExecutionContext, max: number, maxPerAccount: number, withinMs = 600_000): Rig {
  const cache = new IsolateCache({ max, idleMs: Number.POSITIVE_INFINITY });
  const evict = (account: string | undefined): boolean => cache.evict(account === undefined ? '' : `${account}/`);
  const gate = new IsolateGate({ max, maxPerAccount, evict, withinMs });
  t.teardown(() => {
    gate.close();
    cache.close();
  });
  return {
    gate,
    async start(account, name, signal = NEVER) {
      const isolate = fakeIsolate();
      await gate.acquire(signal, account, async () => isolate.handle);
      cache.set(`${account}/${name}`, isolate.handle);
      return isolate;
    },
  };
}

const aMoment = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)));

test('acquire() ends the least recently used idle isolate of any account when the host is full', async t => {
  const { gate, start } = rig(t, 2, 2);
  const a = await start('a', 'f');
  const b = await start('b', 'f');
  await start('c', 'f');
  t.true(a.isEnded());
  t.false(b.isEnded());
  t.is(gate.size, 2);
});

test('acquire() ends an idle isolate of the same account when the account is full', async t => {
  const { gate, start } = rig(t, 10, 1);
  const other = await start('b', 'f');
  const own = await start('a', 'f');
  await start('a', 'g');
  t.false(other.isEnded());
  t.true(own.isEnded());
  t.is(gate.size, 2);
});

for (const [title, max, maxPerAccount] of [
  ['the host is', 1, 5],
  ['the account is', 5, 1],
] as const) {
  test(`acquire() waits while ${title} full of busy isolates, until one is idle`, async t => {
    const { gate, start } = rig(t, max, maxPerAccount);
    const busy = await start('a', 'f');
    const over = busy.begin();
    let isStarted = false;
    const next = start('a', 'g').then(() => {
      isStarted = true;
    });
    await aMoment();
    t.false(isStarted);
    t.is(gate.size, 1);
    over();
    await next;
    t.true(busy.isEnded());
    t.is(gate.size, 1);
  });

  test(`acquire() rejects with EDGE_OVERLOADED when ${title} full of busy isolates for long`, async t => {
    const { gate, start } = rig(t, max, maxPerAccount, 5);
    (await start('a', 'f')).begin();
    const option = max === 1 ? 'maxIsolates' : 'maxIsolatesPerAccount';
    await t.throwsAsync(start('a', 'g'), { code: 'EDGE_OVERLOADED', message: new RegExp(`option ${option}\\b`) });
    t.is(gate.size, 1);
  });
}

test('an account that is full does not hold up others that wait behind it', async t => {
  const { gate, start } = rig(t, 2, 1);
  (await start('a', 'f')).begin();
  const waiting = t.throwsAsync(start('a', 'g'), { code: 'EDGE_CLOSED' });
  await start('b', 'f');
  t.is(gate.size, 2);
  gate.close();
  await waiting;
  await t.throwsAsync(start('b', 'g'), { code: 'EDGE_CLOSED' });
});

test('a place is free again when its isolate is gone, could not be started, or is wanted no more', async t => {
  const { gate, start } = rig(t, 1, 1);
  const isolate = await start('a', 'f');
  isolate.begin();
  const controller = new AbortController();
  const aborted = start('b', 'f', controller.signal);
  const next = start('c', 'f');
  controller.abort(new Error('not wanted'));
  await t.throwsAsync(aborted, { message: 'not wanted' });
  isolate.handle.end();
  (await next).handle.end();
  t.is(gate.size, 0);
  const failed = gate.acquire(NEVER, 'a', () => Promise.reject(new Error('no cell')));
  await t.throwsAsync(failed, { message: 'no cell' });
  t.is(gate.size, 0);
});

test.serial('acquire() that is patient waits on while others of its account are admitted, and no longer', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const gate = new IsolateGate({ max: 10, maxPerAccount: 1, evict: () => false, withinMs: 300 });
  t.teardown(() => gate.close());
  const acquire = (isPatient: boolean): Promise<FakeIsolate> => {
    const isolate = fakeIsolate();
    return gate.acquire(NEVER, 'a', async () => isolate.handle, { isPatient }).then(() => isolate);
  };
  const pass = async (ms: number): Promise<void> => {
    mock.timers.tick(ms);
    await aMoment();
  };
  let live = await acquire(false);
  const waiting = [acquire(true), acquire(true), acquire(true), acquire(true)];
  const impatient = t.throwsAsync(acquire(false), { code: 'EDGE_OVERLOADED', message: /all 1 .* are busy/ });
  await aMoment();
  // Each takes its place well within the time, and all together take longer.
  for (const next of waiting) {
    await pass(200);
    live.handle.end();
    live = await next;
  }
  await impatient;
  const stuck = t.throwsAsync(acquire(true), { code: 'EDGE_OVERLOADED' });
  await aMoment();
  await pass(300);
  await stuck;
  live.handle.end();
  t.is(gate.size, 0);
});

test('acquire() waits for room, is refused with what is full, and gives back what was reserved', async t => {
  const reserved: number[] = [];
  let isFull = true;
  const gate = new IsolateGate({
    max: 10,
    maxPerAccount: 10,
    evict: () => false,
    withinMs: 20,
    room: {
      reserve(account) {
        if (isFull) return undefined;
        reserved.push(account.length);
        return () => reserved.splice(reserved.indexOf(account.length), 1);
      },
      shortage: () => ({ code: 'EDGE_OVERLOADED', text: 'all memory is in use' }),
    },
  });
  t.teardown(() => gate.close());
  const acquire = (account: string) => gate.acquire(NEVER, account, async () => fakeIsolate().handle);
  await t.throwsAsync(acquire('a'), { code: 'EDGE_OVERLOADED', message: /account "a": all memory is in use/ });
  t.is(gate.size, 0);
  const waiting = acquire('ab');
  await aMoment();
  t.is(gate.size, 0);
  isFull = false;
  gate.changed();
  t.is((await waiting).inFlight, 0);
  await t.throwsAsync(gate.acquire(NEVER, 'abc', () => Promise.reject(new Error('no cell'))));
  t.deepEqual(reserved, []);
  t.is(gate.size, 1);
});

test('acquire() is refused soon, and with the code of the limit, when the system leaves no room', async t => {
  const gate = new IsolateGate({
    max: 10,
    maxPerAccount: 10,
    evict: () => false,
    systemWithinMs: 20,
    room: {
      reserve: () => undefined,
      shortage: () => ({ code: 'EDGE_DESCRIPTOR_LIMIT', text: '900 of 1024 descriptors are in use' }),
    },
  });
  t.teardown(() => gate.close());
  await t.throwsAsync(
    gate.acquire(NEVER, 'a', async () => fakeIsolate().handle),
    { code: 'EDGE_DESCRIPTOR_LIMIT', message: /account "a": 900 of 1024 descriptors are in use/ },
  );
  t.is(gate.size, 0);
});
