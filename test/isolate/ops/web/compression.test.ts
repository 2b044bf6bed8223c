import zlib from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { OpContext } from '../../../../src/isolate/ops/op-set.js';
import { CompressFormat, Op } from '../../../../src/isolate/ops/table.js';
import { compressionOps } from '../../../../src/isolate/ops/web/compression.js';
import { GzipReader } from '../../../../src/isolate/ops/web/gzip-reader.js';
import { type Codec, ZlibCodec } from '../../../../src/isolate/ops/web/zlib-codec.js';

const FORMATS = [
  ['deflate', zlib.deflateSync, () => new ZlibCodec(zlib.createInflate())],
  ['deflate-raw', zlib.deflateRawSync, () => new ZlibCodec(zlib.createInflateRaw())],
  ['gzip', zlib.gzipSync, () => new GzipReader()],
  ['brotli', zlib.brotliCompressSync, () => new ZlibCodec(zlib.createBrotliDecompress())],
] as const;

async function drain(codec: Codec, chunks: readonly Uint8Array[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const steps = [...chunks.map(chunk => [chunk, false] as const), [new Uint8Array(0), true] as const];
  for (const [chunk, isLast] of steps) {
    let input = chunk;
    for (;;) {
      const piece = await codec.step(input, isLast);
      if (piece.length === 0) break;
      pieces.push(piece);
      input = new Uint8Array(0);
    }
  }
  codec.close();
  return Buffer.concat(pieces);
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}

for (const [format, compress, open] of FORMATS) {
  test(`decompress ${format} gives back the data however it is cut`, async t => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), fc.integer({ min: 1, max: 300 }), async (data, size) => {
        t.deepEqual(await drain(open(), cut(compress(data), size)), Buffer.from(data));
      }),
      { numRuns: 60 },
    );
  });

  test(`decompress ${format} fails when the data ends too early, whatever is missing`, async t => {
    const whole = compress(Buffer.from('some text that is worth compressing, some text'));
    for (let length = 0; length < whole.length; length++) {
      await rejects(t, drain(open(), [whole.subarray(0, length)]));
    }
  });

  test(`decompress ${format} fails when there is more data after the end, in the same chunk or another`, async t => {
    const whole = compress(Buffer.from('text'));
    for (const extra of [Buffer.from([0]), Buffer.from('x'), whole]) {
      await rejects(t, drain(open(), [Buffer.concat([whole, extra])]));
      await rejects(t, drain(open(), [whole, extra]));
      await rejects(t, drain(open(), [...cut(Buffer.concat([whole, extra]), 1)]));
    }
  });

  test(`decompress ${format} never ends the process, whatever it is given`, async t => {
    const whole = compress(Buffer.from('a text'.repeat(20)));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: whole.length - 1 }),
        fc.integer({ min: 0, max: 255 }),
        fc.integer({ min: 1, max: 40 }),
        async (at, value, size) => {
          const damaged = Buffer.from(whole);
          damaged[at] = value;
          await drain(open(), cut(damaged, size)).catch(() => {});
        },
      ),
      { numRuns: 100 },
    );
    t.pass();
  });
}

test('decompress answers pieces of bounded size when little unpacks to much', async t => {
  const bomb = zlib.gzipSync(Buffer.alloc(200 * 1024 * 1024));
  const codec = new GzipReader();
  let input: Uint8Array = bomb.subarray(0, 65_536);
  for (let i = 0; i < 20; i++) {
    const piece = await codec.step(input, false);
    t.true(piece.length > 0 && piece.length <= 256 * 1024);
    input = new Uint8Array(0);
  }
  codec.close();
});

/** Of an isolate that nothing is asked of. */
const CONTEXT: OpContext = {
  currentInvocation: () => 2,
  leaveBytes: () => 0,
  begin: () => 1,
  charge: () => {},
  placeOf: place => place,
  settle: () => {},
  hold: () => {},
  reserve: () => {},
  room: () => Number.MAX_SAFE_INTEGER,
};

test('CompressOpen closes the codec that rests longest when there are too many', t => {
  const ops = compressionOps(CONTEXT);
  const call = (op: Op, ...args: unknown[]): unknown => ops[op]?.(args[0], args[1], args[2], args[3]);
  const first = call(Op.CompressOpen, 2, 0);
  for (let i = 0; i < 128; i++) call(Op.CompressOpen, 2, 0);
  t.throws(() => call(Op.CompressWrite, first, new Uint8Array(1), 0), { any: true });
  for (let id = 2; id <= 129; id++) call(Op.CompressClose, id);
});

test('CompressWrite counts the window that a stream of Brotli asks for, before it is there, and CompressClose gives it back', async t => {
  const held: number[] = [];
  const works: Promise<unknown>[] = [];
  const context: OpContext = {
    ...CONTEXT,
    hold: bytes => held.push(bytes),
    begin: work => works.push(work),
  };
  const ops = compressionOps(context);
  for (let bits = 10; bits <= 24; bits++) {
    const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = zlib.constants;
    // The encoder makes the window as small as its hint allows, so the input is as long as the window.
    const params = { [BROTLI_PARAM_LGWIN]: bits, [BROTLI_PARAM_SIZE_HINT]: 0 };
    const first = zlib.brotliCompressSync(Buffer.alloc(1 << bits), { params }).subarray(0, 1);
    held.length = 0;
    const id = ops[Op.CompressOpen]?.(CompressFormat.Brotli, 1, undefined, undefined);
    const [before = 0] = held;
    t.true(before > 0);
    ops[Op.CompressWrite]?.(id, new Uint8Array(0), 0, undefined);
    t.is(held.length, 1);
    ops[Op.CompressWrite]?.(id, new Uint8Array(first), 0, undefined);
    t.deepEqual(held, [before, 1 << Math.max(bits, 10)]);
    ops[Op.CompressWrite]?.(id, new Uint8Array([0]), 0, undefined);
    ops[Op.CompressClose]?.(id, undefined, undefined, undefined);
    t.is(held.length, 3);
    t.is(
      held.reduce((sum, bytes) => sum + bytes),
      0,
    );
  }
  await Promise.allSettled(works);
});

for (const args of [
  [4, 0],
  [-1, 0],
  ['gzip', 0],
  [undefined, undefined],
  [Number.NaN, 0],
]) {
  test(`CompressOpen refuses ${JSON.stringify(args)}`, t => {
    const ops = compressionOps(CONTEXT);
    t.throws(() => ops[Op.CompressOpen]?.(args[0], args[1], undefined, undefined), { any: true });
  });
}

async function rejects(t: ExecutionContext, work: Promise<unknown>): Promise<void> {
  const isRejected = await work.then(
    () => false,
    () => true,
  );
  t.true(isRejected);
}
