import test from 'ava';

import {
  type Connection,
  ConnectionLimiter,
  type ConnectionLimiterOptions,
} from '../../src/quotas/connection-limiter.js';
import { EdgeError, errorCode } from '../../src/quotas/errors.js';

/** A limiter whose deadlock checks run when the test says so. */
function scriptedLimiter(options: ConnectionLimiterOptions = {}) {
  let check: (() => void) | undefined;
  const limiter = new ConnectionLimiter({
    ...options,
    schedule: wanted => {
      check = wanted;
      return () => {
        if (check === wanted) check = undefined;
      };
    },
  });
  return {
    limiter,
    isCheckPlanned: () => check !== undefined,
    runCheck() {
      const planned = check;
      check = undefined;
      planned?.();
    },
  };
}

async function openMany(limiter: ConnectionLimiter, count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (let i = 0; i < count; i++) connections.push(await limiter.open());
  return connections;
}

/** Lets every promise that can settle do so: a queue hands a slot on in a bounded number of microtasks. */
async function settle(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve));
}

/** Starts an attempt and records its name when the connection is open. */
function attempt(limiter: ConnectionLimiter, name: string, order: string[]): Promise<Connection> {
  const opening = limiter.open();
  return opening.then(connection => {
    order.push(name);
    return connection;
  });
}

function nth<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new RangeError(`no element ${index}`);
  return value;
}

test('open() opens at once when fewer than six are open', async t => {
  const { limiter } = scriptedLimiter();
  await openMany(limiter, 6);
  t.is(limiter.openCount, 6);
  t.is(limiter.waitingCount, 0);
  t.is(limiter.waitedCount, 0);
});

test('tryOpen() gives a connection without a promise when there is room', t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  t.truthy(limiter.tryOpen());
  t.is(limiter.tryOpen(), undefined);
});

test('open() waits when six are open, until one closes', async t => {
  const { limiter } = scriptedLimiter();
  const open = await openMany(limiter, 6);
  const order: string[] = [];
  const seventh = attempt(limiter, 'seventh', order);
  await settle();
  t.deepEqual(order, []);
  t.is(limiter.waitingCount, 1);
  nth(open, 3).close();
  await seventh;
  t.deepEqual(order, ['seventh']);
  t.is(limiter.openCount, 6);
  t.is(limiter.waitedCount, 1);
});

test('open() starts waiting attempts in the order of their arrival', async t => {
  const { limiter } = scriptedLimiter({ limit: 2 });
  const open = await openMany(limiter, 2);
  const order: string[] = [];
  const waiting = ['a', 'b', 'c'].map(name => attempt(limiter, name, order));
  nth(open, 0).close();
  await settle();
  t.deepEqual(order, ['a']);
  nth(open, 1).close();
  await settle();
  t.deepEqual(order, ['a', 'b']);
  (await nth(waiting, 0)).close();
  await Promise.all(waiting);
  t.deepEqual(order, ['a', 'b', 'c']);
});

test('tryOpen() does not overtake attempts that wait', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  const [first] = await openMany(limiter, 1);
  const waiting = limiter.open();
  first?.close();
  t.is(limiter.tryOpen(), undefined);
  t.truthy(await waiting);
});

test('open() never has more than the limit open when attempts come and go', async t => {
  const { limiter } = scriptedLimiter({ limit: 6 });
  let most = 0;
  const one = async (turns: number): Promise<void> => {
    const connection = await limiter.open();
    most = Math.max(most, limiter.openCount);
    for (let i = 0; i < turns; i++) await settle();
    connection.close();
  };
  await Promise.all(Array.from({ length: 60 }, (_, i) => one(i % 5)));
  t.is(most, 6);
  t.is(limiter.openCount, 0);
  t.is(limiter.waitingCount, 0);
  t.is(limiter.waitedCount, 54);
});

test('answered() keeps the slot until the body is closed when release is body', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  const connection = await limiter.open();
  connection.answered();
  t.is(limiter.openCount, 1);
  connection.close();
  t.is(limiter.openCount, 0);
});

test('answered() frees the slot when release is headers, and the body can still be read', async t => {
  const { limiter } = scriptedLimiter({ limit: 1, release: 'headers' });
  const connection = await limiter.open();
  const second = limiter.open();
  connection.answered();
  t.truthy(await second);
  t.notThrows(() => {
    connection.beginRead();
    connection.endRead();
    connection.close();
  });
  t.is(limiter.openCount, 1);
});

test('a deadlock cancels the least recently used connection when all bodies are unread', async t => {
  const { limiter, runCheck } = scriptedLimiter();
  const open = await openMany(limiter, 6);
  for (const connection of open) connection.answered();
  const seventh = limiter.open();
  runCheck();
  await seventh;
  t.is(errorCode(nth(open, 0).error), 'EDGE_CONNECTION_CANCELED');
  t.deepEqual(
    open.slice(1).map(connection => connection.error),
    Array.from({ length: 5 }, () => undefined),
  );
  t.is(limiter.canceledCount, 1);
});

test('a deadlock spares what was used before the attempts waited', async t => {
  const { limiter, runCheck } = scriptedLimiter({ limit: 2 });
  const [first, second] = await openMany(limiter, 2);
  first?.answered();
  second?.answered();
  first?.beginRead();
  first?.endRead();
  const third = limiter.open();
  runCheck();
  await third;
  t.is(first?.error, undefined);
  t.is(errorCode(second?.error), 'EDGE_CONNECTION_CANCELED');
});

test('a deadlock spares what was used while attempts waited', async t => {
  const { limiter, runCheck } = scriptedLimiter({ limit: 2 });
  const [first, second] = await openMany(limiter, 2);
  second?.answered();
  const third = limiter.open();
  first?.answered();
  second?.beginRead();
  second?.endRead();
  runCheck();
  await third;
  t.is(errorCode(first?.error), 'EDGE_CONNECTION_CANCELED');
  t.is(second?.error, undefined);
});

test('a deadlock is not seen while an answer is awaited', async t => {
  const { limiter, isCheckPlanned } = scriptedLimiter({ limit: 2 });
  const [first] = await openMany(limiter, 2);
  first?.answered();
  const waiting = limiter.open();
  t.false(isCheckPlanned());
  limiter.close();
  await t.throwsAsync(waiting);
});

test('a deadlock is not seen while a body is read or a request is written', async t => {
  const { limiter, isCheckPlanned } = scriptedLimiter({ limit: 1 });
  const [only] = await openMany(limiter, 1);
  only?.answered();
  only?.beginRead();
  const waiting = limiter.open();
  t.false(isCheckPlanned());
  only?.beginWrite();
  only?.endRead();
  t.false(isCheckPlanned());
  only?.endWrite();
  t.true(isCheckPlanned());
  limiter.close();
  await t.throwsAsync(waiting);
});

test('a deadlock is not seen when a read begins within the grace', async t => {
  const { limiter, isCheckPlanned, runCheck } = scriptedLimiter({ limit: 1 });
  const [only] = await openMany(limiter, 1);
  only?.answered();
  const waiting = limiter.open();
  t.true(isCheckPlanned());
  only?.beginRead();
  t.false(isCheckPlanned());
  runCheck();
  t.is(only?.error, undefined);
  only?.close();
  t.truthy(await waiting);
});

test('a deadlock is not seen when nothing waits', async t => {
  const { limiter, isCheckPlanned } = scriptedLimiter({ limit: 1 });
  const [only] = await openMany(limiter, 1);
  only?.answered();
  t.false(isCheckPlanned());
});

test('a deadlock ends when the attempts that wait are given up', async t => {
  const { limiter, isCheckPlanned } = scriptedLimiter({ limit: 1 });
  const [only] = await openMany(limiter, 1);
  only?.answered();
  const giveUp = new AbortController();
  const waiting = limiter.open(giveUp.signal);
  t.true(isCheckPlanned());
  giveUp.abort();
  await t.throwsAsync(waiting, { any: true, name: 'AbortError' });
  t.false(isCheckPlanned());
  t.is(limiter.waitingCount, 0);
  t.is(only?.error, undefined);
});

test('a deadlock cancels one connection for each attempt in turn', async t => {
  const { limiter, runCheck } = scriptedLimiter({ limit: 2 });
  const open = await openMany(limiter, 2);
  for (const connection of open) connection.answered();
  const order: string[] = [];
  const third = attempt(limiter, 'third', order);
  const fourth = attempt(limiter, 'fourth', order);
  runCheck();
  await third;
  t.is(nth(open, 1).error, undefined);
  runCheck();
  t.is(nth(open, 1).error, undefined, 'the third awaits its answer, so this is no deadlock');
  (await third).answered();
  runCheck();
  await fourth;
  t.deepEqual(order, ['third', 'fourth']);
  t.is(errorCode(nth(open, 1).error), 'EDGE_CONNECTION_CANCELED');
});

test('a canceled connection throws when it is used later, and calls onCanceled once', async t => {
  const { limiter, runCheck } = scriptedLimiter({ limit: 1 });
  const connection = await limiter.open();
  const canceled: unknown[] = [];
  connection.onCanceled = error => canceled.push(error);
  connection.answered();
  const second = limiter.open();
  runCheck();
  await second;
  t.deepEqual(canceled.map(errorCode), ['EDGE_CONNECTION_CANCELED']);
  t.is(errorCode(t.throws(() => connection.beginRead())), 'EDGE_CONNECTION_CANCELED');
  t.is(errorCode(t.throws(() => connection.beginWrite())), 'EDGE_CONNECTION_CANCELED');
  t.is(errorCode(t.throws(() => connection.answered())), 'EDGE_CONNECTION_CANCELED');
  t.notThrows(() => connection.close());
});

test('close() frees one slot when called twice', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  const connection = await limiter.open();
  const order: string[] = [];
  const waiting = [attempt(limiter, 'a', order), attempt(limiter, 'b', order)];
  connection.close();
  connection.close();
  await settle();
  t.deepEqual(order, ['a']);
  (await nth(waiting, 0)).close();
  await nth(waiting, 1);
});

test('open() rejects and keeps the others in order when one that waits is given up', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  const connection = await limiter.open();
  const giveUp = new AbortController();
  const order: string[] = [];
  const first = limiter.open(giveUp.signal);
  const second = attempt(limiter, 'second', order);
  giveUp.abort(new Error('given up'));
  await t.throwsAsync(first, { message: 'given up' });
  t.is(limiter.waitingCount, 1);
  connection.close();
  await second;
  t.deepEqual(order, ['second']);
});

test('open() keeps the slot when its signal fires after the connection is open', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  const first = await limiter.open();
  const giveUp = new AbortController();
  const waiting = limiter.open(giveUp.signal);
  first.close();
  const second = await waiting;
  giveUp.abort();
  await settle();
  t.is(limiter.openCount, 1);
  t.is(limiter.tryOpen(), undefined);
  second.close();
  t.is(limiter.openCount, 0);
});

test('open() rejects at once when the signal has fired before', async t => {
  const { limiter } = scriptedLimiter();
  await t.throwsAsync(limiter.open(AbortSignal.abort()), { any: true, name: 'AbortError' });
  t.is(limiter.openCount, 0);
});

test('close() of the limiter cancels what is open and refuses what waits and what comes', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  const connection = await limiter.open();
  const waiting = limiter.open();
  limiter.close(new EdgeError('EDGE_CANCELED', 'over'));
  await t.throwsAsync(waiting, { message: 'over' });
  await t.throwsAsync(limiter.open(), { message: 'over' });
  t.throws(() => limiter.tryOpen(), { message: 'over' });
  t.throws(() => connection.beginRead(), { message: 'over' });
  t.is(limiter.openCount, 0);
  t.is(limiter.waitingCount, 0);
  t.is(limiter.canceledCount, 0);
});

test('tryOpen() opens at once again when no attempt waits any more', async t => {
  const { limiter } = scriptedLimiter({ limit: 2 });
  const open = await openMany(limiter, 2);
  const third = limiter.open();
  nth(open, 0).close();
  (await third).close();
  nth(open, 1).close();
  t.is(limiter.openCount, 0);
  t.truthy(limiter.tryOpen());
  t.truthy(limiter.tryOpen());
  t.is(limiter.tryOpen(), undefined);
});

test('open() queues again when attempts outrun the slots a second time', async t => {
  const { limiter } = scriptedLimiter({ limit: 1 });
  let current = await limiter.open();
  for (let round = 0; round < 3; round++) {
    const next = limiter.open();
    t.is(limiter.waitingCount, 1);
    current.close();
    current = await next;
    t.is(limiter.waitingCount, 0);
    t.is(limiter.openCount, 1);
  }
  t.is(limiter.waitedCount, 3);
});

test('open() never waits when the limit is Infinity', async t => {
  const { limiter } = scriptedLimiter({ limit: Number.POSITIVE_INFINITY });
  await openMany(limiter, 100);
  t.is(limiter.waitedCount, 0);
});

test('new ConnectionLimiter() throws when the limit is less than one', t => {
  t.throws(() => new ConnectionLimiter({ limit: 0 }), { instanceOf: RangeError, message: /limit is 0/ });
  t.throws(() => new ConnectionLimiter({ limit: Number.NaN }), { instanceOf: RangeError });
});
