/** The guest's end of the bridge: what an answer, an event or a failure of the host is in the guest realm. */
import test from 'ava';
import { Ev, FAILED, Op } from '../../src/isolate/ops/table.js';
import { guestModules, OpFailure, settled } from './guest-modules.js';

interface Modules {
  bridge: {
    op(op: Op, ...args: unknown[]): unknown;
    opBytes(op: Op, ...args: unknown[]): Uint8Array;
    opAsync(op: Op, ...args: unknown[]): Promise<unknown>;
    errorFromText(text: string): Error;
  };
}

const newRealm = await guestModules<Modules>('bridge');

for (const [text, name, message, code] of [
  ['TypeError\nnot this', 'TypeError', 'not this', undefined],
  ['RangeError\ntoo far', 'RangeError', 'too far', undefined],
  ['Error\nfailed\n', 'Error', 'failed', undefined],
  ['EdgeError\nno room\nEDGE_STORAGE_FULL', 'Error', 'no room', 'EDGE_STORAGE_FULL'],
  ['Error\nrefused\n10001', 'Error', 'refused', 10001],
  ['AbortError\ngiven up', 'AbortError', 'given up', 20],
  ['NotSupportedError\n', 'NotSupportedError', '', 9],
] as const) {
  test(`errorFromText() makes an error of the guest realm of ${JSON.stringify(text)}`, t => {
    const { modules, evaluate } = newRealm();
    const error = modules.bridge.errorFromText(text);
    t.like(error, { name, message, code });
    t.false(error instanceof Error, 'not of this realm');
    const isError = evaluate('error => error instanceof Error');
    t.true(typeof isError === 'function' && isError(error));
    t.false(Object.keys(error).includes('code'));
  });
}

test('op() throws what the host says of the failure', t => {
  const { modules, answer } = newRealm();
  answer(Op.Detach, () => {
    throw new OpFailure('RangeError\nno such buffer');
  });
  t.like(
    t.throws(() => modules.bridge.op(Op.Detach), { any: true }),
    { name: 'RangeError', message: 'no such buffer' },
  );
});

test('op() throws an error of the guest realm when the call of the host throws', t => {
  const { modules, answer, evaluate } = newRealm();
  const hosts = new Error('of the host, with its stack');
  answer(Op.Detach, () => {
    throw hosts;
  });
  answer(Op.LastError, () => {
    throw hosts;
  });
  const error = t.throws(() => modules.bridge.op(Op.Detach), { any: true });
  t.not(error, hosts);
  t.is(Object.getPrototypeOf(error), evaluate('RangeError.prototype'));
  t.like(error, { message: 'Maximum call stack size exceeded' });
});

test('op() fails for the result that means failure alone', t => {
  const { modules, answer } = newRealm();
  answer(Op.Now, () => FAILED + 1);
  t.is(modules.bridge.op(Op.Now), FAILED + 1);
  answer(Op.Now, () => -0);
  t.is(modules.bridge.op(Op.Now), -0);
});

test('opBytes() takes the bytes at once, and nothing when there are none', t => {
  const { modules, answer, takeOps } = newRealm();
  answer(Op.ModuleBytes, index => (index === 1 ? 3 : 0));
  answer(Op.Take, target => {
    if (ArrayBuffer.isView(target)) target.set([1, 2, 3]);
    return 3;
  });
  t.deepEqual([...modules.bridge.opBytes(Op.ModuleBytes, 1)], [1, 2, 3]);
  takeOps();
  t.deepEqual([...modules.bridge.opBytes(Op.ModuleBytes, 0)], []);
  t.deepEqual(takeOps(), [['ModuleBytes', 0]]);
});

test('opAsync() settles with a number, text or bytes, or rejects, once', async t => {
  const { modules, answer, enter } = newRealm();
  let next = 0;
  answer(Op.CryptoOp, () => ++next);
  answer(Op.Take, target => {
    if (ArrayBuffer.isView(target)) target.set([7, 8]);
    return 2;
  });
  const start = (): Promise<unknown> => modules.bridge.opAsync(Op.CryptoOp);
  const [number, text, bytes, failed] = [start(), start(), start(), start()];
  enter(Ev.Settle, 3, 1, undefined, 2);
  enter(Ev.Settle, 1, 1, 42, -1);
  enter(Ev.Settle, 4, 0, 'DataError\nnot a key', -1);
  enter(Ev.Settle, 2, 1, 'text', -1);
  enter(Ev.Settle, 2, 0, 'Error\nagain', -1);
  t.is(await number, 42);
  t.is(await text, 'text');
  t.deepEqual(Buffer.from((await bytes) as Uint8Array), Buffer.from([7, 8])); // as the event above says
  t.like(await t.throwsAsync(failed, { any: true }), { name: 'DataError', message: 'not a key' });
});

test('opAsync() rejects when the work could not be started', async t => {
  const { modules, answer } = newRealm();
  answer(Op.CryptoOp, () => {
    throw new OpFailure('QuotaExceededError\ntoo much');
  });
  t.like(await t.throwsAsync(modules.bridge.opAsync(Op.CryptoOp), { any: true }), { name: 'QuotaExceededError' });
});

test('an event that settles what is not under way takes its bytes and does nothing more', async t => {
  const { enter, takeOps } = newRealm();
  enter(Ev.Settle, 99, 1, undefined, 2);
  await settled();
  t.deepEqual(takeOps(), [['Take', Buffer.alloc(2)]]);
});

test('an event that there is not is ignored, also when objects have a member of its name', t => {
  const { enter } = newRealm();
  for (const ev of [-1, 1e6, Number.NaN]) t.notThrows(() => enter(ev));
  t.notThrows(() => Reflect.apply(enter, undefined, ['constructor', 'return process']));
  t.notThrows(() => Reflect.apply(enter, undefined, ['__proto__']));
});
