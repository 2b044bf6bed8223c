/** A directory that an earlier release wrote, and that was killed, is opened, read, continued and swept. */
import { readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { EdgeHost, type StoreBucket } from '../../src/index.js';
import { indexOf, keptIn } from '../bindings/bucket/index-of.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';

const FIXTURE = 'test/fixtures/storage-v2';
const DAY_MS = 24 * 3_600_000;
const MIB = 2 ** 20;

/** See test/fixtures/storage-v2/make.mjs, which wrote it. */
interface Expected {
  readonly token: string;
  readonly time: number;
  readonly values: readonly (readonly [key: string, size: number])[];
  readonly objects: readonly Readonly<Record<string, unknown> & { key: string }>[];
  readonly listings: readonly (Names & { readonly prefix: string })[];
  readonly firstPage: Names & { readonly cursor: string };
  readonly uploads: Readonly<Record<'open' | 'abandoned' | 'aborted' | 'completed', { readonly uploadId: string }>> & {
    readonly open: { readonly part: { readonly partNumber: number; readonly etag: string } };
  };
  /** As the kill left them. */
  readonly bodyFiles: number;
}

interface Names {
  readonly keys: readonly string[];
  readonly groups: readonly string[];
}

const expected: Expected = JSON.parse(readFileSync(`${FIXTURE}/expected.json`, 'utf8'));
const files: Readonly<Record<string, string>> = JSON.parse(readFileSync(`${FIXTURE}/directory.json`, 'utf8'));

async function unpack(t: ExecutionContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true, mode: 0o700 });
    await writeFile(join(directory, path), brotliDecompressSync(Buffer.from(content, 'base64')), { mode: 0o600 });
  }
  return directory;
}

async function bodyFiles(directory: string): Promise<number> {
  const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
  return entries.filter(entry => entry.isFile()).length;
}

const patternOf = (key: string, size: number) => Buffer.alloc(size, `${key}.`);

async function valueIn(bucket: StoreBucket, key: string): Promise<Buffer> {
  const object = await bucket.get(key);
  if (object === null || !('arrayBuffer' in object)) throw new Error(`There is no "${key}"`);
  return Buffer.from(await object.arrayBuffer());
}

async function namesIn(bucket: StoreBucket, options: { prefix?: string; cursor?: string; limit?: number }) {
  const page = await bucket.list({ ...options, delimiter: '/' });
  return { keys: page.objects.map(({ key }) => key), groups: page.delimitedPrefixes };
}

test('a host reads every object of a directory of version 2', async t => {
  const host = new EdgeHost({ storage: await unpack(t) });
  t.teardown(() => host.close());
  const bucket = host.account('acme').bucket('files');
  for (const [key, size] of expected.values) t.true((await valueIn(bucket, key)).equals(patternOf(key, size)), key);
  const parts = [patternOf('part 1', 5 * MIB), patternOf('part 2', 10)];
  t.true((await valueIn(bucket, 'assembled')).equals(Buffer.concat(parts)));
  for (const { key, ...fields } of expected.objects) {
    const object = await bucket.head(key);
    // Dates and checksums as JSON has them.
    t.deepEqual(JSON.parse(JSON.stringify(fieldsOf(object))), fields, key);
  }
  for (const key of ['deleted/one', 'deleted/two', 'held', 'unfinished', 'open'])
    t.is(await bucket.get(key), null, key);
});

/** Those that the class has as accessors. */
function fieldsOf(object: object | null): Record<string, unknown> {
  const names = ['version', 'size', 'etag', 'uploaded', 'storageClass', 'httpMetadata', 'customMetadata', 'checksums'];
  return Object.fromEntries(names.map(name => [name, object === null ? undefined : Reflect.get(object, name)]));
}

test('a host lists a directory of version 2, and goes on behind a cursor of the release that wrote it', async t => {
  const host = new EdgeHost({ storage: await unpack(t) });
  t.teardown(() => host.close());
  const bucket = host.account('acme').bucket('files');
  for (const { prefix, ...names } of expected.listings) t.deepEqual(await namesIn(bucket, { prefix }), names, prefix);
  const all = expected.objects.map(({ key }) => key);
  t.deepEqual(
    (await bucket.list()).objects.map(({ key }) => key),
    all,
  );
  const { cursor, keys, groups } = expected.firstPage;
  t.deepEqual(await namesIn(bucket, { limit: 3 }), { keys, groups });
  const rest = await namesIn(bucket, { cursor });
  const whole = await namesIn(bucket, {});
  t.deepEqual(
    [
      [...keys, ...rest.keys],
      [...groups, ...rest.groups],
    ],
    [whole.keys, whole.groups],
  );
});

test('the management API of a directory of version 2 knows its tokens and its buckets', async t => {
  const host = new EdgeHost({ storage: await unpack(t) });
  t.teardown(() => host.close());
  host.account('acme');
  const response = await host.management()(
    new Request('http://localhost/accounts/acme/buckets', { headers: { Authorization: `Bearer ${expected.token}` } }),
  );
  t.is(response.status, 200);
  t.regex(await response.text(), /"files"/);
});

test('Storage.open() of a directory of version 2 collects what the kill left, and nothing else', async t => {
  const directory = await unpack(t);
  t.is(await bodyFiles(directory), expected.bodyFiles);
  await (await openBuckets(directory, { now: () => expected.time })).close();
  // The object that was read while it was deleted, and the one whose upload was not finished.
  t.is(await bodyFiles(directory), expected.bodyFiles - 2);
  const { objects, index } = await keptIn(directory);
  t.is(objects.length, expected.objects.length);
  t.deepEqual(index, indexOf(objects));
});

test('an upload of a directory of version 2 goes on, and what is written joins its listings', async t => {
  const directory = await unpack(t);
  const storage = await openBuckets(directory, { now: () => expected.time + 1000 });
  const bucket = await bucketsOf(storage, 'acme').open('files');
  const { open, completed, abandoned, aborted } = expected.uploads;
  const { uploads } = await bucket.listUploads({ limit: 10 });
  t.deepEqual(
    uploads.map(({ key, uploadId }) => [key, uploadId]),
    [
      ['abandoned', abandoned.uploadId],
      ['open', open.uploadId],
    ],
  );
  t.not(await bucket.findCompleted('assembled', completed.uploadId), null);
  await t.throwsAsync(bucket.uploadPart('aborted', aborted.uploadId, 1, Buffer.from('x'), {}), { code: 10024 });
  const part = await bucket.uploadPart('open', open.uploadId, 2, patternOf('more', 100), {});
  await bucket.completeUpload('open', open.uploadId, [open.part, part]);
  await bucket.put('a/b/3', patternOf('a/b/3', 10), {});
  await bucket.delete(['a/c', 'sizes/300000']);
  await storage.close();

  const host = new EdgeHost({ storage: directory });
  const again = host.account('acme').bucket('files');
  const value = Buffer.concat([patternOf('open', 5 * MIB), patternOf('more', 100)]);
  t.true((await valueIn(again, 'open')).equals(value));
  t.deepEqual(await namesIn(again, { prefix: 'a/b/' }), { keys: ['a/b/1', 'a/b/2', 'a/b/3'], groups: [] });
  await host.close();
  const { objects, index } = await keptIn(directory);
  t.deepEqual(index, indexOf(objects));
});

test('the uploads of a directory of version 2 are aborted when they are 7 days old, and their space is given back', async t => {
  const directory = await unpack(t);
  const storage = await openBuckets(directory, { now: () => expected.time + 7 * DAY_MS });
  const bucket = await bucketsOf(storage, 'acme').open('files');
  t.deepEqual((await bucket.listUploads({ limit: 10 })).uploads, []);
  const { uploadId } = expected.uploads.open;
  await t.throwsAsync(bucket.completeUpload('open', uploadId, []), { code: 10024 });
  await storage.close();
  t.is(await bodyFiles(directory), expected.bodyFiles - 4);
});
