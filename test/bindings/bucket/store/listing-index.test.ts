import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { BucketDirectory, BucketEngine } from '../../../../src/bindings/bucket/engine.js';
import { BUCKET_LIMITS } from '../../../../src/bindings/bucket/limits.js';
import { createBucketDirectory } from '../../../../src/bindings/bucket/store/bucket-directory.js';
import { rebuildIndexes } from '../../../../src/bindings/bucket/store/rebuild-index.js';
import { AccountSums } from '../../../../src/storage/accounts/account-sums.js';
import { BlobCollector } from '../../../../src/storage/blobs/blob-collector.js';
import { MemoryBlobStore } from '../../../../src/storage/blobs/memory-blob-store.js';
import { NO_WALLS } from '../../../../src/storage/process-walls.js';
import { KeyedMutex } from '../../../../src/storage/records/keyed-mutex.js';
import type { LevelDatabase, LevelOperation } from '../../../../src/storage/records/level-database.js';
import { openMemoryDatabase } from '../../../../src/storage/records/memory-database.js';
import { openLevel } from '../../../../src/storage/records/open-level.js';
import { RecordStore } from '../../../../src/storage/records/record-store.js';
import { indexOf, readKept } from '../index-of.js';
import { STORE_KINDS, type StoreKind, temporaryDirectory } from '../stores.js';

interface OpenBuckets {
  readonly records: RecordStore;
  readonly buckets: BucketDirectory;
}

function openBuckets(database: LevelDatabase): OpenBuckets {
  const records = new RecordStore(database);
  const blobs = new MemoryBlobStore(2 ** 20);
  let id = 0;
  const storage = {
    records,
    blobs,
    collector: new BlobCollector(records, blobs),
    mutex: new KeyedMutex(),
    sums: new AccountSums(records, { async *accounts() {}, count: async () => ({ bytes: 0, objects: 0 }) }),
    walls: NO_WALLS,
    now: Date.now,
    newId: () => `id${id++}`,
  };
  return { records, buckets: createBucketDirectory(storage, 'acme', 1) };
}

async function open(t: ExecutionContext, kind: StoreKind): Promise<OpenBuckets> {
  const directory = kind === 'memory' ? undefined : await temporaryDirectory(t);
  const opened = openBuckets(
    directory === undefined ? await openMemoryDatabase() : await openLevel(directory, 'the directory of the test'),
  );
  t.teardown(() => opened.records.close());
  return opened;
}

function put(bucket: BucketEngine, key: string): Promise<unknown> {
  return bucket.put(key, Buffer.alloc(0), {});
}

async function complete(bucket: BucketEngine, key: string): Promise<void> {
  const { uploadId } = await bucket.createUpload(key, {});
  await bucket.completeUpload(key, uploadId, [await bucket.uploadPart(key, uploadId, 1, Buffer.from('x'), {})]);
}

async function isExact(records: RecordStore): Promise<boolean> {
  const { objects, index } = await readKept(records);
  return JSON.stringify(index) === JSON.stringify(indexOf(objects));
}

/** Deeper than the index goes, with slashes anywhere, and characters that order or are written in ways of their own. */
const part = fc.constantFrom(
  '',
  'a',
  'b',
  'a-b',
  'a0',
  '\0',
  '\u{1f600}',
  '\uffff',
  'e\u0301',
  '\u00e9',
  'long'.repeat(40),
);
const key = fc
  .oneof(
    { weight: 4, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }).map(parts => parts.join('/')) },
    { weight: 1, arbitrary: fc.array(part, { minLength: 8, maxLength: 11 }).map(parts => parts.join('/')) },
  )
  // Seven of the longest parts are more than a key may have.
  .filter(text => Buffer.byteLength(text) <= BUCKET_LIMITS.keyBytes);
const change = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), keys: fc.tuple(key) }),
  fc.record({ kind: fc.constant('complete' as const), keys: fc.tuple(key) }),
  fc.record({ kind: fc.constant('delete' as const), keys: fc.array(key, { minLength: 1, maxLength: 8 }) }),
);

for (const kind of STORE_KINDS) {
  test(`${kind}: the index is what the keys say after any changes at once`, async t => {
    const { records, buckets } = await open(t, kind);
    const names = ['one', 'two'];
    const rounds = fc.array(fc.array(fc.tuple(change, fc.constantFrom(...names)), { minLength: 1, maxLength: 12 }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(rounds, async list => {
        for (const changes of list) {
          await Promise.all(
            changes.map(async ([{ kind, keys }, name]) => {
              const bucket = await buckets.open(name.padEnd(3, '-x'));
              if (kind === 'put') await put(bucket, keys[0]);
              else if (kind === 'complete') await complete(bucket, keys[0]);
              else await bucket.delete(keys);
            }),
          );
          if (!(await isExact(records))) return false;
        }
        return true;
      }),
      { numRuns: 80 },
    );
    const before = await readKept(records);
    await rebuildIndexes(records);
    t.deepEqual(await readKept(records), before);
  });

  test(`${kind}: many who put and delete the same keys at once leave an exact index`, async t => {
    const { records, buckets } = await open(t, kind);
    const bucket = await buckets.open('files');
    const keys = ['a/b/1', 'a/b/2', 'a/c', 'd/e', 'f'];
    const calls = Array.from({ length: 3000 }, (_, at) => {
      const name = keys[(at * 7) % keys.length] ?? '';
      return at % 3 === 0 ? bucket.delete([name, `${name}/x`]) : put(bucket, at % 5 === 0 ? `${name}/x` : name);
    });
    await Promise.all(calls);
    t.true(await isExact(records));
    await bucket.delete([...keys, ...keys.map(name => `${name}/x`)]);
    t.deepEqual(await readKept(records), { objects: [], index: [] });
  });

  test(`${kind}: rebuildIndexes() makes the index of all buckets anew, whatever was there`, async t => {
    const { records, buckets } = await open(t, kind);
    const one = await buckets.open('one');
    const two = await buckets.open('two');
    await Promise.all(['a/b/c', 'a/b/d', 'a/e', 'f', '/', '//', `${'x/'.repeat(20)}y`].map(each => put(one, each)));
    await Promise.all(Array.from({ length: 2500 }, (_, at) => put(two, `${at % 50}/${at}`)));
    const { index } = await readKept(records);
    const kept = await records.keys({ gte: 'l', lt: 'm' });
    const some = (await kept.nextv(10_000)).filter((_, at) => at % 3 === 0);
    await kept.close();
    await records.commit([
      ...some.map(each => ({ type: 'del', key: each }) as const),
      { type: 'put', key: 'lgone/g0/a/', value: Buffer.from('7') },
      { type: 'put', key: 'lid0/g0/none/', value: Buffer.from('7') },
    ]);
    t.notDeepEqual((await readKept(records)).index, index);
    await rebuildIndexes(records);
    t.deepEqual((await readKept(records)).index, index);
    t.true(await isExact(records));
  });
}

test('put() of a key of slashes alone writes no more records than depths are indexed', async t => {
  const { records, buckets } = await open(t, 'memory');
  const bucket = await buckets.open('files');
  await put(bucket, '/'.repeat(1024));
  t.is((await readKept(records)).index.length, 8);
  t.true(await isExact(records));
  const list = (prefix: string) =>
    bucket.list({ prefix, delimiter: '/', limit: 10, includeHttpMetadata: false, includeCustomMetadata: false });
  for (const depth of [0, 1, 7, 8, 9, 1000, 1023]) {
    const { delimitedPrefixes, objects } = await list('/'.repeat(depth));
    t.deepEqual([delimitedPrefixes, objects.length], [['/'.repeat(depth + 1)], 0]);
  }
  t.is((await list('/'.repeat(1024))).objects.length, 1);
});

for (const [title, length, isIndexed] of [
  ['as long as prefixes that are indexed', 255, true],
  ['longer', 256, false],
] as const) {
  test(`list() finds what is behind a prefix that is ${title}`, async t => {
    const { records, buckets } = await open(t, 'memory');
    const bucket = await buckets.open('files');
    const prefix = `${'x'.repeat(length)}/`;
    await Promise.all([`${prefix}a/b`, `${prefix}c`, `${prefix}d/`].map(each => put(bucket, each)));
    t.is((await readKept(records)).index.length, isIndexed ? 4 : 1);
    for (const more of ['', 'a', 'a/', 'c', 'd/']) {
      const page = await bucket.list({
        prefix: prefix + more,
        delimiter: '/',
        limit: 10,
        includeHttpMetadata: false,
        includeCustomMetadata: false,
      });
      const found = [...page.delimitedPrefixes, ...page.objects.map(({ key }) => key)];
      const expected = { '': ['a/', 'd/', 'c'], a: ['a/'], 'a/': ['a/b'], c: ['c'], 'd/': ['d/'] }[more];
      t.deepEqual(
        found,
        expected?.map(each => prefix + each),
      );
    }
  });
}

test('put() over an object, and delete() of a key that is not there, leave the index alone', async t => {
  const { records, buckets } = await open(t, 'memory');
  const bucket = await buckets.open('files');
  await put(bucket, 'a/b');
  const { index } = await readKept(records);
  await put(bucket, 'a/b');
  await complete(bucket, 'a/b');
  await bucket.delete(['a/c', 'a/', 'a']);
  t.deepEqual((await readKept(records)).index, index);
});

test('deleting a bucket removes what is left of its index, and of no other', async t => {
  const { records, buckets } = await open(t, 'memory');
  await put(await buckets.open('kept'), 'a/b');
  const { index } = await readKept(records);
  await buckets.open('gone');
  await records.commit([{ type: 'put', key: 'lid1/g0/a/', value: Buffer.from('1') }]);
  await buckets.delete('gone');
  t.deepEqual((await readKept(records)).index, index);
});

/** A database whose next batches fail. What is written all the same is there when it is opened again, as with LevelDB's log. */
async function failing() {
  const database = await openMemoryDatabase();
  const faults: ('written' | 'not written' | undefined)[] = [];
  const log: LevelOperation[] = [];
  const opened = openBuckets({
    ...database,
    open: async () => {
      await database.open();
      await database.batch(log.splice(0), { sync: true });
    },
    batch: async (operations, options) => {
      const fault = faults.shift();
      if (fault === undefined) return database.batch(operations, options);
      if (fault === 'written') log.push(...operations);
      throw new Error(`IO error: sync failed, ${fault}`);
    },
  });
  return { ...opened, faults };
}

for (const first of ['written', 'not written'] as const) {
  for (const second of ['written', 'not written', undefined] as const) {
    test(`the index is exact when a batch fails (${first}) and its repetition ${second === undefined ? 'does not' : `fails, too (${second})`}`, async t => {
      const { records, buckets, faults } = await failing();
      const bucket = await buckets.open('files');
      await put(bucket, 'a/b/c');
      for (const change of [
        () => put(bucket, 'a/b/d'),
        () => complete(bucket, 'a/x'),
        () => bucket.delete(['a/b/c', 'a/x']),
        () => bucket.delete(['a/b/d']),
      ]) {
        faults.push(first, ...(second === undefined ? [] : [second]));
        const outcomes = await Promise.allSettled([change(), change()]);
        t.true(outcomes.some(({ status }) => status === 'fulfilled'));
        await records.awaitRecovery();
        t.true(await isExact(records));
      }
    });
  }
}

test('rebuildIndexes() makes an exact index also after it was cut short', async t => {
  const { records, buckets, faults } = await failing();
  const bucket = await buckets.open('files');
  await Promise.all(Array.from({ length: 3000 }, (_, at) => put(bucket, `${at % 30}/${at}`)));
  const before = await readKept(records);
  // What was there is removed, and made again, in several batches.
  for (const kept of [1, 3, 2]) {
    faults.push(...new Array(kept).fill(undefined), 'not written', 'written');
    await t.throwsAsync(rebuildIndexes(records));
    t.notDeepEqual((await readKept(records)).index, before.index);
  }
  await rebuildIndexes(records);
  t.deepEqual(await readKept(records), before);
});

test('put() that creates only does not win over one that failed and was found written', async t => {
  const { buckets, faults } = await failing();
  const bucket = await buckets.open('files');
  faults.push('not written', 'written');
  await t.throwsAsync(put(bucket, 'a/b'));
  t.is(await bucket.put('a/b', Buffer.from('x'), { condition: { etagDoesNotMatch: [{ kind: 'any' }] } }), null);
});
