import test from 'ava';
import fc from 'fast-check';
import { parseRangeHeader, resolveRange } from '../../../src/bindings/bucket/byte-range.js';
import type { StoreRange } from '../../../src/bindings/bucket/types.js';
import { contract, MIN_PART_BYTES, sampleBytes } from './stores.js';

test('resolveRange() names the bytes that slice() would when there are any', t => {
  const size = fc.nat(50);
  const range = fc.oneof(
    fc.record({ kind: fc.constant('offset' as const), offset: fc.nat(60), length: fc.nat(60) }),
    fc.record({ kind: fc.constant('offset' as const), offset: fc.nat(60) }),
    fc.record({ kind: fc.constant('suffix' as const), suffix: fc.nat(60) }),
  );
  fc.assert(
    fc.property(size, range, (bytes, given) => {
      const whole = Array.from({ length: bytes }, (_, index) => index);
      const expected =
        given.kind === 'suffix'
          ? given.suffix === 0
            ? []
            : whole.slice(-given.suffix)
          : whole.slice(given.offset, 'length' in given ? given.offset + given.length : undefined);
      const resolved = resolveRange(given, bytes);
      const found = resolved === undefined ? [] : whole.slice(resolved.offset, resolved.offset + resolved.length);
      return JSON.stringify(found) === JSON.stringify(expected) && (resolved === undefined || found.length > 0);
    }),
  );
  t.pass();
});

const HEADERS: readonly (readonly [string, ReturnType<typeof parseRangeHeader>])[] = [
  ['bytes=0-0', { kind: 'offset', offset: 0, length: 1 }],
  ['bytes=2-', { kind: 'offset', offset: 2 }],
  ['bytes=-3', { kind: 'suffix', suffix: 3 }],
  ['Bytes = 1-2', { kind: 'offset', offset: 1, length: 2 }],
  ['bytes=2-1', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=-', undefined],
  ['items=0-1', undefined],
  ['', undefined],
];

for (const [header, range] of HEADERS) {
  test(`parseRangeHeader() reads "${header}"`, t => t.deepEqual(parseRangeHeader(header), range));
}

const RANGES: readonly (readonly [StoreRange, offset: number, length: number])[] = [
  [{ offset: 0 }, 0, 10],
  [{ offset: 9 }, 9, 1],
  [{ offset: 2, length: 3 }, 2, 3],
  [{ offset: 8, length: 99 }, 8, 2],
  [{ length: 4 }, 0, 4],
  [{ suffix: 1 }, 9, 1],
  [{ suffix: 99 }, 0, 10],
];

contract('get() returns the bytes of each form of range', async (t, { bucket }) => {
  await bucket.put('key', '0123456789');
  for (const [range, offset, length] of RANGES) {
    const object = await bucket.get('key', { range });
    if (object === null || !('body' in object)) return t.fail();
    t.deepEqual(object.range, { offset, length });
    t.is(object.size, 10);
    t.is(await object.text(), '0123456789'.slice(offset, offset + length));
  }
});

const IMPOSSIBLE: readonly StoreRange[] = [
  { suffix: 0 },
  { offset: 0, length: 0 },
  { offset: 10 },
  { offset: 11, length: 1 },
];

contract('get() rejects with 10039 when the range has no byte', async (t, { bucket }) => {
  await bucket.put('key', '0123456789');
  await bucket.put('empty', '');
  for (const range of IMPOSSIBLE)
    await t.throwsAsync(bucket.get('key', { range }), { message: /^get: .*\(10039\)$/, code: 10039 });
  await t.throwsAsync(bucket.get('empty', { range: { offset: 0 } }), { code: 10039 });
  await t.throwsAsync(bucket.get('empty', { range: { suffix: 5 } }), { code: 10039 });
});

contract('get() refuses ranges that are none before it looks for the key', async (t, { bucket }) => {
  for (const range of [
    { offset: -1 },
    { offset: 1.5 },
    { offset: 0, length: -1 },
    { suffix: -1 },
    { suffix: Number.NaN },
  ]) {
    await t.throwsAsync(bucket.get('none', { range }), { instanceOf: RangeError, message: /^get: range\./ });
  }
  const both: StoreRange = { suffix: 1 };
  await t.throwsAsync(bucket.get('none', { range: Object.assign({}, both, { offset: 0 }) }), { instanceOf: TypeError });
});

contract('get() takes the range of a Range header, and ignores what it cannot serve', async (t, { bucket }) => {
  await bucket.put('key', '0123456789');
  for (const [header, text] of [
    ['bytes=2-3', '23'],
    ['bytes=-2', '89'],
    ['bytes=0-1,4-5', '0123456789'],
    ['bytes=50-60', '0123456789'],
    ['nonsense', '0123456789'],
  ] as const) {
    const object = await bucket.get('key', { range: new Headers({ Range: header }) });
    t.is(object !== null && 'body' in object ? await object.text() : undefined, text, header);
  }
});

contract('get() returns any range of an object in parts, in records and files', async (t, { bucket }) => {
  const size = 70_000;
  const bytes = sampleBytes(size * 2 + MIN_PART_BYTES);
  const upload = await bucket.createMultipartUpload('key');
  const parts = [];
  for (let number = 1; number <= 3; number++) {
    parts.push(await upload.uploadPart(number, bytes.subarray((number - 1) * size, number * size)));
  }
  await upload.complete(parts);
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: bytes.length }), async (offset, length) => {
      const object = await bucket.get('key', { range: { offset, length } });
      if (object === null || !('body' in object)) return false;
      return Buffer.compare(await object.bytes(), bytes.subarray(offset, offset + length)) === 0;
    }),
    {
      numRuns: 60,
      examples: [
        [0, bytes.length],
        [size - 1, 2],
        [size, 1],
        [size * 2, MIN_PART_BYTES],
      ],
    },
  );
  t.pass();
});

contract(
  'get(), list() and uploadPart() quote numbers that JSON cannot write as they were given',
  async (t, { bucket }) => {
    await bucket.put('key', '0123456789');
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const ranges: readonly StoreRange[] = [{ offset: number }, { length: number }, { suffix: number }];
      for (const range of ranges) {
        const [name] = Object.keys(range);
        await t.throwsAsync(bucket.get('key', { range }), {
          instanceOf: RangeError,
          message: `get: range.${name} is ${number}, it must be a whole number of at least 0`,
        });
      }
      await t.throwsAsync(bucket.list({ limit: number }), {
        message: `list: limit is ${number}, it must be a whole number from 1 to 1000 (10022)`,
      });
      const upload = bucket.resumeMultipartUpload('key', 'none');
      await t.throwsAsync(upload.uploadPart(number, 'x'), {
        instanceOf: TypeError,
        message: new RegExp(`number is ${number},`),
      });
      await t.throwsAsync(upload.complete([{ partNumber: number, etag: 'x' }]), {
        message: new RegExp(`number is ${number},`),
      });
    }
  },
);

contract('a key that is undefined is refused, and nothing is deleted', async (t, { bucket }) => {
  await bucket.put('undefined', 'kept');
  const none: never = undefined as never; // What TypeScript refuses as well.
  for (const [method, call] of [
    ['head', () => bucket.head(none)],
    ['get', () => bucket.get(none)],
    ['put', () => bucket.put(none, 'x')],
    ['delete', () => Reflect.apply(bucket.delete, bucket, [])],
    ['delete', () => bucket.delete(['a', none])],
    ['createMultipartUpload', () => bucket.createMultipartUpload(none)],
  ] as const) {
    await t.throwsAsync(call, {
      instanceOf: TypeError,
      message: `${method}: the key is undefined, it must be a string`,
    });
  }
  t.is(await (await bucket.get('undefined'))?.text(), 'kept');
});
