import { Readable } from 'node:stream';
import test from 'ava';
import { createBucketClient } from '../../../../src/bindings/bucket/client/client.js';
import type { StoreObjectBody } from '../../../../src/bindings/bucket/types.js';
import { contract, sampleBytes } from '../stores.js';

function withBody(object: unknown): StoreObjectBody {
  if (typeof object === 'object' && object !== null && 'body' in object) return object as StoreObjectBody; // its class has both
  throw new Error('There is no body');
}

for (const size of [5, 100_000]) {
  contract(`the body of ${size} bytes is read once, and bodyUsed tells`, async (t, { bucket }) => {
    await bucket.put('key', 'x'.repeat(size));
    const methods = ['arrayBuffer', 'bytes', 'text', 'blob', 'json'] as const;
    for (const method of methods) {
      const object = withBody(await bucket.get('key'));
      t.false(object.bodyUsed);
      if (method === 'json') await t.throwsAsync(object.json(), { name: 'SyntaxError' });
      else await object[method]();
      t.true(object.bodyUsed);
      for (const second of methods) {
        await t.throwsAsync(object[second](), { instanceOf: TypeError, message: /read once, call body.tee\(\)/ });
      }
    }
  });

  contract(
    `the stream of ${size} bytes counts as used when it is read from or cancelled, not when it is looked at`,
    async (t, { bucket }) => {
      await bucket.put('key', 'x'.repeat(size));
      const read = withBody(await bucket.get('key'));
      t.is(read.body, read.body);
      t.false(read.bodyUsed);
      const reader = read.body.getReader();
      await reader.read();
      t.true(read.bodyUsed);
      await t.throwsAsync(read.text(), { instanceOf: TypeError });
      await reader.cancel();
      const cancelled = withBody(await bucket.get('key'));
      await cancelled.body.cancel();
      t.true(cancelled.bodyUsed);
      const locked = withBody(await bucket.get('key'));
      locked.body.getReader();
      await t.throwsAsync(locked.text(), { instanceOf: TypeError });
      const looked = withBody(await bucket.get('key'));
      t.is(typeof looked.body, 'object');
      t.is((await looked.text()).length, size);
    },
  );

  contract(`the stream of ${size} bytes serves readers with a buffer of their own`, async (t, { bucket }) => {
    await bucket.put('key', 'x'.repeat(size));
    const reader = withBody(await bucket.get('key')).body.getReader({ mode: 'byob' });
    let total = 0;
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(70_000));
      if (done) break;
      total += value.byteLength;
    }
    t.is(total, size);
  });
}

contract('json() and blob() say what was stored', async (t, { bucket }) => {
  await bucket.put('key', '{"a":[1]}', { httpMetadata: { contentType: 'application/json' } });
  t.deepEqual(await withBody(await bucket.get('key')).json(), { a: [1] });
  const blob = await withBody(await bucket.get('key')).blob();
  t.deepEqual([blob.type, blob.size], ['application/json', 9]);
});

contract('arrayBuffer() and bytes() are all of a buffer that nobody else has', async (t, { bucket }) => {
  await bucket.put('key', 'abc');
  const first = await withBody(await bucket.get('key')).arrayBuffer();
  t.is(first.byteLength, 3);
  new Uint8Array(first).fill(0);
  const bytes = await withBody(await bucket.get('key')).bytes();
  t.is(bytes.buffer.byteLength, 3);
  t.is(Buffer.from(bytes).toString(), 'abc');
});

contract('the buffer of a small value can be transferred', async (t, { bucket }) => {
  await bucket.put('key', 'abc');
  for (let turn = 0; turn < 3; turn++) {
    const { value } = await withBody(await bucket.get('key'))
      .body.getReader()
      .read();
    if (value === undefined) return t.fail();
    if (value.buffer instanceof ArrayBuffer) structuredClone(value, { transfer: [value.buffer] });
  }
  t.is(await withBody(await bucket.get('key')).text(), 'abc');
});

contract('writeHttpMetadata() sets its six headers and leaves the others alone', async (t, { bucket }) => {
  const stored = new Headers({
    'Content-Type': 'text/html',
    'Content-Language': 'da',
    'Content-Disposition': 'inline',
    'Content-Encoding': 'gzip',
    'Cache-Control': 'no-store',
    Expires: 'Thu, 01 Jan 1970 00:00:10 GMT',
    'X-Other': 'not kept',
  });
  await bucket.put('key', 'x', { httpMetadata: stored });
  const object = await bucket.head('key');
  t.deepEqual(object?.httpMetadata?.cacheExpiry, new Date(10_000));
  const headers = new Headers({ 'X-Mine': 'stays', 'Content-Type': 'goes' });
  object?.writeHttpMetadata(headers);
  stored.delete('X-Other');
  stored.set('X-Mine', 'stays');
  t.deepEqual([...headers], [...stored]);
});

contract('put() refuses what is no value', async (t, { bucket }) => {
  for (const value of [5, true, {}, [], Symbol('s'), () => {}]) {
    await t.throwsAsync(Reflect.apply(bucket.put, bucket, ['key', value]), {
      instanceOf: TypeError,
      message: /^put: the value is .*, it must be a ReadableStream/,
    });
  }
  const locked = new ReadableStream();
  locked.getReader();
  await t.throwsAsync(bucket.put('key', locked), { instanceOf: TypeError, message: /locked/ });
  await t.throwsAsync(
    bucket.put('key', Readable.toWeb(Readable.from(['text'], { objectMode: true })) as ReadableStream),
    {
      instanceOf: TypeError,
      message: /its chunks must be bytes/,
    },
  );
  t.is(await bucket.head('key'), null);
});

contract('keys become strings, as do the values of customMetadata', async (t, { bucket }) => {
  await Reflect.apply(bucket.put, bucket, [7, 'x', { customMetadata: { n: 1, b: true } }]);
  t.deepEqual((await bucket.head('7'))?.customMetadata, { n: '1', b: 'true' });
  await t.throwsAsync(Reflect.apply(bucket.head, bucket, [Symbol('s')]), { instanceOf: TypeError });
});

contract('customMetadata may have any name', async (t, { bucket }) => {
  const customMetadata = JSON.parse('{"__proto__":"p","constructor":"c","toJSON":"t","":"e"}');
  await bucket.put('key', 'x', { customMetadata });
  t.deepEqual(Object.entries((await bucket.head('key'))?.customMetadata ?? {}), Object.entries(customMetadata));
});

contract('get() leaves the stream of a large value to be cancelled', async (t, { bucket }) => {
  const bytes = sampleBytes(5_000_000);
  await bucket.put('key', bytes);
  const object = withBody(await bucket.get('key'));
  const reader = object.body.getReader();
  await reader.read();
  await reader.cancel();
  await bucket.delete('key');
  t.is(await bucket.head('key'), null);
});

test('createBucketClient() hands small values over without a stream', async t => {
  let streams = 0;
  class CountedStream extends ReadableStream<Uint8Array> {
    constructor() {
      super();
      streams++;
    }
  }
  const head = { key: 'k', version: 'v', size: 1, etag: 'e', uploaded: 0 };
  const client = createBucketClient<ReadableStream<Uint8Array>, Blob>({
    call: async () => ({ head: { ...head, hasBody: true }, body: new Uint8Array([120]) }),
    ReadableStream: CountedStream,
    Blob,
    TextDecoder,
    isDisturbed: () => false,
  });
  t.is(await withBody(await client.get('k')).text(), 'x');
  t.is(streams, 0);
});
