import { readFile } from 'node:fs/promises';
import test from 'ava';
import fc from 'fast-check';
import type { BucketEngine } from '../../../src/bindings/bucket/engine.js';
import { BUCKET_ERRORS, BucketError, bucketErrorCode } from '../../../src/bindings/bucket/errors.js';
import { hostBucket } from '../../../src/bindings/bucket/host-bucket.js';
import { BUCKET_LIMITS } from '../../../src/bindings/bucket/limits.js';
import { bucketBehaviour, bucketService } from '../../../src/bindings/bucket/service.js';
import { bucketBody } from '../../../src/bindings/bucket/store/hash-body.js';
import type { ServiceBody } from '../../../src/bindings/service.js';
import { receiveBody } from '../../../src/bindings/stored-values/receive-body.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { contract, sampleBytes, streamOf } from './stores.js';

const METHODS = [
  'head',
  'get',
  'put',
  'delete',
  'list',
  'createMultipartUpload',
  'uploadPart',
  'completeMultipartUpload',
  'abortMultipartUpload',
];

function call(engine: BucketEngine, method: string, args: unknown, body: ServiceBody | null = null) {
  return bucketService(async () => engine)({
    method,
    args,
    body,
    signal: new AbortController().signal,
    work: OWN_WORK,
  });
}

test('BucketError has the message of its method, and a code that is not enumerable', t => {
  const error = new BucketError('put', 10012);
  t.is(error.message, 'put: the metadata is too large (10012)');
  t.is(String(error), 'Error: put: the metadata is too large (10012)');
  t.deepEqual([error.code, error.status, Object.keys(error)], [10012, 400, []]);
  t.is(bucketErrorCode(error), 10012);
  t.is(bucketErrorCode({ code: 7 }), undefined);
  t.is(bucketErrorCode({ code: 'toString' }), undefined);
});

test('BUCKET_ERRORS has the statuses that clients know', t => {
  const statuses = Object.entries(BUCKET_ERRORS).map(([code, { status }]) => [Number(code), status]);
  t.deepEqual(Object.fromEntries(statuses), {
    10001: 500,
    10005: 400,
    10006: 404,
    10007: 404,
    10008: 409,
    10011: 400,
    10012: 400,
    10020: 400,
    10022: 400,
    10024: 404,
    10025: 400,
    10027: 400,
    10031: 412,
    10037: 400,
    10039: 416,
    10048: 400,
    100100: 400,
  });
});

contract('a key of 1024 bytes is taken and one of 1025 is 10020, at every method', async (t, { bucket }) => {
  for (const character of ['k', '\u00e9', '\u{1f600}']) {
    const most = character.repeat(BUCKET_LIMITS.keyBytes / Buffer.byteLength(character));
    const key = `${most}k`;
    await bucket.put(most, 'x');
    t.not(await bucket.head(most), null);
    const upload = bucket.resumeMultipartUpload(key, 'x');
    const calls: Record<string, () => Promise<unknown>> = {
      head: () => bucket.head(key),
      get: () => bucket.get(key),
      put: () => bucket.put(key, 'x'),
      delete: () => bucket.delete(['a', key]),
      createMultipartUpload: () => bucket.createMultipartUpload(key),
      uploadPart: () => upload.uploadPart(1, 'x'),
      completeMultipartUpload: () => upload.complete([]),
      abortMultipartUpload: () => upload.abort(),
    };
    for (const [method, run] of Object.entries(calls)) {
      await t.throwsAsync(run(), {
        code: 10020,
        message: new RegExp(`^${method}: the key has 102[5-9] bytes.*\\(10020\\)$`),
      });
    }
  }
});

contract('custom metadata of 8192 bytes is taken and of 8193 is 10012', async (t, { bucket }) => {
  const customMetadata = { ab: '\u00e9'.repeat(4095) };
  await bucket.put('key', 'x', { customMetadata });
  await bucket.createMultipartUpload('key', { customMetadata });
  customMetadata.ab += 'x';
  await t.throwsAsync(bucket.put('key', 'x', { customMetadata }), {
    code: 10012,
    message: /^put: customMetadata has 8193 bytes/,
  });
  await t.throwsAsync(bucket.createMultipartUpload('key', { customMetadata }), {
    code: 10012,
    message: /^createMultipartUpload: /,
  });
});

contract('delete() takes 1 to 1000 keys, else it is 10027 and nothing is deleted', async (t, { bucket }) => {
  await bucket.put('k0', 'x');
  const keys = Array.from({ length: 1001 }, (_, index) => `k${index}`);
  await t.throwsAsync(bucket.delete(keys), { code: 10027, message: /^delete: 1001 keys/ });
  await t.throwsAsync(bucket.delete([]), { code: 10027 });
  t.not(await bucket.head('k0'), null);
  await bucket.delete(keys.slice(0, 1000));
  t.is(await bucket.head('k0'), null);
});

contract('put() verifies every hash, and names the one that is wrong', async (t, { bucket }) => {
  const bytes = { md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 };
  for (const [name, length] of Object.entries(bytes)) {
    const title = name === 'md5' ? 'MD5' : name.replace('sha', 'SHA-');
    for (const value of [
      'ab'.repeat(length),
      new Uint8Array(length).fill(0xab),
      new Uint8Array(length).fill(0xab).buffer,
    ]) {
      await t.throwsAsync(bucket.put('key', 'x', { [name]: value }), {
        code: 10037,
        message: new RegExp(`^put: the ${title} checksum given, (ab)+, .*[0-9a-f]{${length * 2}} \\(10037\\)$`),
      });
    }
    for (const value of ['ab'.repeat(length - 1), 'zz'.repeat(length), new Uint8Array(length + 1), 5, null]) {
      await t.throwsAsync(bucket.put('key', 'x', { [name]: value }), {
        instanceOf: TypeError,
        message: new RegExp(`^put: ${name} is`),
      });
    }
  }
  t.is(await bucket.head('key'), null);
});

contract('httpMetadata refuses line breaks, and values that are no strings', async (t, { bucket }) => {
  for (const value of ['a\r\nX-Injected: 1', 'a\nb', 'a\0b', 5, null, {}]) {
    const httpMetadata = Object.assign({}, { contentType: value });
    await t.throwsAsync(Reflect.apply(bucket.put, bucket, ['key', 'x', { httpMetadata }]), { instanceOf: TypeError });
  }
  for (const Expires of ['soon', '3600', '2030-01-02T03:04:05']) {
    await t.throwsAsync(bucket.put('key', 'x', { httpMetadata: new Headers({ Expires }) }), {
      instanceOf: TypeError,
      message: /the Expires header is .*, expected an HTTP date such as/,
    });
  }
  await t.throwsAsync(bucket.put('key', 'x', { httpMetadata: { cacheExpiry: new Date(Number.NaN) } }), {
    instanceOf: TypeError,
  });
  await t.throwsAsync(bucket.put('key', 'x', { httpMetadata: { contentType: 'x'.repeat(8193) } }), { code: 10012 });
});

contract('storageClass is one of two', async (t, { bucket }) => {
  await t.throwsAsync(Reflect.apply(bucket.put, bucket, ['key', 'x', { storageClass: 'Glacier' }]), {
    instanceOf: TypeError,
    message: 'put: storageClass is "Glacier", it must be "Standard" or "InfrequentAccess"',
  });
});

test('receiveBody() rejects with 100100 and gives everything back when the body is larger than one upload', async t => {
  const log: string[] = [];
  const writer = {
    id: 'f',
    write: () => undefined,
    finish: async () => {},
    done: () => {},
    abandon: async () => void log.push('abandoned'),
  };
  const blobs = {
    create: async () => writer,
    open: () => Promise.reject(new Error('never opened')),
    remove: async () => {},
  };
  const chunk = new Uint8Array(16);
  // Says that it is large, so that 5 GiB need not be moved.
  Object.defineProperty(chunk, 'byteLength', { value: BUCKET_LIMITS.uploadBytes });
  const body = (chunks: readonly Uint8Array[]) => ({
    async *[Symbol.asyncIterator]() {
      try {
        yield* chunks;
      } finally {
        log.push('body over');
      }
    },
  });
  const options = () => ({ ...bucketBody('put', {}, OWN_WORK), blobs, signal: undefined, work: OWN_WORK });
  t.is((await receiveBody(body([chunk]), options())).size, BUCKET_LIMITS.uploadBytes);
  await t.throwsAsync(receiveBody(body([chunk, new Uint8Array(1)]), options()), {
    code: 100100,
    message: /^put: the value is larger/,
  });
  t.deepEqual(log, ['body over', 'body over', 'abandoned']);
});

test('bucketBehaviour() honours include from 2022-08-04 on or with the flag', t => {
  const honors = (date: string, flags: string[] = []) => bucketBehaviour({ date, flags }).honorsInclude;
  t.deepEqual([honors('2022-08-03'), honors('2022-08-04'), honors('2024-01-01')], [false, true, true]);
  t.true(honors('2021-01-01', ['store_list_honor_include']));
  t.true(bucketBehaviour({ date: '2024-01-01', flags: ['store_list_prefix_keeps_delimiter'] }).keepsDelimiter);
});

contract(
  'list() returns all metadata when include is not honoured, and whole prefixes when asked to',
  async (t, { engine }) => {
    const bucket = hostBucket(bucketService(async () => engine, { honorsInclude: false, keepsDelimiter: true }));
    await bucket.put('a/b', 'x');
    await bucket.put('c', 'x', { httpMetadata: { contentType: 'a/b' }, customMetadata: { d: 'e' } });
    const page = await bucket.list({ delimiter: '/', include: [] });
    t.deepEqual(page.delimitedPrefixes, ['a/']);
    t.deepEqual([page.objects[0]?.httpMetadata, page.objects[0]?.customMetadata], [{ contentType: 'a/b' }, { d: 'e' }]);
  },
);

contract('bucketService() answers any arguments with a result or an error of its own', async (t, { engine }) => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.record(
      {
        key: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 1 })),
        keys: fc.oneof(fc.array(fc.string()), fc.jsonValue({ maxDepth: 1 })),
        onlyIf: fc.jsonValue({ maxDepth: 2 }),
        range: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.record({ offset: fc.double(), length: fc.integer() })),
        httpMetadata: fc.jsonValue({ maxDepth: 2 }),
        customMetadata: fc.oneof(fc.array(fc.array(fc.string())), fc.jsonValue({ maxDepth: 2 })),
        uploadId: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 1 })),
        partNumber: fc.oneof(fc.integer(), fc.jsonValue({ maxDepth: 1 })),
        parts: fc.jsonValue({ maxDepth: 2 }),
        limit: fc.oneof(fc.integer(), fc.jsonValue({ maxDepth: 1 })),
        prefix: fc.jsonValue({ maxDepth: 1 }),
        cursor: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 1 })),
        include: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: ['key'] },
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS, 'constructor', ''), value, async (method, args) => {
      try {
        await call(engine, method, args, method === 'put' ? Buffer.from('x') : null);
        return true;
      } catch (error) {
        return (
          error instanceof BucketError ||
          (error instanceof Error &&
            /^(Type|Range)Error$/.test(error.name) &&
            /^\w+: |^A bucket has/.test(error.message))
        );
      }
    }),
    { numRuns: 400 },
  );
  t.pass();
});

contract('bucketService() cancels the body when the arguments are wrong', async (t, { engine }) => {
  let cancelled = false;
  const stream = streamOf([sampleBytes(10)], () => {
    cancelled = true;
  });
  await t.throwsAsync(call(engine, 'put', { key: 5 }, stream), {
    instanceOf: TypeError,
    message: 'put: the key is 5, it must be a string',
  });
  t.true(cancelled);
});

contract('bucketService() gives a held body free when the call is over before it is read', async (t, { engine }) => {
  await engine.put('key', sampleBytes(100_000), {});
  const controller = new AbortController();
  const service = bucketService(async () => engine);
  const { body } = await service({
    method: 'get',
    args: { key: 'key' },
    body: null,
    signal: controller.signal,
    work: OWN_WORK,
  });
  controller.abort();
  if (body === null || body === undefined || body instanceof Uint8Array) return t.fail();
  const chunks = [];
  for await (const chunk of body) chunks.push(chunk);
  t.deepEqual(chunks, []);
});

for (const size of [10, 100_000]) {
  contract(
    `put() and uploadPart() store nothing of ${size} bytes when their signal fires behind the end of them`,
    async (t, { engine }) => {
      const { uploadId } = await engine.createUpload('key', {});
      for (const write of ['put', 'part'] as const) {
        const controller = new AbortController();
        const options = {
          signal: controller.signal,
          transferChecksum: async () => {
            controller.abort(new Error('the client has gone'));
            return undefined;
          },
        };
        const body = streamOf([new Uint8Array(size)]);
        const written =
          write === 'put' ? engine.put('key', body, options) : engine.uploadPart('key', uploadId, 1, body, options);
        await t.throwsAsync(written, { message: 'the client has gone' }, write);
      }
      t.is(await engine.head('key'), null);
      t.deepEqual((await engine.listParts(uploadId, 0, 10)).parts, []);
    },
  );
}

contract('put() stops and stores nothing when its signal fires', async (t, { engine }) => {
  const controller = new AbortController();
  const body = {
    async *[Symbol.asyncIterator]() {
      yield sampleBytes(100_000);
      controller.abort(new Error('the invocation is over'));
      yield sampleBytes(100_000);
    },
  };
  await t.throwsAsync(engine.put('key', body, { signal: controller.signal }), { message: 'the invocation is over' });
  t.is(await engine.head('key'), null);
});

contract('a transfer checksum that is rejected after the body stores nothing', async (t, { engine }) => {
  const transferChecksum = () => Promise.reject(new Error('the trailer is wrong'));
  for (const body of [Buffer.from('x'), sampleBytes(100_000)]) {
    await t.throwsAsync(engine.put('key', body, { transferChecksum }), { message: 'the trailer is wrong' });
  }
  const kept = { algorithm: 'CRC32', value: 'AAAAAA==', type: 'FULL_OBJECT' } as const;
  t.deepEqual(
    (await engine.put('key', Buffer.from('x'), { transferChecksum: async () => kept }))?.transferChecksum,
    kept,
  );
  t.deepEqual((await engine.head('key'))?.transferChecksum, kept);
});

test('docs/buckets.md has the table of errors', async t => {
  const docs = await readFile(new URL('../../../../docs/buckets.md', import.meta.url), 'utf8');
  const rows = Object.entries(BUCKET_ERRORS).map(([code, { status, text }]) => `| ${code} | ${status} | ${text} |`);
  // The columns may be aligned.
  t.true(docs.replaceAll(/ +/g, ' ').includes(rows.join('\n')));
});
