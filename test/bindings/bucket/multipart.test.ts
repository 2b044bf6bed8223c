import { createHash } from 'node:crypto';
import test from 'ava';
import { multipartEtag } from '../../../src/bindings/bucket/store/uploads/check-parts.js';
import type { StoreUploadedPart } from '../../../src/bindings/bucket/types.js';
import { contract, contractWithClock, keysOf, MIN_PART_BYTES, openStore, sampleBytes, streamOf } from './stores.js';

const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest('hex');
const part = sampleBytes(MIN_PART_BYTES);
const DAY_MS = 24 * 3_600_000;

test('multipartEtag() is the MD5 of the MD5s and the count', t => {
  const etags = ['bce6bf66aeb76c7040fdd5f4eccb78e6', '8165449fc15bbf43d3b674595cbcc406'];
  t.is(multipartEtag(etags.map(etag => ({ etag }))), 'f77dc0eecdebcd774a2a22cb393ad2ff-2');
  t.is(multipartEtag([]), 'd41d8cd98f00b204e9800998ecf8427e-0');
});

contract('complete() puts the parts together in the order of their numbers', async (t, { bucket }) => {
  const upload = await bucket.createMultipartUpload('key', {
    httpMetadata: { contentType: 'a/b' },
    customMetadata: { x: 'y' },
    storageClass: 'InfrequentAccess',
  });
  const last = await upload.uploadPart(10_000, 'tail');
  const first = await upload.uploadPart(7, streamOf([part.slice(0, 3), part.slice(3)]));
  t.deepEqual(first, { partNumber: 7, etag: md5(part) });
  t.is(await bucket.head('key'), null);
  t.deepEqual(await keysOf(bucket), []);
  const object = await upload.complete([last, first]);
  t.is(object.etag, multipartEtag([first, last]));
  t.is(object.size, MIN_PART_BYTES + 4);
  t.deepEqual(object.checksums.toJSON(), {});
  t.deepEqual([object.httpMetadata, object.customMetadata], [{ contentType: 'a/b' }, { x: 'y' }]);
  t.is(object.storageClass, 'InfrequentAccess');
  const stored = await bucket.get('key');
  if (stored === null || !('body' in stored)) return t.fail();
  t.deepEqual(Buffer.from(await stored.arrayBuffer()), Buffer.concat([part, Buffer.from('tail')]));
});

contract('complete() makes an empty object of no parts', async (t, { bucket }) => {
  const object = await (await bucket.createMultipartUpload('key')).complete([]);
  t.is(object.etag, 'd41d8cd98f00b204e9800998ecf8427e-0');
  const stored = await bucket.get('key');
  t.is(stored !== null && 'body' in stored ? await stored.text() : '-', '');
});

contract('complete() drops the parts that are not named', async (t, { bucket, engine }) => {
  const upload = await bucket.createMultipartUpload('key');
  await upload.uploadPart(1, sampleBytes(100_000));
  t.is((await upload.complete([await upload.uploadPart(2, 'x')])).size, 1);
  t.deepEqual(await engine.listParts(upload.uploadId, 0, 10), { parts: [], truncated: false });
});

contract('uploadPart() replaces a part and its old etag is not accepted any more', async (t, { bucket }) => {
  const upload = await bucket.createMultipartUpload('key');
  const old = await upload.uploadPart(1, 'old');
  const now = await upload.uploadPart(1, 'new');
  await t.throwsAsync(upload.complete([old]), { code: 10025 });
  t.is((await upload.complete([now])).size, 3);
});

contract('complete() leaves the upload open when it fails, and checks in order', async (t, { bucket }) => {
  const upload = await bucket.createMultipartUpload('key');
  const small = await upload.uploadPart(1, 's');
  const whole = await upload.uploadPart(2, part);
  const larger = await upload.uploadPart(3, sampleBytes(MIN_PART_BYTES + 1));
  const wrong = { partNumber: 2, etag: 'x' };
  const cases: readonly [StoreUploadedPart[], number, RegExp][] = [
    [[small, wrong, wrong], 10001, /part 2 is named twice/],
    [[small, wrong], 10025, /part 2 has the etag/],
    [[small, { partNumber: 9, etag: 'x' }], 10025, /part 9 was not uploaded/],
    [[small, whole], 10011, /part 1 has 1 bytes, .* needs 16/],
    [[whole, larger], 10048, /the last part 3 has 17 bytes, part 2 has 16/],
    [[whole, larger, await upload.uploadPart(4, part)], 10048, /part 3 has 17 bytes, part 2 has 16/],
  ];
  for (const [parts, code, message] of cases) {
    const error = await t.throwsAsync(upload.complete(parts), { code, message });
    t.regex(error.message, new RegExp(`^completeMultipartUpload: .*\\(${code}\\)$`));
  }
  t.is(await bucket.head('key'), null);
  t.is((await upload.complete([whole])).size, MIN_PART_BYTES);
});

contract('an upload that is over takes no more parts', async (t, { bucket }) => {
  const completed = await bucket.createMultipartUpload('key');
  await completed.complete([await completed.uploadPart(1, 'x')]);
  const aborted = await bucket.createMultipartUpload('key');
  await aborted.abort();
  for (const upload of [completed, aborted]) {
    await t.throwsAsync(upload.uploadPart(1, 'x'), { code: 10024, message: /^uploadPart: / });
    await t.throwsAsync(upload.complete([]), { code: 10024, message: /^completeMultipartUpload: / });
    await t.notThrowsAsync(upload.abort());
  }
  t.is((await bucket.head('key'))?.size, 1);
});

contract(
  'an upload that never was, or is of another key, is 10024 for parts and 10001 to end',
  async (t, { bucket }) => {
    const real = await bucket.createMultipartUpload('key');
    for (const upload of [
      bucket.resumeMultipartUpload('key', 'unknown'),
      bucket.resumeMultipartUpload('key', 'x'.repeat(32)),
      bucket.resumeMultipartUpload('other', real.uploadId),
      bucket.resumeMultipartUpload('key', '../../x'),
    ]) {
      await t.throwsAsync(upload.uploadPart(1, 'x'), { code: 10024 });
      await t.throwsAsync(upload.complete([]), { code: 10001 });
      await t.throwsAsync(upload.abort(), { code: 10001, message: /^abortMultipartUpload: / });
    }
  },
);

contract('resumeMultipartUpload() is a handle to a real upload', async (t, { bucket }) => {
  const { uploadId } = await bucket.createMultipartUpload('key');
  const upload = bucket.resumeMultipartUpload('key', uploadId);
  t.is(upload.uploadId, uploadId);
  t.is((await upload.complete([await upload.uploadPart(1, 'x')])).size, 1);
});

contract('put() and delete() leave uploads open, complete() overwrites', async (t, { bucket }) => {
  const upload = await bucket.createMultipartUpload('key');
  const uploaded = await upload.uploadPart(1, 'from parts');
  await bucket.put('key', sampleBytes(100_000));
  await bucket.delete('key');
  await bucket.put('key', 'put');
  t.is((await upload.complete([uploaded])).size, 10);
  t.is((await bucket.head('key'))?.size, 10);
});

contract('an object in parts is read to its end after it was deleted', async (t, { bucket }) => {
  const bytes = sampleBytes(600_000);
  const upload = await bucket.createMultipartUpload('key');
  const parts = [];
  for (const number of [1, 2, 3])
    parts.push(await upload.uploadPart(number, bytes.subarray((number - 1) * 200_000, number * 200_000)));
  await upload.complete(parts);
  const object = await bucket.get('key');
  await bucket.delete('key');
  t.is(object !== null && 'body' in object ? md5(await object.bytes()) : '', md5(bytes));
});

contract('many parts of one upload can be sent at once', async (t, { bucket }) => {
  const upload = await bucket.createMultipartUpload('key');
  const numbers = Array.from({ length: 30 }, (_, index) => index + 1);
  const parts = await Promise.all(numbers.map(number => upload.uploadPart(number, part)));
  t.is((await upload.complete(parts)).size, 30 * MIN_PART_BYTES);
});

contract('uploadPart() needs a value and a part number from 1 to 10000', async (t, { bucket }) => {
  const upload = await bucket.createMultipartUpload('key');
  for (const number of [0, 10_001, 1.5, -1, Number.NaN]) {
    await t.throwsAsync(upload.uploadPart(number, 'x'), {
      instanceOf: TypeError,
      message: /^uploadPart: the part number/,
    });
    await t.throwsAsync(upload.complete([{ partNumber: number, etag: 'x' }]), { instanceOf: TypeError });
  }
  await t.throwsAsync(Reflect.apply(upload.uploadPart, upload, [1, null]), { instanceOf: TypeError });
});

contract('listParts() and listUploads() page in order', async (t, { engine }) => {
  const keys = ['a', 'a\0b', 'a\0', 'b', 'a'];
  const ids = [];
  for (const key of keys) ids.push((await engine.createUpload(key, {})).uploadId);
  const seen = [];
  let after: { afterKey?: string; afterUploadId?: string } = {};
  for (;;) {
    const { uploads, truncated } = await engine.listUploads({ ...after, limit: 2 });
    seen.push(...uploads);
    const last = uploads.at(-1);
    if (!truncated || last === undefined) break;
    after = { afterKey: last.key, afterUploadId: last.uploadId };
  }
  t.deepEqual(
    seen.map(upload => upload.key),
    ['a', 'a', 'a\0', 'a\0b', 'b'],
  );
  t.deepEqual(seen.map(upload => upload.uploadId).sort(), [...ids].sort());
  const one = await engine.listUploads({ prefix: 'a\0', afterKey: 'a', limit: 10 });
  t.deepEqual(
    one.uploads.map(upload => upload.key),
    ['a\0', 'a\0b'],
  );

  const [id = ''] = ids;
  for (const number of [3, 1, 2]) await engine.uploadPart('a', id, number, Buffer.from('x'), {});
  const page = await engine.listParts(id, 1, 1);
  t.deepEqual([page.parts.map(found => found.partNumber), page.truncated], [[2], true]);
  t.deepEqual((await engine.listParts(id, 2, 1)).truncated, false);
});

contractWithClock('an upload is aborted when it is 7 days old', async (t, { bucket, engine, clock }) => {
  const upload = await bucket.createMultipartUpload('key');
  const uploaded = await upload.uploadPart(1, 'x');
  clock.now += 7 * DAY_MS - 1;
  t.not(await engine.findUpload('key', upload.uploadId), null);
  clock.now += 1;
  t.is(await engine.findUpload('key', upload.uploadId), null);
  t.deepEqual((await engine.listUploads({ limit: 10 })).uploads, []);
  await t.throwsAsync(upload.complete([uploaded]), { code: 10024 });
  await t.throwsAsync(upload.uploadPart(2, 'x'), { code: 10024 });
  await t.notThrowsAsync(upload.abort());
});

test('complete() takes parts of 5 MiB and refuses smaller ones when nothing else is configured', async t => {
  const store = await openStore(t, 'memory', { minPartBytes: 5 * 2 ** 20 });
  const upload = await store.bucket.createMultipartUpload('key');
  const short = await upload.uploadPart(1, new Uint8Array(5 * 2 ** 20 - 1));
  const last = await upload.uploadPart(2, 'x');
  await t.throwsAsync(upload.complete([short, last]), { code: 10011 });
  const enough = await upload.uploadPart(1, new Uint8Array(5 * 2 ** 20));
  t.is((await upload.complete([enough, last])).size, 5 * 2 ** 20 + 1);
});

contractWithClock('an upload is aborted at the age it was begun with, or never', async (t, { engine, clock }) => {
  const begin = async (ageMs: number) => {
    const { uploadId } = await engine.createUpload('key', { ageMs });
    return { uploadId, part: await engine.uploadPart('key', uploadId, 1, Buffer.from('x'), {}) };
  };
  const short = await begin(1000);
  const endless = await begin(Number.POSITIVE_INFINITY);
  clock.now += 999;
  t.not(await engine.findUpload('key', short.uploadId), null);
  clock.now += 1;
  t.is(await engine.findUpload('key', short.uploadId), null);
  await t.throwsAsync(engine.completeUpload('key', short.uploadId, [short.part]), { code: 10024 });
  clock.now += 1000 * DAY_MS;
  t.is((await engine.completeUpload('key', endless.uploadId, [endless.part])).size, 1);
});
