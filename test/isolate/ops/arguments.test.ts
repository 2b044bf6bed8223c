import test from 'ava';
import { checkedInteger, checkedText, copyIn } from '../../../src/isolate/ops/arguments.js';

/** Fails the test when anything of it is looked at. */
function untouchable(touched: () => void): object {
  const touch = (): never => {
    touched();
    throw new Error('touched');
  };
  return new Proxy(() => {}, { get: touch, getPrototypeOf: touch, has: touch, ownKeys: touch });
}

test('checkedText() refuses what is no string before it looks at it, and what is too long (R17)', t => {
  for (const value of [untouchable(() => t.fail('touched')), 1, null, {}, ['x'], Symbol('x')]) {
    t.throws(() => checkedText(value, 10), { any: true });
  }
  t.throws(() => checkedText('x'.repeat(11), 10), { any: true });
  t.is(checkedText('x'.repeat(10), 10), 'x'.repeat(10));
});

test('checkedInteger() refuses everything but whole numbers of the range (R17)', t => {
  for (const value of [untouchable(() => t.fail('touched')), '1', null, 1n, 0.5, Number.NaN, -1, 11, 2 ** 53, {}]) {
    t.throws(() => checkedInteger(value, 0, 10), { any: true });
  }
  t.is(checkedInteger(10, 0, 10), 10);
});

test('copyIn() refuses resizable and shared buffers, and everything but a Uint8Array (R18)', t => {
  // TypeScript's lib does not know the options yet.
  const growing = (Type: ArrayBufferConstructor | SharedArrayBufferConstructor): Uint8Array =>
    new Uint8Array(Reflect.construct(Type, [8, { maxByteLength: 16 }]));
  const values = [
    growing(ArrayBuffer),
    growing(SharedArrayBuffer),
    new Uint8Array(new SharedArrayBuffer(8)),
    new Uint16Array(4),
    new ArrayBuffer(8),
    Object.create(Uint8Array.prototype),
    untouchable(() => t.fail('touched')),
    { length: 8 },
  ];
  for (const value of values) t.throws(() => copyIn(value, 100), { any: true });
});

test('copyIn() answers with memory that the guest does not hold (R18)', t => {
  const bytes = Uint8Array.of(1, 2, 3);
  const copy = copyIn(bytes, 3);
  bytes.fill(9);
  t.deepEqual([...copy], [1, 2, 3]);
  t.not(copy.buffer, bytes.buffer);
});
