/** Bodies that cross the bridge, with a scripted host at its other end. */
import test from 'ava';
import { BODY_ENDED, Ev, Op } from '../../src/isolate/ops/table.js';
import { type GuestModules, guestModules, OpFailure, settled } from './guest-modules.js';

interface HostBody {
  readonly isComplete: boolean;
  toError: (error: unknown) => unknown;
  text(): string;
  bytes(): Uint8Array;
  next(): Promise<Uint8Array | undefined>;
  watch(onFail: (reason: unknown) => void): void;
  stop(): void;
  fail(reason: unknown): void;
  pipeTo(exchange: number): void;
}

interface HostSink {
  onStop: ((reason: Error) => void) | undefined;
  write(chunk: Uint8Array): Promise<void>;
  end(): void;
  fail(message: string): void;
}

interface Modules {
  'host-body': {
    HostBody: new (exchange: number, size: number) => HostBody;
    HostSink: new (exchange: number) => HostSink;
    dropExchange(exchange: number): void;
  };
}

const newRealm = await guestModules<Modules>('host-body');

const STREAM = -2;
const EXCHANGE = 3;
const BYTES = Uint8Array.of(1, 2);
const FAILURE = 'TypeError\nthe network is gone';

interface WithBody extends GuestModules<Modules> {
  readonly body: HostBody;
  /** Bytes that are there to be read. */
  available: number;
}

/** A body that arrives in chunks. Its bytes count up from 0. */
function streamed(): WithBody {
  const realm = newRealm();
  let at = 0;
  const state = { ...realm, body: new realm.modules['host-body'].HostBody(EXCHANGE, STREAM), available: 0 };
  realm.answer(Op.BodyAvailable, () => state.available);
  realm.answer(Op.BodyRead, (_exchange, target) => {
    if (!ArrayBuffer.isView(target)) throw new TypeError('No target');
    for (let i = 0; i < target.length; i++) target[i] = at++;
    state.available -= target.length;
    return target.length;
  });
  return state;
}

function fails(text: string): () => never {
  return () => {
    throw new OpFailure(text);
  };
}

test('bytes() of a complete body reads all of it in one op', t => {
  const { modules, takeOps } = newRealm();
  const body = new modules['host-body'].HostBody(EXCHANGE, 4);
  t.true(body.isComplete);
  t.is(body.bytes().length, 4);
  t.deepEqual(takeOps(), [['BodyRead', EXCHANGE, Buffer.alloc(4)]]);
});

test('bytes() of an empty body asks the host nothing', t => {
  const { modules, takeOps } = newRealm();
  const body = new modules['host-body'].HostBody(EXCHANGE, 0);
  t.true(body.isComplete);
  t.is(body.bytes().length, 0);
  t.deepEqual(takeOps(), []);
});

test('text() and bytes() throw what the body has failed with', t => {
  const { modules, takeOps } = newRealm();
  const body = new modules['host-body'].HostBody(EXCHANGE, 4);
  body.fail('first');
  body.fail('second');
  t.is(
    t.throws(() => body.text(), { any: true }),
    'first',
  );
  t.is(
    t.throws(() => body.bytes(), { any: true }),
    'first',
  );
  t.deepEqual(takeOps(), []);
});

for (const [available, expected] of [
  [1, 1],
  [65_536, 65_536],
  [65_537, 65_536],
] as const) {
  test(`next() hands out ${expected} of ${available} bytes that are there`, async t => {
    const state = streamed();
    state.available = available;
    t.is((await state.body.next())?.length, expected);
    t.is(state.available, available - expected);
  });
}

test('next() waits for bytes, and asks again when it is told of some', async t => {
  const state = streamed();
  const next = state.body.next();
  await settled();
  t.deepEqual(state.takeOps(), [['BodyAvailable', EXCHANGE]]);
  // It is not notified and goes on waiting.
  state.enter(Ev.Data, EXCHANGE);
  await settled();
  t.deepEqual(state.takeOps(), [['BodyAvailable', EXCHANGE]]);
  state.available = 2;
  state.enter(Ev.Data, EXCHANGE);
  t.deepEqual([...((await next) ?? [])], [0, 1]);
});

test('next() answers undefined at the end', async t => {
  const state = streamed();
  state.available = BODY_ENDED;
  t.is(await state.body.next(), undefined);
  t.is(await state.body.next(), undefined);
});

test('next() rejects with the failure, which toError() has made, again and again', async t => {
  const state = streamed();
  state.answer(Op.BodyAvailable, fails(FAILURE));
  state.body.toError = error => ({ made: String(error) });
  const expected = { made: 'TypeError: the network is gone' };
  const first = await t.throwsAsync(state.body.next(), { any: true });
  t.deepEqual<unknown, unknown>(first, expected);
  t.is(await t.throwsAsync(state.body.next(), { any: true }), first);
  t.is(state.takeOps().length, 1, 'the host is asked once');
});

test('fail() wakes who reads', async t => {
  const { body } = streamed();
  const next = body.next();
  body.fail('aborted');
  t.is<unknown, unknown>(await t.throwsAsync(next, { any: true }), 'aborted');
});

test('stop() wakes who reads, and does nothing to an exchange that is over', async t => {
  const state = streamed();
  const next = state.body.next();
  state.available = BODY_ENDED;
  state.body.stop();
  t.is(await next, undefined);
  state.answer(Op.BodyStop, fails('Error\nno such exchange'));
  t.notThrows(() => state.body.stop());
});

test('watch() is told of a failure while nobody reads, once', t => {
  const state = streamed();
  const reasons: unknown[] = [];
  state.body.watch(reason => reasons.push(String(reason)));
  state.enter(Ev.Data, EXCHANGE);
  t.deepEqual(reasons, [], 'data is no failure');
  state.answer(Op.BodyAvailable, fails(FAILURE));
  state.enter(Ev.Data, EXCHANGE);
  state.enter(Ev.Data, EXCHANGE);
  t.deepEqual(reasons, ['TypeError: the network is gone']);
});

test('watch() is told of a failure that a reader finds', async t => {
  const state = streamed();
  const reasons: unknown[] = [];
  state.body.watch(reason => reasons.push(reason));
  state.answer(Op.BodyAvailable, fails(FAILURE));
  const found: unknown = await t.throwsAsync(state.body.next(), { any: true });
  t.is(reasons.length, 1);
  t.is(reasons[0], found);
});

for (const [what, end] of [
  [
    'has been read to its end',
    async state => {
      state.available = BODY_ENDED;
      await state.body.next();
    },
  ],
  ['was stopped', async state => state.body.stop()],
  ['belongs to an invocation that is over', async state => state.modules['host-body'].dropExchange(EXCHANGE)],
] as const satisfies readonly [string, (state: WithBody) => Promise<void>][]) {
  test(`watch() hears nothing more when the body ${what}`, async t => {
    const state = streamed();
    state.body.watch(() => t.fail());
    await end(state);
    state.takeOps();
    state.answer(Op.BodyAvailable, fails(FAILURE));
    state.enter(Ev.Data, EXCHANGE);
    t.deepEqual(state.takeOps(), []);
  });
}

test('who reads a body of an invocation that is over is not woken', async t => {
  const state = streamed();
  let isSettled = false;
  void state.body.next().finally(() => {
    isSettled = true;
  });
  await settled();
  state.modules['host-body'].dropExchange(EXCHANGE);
  state.available = 1;
  state.enter(Ev.Data, EXCHANGE);
  await settled();
  t.false(isSettled);
});

test('pipeTo() hands the body over in the host', t => {
  const { body, takeOps } = streamed();
  body.pipeTo(8);
  t.deepEqual(takeOps(), [['BodyPipe', EXCHANGE, 8]]);
});

/** A body that goes to the host, which has room for so much after each write. */
function sink(credit: number): GuestModules<Modules> & { readonly sink: HostSink } {
  const realm = newRealm();
  realm.answer(Op.BodyWrite, () => credit);
  return { ...realm, sink: new realm.modules['host-body'].HostSink(EXCHANGE) };
}

test('write() resolves at once while the host has room', async t => {
  const { sink: target, takeOps } = sink(1);
  await target.write(BYTES);
  target.end();
  t.deepEqual(takeOps(), [
    ['BodyWrite', EXCHANGE, Buffer.from(BYTES)],
    ['BodyEnd', EXCHANGE],
  ]);
});

for (const credit of [0, -1]) {
  test(`write() waits for credit when it is ${credit}`, async t => {
    const { sink: target, enter } = sink(credit);
    let isResolved = false;
    const written = target.write(BYTES).then(() => {
      isResolved = true;
    });
    await settled();
    t.false(isResolved);
    enter(Ev.Credit, EXCHANGE);
    await written;
    t.true(isResolved);
  });
}

test('write() rejects when the reader stops meanwhile, and onStop() is told first of all', async t => {
  const { sink: target, enter, takeOps } = sink(0);
  const reasons: unknown[] = [];
  target.onStop = reason => reasons.push(String(reason));
  const written = target.write(BYTES);
  enter(Ev.Stopped, EXCHANGE, 'Error\nenough');
  t.deepEqual(reasons, ['Error: enough']);
  t.like(await t.throwsAsync(written, { any: true }), { message: 'enough' });
  t.throws(() => target.write(BYTES), { any: true });
  takeOps();
  target.end();
  target.fail('x');
  t.deepEqual(takeOps(), [], 'the host has stopped: it hears of no end');
});

for (const [what, finish] of [
  ['has ended', (target: HostSink) => target.end()],
  ['has failed', (target: HostSink) => target.fail('broken')],
] as const) {
  test(`a body that ${what} hears of nothing more`, t => {
    const { sink: target, enter } = sink(1);
    target.onStop = () => t.fail();
    finish(target);
    enter(Ev.Stopped, EXCHANGE, 'Error\nenough');
    enter(Ev.Credit, EXCHANGE);
    t.pass();
  });
}
