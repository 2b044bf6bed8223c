import { mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openLevel } from '../../src/storage/records/open-level.js';
import { Storage } from '../../src/storage/storage.js';
import { indexOf, keptIn } from '../bindings/bucket/index-of.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { MIN_PART_BYTES, sampleBytes, temporaryDirectory } from '../bindings/bucket/stores.js';

const DAY_MS = 24 * 3_600_000;

async function bodyFiles(directory: string): Promise<string[]> {
  const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
  return entries.filter(entry => entry.isFile()).map(entry => entry.name);
}

async function withStorage<T>(
  directory: string,
  use: (storage: Storage) => Promise<T>,
  now?: () => number,
): Promise<T> {
  const storage = await openBuckets(directory, {
    minPartBytes: MIN_PART_BYTES,
    ...(now === undefined ? undefined : { now }),
  });
  try {
    return await use(storage);
  } finally {
    await storage.close();
  }
}

const filesOf = (storage: Storage) => bucketsOf(storage, 'acme').open('files');

async function readValue(storage: Storage, key: string): Promise<Buffer> {
  const outcome = await (await filesOf(storage)).get(key, {});
  if (outcome.kind !== 'found') throw new Error(`${key} is ${outcome.kind}`);
  const body = outcome.content.open();
  if (body instanceof Uint8Array) return Buffer.from(body);
  const chunks = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('Storage.open() finds everything again when it was closed', async t => {
  const directory = await temporaryDirectory(t);
  const sizes = [0, 10, 10_000, 100_000];
  await withStorage(directory, async storage => {
    for (const size of sizes) await (await filesOf(storage)).put(`${size}`, sampleBytes(size), {});
    await storage.sublevel('management').put('zone', { id: 1 });
  });
  await withStorage(directory, async storage => {
    for (const size of sizes) t.is(Buffer.compare(await readValue(storage, `${size}`), sampleBytes(size)), 0);
    t.deepEqual(await storage.sublevel('management').get('zone'), { id: 1 });
  });
});

test('Storage.open() rejects with EDGE_STORAGE_LOCKED and damages nothing when the directory is open already', async t => {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async storage => {
    const link = `${directory}-link`;
    await symlink(directory, link);
    t.teardown(() => rm(link));
    for (const path of [directory, `${directory}/.`, link]) {
      await t.throwsAsync(Storage.open(path), {
        code: 'EDGE_STORAGE_LOCKED',
        message: /another host has the storage directory open/,
      });
      await t.throwsAsync(Storage.repair(path), { code: 'EDGE_STORAGE_LOCKED' });
    }
    await (await filesOf(storage)).put('key', sampleBytes(100_000), {});
    t.is((await readValue(storage, 'key')).length, 100_000);
  });
});

test('Storage.open() leaves a directory of others as it is', async t => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'thesis.txt'), 'text');
  await t.throwsAsync(Storage.open(directory), {
    code: 'EDGE_STORAGE_FORMAT',
    message: /contains other files \("thesis.txt"\)/,
  });
  t.deepEqual(await readdir(directory), ['thesis.txt']);
});

for (const [title, marker] of [
  ['newer', '{"format":"edgehost storage","version":4}'],
  ['foreign', '{"format":"other","version":1}'],
  ['broken', '{'],
] as const) {
  test(`Storage.open() rejects with EDGE_STORAGE_FORMAT when the format is ${title}`, async t => {
    const directory = await temporaryDirectory(t);
    await withStorage(directory, async () => {});
    await writeFile(join(directory, 'FORMAT'), marker);
    await t.throwsAsync(Storage.open(directory), { code: 'EDGE_STORAGE_FORMAT' });
    t.is(await readFile(join(directory, 'FORMAT'), 'utf8'), marker);
  });
}

test('Storage.open() raises the version of an older storage, which an older host must not open any more', async t => {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async () => {});
  const current = await readFile(join(directory, 'FORMAT'), 'utf8');
  await writeFile(join(directory, 'FORMAT'), '{"format":"edgehost storage","version":1}');
  await withStorage(directory, async () => {});
  t.is(await readFile(join(directory, 'FORMAT'), 'utf8'), current);
});

test('Storage.open() makes the directory, also in a fresh volume or under version control', async t => {
  const directory = await temporaryDirectory(t);
  await mkdir(join(directory, 'lost+found'));
  await writeFile(join(directory, '.gitignore'), '*');
  await withStorage(directory, async () => {});
  await withStorage(join(directory, 'a/b'), async storage => t.deepEqual(await bucketsOf(storage, 'acme').list(), []));
});

test('Storage.open() rejects when the directory is a file', async t => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'file'), '');
  await t.throwsAsync(Storage.open(join(directory, 'file')), { code: 'EDGE_STORAGE_PATH' });
});

async function damaged(t: ExecutionContext, damage: (level: string) => Promise<void>): Promise<string> {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async storage => {
    for (let index = 0; index < 20; index++) await (await filesOf(storage)).put(`k${index}`, sampleBytes(100), {});
  });
  // The second opening moved the first log to a table.
  await withStorage(directory, async storage => (await filesOf(storage)).put('last', sampleBytes(10), {}));
  await damage(join(directory, 'level'));
  return directory;
}

for (const [title, damage] of [
  ['CURRENT is gone', (level: string) => rm(join(level, 'CURRENT'))],
  ['CURRENT is garbage', (level: string) => writeFile(join(level, 'CURRENT'), 'garbage')],
  [
    'the manifest is garbage',
    async (level: string) => {
      for (const file of await readdir(level))
        if (file.startsWith('MANIFEST')) await writeFile(join(level, file), 'garbage'.repeat(100));
    },
  ],
] as const) {
  test(`Storage.open() rejects with EDGE_STORAGE_CORRUPT and repair() saves the data when ${title}`, async t => {
    const directory = await damaged(t, damage);
    const before = await readdir(join(directory, 'level'));
    await t.throwsAsync(Storage.open(directory), {
      code: 'EDGE_STORAGE_CORRUPT',
      message: /edgehost repair DIR/,
    });
    const data = (files: string[]) => files.filter(file => /\.(ldb|log)$/.test(file)).sort();
    t.deepEqual(data(await readdir(join(directory, 'level'))), data(before));
    await Storage.repair(directory);
    await withStorage(directory, async storage => {
      for (let index = 0; index < 20; index++) t.is((await readValue(storage, `k${index}`)).length, 100);
      t.is((await readValue(storage, 'last')).length, 10);
    });
  });
}

/** Puts objects in groups, and takes every other record of the index away. */
async function withBrokenIndex(t: ExecutionContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async storage => {
    for (const key of ['a/b/1', 'a/b/2', 'a/c', 'd']) await (await filesOf(storage)).put(key, sampleBytes(1), {});
  });
  const database = await openLevel(join(directory, 'level'), directory);
  const keys = await database.keys({ gte: 'l', lt: 'm', highWaterMarkBytes: 1000 }).nextv(100);
  const some = keys.filter((_, index) => index % 2 === 0);
  await database.batch(
    some.map(key => ({ type: 'del', key })),
    { sync: true },
  );
  await database.close();
  const { objects, index } = await keptIn(directory);
  t.notDeepEqual(index, indexOf(objects));
  return directory;
}

for (const [title, prepare] of [
  [
    'was written before there was an index',
    (directory: string) => writeFile(join(directory, 'FORMAT'), '{"format":"edgehost storage","version":1}'),
  ],
  ['was repaired', (directory: string) => Storage.repair(directory)],
] as const) {
  test(`Storage.open() makes the index of listings anew, once, when the storage ${title}`, async t => {
    const directory = await withBrokenIndex(t);
    await prepare(directory);
    await withStorage(directory, async () => {});
    const { objects, index } = await keptIn(directory);
    t.is(objects.length, 4);
    t.deepEqual(index, indexOf(objects));
    t.regex(await readFile(join(directory, 'FORMAT'), 'utf8'), /"isIndexed":true/);
  });
}

test('get() rejects with EDGE_STORAGE_CORRUPT when the file of a body is missing or cut, and names no path', async t => {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async storage => {
    const files = await filesOf(storage);
    await files.put('key', sampleBytes(100_000), {});
    const [shard = ''] = await readdir(join(directory, 'bodies'));
    const file = join(directory, 'bodies', shard, '0');
    await truncate(file, 99_999);
    const cut = await t.throwsAsync(files.get('key', {}), {
      code: 'EDGE_STORAGE_CORRUPT',
      message: /99999 bytes, its record says 100000/,
    });
    await rm(file);
    const missing = await t.throwsAsync(files.get('key', {}), { code: 'EDGE_STORAGE_CORRUPT', message: /missing/ });
    for (const error of [cut, missing]) t.false(error.message.includes(directory));
    t.is((await files.head('key'))?.size, 100_000);
    await files.put('key', sampleBytes(10), {});
    t.is((await readValue(storage, 'key')).length, 10);
  });
});

test('the space of blobs is given back when they are replaced, deleted, dropped or aborted', async t => {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async storage => {
    const files = await filesOf(storage);
    const large = () => sampleBytes(100_000);
    await files.put('replaced', large(), {});
    await files.put('replaced', Buffer.from('small'), {});
    await files.put('deleted', large(), {});
    await files.delete(['deleted']);
    await files.put('failed', large(), { condition: { etagMatches: [{ kind: 'any' }] } });
    await t.throwsAsync(files.put('wrong', large(), { hashes: { md5: '0'.repeat(32) } }));
    const aborted = await files.createUpload('aborted', {});
    await files.uploadPart('aborted', aborted.uploadId, 1, large(), {});
    await files.uploadPart('aborted', aborted.uploadId, 1, large(), {});
    await files.abortUpload('aborted', aborted.uploadId);
    const parts = await files.createUpload('parts', {});
    const kept = await files.uploadPart('parts', parts.uploadId, 1, large(), {});
    await files.uploadPart('parts', parts.uploadId, 2, large(), {});
    await files.completeUpload('parts', parts.uploadId, [kept]);
    await files.delete(['parts']);
    await files.put('kept', large(), {});
  });
  t.is((await bodyFiles(directory)).length, 1);
  await withStorage(directory, async storage => t.is((await readValue(storage, 'kept')).length, 100_000));
});

test('the space of a body that is read while it is deleted is given back when the reader is done', async t => {
  const directory = await temporaryDirectory(t);
  await withStorage(directory, async storage => {
    const files = await filesOf(storage);
    await files.put('key', sampleBytes(100_000), {});
    const first = await files.get('key', {});
    const second = await files.get('key', {});
    await files.delete(['key']);
    if (first.kind !== 'found' || second.kind !== 'found') return t.fail();
    t.is((await bodyFiles(directory)).length, 1);
    first.content.release();
    first.content.release();
    t.is((await bodyFiles(directory)).length, 1);
    let bytes = 0;
    for await (const chunk of second.content.open() as AsyncIterable<Uint8Array>) bytes += chunk.byteLength; // not small
    t.is(bytes, 100_000);
  });
  t.is((await bodyFiles(directory)).length, 0);
});

test('Storage.open() collects what a reader held when the storage was closed', async t => {
  const directory = await temporaryDirectory(t);
  const outcome = await withStorage(directory, async storage => {
    const files = await filesOf(storage);
    await files.put('key', sampleBytes(100_000), {});
    const held = await files.get('key', {});
    await files.delete(['key']);
    return held;
  });
  t.is((await bodyFiles(directory)).length, 1);
  await withStorage(directory, async () => {});
  t.is((await bodyFiles(directory)).length, 0);
  if (outcome.kind === 'found') outcome.content.release();
});

test('uploads are aborted when they are 7 days old also when the host was not running on the day', async t => {
  const directory = await temporaryDirectory(t);
  let now = 1_000_000;
  const clock = () => now;
  const uploadId = await withStorage(
    directory,
    async storage => {
      const files = await filesOf(storage);
      const upload = await files.createUpload('key', {});
      await files.uploadPart('key', upload.uploadId, 1, sampleBytes(100_000), {});
      await files.uploadPart('key', upload.uploadId, 2, sampleBytes(10), {});
      return upload.uploadId;
    },
    clock,
  );
  now += 7 * DAY_MS;
  await withStorage(
    directory,
    async storage => {
      const files = await filesOf(storage);
      t.deepEqual((await files.listParts(uploadId, 0, 10)).parts, []);
      await t.throwsAsync(files.completeUpload('key', uploadId, []), { code: 10024 });
    },
    clock,
  );
  t.is((await bodyFiles(directory)).length, 0);
  now += 7 * DAY_MS;
  // Then it is forgotten.
  await withStorage(
    directory,
    async storage => {
      await t.throwsAsync((await filesOf(storage)).completeUpload('key', uploadId, []), { code: 10001 });
    },
    clock,
  );
});

for (const location of ['directory', ':memory:']) {
  test(`sublevel() of a ${location} keeps records apart, in order`, async t => {
    const storage = await openBuckets(location === ':memory:' ? location : await temporaryDirectory(t));
    t.teardown(() => storage.close());
    const zones = storage.sublevel('zones');
    await zones.batch(['b', 'a/2', 'a/1', '\u{1f600}', '\uffff'].map(key => ({ type: 'put', key, value: { key } })));
    await storage.sublevel('other').put('a/1', 1);
    zones.putSoon('soon', 5);
    await zones.delete('b');
    const keys = async (options?: Parameters<typeof zones.entries>[0]) => {
      const found = [];
      for await (const [key] of zones.entries(options)) found.push(key);
      return found;
    };
    t.deepEqual(await keys(), ['a/1', 'a/2', 'soon', '\uffff', '\u{1f600}']);
    t.deepEqual(await keys({ prefix: 'a/', after: 'a/1' }), ['a/2']);
    t.deepEqual(await keys({ after: '\uffff' }), ['\u{1f600}']);
    t.deepEqual(await keys({ limit: 2 }), ['a/1', 'a/2']);
    t.deepEqual(await zones.get('a/1'), { key: 'a/1' });
    t.is(await zones.get('b'), undefined);
    await t.throwsAsync(async () => zones.put('x', undefined), { instanceOf: TypeError });
    t.throws(() => storage.sublevel('Not a name'), { instanceOf: TypeError });
  });

  test(`buckets() of a ${location} belong to their account`, async t => {
    const storage = await openBuckets(location === ':memory:' ? location : await temporaryDirectory(t), {
      now: () => 5,
    });
    t.teardown(() => storage.close());
    const [acme, other] = [bucketsOf(storage, 'acme'), bucketsOf(storage, 'acme/x')];
    t.deepEqual(await acme.create('files', { storageClass: 'InfrequentAccess' }), { created: true });
    t.deepEqual(await acme.create('files'), { created: false });
    const files = await acme.open('files');
    t.is((await files.put('key', Buffer.from('x'), {}))?.storageClass, 'InfrequentAccess');
    t.is(await other.find('files'), null);
    t.is(await (await other.open('files')).head('key'), null);
    t.deepEqual(await acme.list(), [{ name: 'files', created: 5, storageClass: 'InfrequentAccess' }]);
    await t.throwsAsync(acme.delete('files'), { code: 10008 });
    await t.throwsAsync(acme.delete('none'), { code: 10006 });
    await files.delete(['key']);
    const upload = await files.createUpload('key', {});
    await acme.delete('files');
    await t.throwsAsync(files.put('key', Buffer.from('x'), {}), { code: 10006 });
    t.is(await acme.find('files'), null);
    const again = await acme.open('files');
    t.is(await again.head('key'), null);
    t.is(await again.findUpload('key', upload.uploadId), null);
  });
}

for (const name of ['ab', 'a'.repeat(64), 'Files', 'a_b', '-ab', 'ab-', 'a.b', '', 'a/b']) {
  test(`open() rejects with 10005 when the bucket is named "${name}"`, async t => {
    const storage = await openBuckets(':memory:');
    t.teardown(() => storage.close());
    await t.throwsAsync(bucketsOf(storage, 'acme').open(name), { code: 10005 });
    await t.throwsAsync(bucketsOf(storage, 'acme').create(name), { code: 10005 });
    t.is(await bucketsOf(storage, 'acme').find(name), null);
  });
}

test('close() lets what was begun end, and later calls reject with EDGE_CLOSED', async t => {
  const storage = await openBuckets(await temporaryDirectory(t));
  const files = await filesOf(storage);
  const puts = Array.from({ length: 50 }, (_, index) => files.put(`k${index}`, Buffer.from('x'), {}));
  await puts[0];
  await storage.close();
  await storage.close();
  for (const result of await Promise.allSettled(puts)) {
    if (result.status === 'rejected') t.is(result.reason.code, 'EDGE_CLOSED');
  }
  await t.throwsAsync(files.head('k0'), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(files.get('k0', {}), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(files.put('k0', Buffer.from('x'), {}), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(files.put('k0', sampleBytes(100_000), {}), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(files.list({ limit: 1, includeCustomMetadata: false, includeHttpMetadata: false }), {
    code: 'EDGE_CLOSED',
  });
});

for (const kind of ['directory', ':memory:'] as const) {
  test(`list() ends, or rejects with EDGE_CLOSED, when the storage, a ${kind}, is closed meanwhile`, async t => {
    for (let turns = 0; turns < 40; turns++) {
      const storage = await openBuckets(kind === ':memory:' ? kind : await temporaryDirectory(t));
      const files = await filesOf(storage);
      await Promise.all(['a/b', 'a/c/d', 'e', 'f/g'].map(key => files.put(key, Buffer.from('x'), {})));
      const query = { delimiter: '/', limit: 10, includeCustomMetadata: false, includeHttpMetadata: false };
      const lists = Array.from({ length: 5 }, (_, at) =>
        files.list({ ...query, startAfter: at % 2 === 0 ? '' : 'a/b' }),
      );
      const ended = Promise.allSettled(lists);
      for (let turn = 0; turn < turns; turn++) await (turn % 4 === 0 ? new Promise(setImmediate) : null);
      await storage.close();
      for (const result of await ended) {
        if (result.status === 'rejected') t.is(result.reason.code, 'EDGE_CLOSED');
        else t.is(result.value.delimitedPrefixes.length, 2);
      }
    }
    t.pass();
  });
}

test('a storage in memory refuses blobs past memoryLimitBytes with EDGE_STORAGE_FULL, and takes them when others are deleted', async t => {
  const storage = await openBuckets(':memory:', { memoryLimitBytes: 250_000 });
  t.teardown(() => storage.close());
  const files = await filesOf(storage);
  await files.put('a', sampleBytes(100_000), {});
  await files.put('b', sampleBytes(100_000), {});
  await t.throwsAsync(files.put('c', sampleBytes(100_000), {}), { code: 'EDGE_STORAGE_FULL' });
  await files.delete(['a']);
  await files.put('c', sampleBytes(100_000), {});
  t.is((await readValue(storage, 'c')).length, 100_000);
});
