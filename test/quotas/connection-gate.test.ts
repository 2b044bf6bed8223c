import test from 'ava';

import { type Connection, ConnectionGate, type ConnectionGateOptions } from '../../src/quotas/connection-gate.js';
import { EdgeError, errorCode } from '../../src/quotas/errors.js';

/** A gate whose deadlock checks run when the test says so. */
function scriptedGate(options: ConnectionGateOptions = {}) {
  let check: (() => void) | undefined;
  const gate = new ConnectionGate({
    ...options,
    schedule: wanted => {
      check = wanted;
      return () => {
        if (check === wanted) check = undefined;
      };
    },
  });
  return {
    gate,
    isCheckPlanned: () => check !== undefined,
    runCheck() {
      const planned = check;
      check = undefined;
      planned?.();
    },
  };
}

async function openMany(gate: ConnectionGate, count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (let i = 0; i < count; i++) connections.push(await gate.open());
  return connections;
}

/** Lets every promise that can settle do so: a queue hands a slot on in a bounded number of microtasks. */
async function settle(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve));
}

/** Starts an attempt and records its name when the connection is open. */
function attempt(gate: ConnectionGate, name: string, order: string[]): Promise<Connection> {
  const opening = gate.open();
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
  const { gate } = scriptedGate();
  await openMany(gate, 6);
  t.is(gate.openCount, 6);
  t.is(gate.waitingCount, 0);
  t.is(gate.waitedCount, 0);
});

test('tryOpen() gives a connection without a promise when there is room', t => {
  const { gate } = scriptedGate({ limit: 1 });
  t.truthy(gate.tryOpen());
  t.is(gate.tryOpen(), undefined);
});

test('open() waits when six are open, until one closes', async t => {
  const { gate } = scriptedGate();
  const open = await openMany(gate, 6);
  const order: string[] = [];
  const seventh = attempt(gate, 'seventh', order);
  await settle();
  t.deepEqual(order, []);
  t.is(gate.waitingCount, 1);
  nth(open, 3).close();
  await seventh;
  t.deepEqual(order, ['seventh']);
  t.is(gate.openCount, 6);
  t.is(gate.waitedCount, 1);
});

test('open() starts waiting attempts in the order of their arrival', async t => {
  const { gate } = scriptedGate({ limit: 2 });
  const open = await openMany(gate, 2);
  const order: string[] = [];
  const waiting = ['a', 'b', 'c'].map(name => attempt(gate, name, order));
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
  const { gate } = scriptedGate({ limit: 1 });
  const [first] = await openMany(gate, 1);
  const waiting = gate.open();
  first?.close();
  t.is(gate.tryOpen(), undefined);
  t.truthy(await waiting);
});

test('open() never has more than the limit open when attempts come and go', async t => {
  const { gate } = scriptedGate({ limit: 6 });
  let most = 0;
  const one = async (turns: number): Promise<void> => {
    const connection = await gate.open();
    most = Math.max(most, gate.openCount);
    for (let i = 0; i < turns; i++) await settle();
    connection.close();
  };
  await Promise.all(Array.from({ length: 60 }, (_, i) => one(i % 5)));
  t.is(most, 6);
  t.is(gate.openCount, 0);
  t.is(gate.waitingCount, 0);
  t.is(gate.waitedCount, 54);
});

test('answered() keeps the slot until the body is closed when release is body', async t => {
  const { gate } = scriptedGate({ limit: 1 });
  const connection = await gate.open();
  connection.answered();
  t.is(gate.openCount, 1);
  connection.close();
  t.is(gate.openCount, 0);
});

test('answered() frees the slot when release is headers, and the body can still be read', async t => {
  const { gate } = scriptedGate({ limit: 1, release: 'headers' });
  const connection = await gate.open();
  const second = gate.open();
  connection.answered();
  t.truthy(await second);
  t.notThrows(() => {
    connection.beginRead();
    connection.endRead();
    connection.close();
  });
  t.is(gate.openCount, 1);
});

test('a deadlock cancels the least recently used connection when all bodies are unread', async t => {
  const { gate, runCheck } = scriptedGate();
  const open = await openMany(gate, 6);
  for (const connection of open) connection.answered();
  const seventh = gate.open();
  runCheck();
  await seventh;
  t.is(errorCode(nth(open, 0).error), 'EDGE_CONNECTION_CANCELED');
  t.deepEqual(
    open.slice(1).map(connection => connection.error),
    Array.from({ length: 5 }, () => undefined),
  );
  t.is(gate.canceledCount, 1);
});

test('a deadlock spares what was used before the attempts waited', async t => {
  const { gate, runCheck } = scriptedGate({ limit: 2 });
  const [first, second] = await openMany(gate, 2);
  first?.answered();
  second?.answered();
  first?.beginRead();
  first?.endRead();
  const third = gate.open();
  runCheck();
  await third;
  t.is(first?.error, undefined);
  t.is(errorCode(second?.error), 'EDGE_CONNECTION_CANCELED');
});

test('a deadlock spares what was used while attempts waited', async t => {
  const { gate, runCheck } = scriptedGate({ limit: 2 });
  const [first, second] = await openMany(gate, 2);
  second?.answered();
  const third = gate.open();
  first?.answered();
  second?.beginRead();
  second?.endRead();
  runCheck();
  await third;
  t.is(errorCode(first?.error), 'EDGE_CONNECTION_CANCELED');
  t.is(second?.error, undefined);
});

test('a deadlock is not seen while an answer is awaited', async t => {
  const { gate, isCheckPlanned } = scriptedGate({ limit: 2 });
  const [first] = await openMany(gate, 2);
  first?.answered();
  const waiting = gate.open();
  t.false(isCheckPlanned());
  gate.close();
  await t.throwsAsync(waiting);
});

test('a deadlock is not seen while a body is read or a request is written', async t => {
  const { gate, isCheckPlanned } = scriptedGate({ limit: 1 });
  const [only] = await openMany(gate, 1);
  only?.answered();
  only?.beginRead();
  const waiting = gate.open();
  t.false(isCheckPlanned());
  only?.beginWrite();
  only?.endRead();
  t.false(isCheckPlanned());
  only?.endWrite();
  t.true(isCheckPlanned());
  gate.close();
  await t.throwsAsync(waiting);
});

test('a deadlock is not seen when a read begins within the grace', async t => {
  const { gate, isCheckPlanned, runCheck } = scriptedGate({ limit: 1 });
  const [only] = await openMany(gate, 1);
  only?.answered();
  const waiting = gate.open();
  t.true(isCheckPlanned());
  only?.beginRead();
  t.false(isCheckPlanned());
  runCheck();
  t.is(only?.error, undefined);
  only?.close();
  t.truthy(await waiting);
});

test('a deadlock is not seen when nothing waits', async t => {
  const { gate, isCheckPlanned } = scriptedGate({ limit: 1 });
  const [only] = await openMany(gate, 1);
  only?.answered();
  t.false(isCheckPlanned());
});

test('a deadlock ends when the attempts that wait are given up', async t => {
  const { gate, isCheckPlanned } = scriptedGate({ limit: 1 });
  const [only] = await openMany(gate, 1);
  only?.answered();
  const giveUp = new AbortController();
  const waiting = gate.open(giveUp.signal);
  t.true(isCheckPlanned());
  giveUp.abort();
  await t.throwsAsync(waiting, { any: true, name: 'AbortError' });
  t.false(isCheckPlanned());
  t.is(gate.waitingCount, 0);
  t.is(only?.error, undefined);
});

test('a deadlock cancels one connection for each attempt in turn', async t => {
  const { gate, runCheck } = scriptedGate({ limit: 2 });
  const open = await openMany(gate, 2);
  for (const connection of open) connection.answered();
  const order: string[] = [];
  const third = attempt(gate, 'third', order);
  const fourth = attempt(gate, 'fourth', order);
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

test('a canceled connection throws when it is used later, and fires its signal', async t => {
  const { gate, runCheck } = scriptedGate({ limit: 1 });
  const connection = await gate.open();
  const { signal } = connection;
  connection.answered();
  const second = gate.open();
  runCheck();
  await second;
  t.true(signal.aborted);
  t.is(errorCode(signal.reason), 'EDGE_CONNECTION_CANCELED');
  t.is(errorCode(t.throws(() => connection.beginRead())), 'EDGE_CONNECTION_CANCELED');
  t.is(errorCode(t.throws(() => connection.beginWrite())), 'EDGE_CONNECTION_CANCELED');
  t.is(errorCode(t.throws(() => connection.answered())), 'EDGE_CONNECTION_CANCELED');
  t.notThrows(() => connection.close());
});

test('close() frees one slot when called twice', async t => {
  const { gate } = scriptedGate({ limit: 1 });
  const connection = await gate.open();
  const order: string[] = [];
  const waiting = [attempt(gate, 'a', order), attempt(gate, 'b', order)];
  connection.close();
  connection.close();
  await settle();
  t.deepEqual(order, ['a']);
  (await nth(waiting, 0)).close();
  await nth(waiting, 1);
});

test('open() rejects and keeps the others in order when one that waits is given up', async t => {
  const { gate } = scriptedGate({ limit: 1 });
  const connection = await gate.open();
  const giveUp = new AbortController();
  const order: string[] = [];
  const first = gate.open(giveUp.signal);
  const second = attempt(gate, 'second', order);
  giveUp.abort(new Error('given up'));
  await t.throwsAsync(first, { message: 'given up' });
  t.is(gate.waitingCount, 1);
  connection.close();
  await second;
  t.deepEqual(order, ['second']);
});

test('open() keeps the slot when its signal fires after the connection is open', async t => {
  const { gate } = scriptedGate({ limit: 1 });
  const first = await gate.open();
  const giveUp = new AbortController();
  const waiting = gate.open(giveUp.signal);
  first.close();
  const second = await waiting;
  giveUp.abort();
  await settle();
  t.is(gate.openCount, 1);
  t.is(gate.tryOpen(), undefined);
  second.close();
  t.is(gate.openCount, 0);
});

test('open() rejects at once when the signal has fired before', async t => {
  const { gate } = scriptedGate();
  await t.throwsAsync(gate.open(AbortSignal.abort()), { any: true, name: 'AbortError' });
  t.is(gate.openCount, 0);
});

test('close() of the gate cancels what is open and refuses what waits and what comes', async t => {
  const { gate } = scriptedGate({ limit: 1 });
  const connection = await gate.open();
  const waiting = gate.open();
  gate.close(new EdgeError('EDGE_CANCELED', 'over'));
  await t.throwsAsync(waiting, { message: 'over' });
  await t.throwsAsync(gate.open(), { message: 'over' });
  t.throws(() => gate.tryOpen(), { message: 'over' });
  t.throws(() => connection.beginRead(), { message: 'over' });
  t.is(gate.openCount, 0);
  t.is(gate.waitingCount, 0);
  t.is(gate.canceledCount, 0);
});

test('tryOpen() opens at once again when no attempt waits any more', async t => {
  const { gate } = scriptedGate({ limit: 2 });
  const open = await openMany(gate, 2);
  const third = gate.open();
  nth(open, 0).close();
  (await third).close();
  nth(open, 1).close();
  t.is(gate.openCount, 0);
  t.truthy(gate.tryOpen());
  t.truthy(gate.tryOpen());
  t.is(gate.tryOpen(), undefined);
});

test('open() queues again when attempts outrun the slots a second time', async t => {
  const { gate } = scriptedGate({ limit: 1 });
  let current = await gate.open();
  for (let round = 0; round < 3; round++) {
    const next = gate.open();
    t.is(gate.waitingCount, 1);
    current.close();
    current = await next;
    t.is(gate.waitingCount, 0);
    t.is(gate.openCount, 1);
  }
  t.is(gate.waitedCount, 3);
});

test('open() never waits when the limit is Infinity', async t => {
  const { gate } = scriptedGate({ limit: Number.POSITIVE_INFINITY });
  await openMany(gate, 100);
  t.is(gate.waitedCount, 0);
});

test('new ConnectionGate() throws when the limit is less than one', t => {
  t.throws(() => new ConnectionGate({ limit: 0 }), { instanceOf: RangeError, message: /limit is 0/ });
  t.throws(() => new ConnectionGate({ limit: Number.NaN }), { instanceOf: RangeError });
});
