import test from 'ava';
import fc from 'fast-check';
import { HEADER_BYTES, MAX_DATA_BYTES } from '../../../src/protocol/frames/frame-layout.js';
import { FrameWriter } from '../../../src/protocol/frames/frame-writer.js';
import { frameTexts, listening } from '../frame-texts.js';

const KIBIBYTE = 1024;
const kibibytes = (count: number, fill = 1): Buffer => Buffer.alloc(count * KIBIBYTE, fill);

test('FrameWriter.data() puts chunks that follow each other into one frame', t => {
  const writer = new FrameWriter();
  writer.data(2, kibibytes(64));
  writer.data(2, Buffer.from('small'));
  writer.data(2, kibibytes(64));
  t.deepEqual(frameTexts(writer.take()), [`data 2 [${128 * KIBIBYTE + 5}]`]);
});

test('FrameWriter.data() keeps the bytes of chunks in their order', t => {
  const writer = new FrameWriter();
  const chunks = ['a', 'b'.repeat(10_000), 'c', 'd'.repeat(70_000), 'e'];
  for (const chunk of chunks) writer.data(4, Buffer.from(chunk));
  const whole = Buffer.concat(writer.take());
  t.is(whole.subarray(9).toString(), chunks.join(''));
  t.is(whole.readUInt32LE(0), whole.length - 9);
});

test('FrameWriter.data() begins a frame for another exchange and behind every other frame', t => {
  const writer = new FrameWriter();
  writer.data(2, Buffer.from('a'));
  writer.data(4, Buffer.from('b'));
  writer.data(2, Buffer.from('c'));
  writer.credit(2, 7);
  writer.data(2, Buffer.from('d'));
  writer.signal(2, 1, 'x');
  writer.data(2, Buffer.from('e'));
  writer.end(2);
  const expected = ['data 2 a', 'data 4 b', 'data 2 c', 'credit 2 7', 'data 2 d', 'signal 2 1 x', 'data 2 e', 'end 2'];
  t.deepEqual(frameTexts(writer.take()), expected);
});

test('FrameWriter.data() begins a frame for the id 0 too, which hosts refuse and no honest isolate sends', t => {
  const writer = new FrameWriter();
  writer.stopSending(4, 'x');
  writer.data(0, Buffer.from('a'));
  t.deepEqual(frameTexts(writer.take()), ['stop sending 4 x', 'data 0 a']);
});

test('FrameWriter.data() begins a frame after what was taken', t => {
  const writer = new FrameWriter();
  writer.data(2, Buffer.from('a'));
  const first = writer.take();
  writer.data(2, Buffer.from('b'));
  t.deepEqual(frameTexts([...first, ...writer.take()]), ['data 2 a', 'data 2 b']);
});

test('FrameWriter.data() makes no frame longer than the reader takes', t => {
  const writer = new FrameWriter();
  const chunk = kibibytes(400);
  for (let at = 0; at < 3; at++) writer.data(2, chunk);
  const parts = writer.take();
  t.true(2 * chunk.length <= MAX_DATA_BYTES && 3 * chunk.length > MAX_DATA_BYTES);
  t.deepEqual(frameTexts(parts), [`data 2 [${2 * chunk.length}]`, `data 2 [${chunk.length}]`]);
});

test('FrameWriter.data() patches the length of a frame that began in a slab before', t => {
  const writer = new FrameWriter();
  const chunks = Array.from({ length: 40 }, (_, at) => Buffer.alloc(5000, at));
  for (const chunk of chunks) writer.data(2, chunk);
  t.deepEqual(Buffer.concat(writer.take()).subarray(9), Buffer.concat(chunks));
});

const FRAMES: readonly [title: string, write: (writer: FrameWriter) => void, text: string][] = [
  ['open() with a whole body', writer => writer.open(2, 1, 'head', false, 'body', true), 'open 2 1 head body.'],
  ['open() without a body', writer => writer.open(2, 1, 'head', false, null, true), 'open 2 1 head .'],
  ['open() of a body that follows', writer => writer.open(2, 1, 'head', false, null, false), 'open 2 1 head ...'],
  ['open() with a head of JSON', writer => writer.open(2, 3, '"\u20ac"', true, null, true), 'open 2 3 "\u20ac" .'],
  ['open() with a head of HTTP', writer => writer.open(2, 1, 'caf\u00e9', false, null, true), 'open 2 1 caf\u00e9 .'],
  ['reply() with a text', writer => writer.reply(3, 200, 'OK', false, '\u20ac', true), 'reply 3 200 OK \u20ac.'],
  ['reply() with bytes', writer => writer.reply(3, 599, 'OK', true, Buffer.from('ab'), true), 'reply 3 599 OK ab.'],
  ['reply() of a body that follows', writer => writer.reply(3, 0, '', false, null, false), 'reply 3 0  ...'],
  ['end()', writer => writer.end(0xffff_fffe), 'end 4294967294'],
  ['credit()', writer => writer.credit(4, 0xffff_ffff), 'credit 4 4294967295'],
  ['pause()', writer => writer.pause(4), 'pause 4'],
  ['paused()', writer => writer.paused(4), 'paused 4'],
  ['splice()', writer => writer.splice(4, 6), 'splice 4 6'],
  ['reset()', writer => writer.reset(4, 'r\u00e9son'), 'reset 4 r\u00e9son'],
  ['stopSending()', writer => writer.stopSending(4, ''), 'stop sending 4 '],
  ['signal() with a text', writer => writer.signal(4, 7, '\u20ac'), 'signal 4 7 \u20ac'],
  ['signal() with bytes', writer => writer.signal(4, 255, Buffer.from('xy')), 'signal 4 255 xy'],
];

for (const [title, write, text] of FRAMES) {
  test(`FrameWriter.${title} writes what a reader reads`, t => {
    const writer = new FrameWriter();
    t.true(writer.isEmpty);
    write(writer);
    t.false(writer.isEmpty);
    t.deepEqual(frameTexts(writer.take()), [text]);
    t.true(writer.isEmpty);
  });
}

test('FrameWriter.take() answers nothing when nothing was written', t => {
  t.deepEqual(new FrameWriter().take(), []);
});

test('FrameWriter.reply() copies a small body, which may change afterwards, and takes a large one as it is', t => {
  const writer = new FrameWriter();
  const small = Buffer.alloc(8 * KIBIBYTE - 1, 'a');
  writer.reply(2, 200, '', false, small, true);
  small.fill('b');
  const large = Buffer.alloc(8 * KIBIBYTE, 'c');
  writer.reply(4, 200, '', false, large, true);
  const parts = writer.take();
  t.is(parts.at(-1), large);
  const whole = Buffer.concat(parts);
  t.is(whole.indexOf('b'), -1);
  t.is(whole.indexOf('a'.repeat(small.length)), HEADER_BYTES + 7);
});

test('FrameWriter.open() writes a head that is longer than a slab', t => {
  const writer = new FrameWriter();
  writer.signal(1, 1, 'before');
  writer.open(2, 1, 'h'.repeat(200 * KIBIBYTE), false, 'body', true);
  writer.open(4, 1, '\u20ac'.repeat(200 * KIBIBYTE), true, kibibytes(100), true);
  writer.end(2);
  t.deepEqual(frameTexts(writer.take()), [
    'signal 1 1 before',
    `open 2 1 [${200 * KIBIBYTE}] body.`,
    `open 4 1 [${200 * KIBIBYTE}] [${100 * KIBIBYTE}].`,
    'end 2',
  ]);
});

const anyFrame = fc.oneof(
  fc.record({ kind: fc.constant('data'), id: fc.nat(3), bytes: fc.nat(20 * KIBIBYTE) }),
  fc.record({
    kind: fc.constantFrom('end', 'credit', 'open', 'signal', 'take'),
    id: fc.nat(3),
    bytes: fc.nat(20 * KIBIBYTE),
  }),
);

test('FrameWriter writes any frames in their order, however many slabs they take', t => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 60 }), frames => {
      const writer = new FrameWriter();
      const parts: Buffer[] = [];
      const written: [id: number, bytes: number][] = [];
      for (const { kind, id, bytes } of frames) {
        if (kind === 'take') parts.push(...writer.take());
        else if (kind === 'end') writer.end(id);
        else if (kind === 'credit') writer.credit(id, bytes);
        else if (kind === 'open') writer.open(id, 1, 'x'.repeat(bytes), false, null, true);
        else if (kind === 'signal') writer.signal(id, 1, 'y'.repeat(bytes));
        else {
          writer.data(id, Buffer.alloc(bytes, id));
          written.push([id, bytes]);
        }
      }
      parts.push(...writer.take());
      const { seen, reader } = listening();
      reader.push(Buffer.concat(parts));
      const others = frames
        .filter(({ kind }) => kind !== 'data' && kind !== 'take')
        .map(({ kind, id }) => `${kind} ${id}`);
      const named = seen.filter(text => !text.startsWith('data')).map(text => text.split(' ').slice(0, 2).join(' '));
      if (named.join() !== others.join()) throw new Error(`${named.join()} instead of ${others.join()}`);
      const total = Buffer.concat(parts).length;
      const bodies = written.reduce((sum, [, bytes]) => sum + bytes, 0);
      if (total < bodies) throw new Error(`${total} bytes hold no bodies of ${bodies}`);
    }),
    { numRuns: 200 },
  );
  t.pass();
});

test('FrameWriter gathers a frame as a whole or not at all when the stack ends in the middle of a call', t => {
  const small = Buffer.alloc(100, 'a');
  const large = kibibytes(20);
  const text = 'é'.repeat(300);
  const calls: readonly ((writer: FrameWriter, id: number) => void)[] = [
    (writer, id) => writer.open(id, 1, text, true, small, true),
    (writer, id) => writer.open(id, 1, 'head', false, large, true),
    (writer, id) => writer.reply(id, 200, text, true, 'a body', true),
    (writer, id) => writer.data(id, small),
    (writer, id) => writer.data(id, large),
    (writer, id) => writer.signal(id, 1, text),
    (writer, id) => writer.reset(id, text),
    (writer, id) => writer.credit(id, 5),
    (writer, id) => writer.end(id),
  ];
  let failed = 0;
  for (const call of calls) {
    for (let pad = 0; pad < 16; pad++) {
      const writer = new FrameWriter();
      const written: number[] = [];
      let id = 0;
      const here = (): void => {
        id++;
        try {
          call(writer, id);
          written.push(id);
        } catch {
          failed++;
        }
      };
      const dive = (...padding: number[]): void => {
        try {
          dive();
        } catch {
          // This is the end of the stack.
        }
        if (padding.length > 0 || id < 40) here();
      };
      dive(...new Array<number>(pad).fill(0));
      const ids = frameTexts(writer.take()).map(frame => Number(/\d+/.exec(frame)?.[0]));
      t.deepEqual(ids, written);
    }
  }
  t.true(failed > 100, `${failed}`);
});

test('FrameWriter.data() joins a chunk as a whole or not at all when the stack ends in the middle', t => {
  for (const length of [100, 20 * KIBIBYTE]) {
    const chunk = Buffer.alloc(length, 'a');
    const writer = new FrameWriter();
    let bytes = 0;
    let attempts = 0;
    const dive = (): void => {
      try {
        dive();
      } catch {
        // This is the end of the stack.
      }
      if (attempts++ > 200) return;
      writer.data(2, chunk);
      bytes += length;
    };
    dive();
    writer.end(2);
    t.true(bytes > 0 && bytes < attempts * length);
    const frames = frameTexts(writer.take());
    t.is(frames.pop(), 'end 2');
    t.is(
      frames.map(frame => Number(/^data 2 \[(\d+)\]$/.exec(frame)?.[1])).reduce((a, b) => a + b),
      bytes,
    );
  }
});
