import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import * as zlib from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import { decodedBody } from '../../../src/bindings/egress/content-decoding.js';
import { costOf, HOST_COSTS } from '../../../src/quotas/host/host-costs.js';
import { threadQueue } from '../../../src/quotas/host/threads.js';
import { countedWork } from '../counted-work.js';

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const ENCODERS = {
  gzip: zlib.gzipSync,
  deflate: zlib.deflateSync,
  raw: zlib.deflateRawSync,
  br: (bytes: Uint8Array) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
} as const;

type Coding = keyof typeof ENCODERS;

const header = (codings: readonly Coding[]): string =>
  codings.map(coding => (coding === 'raw' ? 'deflate' : coding)).join(', ');

function encode(bytes: Uint8Array, codings: readonly Coding[]): Uint8Array {
  return codings.reduce((encoded: Uint8Array, coding) => ENCODERS[coding](encoded), bytes);
}

/** The bytes in chunks; records whether it was ended early. */
function pieces(bytes: Uint8Array, size: number) {
  const body = {
    isEnded: false,
    taken: 0,
    async *[Symbol.asyncIterator]() {
      try {
        for (let at = 0; at < bytes.byteLength; at += size) {
          body.taken++;
          yield bytes.subarray(at, at + size);
        }
      } finally {
        body.isEnded = true;
      }
    },
  };
  return body;
}

function decode(body: AsyncIterable<Uint8Array>, codings: readonly Coding[], work = countedWork()) {
  const decoded = decodedBody(body, header(codings), work, toError);
  if (decoded === undefined) throw new Error('the codings are not known');
  return decoded;
}

test.serial(
  'decodedBody() gives what was encoded, in whatever codings and pieces, and charges what came out',
  async t => {
    const codings = fc.array(fc.constantFrom<Coding>('gzip', 'deflate', 'raw', 'br'), { minLength: 1, maxLength: 3 });
    const size = fc.oneof(fc.nat(10), fc.integer({ min: 60_000, max: 300_000 }));
    await fc.assert(
      fc.asyncProperty(
        codings,
        size,
        fc.boolean(),
        fc.integer({ min: 1, max: 70_000 }),
        async (given, bytes, isRandom, piece) => {
          const content = isRandom ? randomBytes(bytes) : Buffer.alloc(bytes, 'text ');
          const work = countedWork();
          const body = pieces(encode(content, given), Math.max(piece, bytes > 1000 ? 1000 : 1));
          const result = await buffer(decode(body, given, work));
          t.true(result.equals(content), `${given} ${bytes} ${isRandom} ${piece}`);
          t.true(work.spentMs >= costOf(bytes, HOST_COSTS.decodedMbMs) * 0.999);
          t.true(body.isEnded);
          t.is(threadQueue.running, 0);
        },
      ),
      { numRuns: 60 },
    );
  },
);

test.serial('decodedBody() goes no further than it is asked for, and holds no thread while nobody asks', async t => {
  // A thousandth of what it becomes: no reader may be made to hold it.
  const bomb = encode(Buffer.alloc(64 * 2 ** 20), ['br', 'br']);
  const work = countedWork();
  const body = pieces(bomb, 1000);
  const iterator = decode(body, ['br', 'br'], work)[Symbol.asyncIterator]();
  const first = await iterator.next();
  t.true((first.value?.byteLength ?? 0) <= 64 * 1024);
  t.is(threadQueue.running, 0);
  t.true(work.spentMs < costOf(2 ** 20, HOST_COSTS.decodedMbMs));
  await iterator.return?.();
  t.true((await iterator.next()).done);
  t.true(body.isEnded);
});

test.serial('decodedBody() waits for the turn of the account before each step', async t => {
  const work = countedWork();
  const iterator = decode(pieces(encode(Buffer.alloc(2 ** 20), ['gzip']), 100), ['gzip'], work)[Symbol.asyncIterator]();
  await iterator.next();
  work.hold();
  let isDone = false;
  const next = iterator.next().then(() => {
    isDone = true;
  });
  await new Promise(resolve => setImmediate(resolve));
  t.is(work.held, 1);
  t.false(isDone);
  t.is(threadQueue.running, 0);
  work.go();
  await next;
  await iterator.return?.();
});

test.serial('decodedBody() ends with the error of the data, and ends the body', async t => {
  const encoded = Buffer.from(encode(randomBytes(200_000), ['gzip']));
  encoded.fill(0, 100_000, 100_100);
  const body = pieces(encoded, 10_000);
  await t.throwsAsync(buffer(decode(body, ['gzip'])), { code: 'Z_DATA_ERROR' });
  t.true(body.isEnded);
  t.is(threadQueue.running, 0);
});

test.serial('decodedBody() ends with the error of the body', async t => {
  const encoded = encode(randomBytes(200_000), ['gzip']);
  async function* broken() {
    yield encoded.subarray(0, 100_000);
    throw new Error('broke off');
  }
  const decoded = decode(broken(), ['gzip']);
  await t.throwsAsync(buffer(decoded), { message: 'broke off' });
  t.is(threadQueue.running, 0);
});

test.serial('return() ends decodedBody() while it waits for the body, for a turn and for a step', async t => {
  const encoded = encode(Buffer.alloc(2 ** 22, 'abc'), ['gzip']);
  const waiting = {
    isEnded: false,
    async *[Symbol.asyncIterator]() {
      yield encoded.subarray(0, 10);
      await new Promise<void>(resolve => {
        this.end = resolve;
      });
    },
    end: () => {},
  };
  const one = decode(waiting, ['gzip'])[Symbol.asyncIterator]();
  const first = one.next();
  await new Promise(resolve => setImmediate(resolve));
  await one.return?.();
  waiting.end();
  t.true((await first).done);

  const work = countedWork();
  work.hold();
  const two = decode(pieces(encoded, 1000), ['gzip'], work)[Symbol.asyncIterator]();
  const second = two.next();
  await new Promise(resolve => setImmediate(resolve));
  await two.return?.();
  work.go();
  t.true((await second).done);

  const three = decode(pieces(encoded, encoded.byteLength), ['gzip'])[Symbol.asyncIterator]();
  await three.next();
  const third = three.next();
  await three.return?.();
  t.true((await third).done);
  t.is(threadQueue.running, 0);
});

test.serial('decodedBody() takes what stands behind the end of the data for nothing', async t => {
  const encoded = Buffer.concat([encode(Buffer.from('hello'), ['br']), Buffer.alloc(100, 'x')]);
  t.is(String(await buffer(decode(pieces(encoded, 50), ['br']))), 'hello');
});
