import { sampleBytes, streamOf } from '../bucket/stores.js';
import { contract } from './stores.js';

contract('get() returns what was put, as each of the four types', async (t, { kv }) => {
  await kv.put('a', '{"b":[1,"é"]}');
  t.is(await kv.get('a'), '{"b":[1,"é"]}');
  t.is(await kv.get('a', 'text'), '{"b":[1,"é"]}');
  t.deepEqual(await kv.get('a', 'json'), { b: [1, 'é'] });
  t.deepEqual(await kv.get('a', { type: 'json', cacheTtl: 30 }), { b: [1, 'é'] });
  t.deepEqual(Buffer.from((await kv.get('a', 'arrayBuffer')) ?? new ArrayBuffer(0)).toString(), '{"b":[1,"é"]}');
  t.is(await textOf(await kv.get('a', 'stream')), '{"b":[1,"é"]}');
});

contract('get() returns null for a key that is not there, whatever the type', async (t, { kv }) => {
  t.is(await kv.get('a'), null);
  t.is(await kv.get('a', 'json'), null);
  t.is(await kv.get('a', 'arrayBuffer'), null);
  t.is(await kv.get('a', 'stream'), null);
  t.deepEqual(await kv.getWithMetadata('a'), { value: null, metadata: null, cacheStatus: null });
});

contract('get() rejects with a SyntaxError for a value that is no JSON', async (t, { kv }) => {
  await kv.put('a', 'b');
  await t.throwsAsync(kv.get('a', 'json'), { name: 'SyntaxError' });
});

contract('get() replaces bytes that are no UTF-8', async (t, { kv }) => {
  await kv.put('a', new Uint8Array([0x61, 0xff, 0x62]));
  t.is(await kv.get('a'), 'a\ufffdb');
});

contract(
  'values of every size come back whole, from a buffer and from a stream of unknown length',
  async (t, { kv }) => {
    for (const size of [0, 1, 2048, 2049, 65_536, 65_537, 1_000_000]) {
      const bytes = sampleBytes(size);
      await kv.put('whole', bytes);
      await kv.put('stream', streamOf([bytes.subarray(0, size / 2), bytes.subarray(size / 2)]));
      for (const key of ['whole', 'stream']) {
        t.true(
          Buffer.from(bytes).equals(Buffer.from((await kv.get(key, 'arrayBuffer')) ?? new ArrayBuffer(1))),
          `${key} ${size}`,
        );
        const stream = await kv.get(key, 'stream');
        t.true(
          Buffer.from(bytes).equals(Buffer.concat(stream === null ? [] : await chunksOf(stream))),
          `${key} ${size}`,
        );
      }
    }
  },
);

contract('put() takes buffers, views of them, and makes text of primitive values', async (t, { kv }) => {
  const bytes = new Uint8Array([1, 2, 3, 4]);
  await kv.put('a', bytes.buffer);
  await kv.put('b', bytes.subarray(1, 3));
  await kv.put('c', new DataView(bytes.buffer, 3));
  t.deepEqual([...new Uint8Array((await kv.get('a', 'arrayBuffer')) ?? new ArrayBuffer(0))], [1, 2, 3, 4]);
  t.deepEqual([...new Uint8Array((await kv.get('b', 'arrayBuffer')) ?? new ArrayBuffer(0))], [2, 3]);
  t.deepEqual([...new Uint8Array((await kv.get('c', 'arrayBuffer')) ?? new ArrayBuffer(0))], [4]);
  for (const value of [1.5, true, 12n, null, undefined, '']) {
    await kv.put('d', value);
    t.is(await kv.get('d'), `${value}`);
  }
});

contract('put() refuses other objects with the TypeError of the platform', async (t, { kv }) => {
  for (const value of [{}, [], new Date(), new Blob(['a']), () => {}, Symbol('a')]) {
    const put: (key: string, value: never) => Promise<void> = kv.put;
    await t.throwsAsync(put('a', value as never), {
      name: 'TypeError',
      message: 'KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.',
    });
  }
  t.is(await kv.get('a'), null);
});

contract('put() takes a copy of the buffer at once', async (t, { kv }) => {
  const bytes = new Uint8Array([1, 1]);
  const done = kv.put('a', bytes);
  bytes.fill(2);
  await done;
  t.deepEqual([...new Uint8Array((await kv.get('a', 'arrayBuffer')) ?? new ArrayBuffer(0))], [1, 1]);
});

contract('put() replaces the value with its metadata and its expiry', async (t, { kv }) => {
  await kv.put('a', '1', { metadata: { b: 1 }, expirationTtl: 60 });
  await kv.put('a', '2');
  t.deepEqual(await kv.getWithMetadata('a'), { value: '2', metadata: null, cacheStatus: null });
  t.deepEqual((await kv.list()).keys, [{ name: 'a' }]);
});

contract('getWithMetadata() returns the metadata that was put: anything that JSON holds', async (t, { kv }) => {
  for (const metadata of [{ a: [1, { b: null }] }, [1], 'text', 0, false, null]) {
    await kv.put('a', 'v', { metadata });
    t.deepEqual(await kv.getWithMetadata('a'), { value: 'v', metadata, cacheStatus: null });
  }
  await kv.put('a', 'v', { metadata: { kept: 1, lost: undefined } });
  t.deepEqual(await kv.getWithMetadata('a', 'json').catch(() => null), null);
  t.deepEqual((await kv.getWithMetadata('a')).metadata, { kept: 1 });
});

contract('delete() removes the key, and does nothing when there is none', async (t, { kv, storage }) => {
  const before = await storage.context.sums.read('acme');
  await kv.put('a', 'v', { expirationTtl: 60, metadata: 1 });
  await kv.put('b', new Uint8Array(100_000));
  t.is(await kv.delete('a'), undefined);
  await kv.delete('b');
  await kv.delete('b');
  t.is(await kv.get('a'), null);
  t.deepEqual(await storage.context.sums.read('acme'), before);
});

contract('a key is any text, and a number is one, too', async (t, { kv }) => {
  for (const key of ['/', 'a/../b', '?', '%', '%41', 'a b', '\u0000', '\n', '__proto__', '日本', '\u{1f600}', '...']) {
    await kv.put(key, key);
    t.is(await kv.get(key), key);
    await kv.delete(key);
  }
  const numeric: { put(key: unknown, value: string): Promise<void> } = kv;
  await numeric.put(5, 'v');
  t.is(await kv.get('5'), 'v');
});

contract('keys that differ in their normal form are two', async (t, { kv }) => {
  await kv.put('\u00e9', 'composed');
  await kv.put('e\u0301', 'decomposed');
  t.is(await kv.get('\u00e9'), 'composed');
  t.is(await kv.get('e\u0301'), 'decomposed');
});

contract('a lone surrogate in a key is U+FFFD', async (t, { kv }) => {
  await kv.put('a\ud800', 'v');
  t.is(await kv.get('a\ufffd'), 'v');
  t.deepEqual((await kv.list({ prefix: 'a\udfff' })).keys, [{ name: 'a\ufffd' }]);
});

contract(
  'get() of many keys returns a Map in the order asked, with null for those that are not there',
  async (t, { kv }) => {
    await kv.put('a', '1', { metadata: 'm' });
    await kv.put('b', '{"x":1}');
    await kv.put('c', sampleBytes(100_000));
    await kv.put('empty', '');
    t.deepEqual(
      [...(await kv.get(['b', 'none', 'a', 'b', 'empty']))],
      [
        ['b', '{"x":1}'],
        ['none', null],
        ['a', '1'],
        ['empty', ''],
      ],
    );
    t.deepEqual(
      [...(await kv.get(['b', 'a', 'none'], 'json'))],
      [
        ['b', { x: 1 }],
        ['a', 1],
        ['none', null],
      ],
    );
    t.deepEqual(
      [...(await kv.getWithMetadata(['none', 'a', 'b']))],
      [
        ['none', null],
        ['a', { value: '1', metadata: 'm' }],
        ['b', { value: '{"x":1}', metadata: null }],
      ],
    );
    const large = await kv.get(['a', 'c', 'b']);
    t.is(large.get('c'), Buffer.from(sampleBytes(100_000)).toString());
    t.is(large.get('b'), '{"x":1}');
  },
);

contract('get() of many keys fails when one of them has no JSON', async (t, { kv }) => {
  await kv.put('a', '1');
  await kv.put('b', 'x');
  await t.throwsAsync(kv.get(['a', 'b'], 'json'), {
    message: 'KV GET_BULK failed: 400 At least one of the requested keys corresponds to a non-json value',
  });
});

contract('reads and writes of one key at the same time never show half a value', async (t, { kv }) => {
  const values = [10, 3000, 100_000].map((size, index) => `${index}`.repeat(size));
  const write = async (): Promise<void> => {
    for (let turn = 0; turn < 6; turn++) await kv.put('a', values[turn % values.length] ?? '');
  };
  const read = async (): Promise<void> => {
    for (let turn = 0; turn < 12; turn++) {
      const value = await kv.get('a');
      t.true(value === null || values.includes(value));
      const [many] = (await kv.get(['a'])).values();
      t.true(many === null || many === undefined || values.includes(many));
    }
  };
  await Promise.all([write(), write(), read(), read()]);
});

async function chunksOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return chunks;
    chunks.push(value);
  }
}

async function textOf(stream: ReadableStream<Uint8Array> | null): Promise<string> {
  return stream === null ? 'no stream' : Buffer.concat(await chunksOf(stream)).toString();
}
