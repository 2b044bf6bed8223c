import test from 'ava';
import { invocationId } from '../../../../src/host/invocation/reports/invocation-id.js';

test('invocationId() ends with the number in eight hexadecimal digits', t => {
  for (const serial of [0, 1, 255, 256, 257, 255, 0xffff, 0x10000, 0xffff_ffff]) {
    t.regex(invocationId(serial), /^[0-9a-f]{16}$/);
    t.is(invocationId(serial).slice(8), serial.toString(16).padStart(8, '0'));
  }
});

test('invocationId() begins with the same for all of a process', t => {
  t.is(invocationId(1).slice(0, 8), invocationId(0x12345).slice(0, 8));
});
