import test from 'ava';
import { CONTROL_BOUNDS, flag, MAX_DETAIL_CHARACTERS, parseEnded, parseFlag } from '../../src/pool/control.js';
import { FrameType } from '../../src/protocol/frames/frame-layout.js';
import { ProtocolError } from '../../src/protocol/frames/protocol-error.js';

test('parseFlag() reads what flag() writes, and throws for what has another length', t => {
  t.true(parseFlag(flag(true)));
  t.false(parseFlag(flag(false)));
  for (const payload of [Buffer.alloc(0), Buffer.alloc(2)])
    t.throws(() => parseFlag(payload), { instanceOf: ProtocolError });
});

test('parseEnded() reads the reason, and all behind the first line feed as its detail', t => {
  t.deepEqual(parseEnded(Buffer.from('memory\nfirst\nsecond')), { end: 'memory', detail: 'first\nsecond' });
  t.deepEqual(parseEnded(Buffer.from('closed')), { end: 'closed', detail: '' });
});

test('parseEnded() throws for reasons that a cell cannot have', t => {
  for (const text of ['', '\nmemory', 'Memory', 'cell', 'bystander', 'protocol', 'toString', 'memory '])
    t.throws(() => parseEnded(Buffer.from(text)), { instanceOf: ProtocolError }, JSON.stringify(text));
});

test('a cell may send notes on its control connection, with room for a detail of any characters, and nothing else', t => {
  t.true(CONTROL_BOUNDS.payload(FrameType.Signal) >= Buffer.byteLength('\u{1f600}'.repeat(MAX_DETAIL_CHARACTERS / 2)));
  for (const type of Object.values(FrameType)) {
    if (typeof type === 'number' && type !== FrameType.Signal) t.is(CONTROL_BOUNDS.payload(type), 0, FrameType[type]);
  }
});
