import test from 'ava';
import { OutputTail } from '../../../src/pool/host/output-tail.js';

test('push() keeps the last bytes, and no more than there is room for', t => {
  const tail = new OutputTail(10);
  for (const piece of ['0123', '456789', 'abc', '']) tail.push(Buffer.from(piece));
  t.is(tail.text, '3456789abc');
  tail.push(Buffer.alloc(1000, 'x'));
  t.is(tail.text, 'x'.repeat(10));
  t.is(tail.bytes, 10);
});

test('push() does not pin what a piece was cut from', t => {
  const tail = new OutputTail(10);
  const slab = Buffer.alloc(1_000_000, 'x');
  for (let i = 0; i < 100_000; i++) tail.push(slab.subarray(i, i + 1));
  t.is(tail.bytes, 10);
});
