import { createHash } from 'node:crypto';
import { contract, keysOf, sampleBytes, streamOf } from './stores.js';

const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest('hex');

for (const size of [0, 1, 2048, 2049, 65_536, 65_537, 3_000_000]) {
  contract(`get() returns the bytes that put() stored when they are ${size}`, async (t, { bucket }) => {
    const bytes = sampleBytes(size);
    const put = await bucket.put('key', bytes);
    const object = await bucket.get('key');
    t.is(put?.etag, md5(bytes));
    t.is(object?.size, size);
    t.true(object !== null && 'body' in object);
    if (object !== null && 'body' in object) t.is(md5(await object.bytes()), md5(bytes));
  });

  contract(`put() takes a stream of ${size} bytes in uneven chunks`, async (t, { bucket }) => {
    const bytes = sampleBytes(size);
    const cuts = [0, 1, 2, 700, 70_000, 70_001, size].filter(cut => cut <= size);
    const chunks = cuts.map((cut, index) => bytes.slice(cut, cuts[index + 1] ?? size));
    t.is((await bucket.put('key', streamOf(chunks)))?.etag, md5(bytes));
    const object = await bucket.get('key');
    t.true(object !== null && 'body' in object);
    if (object !== null && 'body' in object) t.is(md5(await object.bytes()), md5(bytes));
  });
}

contract('put() returns what was stored when every option is given', async (t, { bucket, now }) => {
  const sha256 = createHash('sha256').update('hello').digest();
  const object = await bucket.put('key', 'hello', {
    httpMetadata: { contentType: 'text/plain', cacheExpiry: new Date(86_400_000) },
    customMetadata: { a: '1', __proto__x: 'y' },
    sha256: sha256.toString('hex').toUpperCase(),
    storageClass: 'InfrequentAccess',
  });
  t.is(object?.key, 'key');
  t.is(object?.size, 5);
  t.is(object?.httpEtag, `"${md5('hello')}"`);
  t.deepEqual(object?.uploaded, new Date(now));
  t.deepEqual(object?.httpMetadata, { contentType: 'text/plain', cacheExpiry: new Date(86_400_000) });
  t.deepEqual(object?.customMetadata, { a: '1', __proto__x: 'y' });
  t.is(object?.storageClass, 'InfrequentAccess');
  t.deepEqual(object?.checksums.toJSON(), { md5: md5('hello'), sha256: sha256.toString('hex') });
  t.deepEqual(new Uint8Array(object?.checksums.sha256 ?? new ArrayBuffer(0)), new Uint8Array(sha256));
  t.is(object?.range, undefined);
  const { range, ...head } = JSON.parse(JSON.stringify(await bucket.head('key')));
  t.deepEqual(head, JSON.parse(JSON.stringify(object)));
  t.deepEqual(range, { offset: 0, length: 5 });
});

contract('put() gives each upload of a key its own version', async (t, { bucket }) => {
  const first = await bucket.put('key', 'same');
  const second = await bucket.put('key', 'same');
  t.not(first?.version, second?.version);
  t.is(first?.etag, second?.etag);
});

contract('put() stores an empty object when the value is null', async (t, { bucket }) => {
  t.is((await bucket.put('key', null))?.size, 0);
  t.is((await bucket.head('key'))?.etag, 'd41d8cd98f00b204e9800998ecf8427e');
});

for (const [title, value, text] of [
  ['a string', 'gr\u00fc\u00df', 'gr\u00fc\u00df'],
  ['an ArrayBuffer', new TextEncoder().encode('abc').buffer, 'abc'],
  ['a view of part of a buffer', new DataView(new TextEncoder().encode('xabcx').buffer, 1, 3), 'abc'],
  ['a Blob', new Blob(['abc']), 'abc'],
  ['a large Blob', new Blob(['a'.repeat(600_000)]), 'a'.repeat(600_000)],
] as const) {
  contract(`put() takes ${title}`, async (t, { bucket }) => {
    await bucket.put('key', value);
    const object = await bucket.get('key');
    if (object !== null && 'body' in object) t.is(await object.text(), text);
    else t.fail();
  });
}

contract('put() keeps what the buffer held when it was called', async (t, { bucket }) => {
  const bytes = new Uint8Array([1, 2, 3]);
  const putting = bucket.put('key', bytes);
  bytes.fill(9);
  await putting;
  const object = await bucket.get('key');
  if (object !== null && 'body' in object) t.deepEqual(await object.bytes(), new Uint8Array([1, 2, 3]));
  else t.fail();
});

contract('put() takes the body of a ranged get', async (t, { bucket }) => {
  for (const size of [10, 200_000]) {
    const bytes = sampleBytes(size);
    await bucket.put('from', bytes);
    const ranged = await bucket.get('from', { range: { offset: 3, length: size - 5 } });
    if (ranged === null || !('body' in ranged)) return t.fail();
    const put = await bucket.put('to', ranged.body);
    t.is(put?.etag, md5(bytes.subarray(3, size - 2)));
    t.true(ranged.bodyUsed);
  }
});

contract('put() stores nothing and cancels the stream when the stream fails a checksum', async (t, { bucket }) => {
  const chunks = [sampleBytes(100_000), sampleBytes(10)];
  await t.throwsAsync(bucket.put('key', streamOf(chunks), { md5: '0'.repeat(32) }), {
    message: /^put: the MD5 .*\(10037\)$/,
  });
  t.is(await bucket.head('key'), null);
});

contract('put() rejects with the error of the stream and stores nothing', async (t, { bucket }) => {
  await bucket.put('key', 'old');
  const failing = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(sampleBytes(100_000)),
    pull: () => Promise.reject(new Error('the sender went away')),
  });
  await t.throwsAsync(bucket.put('key', failing), { message: 'the sender went away' });
  t.is((await bucket.head('key'))?.etag, md5('old'));
});

contract('head() and get() answer null when the key does not exist', async (t, { bucket }) => {
  t.is(await bucket.head('none'), null);
  t.is(await bucket.get('none'), null);
  t.is(await bucket.get('none', { onlyIf: { etagMatches: 'x' }, range: { suffix: 1 } }), null);
});

contract('delete() removes one key, many keys, and is silent about keys that do not exist', async (t, { bucket }) => {
  for (const key of ['a', 'b', 'c', 'd']) await bucket.put(key, sampleBytes(70_000));
  await bucket.delete('a');
  await bucket.delete(['b', 'none', 'c', 'c']);
  t.deepEqual(await keysOf(bucket), ['d']);
});

contract('get() delivers the old bytes when the key is replaced or deleted while it is read', async (t, { bucket }) => {
  const old = sampleBytes(2_000_000, 1);
  for (const change of [() => bucket.put('key', sampleBytes(2_000_000, 2)), () => bucket.delete('key')]) {
    await bucket.put('key', old);
    const object = await bucket.get('key');
    if (object === null || !('body' in object)) return t.fail();
    const reader = object.body.getReader();
    const chunks = [(await reader.read()).value ?? new Uint8Array(0)];
    await change();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
    }
    t.is(md5(Buffer.concat(chunks)), md5(old));
  }
});

contract('keys are compared in NFC, and list() returns the form last uploaded', async (t, { bucket }) => {
  await bucket.put('e\u0301', 'decomposed');
  await bucket.put('\u00e9', 'composed');
  t.deepEqual(await keysOf(bucket), ['\u00e9']);
  await bucket.put('e\u0301', 'decomposed');
  t.deepEqual(await keysOf(bucket), ['e\u0301']);
  t.is((await bucket.head('\u00e9'))?.key, 'e\u0301');
  await bucket.delete('\u00e9');
  t.deepEqual(await keysOf(bucket), []);
});

contract('keys may be empty, hold any character, and be 1024 bytes long', async (t, { bucket }) => {
  const keys = ['', '\0', '/', '//', '../x', 'a\0b', '\u{1f600}', '\ud800', 'k'.repeat(1024)];
  for (const key of keys) await bucket.put(key, key);
  for (const key of keys) {
    const object = await bucket.get(key);
    if (object !== null && 'body' in object) t.is(await object.text(), key.replace('\ud800', '\ufffd'));
    else t.fail(key);
  }
  t.is((await keysOf(bucket)).length, keys.length);
});

contract('put() of one key by many at once leaves one of them whole', async (t, { bucket }) => {
  const bodies = Array.from({ length: 20 }, (_, index) => sampleBytes(1000 * index * index, index));
  const puts = await Promise.all(bodies.map(body => bucket.put('key', body)));
  const object = await bucket.get('key');
  if (object === null || !('body' in object)) return t.fail();
  const stored = md5(await object.bytes());
  t.is(stored, object.etag);
  t.is(puts.find(put => put?.version === object.version)?.etag, stored);
});
