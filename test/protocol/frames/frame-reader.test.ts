import test from 'ava';
import fc from 'fast-check';
import { FrameType, HEADER_BYTES, MAX_DATA_BYTES } from '../../../src/protocol/frames/frame-layout.js';
import { type FrameBounds, TRUSTED_BOUNDS } from '../../../src/protocol/frames/frame-reader.js';
import { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import { ISOLATE_BOUNDS } from '../../../src/protocol/frames/isolate-bounds.js';
import { MAX_CALL_HEAD_BYTES } from '../../../src/quotas/service-calls.js';
import { listening } from '../frame-texts.js';

/** A frame as an attacker would write it. */
function frame(type: number, payload: Buffer, length = payload.length, id = 2): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(length, 0);
  header.writeUInt8(type, 4);
  header.writeUInt32LE(id, 5);
  return Buffer.concat([header, payload]);
}

function openFrame(headBytes: number, payloadBytes: number, kind = 1): Buffer {
  const payload = Buffer.alloc(payloadBytes, 'h');
  payload.writeUInt8(kind, 0);
  payload.writeUInt8(1, 1);
  payload.writeUInt32LE(headBytes, 2);
  return frame(FrameType.Open, payload);
}

test('FrameReader keeps the bytes of a frame that comes byte by byte, and no buffer for each of them', t => {
  const bytes = Buffer.alloc(HEADER_BYTES + 5000, 'abcdefg');
  bytes.writeUInt32LE(5000, 0);
  bytes.writeUInt8(FrameType.StopSending, 4);
  const { seen, reader } = listening(undefined, 5000);
  reader.push(bytes.subarray(0, 1));
  const byte = Buffer.alloc(1);
  for (const value of bytes.subarray(1)) {
    byte.fill(value); // code that kept the buffer would find this value for all of them
    reader.push(byte);
  }
  t.deepEqual(seen, [`stop sending ${bytes.readUInt32LE(5)} ${bytes.toString('utf8', HEADER_BYTES)}`]);
});

/** All kinds of frames, as a writer writes them. */
function everyFrame(): Buffer {
  const writer = new FrameWriter();
  writer.open(2, 1, 'head', false, 'body', true);
  writer.data(2, Buffer.from('some data of a body'));
  writer.credit(2, 70_000);
  writer.signal(2, 1, 'signal');
  writer.reply(3, 200, '"\u20ac"', true, Buffer.alloc(10_000, 'x'), true);
  writer.pause(4);
  writer.paused(4);
  writer.splice(4, 6);
  writer.stopSending(8, 'enough');
  writer.reset(8, 'lost');
  writer.end(2);
  return Buffer.concat(writer.take());
}

test('FrameReader reads the same frames wherever the input is cut', t => {
  const bytes = everyFrame();
  const whole = listening();
  whole.reader.push(Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), cuts => {
      const { seen, reader } = listening();
      let from = 0;
      for (const at of [...cuts.sort((a, b) => a - b), bytes.length]) {
        reader.push(Buffer.from(bytes.subarray(from, at)));
        from = at;
      }
      // Data comes in as many chunks as it arrives in.
      const without = (texts: readonly string[]): string => texts.filter(text => !text.startsWith('data')).join();
      if (without(seen) !== without(whole.seen)) throw new Error(`${seen.join()} instead of ${whole.seen.join()}`);
      const data = seen.filter(text => text.startsWith('data 2 ')).map(text => text.slice(7));
      if (data.join('') !== 'some data of a body') throw new Error(data.join());
    }),
    { numRuns: 500 },
  );
  t.is(whole.seen.length, 11);
});

test('FrameReader holds nothing when it is between two frames', t => {
  const { reader } = listening();
  const bytes = everyFrame();
  for (const byte of bytes) reader.push(Buffer.from([byte]));
  t.is(reader.heldBytes, 0);
  t.false(reader.hasRest);
});

test('FrameReader holds about twice of what has come of a frame, whatever length it names', t => {
  const { reader } = listening(ISOLATE_BOUNDS);
  const longest = ISOLATE_BOUNDS.payload(FrameType.Signal);
  reader.push(frame(FrameType.Signal, Buffer.alloc(100), longest));
  t.true(reader.heldBytes <= 2 * (HEADER_BYTES + 100), `${reader.heldBytes}`);
  for (let at = 0; at < 100; at++) reader.push(Buffer.alloc(100));
  t.true(reader.heldBytes <= 2 * (HEADER_BYTES + 101 * 100), `${reader.heldBytes}`);
});

test('FrameReader keeps no view of a large input for a small rest', t => {
  const { reader } = listening();
  const input = Buffer.concat([everyFrame(), Buffer.alloc(100_000)]);
  const header = frame(FrameType.Signal, Buffer.alloc(0), 5000);
  header.copy(input, everyFrame().length);
  reader.push(input.subarray(0, everyFrame().length + HEADER_BYTES + 10));
  t.true(reader.heldBytes <= HEADER_BYTES + 10, `${reader.heldBytes}`);
});

for (const [name, bounds] of [
  ['ISOLATE_BOUNDS', ISOLATE_BOUNDS],
  ['TRUSTED_BOUNDS', TRUSTED_BOUNDS],
] as const) {
  for (const type of [
    FrameType.Open,
    FrameType.Reply,
    FrameType.End,
    FrameType.Credit,
    FrameType.Reset,
    FrameType.StopSending,
    FrameType.Signal,
    FrameType.Pause,
    FrameType.Paused,
    FrameType.Splice,
  ]) {
    test(`FrameReader with ${name} takes a ${FrameType[type]} of the largest payload, and refuses one byte more from its header alone`, t => {
      const most = bounds.payload(type);
      const { seen, reader } = listening(bounds);
      reader.push(frame(type, Buffer.alloc(most)));
      t.is(seen.length, 1);
      const error = t.throws(() => listening(bounds).reader.push(frame(type, Buffer.alloc(0), most + 1)), {
        code: 'EDGE_PROTOCOL',
      });
      t.regex(error?.message ?? '', new RegExp(`type ${type} has ${most + 1} bytes`));
    });
  }
}

test('FrameReader takes data of the largest frame, and refuses one byte more', t => {
  const { seen, reader } = listening();
  reader.push(frame(FrameType.Data, Buffer.alloc(MAX_DATA_BYTES)));
  t.deepEqual(seen, [`data 2 [${MAX_DATA_BYTES}]`]);
  t.throws(() => reader.push(frame(FrameType.Data, Buffer.alloc(0), MAX_DATA_BYTES + 1)), {
    message: /A data frame has/,
  });
});

test('FrameReader refuses a longer head of a call than there is, before it is decoded', t => {
  const most = ISOLATE_BOUNDS.openHead(1);
  t.true(most >= MAX_CALL_HEAD_BYTES);
  const { seen, reader } = listening(ISOLATE_BOUNDS);
  reader.push(openFrame(most, most + 6));
  t.deepEqual(seen, [`open 2 1 [${most}] .`]);
  t.throws(() => reader.push(openFrame(most + 1, most + 7, 4)), {
    message: `The head of an exchange of kind 4 has ${most + 1} bytes`,
  });
});

const TOO_SHORT: readonly [type: FrameType, bytes: number][] = [
  [FrameType.Open, 5],
  [FrameType.Reply, 6],
  [FrameType.Credit, 3],
  [FrameType.Signal, 0],
  [FrameType.Splice, 3],
];
for (const [type, bytes] of TOO_SHORT) {
  test(`FrameReader refuses a ${FrameType[type]} of ${bytes} bytes`, t => {
    const { seen, reader } = listening();
    t.throws(() => reader.push(frame(type, Buffer.alloc(bytes))), { code: 'EDGE_PROTOCOL', message: /too short/ });
    t.deepEqual(seen, []);
  });
}

test('FrameReader refuses a head that is longer than its frame', t => {
  t.notThrows(() => listening().reader.push(openFrame(4, 10)));
  t.throws(() => listening().reader.push(openFrame(5, 10)), { message: /head is longer/ });
  const reply = Buffer.alloc(7);
  reply.writeUInt32LE(1, 3);
  t.throws(() => listening().reader.push(frame(FrameType.Reply, reply)), { message: /head is longer/ });
});

for (const type of [0, 12, 255]) {
  test(`FrameReader refuses a frame of the unknown type ${type}`, t => {
    t.throws(() => listening().reader.push(frame(type, Buffer.alloc(0))), {
      message: `A frame has the unknown type ${type}`,
    });
  });
}

test('FrameReader cuts a reason that is too long for a message', t => {
  const { seen, reader } = listening();
  reader.push(frame(FrameType.Reset, Buffer.alloc(20_000, 'x')));
  reader.push(frame(FrameType.StopSending, Buffer.alloc(16 * 1024, 'x')));
  t.deepEqual(seen, ['reset 2 [16384]', 'stop sending 2 [16384]']);
});

const TWO_AT_ONCE: FrameBounds = { ...TRUSTED_BOUNDS, framesAtOnce: 2 };

test('FrameReader hands on as many frames at once as its bounds say, and the rest when it is asked to proceed', t => {
  const { seen, reader } = listening(TWO_AT_ONCE);
  const end = frame(FrameType.End, Buffer.alloc(0));
  reader.push(Buffer.concat([end, end, end, end, end]));
  const counts = [seen.length];
  while (reader.hasRest) {
    reader.proceed();
    counts.push(seen.length);
  }
  t.deepEqual(counts, [2, 4, 5]);
  t.is(reader.heldBytes, 0);
});

test('FrameReader goes on with a frame whose rest comes after an interruption', t => {
  const { seen, reader } = listening(TWO_AT_ONCE);
  const end = frame(FrameType.End, Buffer.alloc(0));
  const signal = frame(FrameType.Signal, Buffer.from('1abc'));
  reader.push(Buffer.concat([end, end, signal.subarray(0, 11)]));
  t.true(reader.hasRest);
  reader.proceed();
  t.false(reader.hasRest);
  reader.push(signal.subarray(11));
  t.deepEqual(seen, ['end 2', 'end 2', 'signal 2 49 abc']);
});

test('FrameReader counts each chunk of data and each header of a frame as work at once', t => {
  const { seen, reader } = listening(TWO_AT_ONCE);
  reader.push(Buffer.concat([frame(FrameType.Data, Buffer.from('ab')), frame(FrameType.Data, Buffer.from('cd'))]));
  t.deepEqual(seen, ['data 2 ab']);
  reader.proceed();
  t.deepEqual(seen, ['data 2 ab', 'data 2 cd']);
});

test('FrameReader hands on what has to be parsed until its bound of bytes is passed, and the rest when it is asked to proceed', t => {
  const { seen, reader } = listening({ ...TRUSTED_BOUNDS, parsedBytesAtOnce: 8 });
  const signal = frame(FrameType.Signal, Buffer.from('1abcde'));
  const end = frame(FrameType.End, Buffer.alloc(0));
  reader.push(Buffer.concat([signal, end, signal, signal, end]));
  t.is(seen.length, 3);
  t.true(reader.hasRest);
  reader.proceed();
  t.is(seen.length, 5);
  t.false(reader.hasRest);
});
