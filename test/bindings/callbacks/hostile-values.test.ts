/** Values that no function of this package sends: those of a cell that was taken over. */
import test from 'ava';
import { UNTIMED } from '../../../src/bindings/bodies/given-bodies.js';
import { CallbackGate } from '../../../src/bindings/callbacks/callback-gate.js';
import { callbackService } from '../../../src/bindings/callbacks/callback-service.js';
import { decodeValue } from '../../../src/bindings/callbacks/decode.js';
import { countedWork } from '../counted-work.js';

const NO_PARTS = { bytes: [], stream: undefined };

function arrayOf(count: number, item: unknown): unknown {
  return ['a', ...Array.from({ length: count }, () => item)];
}

/** As many of an item as a call may have. */
function many(item: unknown): unknown {
  return arrayOf(Array.isArray(item) ? 9_999 : 99_999, item);
}

for (const [what, item] of Object.entries({
  Maps: ['m'],
  Sets: ['s'],
  objects: ['o'],
  arrays: ['a'],
  errors: ['e', '', ''],
  dates: ['d', 0],
  BigInts: ['i', '1'],
  references: ['r', 0],
  undefined: ['u'],
  NaN: ['n', 'NaN'],
})) {
  test(`a cell cannot have the host make more than 10,000 values of its own in one piece (${what})`, t => {
    t.notThrows(() => decodeValue(arrayOf(9_999, item), NO_PARTS));
    const error = { instanceOf: RangeError, message: /more than 10000 objects/ };
    t.throws(() => decodeValue(arrayOf(10_000, item), NO_PARTS), error);
    t.throws(() => decodeValue(['m', 'key', arrayOf(5000, item), 'other', arrayOf(5000, item)], NO_PARTS), error);
  });
}

test('a cell cannot have the host go through more than 100,000 items and properties in one piece', t => {
  t.notThrows(() => decodeValue(arrayOf(99_999, 1), NO_PARTS));
  const error = { instanceOf: RangeError, message: /100000 items and properties/ };
  t.throws(() => decodeValue(arrayOf(100_000, 1), NO_PARTS), error);
  const properties = ['o', ...Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1]).flat()];
  t.throws(() => decodeValue(properties, NO_PARTS), error);
});

for (const tag of ['s', 'm'] as const) {
  for (const [what, key] of Object.entries({
    numbers: (i: number) => i,
    BigInts: (i: number) => ['i', i.toString(16)],
  })) {
    test(`a cell cannot have the host hash more than a few ${what} that it has chosen (${tag})`, t => {
      const keys = (count: number) =>
        Array.from({ length: count }, (_, i) => (tag === 's' ? [key(i)] : [key(i), 0])).flat();
      t.notThrows(() => decodeValue([tag, ...keys(2000)], NO_PARTS));
      t.throws(() => decodeValue([tag, ...keys(2001)], NO_PARTS), { instanceOf: TypeError, message: /malformed/ });
      const parts = Array.from({ length: 3 }, () => [tag, ...keys(700)]);
      t.throws(() => decodeValue(['a', ...parts], NO_PARTS), { message: /malformed/ });
    });
  }
}

test('errors of functions take no stack of the application, whose setting stays as it was', t => {
  const { stackTraceLimit } = Error;
  let captured = 0;
  Error.prepareStackTrace = () => {
    captured++;
    return '';
  };
  t.teardown(() => {
    Reflect.deleteProperty(Error, 'prepareStackTrace');
  });
  const value = decodeValue(['e', 'TypeError', 'no'], NO_PARTS);
  t.true(value instanceof Error && value.stack === 'TypeError: no');
  t.is(captured, 0);
  t.is(Error.stackTraceLimit, stackTraceLimit);
});

for (const [what, item] of Object.entries({
  sets: ['s'],
  maps: ['m'],
  objects: ['o'],
  errors: ['e', '', ''],
  texts: 'abcdefgh',
})) {
  test(`what a callback gets is counted for as long as it may hold it (${what})`, async t => {
    const work = countedWork();
    const gate = new CallbackGate('acme', 10);
    let settle = (): void => {};
    const abort = new AbortController();
    let called = (): void => {};
    const isCalled = new Promise<void>(resolve => {
      called = resolve;
    });
    const run = () =>
      new Promise<void>(resolve => {
        settle = resolve;
        called();
      });
    const service = callbackService(
      { run },
      {
        account: 'acme',
        function: 'f',
        props: {},
        timeoutMs: 60_000,
        given: UNTIMED,
        gate: () => gate,
        left: () => {},
      },
    );
    const args = { f: 'run', v: many(item), b: [], s: false };
    const call = {
      method: 'call',
      args,
      traceHeaders: undefined,
      body: null,
      signal: abort.signal,
      work,
      origin: undefined,
    };
    const answer = service(call);
    await isCalled;
    const held = work.heldBytes;
    t.true(held > (typeof item === 'string' ? 4_000_000 : 600_000), `${held}`);
    abort.abort(new Error('gone'));
    await t.throwsAsync(answer, { message: 'gone' });
    t.is(work.heldBytes, held, 'the callback has it still');
    settle();
    await new Promise(setImmediate);
    t.is(work.heldBytes, 0);
    t.true(gate.isIdle);
  });
}
