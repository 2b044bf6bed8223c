import test from 'ava';
import { FrameType, HEADER_BYTES, MAX_DATA_BYTES } from '../../../src/isolate/protocol/frame-layout.js';
import { FrameReader, type FrameSink } from '../../../src/isolate/protocol/frame-reader.js';
import { FrameWriter } from '../../../src/isolate/protocol/frame-writer.js';

/** What the frames say, in their order. */
function read(parts: readonly Buffer[]): string[] {
  const { seen, reader } = listening();
  reader.push(Buffer.concat(parts));
  return seen;
}

function listening(): { readonly seen: string[]; readonly reader: FrameReader } {
  const seen: string[] = [];
  const sink: FrameSink = {
    onOpen: (id, _kind, head, body) => seen.push(`open ${id} ${head} ${body.toString()}`),
    onReply: (id, status, head, body) => seen.push(`reply ${id} ${status} ${head} ${body.toString()}`),
    onData: (id, piece) => seen.push(`data ${id} ${piece.length > 20 ? piece.length : piece.toString()}`),
    onEnd: id => seen.push(`end ${id}`),
    onCredit: (id, bytes) => seen.push(`credit ${id} ${bytes}`),
    onReset: (id, reason) => seen.push(`fail ${id} ${reason}`),
    onStopSending: (id, reason) => seen.push(`stop ${id} ${reason}`),
    onSignal: (id, kind, payload) => seen.push(`note ${id} ${kind} ${payload.toString()}`),
    onPause: id => seen.push(`divert ${id}`),
    onPaused: id => seen.push(`diverted ${id}`),
    onSplice: (id, from) => seen.push(`join ${id} ${from}`),
  };
  return { seen, reader: new FrameReader(sink) };
}

const KIBIBYTE = 1024;
const kibibytes = (count: number, fill = 1): Buffer => Buffer.alloc(count * KIBIBYTE, fill);

test('FrameWriter.data() puts pieces that follow each other into one frame', t => {
  const writer = new FrameWriter();
  writer.data(2, kibibytes(64));
  writer.data(2, Buffer.from('small'));
  writer.data(2, kibibytes(64));
  t.deepEqual(read(writer.take()), [`data 2 ${128 * KIBIBYTE + 5}`]);
});

test('FrameWriter.data() keeps the bytes of pieces in their order', t => {
  const writer = new FrameWriter();
  const pieces = ['a', 'b'.repeat(10_000), 'c', 'd'.repeat(70_000), 'e'];
  for (const piece of pieces) writer.data(4, Buffer.from(piece));
  const whole = Buffer.concat(writer.take());
  t.is(whole.subarray(9).toString(), pieces.join(''));
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
  const expected = ['data 2 a', 'data 4 b', 'data 2 c', 'credit 2 7', 'data 2 d', 'note 2 1 x', 'data 2 e', 'end 2'];
  t.deepEqual(read(writer.take()), expected);
});

test('FrameWriter.data() begins a frame for the id 0 too, which hosts refuse and no honest isolate sends', t => {
  const writer = new FrameWriter();
  writer.stopSending(4, 'x');
  writer.data(0, Buffer.from('a'));
  t.deepEqual(read(writer.take()), ['stop 4 x', 'data 0 a']);
});

test('FrameWriter.data() begins a frame after what was taken', t => {
  const writer = new FrameWriter();
  writer.data(2, Buffer.from('a'));
  const first = writer.take();
  writer.data(2, Buffer.from('b'));
  t.deepEqual(read([...first, ...writer.take()]), ['data 2 a', 'data 2 b']);
});

test('FrameWriter.data() makes no frame longer than the reader takes', t => {
  const writer = new FrameWriter();
  const piece = kibibytes(400);
  for (let at = 0; at < 3; at++) writer.data(2, piece);
  const parts = writer.take();
  t.true(2 * piece.length <= MAX_DATA_BYTES && 3 * piece.length > MAX_DATA_BYTES);
  t.deepEqual(read(parts), [`data 2 ${2 * piece.length}`, `data 2 ${piece.length}`]);
});

test('FrameWriter.data() patches the length of a frame that began in a slab before', t => {
  const writer = new FrameWriter();
  const pieces = Array.from({ length: 40 }, (_, at) => Buffer.alloc(5000, at));
  for (const piece of pieces) writer.data(2, piece);
  t.deepEqual(Buffer.concat(writer.take()).subarray(9), Buffer.concat(pieces));
});

test('FrameReader keeps the bytes of a frame that comes byte by byte, and no buffer for each of them', t => {
  const frame = Buffer.alloc(HEADER_BYTES + 5000, 'abcdefg');
  frame.writeUInt32LE(5000, 0);
  frame.writeUInt8(FrameType.StopSending, 4);
  const { seen, reader } = listening();
  reader.push(frame.subarray(0, 1));
  const byte = Buffer.alloc(1);
  for (const value of frame.subarray(1)) {
    byte.fill(value); // whoever kept the buffer would find this value for all of them
    reader.push(byte);
  }
  t.deepEqual(seen, [`stop ${frame.readUInt32LE(5)} ${frame.toString('utf8', HEADER_BYTES)}`]);
});
