import test from 'ava';
import { asBuffer, ownView } from '../../../src/protocol/frames/buffer-views.js';

test('ownView() answers the view itself while that is half of its buffer or more', t => {
  const whole = Buffer.allocUnsafeSlow(10);
  t.is(ownView(whole), whole);
  const half = whole.subarray(5);
  t.is(ownView(half), half);
});

test('ownView() copies a view that keeps more than twice its size alive', t => {
  const view = Buffer.from('0123456789').subarray(2, 4);
  const large = Buffer.allocUnsafeSlow(10);
  view.copy(large, 3);
  const small = large.subarray(3, 5);
  const own = ownView(small);
  t.not(own, small);
  t.is(own.buffer.byteLength, 2);
  large.fill(0);
  t.is(own.toString(), '23');
});

test('ownView() of nothing keeps nothing alive', t => {
  t.is(ownView(Buffer.allocUnsafeSlow(10).subarray(0, 0)).buffer.byteLength, 0);
});

test('asBuffer() is the same memory, from the byte on where the view begins', t => {
  const bytes = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
  const buffer = asBuffer(bytes);
  t.deepEqual([...buffer], [2, 3]);
  bytes[0] = 9;
  t.is(buffer[0], 9);
  t.is(asBuffer(buffer), buffer);
});
