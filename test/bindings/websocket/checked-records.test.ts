/** What one isolate sends to another one over a WebSocket: the same bytes while they are records, and an error from the first that is none on. */
import test from 'ava';
import fc from 'fast-check';
import { checkedRecords } from '../../../src/bindings/websocket/checked-records.js';
import { closeRecord, RecordReader } from '../../../src/bindings/websocket/record-codec.js';
import { EdgeError } from '../../../src/quotas/errors.js';

const MAX = 64;

/** A source that says whether it was let go. */
class Source implements AsyncIterable<Uint8Array> {
  reads = 0;
  isLeft = false;
  readonly #pieces: readonly Uint8Array[];

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        const value = this.#pieces[this.reads++];
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      return: async () => {
        this.isLeft = true;
        return { done: true, value: undefined };
      },
    };
  }
}

async function readAll(source: Source): Promise<{ readonly bytes: Buffer; readonly error: unknown }> {
  const read: Uint8Array[] = [];
  let error: unknown;
  try {
    for await (const chunk of checkedRecords(source, MAX)) read.push(chunk);
  } catch (thrown) {
    error = thrown;
  }
  return { bytes: Buffer.concat(read), error };
}

function record(kind: number, length: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(kind);
  head.writeUInt32LE(length, 1);
  return Buffer.concat([head, payload]);
}

const NONE = Buffer.alloc(0);
const AA = Buffer.from('aa');
/** Garbage in each field, behind a record that is one. */
const GARBAGE: Readonly<Record<string, Buffer>> = {
  'kind 0': record(0, 0, NONE),
  'kind 3': record(3, 2, AA),
  'kind 255': record(255, 2, AA),
  'a loss, which is for the host to say': record(9, 2, AA),
  'a message of a byte more than the limit': record(1, MAX + 1, NONE),
  'a message of four gigabytes': record(2, 0xff_ff_ff_ff, NONE),
  'a close without a code': record(8, 0, NONE),
  'a close of half a code': record(8, 1, Buffer.from([1])),
  'a close of 126 bytes': record(8, 126, Buffer.alloc(126)),
  'a close of four gigabytes': record(8, 0xff_ff_ff_ff, NONE),
  'no code, and a reason': closeRecord(0, AA),
  'a code that stands for a lost connection': closeRecord(1006, NONE),
  'code 999': closeRecord(999, NONE),
  'code 5000': closeRecord(5000, NONE),
  'code 65535': closeRecord(65_535, NONE),
  'a reason that is no UTF-8': closeRecord(1000, Buffer.from([0xff, 0x80])),
  'a message behind a close': Buffer.concat([closeRecord(1000, NONE), record(1, 2, AA)]),
  'a close behind a close': Buffer.concat([closeRecord(0, NONE), closeRecord(0, NONE)]),
};

for (const [what, garbage] of Object.entries(GARBAGE)) {
  test(`${what} ends the stream with EDGE_PROTOCOL, and lets its source go`, async t => {
    const good = record(1, 2, AA);
    const source = new Source([good, garbage, good]);
    const { bytes, error } = await readAll(source);
    t.deepEqual(bytes, good);
    t.true(error instanceof EdgeError && error.code === 'EDGE_PROTOCOL', `${error}`);
    t.true(source.isLeft);
    // However it is cut.
    const cut = new Source([...Buffer.concat([good, garbage])].map(byte => Buffer.from([byte])));
    const pieces = await readAll(cut);
    t.true(pieces.error instanceof EdgeError);
    t.true(cut.isLeft);
    t.true(Buffer.concat([good, garbage]).subarray(0, pieces.bytes.length).equals(pieces.bytes));
  });
}

test('an error of the source itself passes, and a reader that leaves lets the source go', async t => {
  const failing: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new RangeError('gone')) }),
  };
  await t.throwsAsync(checkedRecords(failing, MAX)[Symbol.asyncIterator]().next(), { instanceOf: RangeError });
  const source = new Source([record(1, 2, AA), record(1, 2, AA)]);
  for await (const _ of checkedRecords(source, MAX)) break;
  t.true(source.isLeft);
  t.is(source.reads, 1);
});

test('what passes is what a reader of records takes, and nothing else', async t => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc
      .tuple(fc.constantFrom(1, 2, 8, 9, 0), fc.nat(80), fc.uint8Array({ maxLength: 80 }))
      .map(([kind, length, rest]) => record(kind, length, rest)),
    fc
      .tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: MAX }))
      .map(([kind, payload]) => record(kind, payload.length, payload)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async pieces => {
      const source = new Source(pieces);
      const { bytes, error } = await readAll(source);
      // The other side never meets an error.
      new RecordReader(MAX, { message: () => {}, close: () => {} }).read(bytes);
      t.is(error === undefined, bytes.equals(Buffer.concat(pieces)) && !source.isLeft);
    }),
  );
});
