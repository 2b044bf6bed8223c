/** The storage quota of an account, by every way into its buckets. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type EdgeHost, type EdgeHostOptions, repairStorage, type StoreBucket } from '../../src/index.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { openStorage } from './open-storage.js';

const KIB = 1024;
const FILE_BYTES = 100 * KIB;

function accountOf(t: ExecutionContext, limits: EdgeHostOptions['limits'] = {}, options: EdgeHostOptions = {}) {
  const host = newHost(t, options);
  const account = host.account('acme', { limits });
  return { host, account, bucket: account.bucket('files') };
}

async function bodyFiles(directory: string): Promise<string[]> {
  const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
  return entries.filter(entry => entry.isFile()).map(entry => entry.name);
}

async function keysOf(bucket: StoreBucket): Promise<string[]> {
  return (await bucket.list()).objects.map(({ key }) => key);
}

/** Chunks of 20 KiB. */
function streamOf(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 20 * KIB);
      left -= size;
      if (size > 0) controller.enqueue(new Uint8Array(size));
      else controller.close();
    },
  });
}

const QUOTA = { name: 'EdgeError', code: 'EDGE_STORAGE_QUOTA' } as const;

test('put() fills the account up to storageBytes, and a put over it leaves what was there', async t => {
  const { account, bucket } = accountOf(t, { storageBytes: 100 });
  await bucket.put('a', 'x'.repeat(60));
  await t.throwsAsync(bucket.put('b', 'x'.repeat(41)), {
    ...QUOTA,
    message:
      /^Cannot put "b" into bucket "files": what the account stores is 101 bytes, limit storageBytes is 100 bytes/,
  });
  await t.throwsAsync(bucket.put('a', 'x'.repeat(101)), QUOTA);
  t.deepEqual([await keysOf(bucket), (await bucket.head('a'))?.size], [['a'], 60]);
  await account.bucket('others').put('b', 'x'.repeat(40));
  t.deepEqual(await account.storage(), { bytes: 100, objects: 2 });
});

test('an object that is replaced counts the difference, and one that is deleted gives its room at once', async t => {
  const { account, bucket } = accountOf(t, { storageBytes: 100, storageObjects: 2 });
  await bucket.put('a', 'x'.repeat(90));
  await bucket.put('a', 'y'.repeat(100));
  await bucket.put('a', 'z'.repeat(50));
  t.deepEqual(await account.storage(), { bytes: 50, objects: 1 });
  await bucket.put('b', '');
  await t.throwsAsync(bucket.put('c', ''), {
    ...QUOTA,
    message: /number of objects .* is 3, limit storageObjects is 2/,
  });
  await bucket.delete(['a', 'none']);
  await bucket.put('c', 'x'.repeat(100));
  t.deepEqual(await account.storage(), { bytes: 100, objects: 2 });
});

for (const [kind, size] of Object.entries({ 'in records': 100, 'in files': FILE_BYTES })) {
  test(`puts at the same time cannot pass storageBytes together, with values ${kind}`, async t => {
    const directory = await temporaryDirectory(t);
    const { account, bucket } = accountOf(t, { storageBytes: size * 5 }, { storage: directory });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => bucket.put(`${n}`, n % 2 === 0 ? new Uint8Array(size) : streamOf(size))),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    const stored = await account.storage();
    const keys = await keysOf(bucket);
    t.is(stored.objects, keys.length);
    t.is(stored.bytes, keys.length * size);
    t.is(keys.length + refused.length, 12);
    // Values in files reserve as they come, so several can stop each other before one is complete.
    if (size < FILE_BYTES) t.is(keys.length, 5);
    for (const outcome of refused) t.like(outcome, { reason: { code: 'EDGE_STORAGE_QUOTA' } });
    t.is((await bodyFiles(directory)).length, size < FILE_BYTES ? 0 : keys.length);
    // Nothing stays reserved.
    for (let n = keys.length; n < 5; n++) await bucket.put(`more ${n}`, new Uint8Array(size));
    t.is((await account.storage()).bytes, size * 5);
  });
}

test('a large value takes the room of the one that it replaces, and a body is cut as soon as it passes the bound', async t => {
  const directory = await temporaryDirectory(t);
  const { account, bucket } = accountOf(t, { storageBytes: FILE_BYTES }, { storage: directory });
  await bucket.put('a', streamOf(FILE_BYTES));
  await bucket.put('a', streamOf(FILE_BYTES));
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(new Uint8Array(20 * KIB)),
    cancel() {
      isCancelled = true;
    },
  });
  await t.throwsAsync(bucket.put('a', endless), QUOTA);
  t.true(isCancelled);
  t.deepEqual(await account.storage(), { bytes: FILE_BYTES, objects: 1 });
  t.is((await bodyFiles(directory)).length, 1);
});

test('an upload counts as an object with the bytes of its parts, and completing it never fails for the quota', async t => {
  const { account, bucket } = accountOf(t, { storageBytes: 250_000, storageObjects: 1 });
  const upload = await bucket.createMultipartUpload('a');
  t.deepEqual(await account.storage(), { bytes: 0, objects: 1 });
  await t.throwsAsync(bucket.createMultipartUpload('b'), { ...QUOTA, message: /^Cannot begin an upload of "b" into/ });
  await t.throwsAsync(bucket.put('b', ''), QUOTA);
  await upload.uploadPart(1, new Uint8Array(200_000));
  await upload.uploadPart(1, new Uint8Array(240_000));
  await t.throwsAsync(upload.uploadPart(2, new Uint8Array(10_001)), {
    ...QUOTA,
    message: /^Cannot store part 2 of an upload of "a"/,
  });
  await upload.uploadPart(2, new Uint8Array(10_000));
  const part = await upload.uploadPart(1, new Uint8Array(100_000));
  await upload.complete([part]);
  t.deepEqual(await account.storage(), { bytes: 100_000, objects: 1 });
  await bucket.delete('a');
  const aborted = await bucket.createMultipartUpload('c');
  await aborted.uploadPart(1, new Uint8Array(250_000));
  await aborted.abort();
  t.deepEqual(await account.storage(), { bytes: 0, objects: 0 });
});

test('an upload that replaces an object leaves its own size', async t => {
  const { account, bucket } = accountOf(t, { storageObjects: 2 });
  await bucket.put('a', 'x'.repeat(1000));
  const upload = await bucket.createMultipartUpload('a');
  await upload.complete([await upload.uploadPart(1, 'xyz')]);
  t.deepEqual(await account.storage(), { bytes: 3, objects: 1 });
});

test('functions get an Error with the code, and those that catch it go on', async t => {
  const { account } = accountOf(t, { storageBytes: 100 });
  const source = handler(`
    const upload = await env.FILES.createMultipartUpload('u');
    const tries = [() => env.FILES.put('a', 'x'.repeat(101)), () => upload.uploadPart(1, 'x'.repeat(101))];
    const codes = [];
    for (const run of tries) try { await run(); } catch (error) { codes.push(error instanceof Error, error.code); }
    await env.FILES.put('a', 'x'.repeat(100));
    return Response.json([codes, (await env.FILES.head('a')).size]);`);
  const fn = await account.load(source, { buckets: { FILES: 'files' } });
  t.is(await textOf(fn.fetch('http://x/')), '[[true,"EDGE_STORAGE_QUOTA",true,"EDGE_STORAGE_QUOTA"],100]');
});

test('a function has its own lower bound of what its account stores, and customers cannot raise it past the caps', async t => {
  const { host } = accountOf(t);
  const account = host.account('capped', { caps: { storageBytes: 100 } });
  t.is(account.limits.storageBytes, 100);
  const source = handler(
    `await env.FILES.put(new URL(request.url).pathname, 'x'.repeat(40)); return new Response('ok');`,
  );
  const lower = await account.load(source, { buckets: { FILES: 'files' }, limits: { storageBytes: 60 } });
  t.is(await textOf(lower.fetch('http://x/a')), 'ok');
  await t.throwsAsync(lower.fetch('http://x/b'), { message: /limit storageBytes is 60 bytes/ });
  await t.throwsAsync(account.load(source, { name: 'more', limits: { storageBytes: 101 } }), {
    code: 'EDGE_LIMIT_EXCEEDED',
    message: /caps\.storageBytes/,
  });
});

test('the free plan has a quota, and paid plans have none', async t => {
  const host = newHost(t);
  const { storageBytes, storageObjects } = host.account('free', { plan: 'free' }).limits;
  t.deepEqual([storageBytes, storageObjects], [10 * 2 ** 30, 1_000_000]);
  t.is(host.account('paid').limits.storageBytes, Number.POSITIVE_INFINITY);
});

test('the sums are kept over a restart', async t => {
  const storage = await temporaryDirectory(t);
  const { host, account, bucket } = accountOf(t, {}, { storage });
  await bucket.put('a', 'x'.repeat(60));
  const other = account.bucket('others');
  await (await other.createMultipartUpload('u')).uploadPart(1, 'xyz');
  t.deepEqual(await account.storage(), { bytes: 63, objects: 2 });
  await host.close();
  const again = accountOf(t, { storageBytes: 100 }, { storage });
  t.deepEqual(await again.account.storage(), { bytes: 63, objects: 2 });
  await t.throwsAsync(again.bucket.put('b', 'x'.repeat(38)), QUOTA);
});

test('an account whose sum was never written is counted with its first use', async t => {
  const storage = await temporaryDirectory(t);
  const { host, account, bucket } = accountOf(t, {}, { storage });
  await bucket.put('a', 'x'.repeat(60));
  await bucket.put('b', new Uint8Array(FILE_BYTES));
  await (await bucket.createMultipartUpload('u')).uploadPart(1, 'xyz');
  const before = await account.storage();
  await host.close();
  await openStorage(storage, async ({ records }) => records.commit([{ type: 'del', key: 'qacme' }]));
  const again = accountOf(t, { storageBytes: before.bytes + 1 }, { storage });
  await t.throwsAsync(again.bucket.put('c', 'xy'), QUOTA);
  t.deepEqual(await again.account.storage(), before);
});

test('repairStorage() counts what accounts store, and says which sums were wrong', async t => {
  const storage = await temporaryDirectory(t);
  const host: EdgeHost = newHost(t, { storage });
  for (const id of ['acme', 'a.b', 'right']) await host.account(id).bucket('files').put('a', 'x'.repeat(60));
  await host.close();
  await openStorage(storage, async ({ records }) =>
    records.commit([
      { type: 'put', key: 'qacme', value: Buffer.from('7 0') },
      { type: 'put', key: 'qgone', value: Buffer.from('1 1') },
      { type: 'del', key: 'qa.b' },
    ]),
  );
  const { recounted } = await repairStorage(storage);
  const right = { bytes: 60, objects: 1 };
  t.deepEqual(
    [...recounted].sort((a, b) => a.account.localeCompare(b.account)),
    [
      { account: 'a.b', before: null, after: right },
      { account: 'acme', before: { bytes: 7, objects: 0 }, after: right },
      { account: 'gone', before: { bytes: 1, objects: 1 }, after: { bytes: 0, objects: 0 } },
    ],
  );
  t.deepEqual((await repairStorage(storage)).recounted, []);
});
