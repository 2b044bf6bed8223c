import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { hostBucket } from '../../../src/bindings/bucket/host-bucket.js';
import { bucketService } from '../../../src/bindings/bucket/service.js';
import type { StoreBucket, StoreListOptions, StoreObject } from '../../../src/bindings/bucket/types.js';
import { bucketsOf } from './open-buckets.js';
import { contract } from './stores.js';

async function fill(bucket: StoreBucket, keys: Iterable<string>): Promise<void> {
  await Promise.all([...keys].map(key => bucket.put(key, key)));
}

/** Of the binding or the engine, from the first page to the last. */
async function* pagesOf<Query extends object, Page extends { readonly cursor?: string }>(
  lists: { list(query: Query & { readonly cursor?: string }): Promise<Page> },
  query: Query,
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  do {
    const page = await lists.list({ ...query, ...(cursor === undefined ? undefined : { cursor }) });
    yield page;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

const KEYS = ['a', 'b/1', 'b/2', 'b/c/3', 'd', 'e/4', 'f'];

contract('list() returns all keys in order when nothing is asked for', async (t, { bucket }) => {
  await fill(bucket, KEYS);
  const page = await bucket.list();
  t.deepEqual(
    page.objects.map(object => object.key),
    KEYS,
  );
  t.deepEqual([page.truncated, page.delimitedPrefixes, 'cursor' in page], [false, [], false]);
});

contract('list() orders by UTF-8 bytes', async (t, { bucket }) => {
  const keys = ['\ufffd', '\u{10000}', 'z', 'Z', '\u00e9', '', '\u{10ffff}', '\ue000', '\ud7ff'];
  await fill(bucket, keys);
  const expected = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.deepEqual(
    (await bucket.list()).objects.map(object => object.key),
    expected,
  );
  t.deepEqual(
    (await bucket.list({ prefix: '\u{10ffff}' })).objects.map(object => object.key),
    ['\u{10ffff}'],
  );
  t.deepEqual(
    (await bucket.list({ prefix: '\ud7ff' })).objects.map(object => object.key),
    ['\ud7ff'],
  );
});

contract('list() cuts the delimiter off the groups as the specification says', async (t, { bucket }) => {
  await fill(bucket, ['foo/bar/baz', 'foo/bar/qux', 'foo/x', 'top']);
  const top = await bucket.list({ delimiter: '/' });
  t.deepEqual([top.delimitedPrefixes, top.objects.map(object => object.key)], [['foo'], ['top']]);
  const below = await bucket.list({ prefix: 'foo/', delimiter: '/' });
  t.deepEqual([below.delimitedPrefixes, below.objects.map(object => object.key)], [['foo/bar'], ['foo/x']]);
});

contract('list() groups by a delimiter of several characters, and not by an empty one', async (t, { bucket }) => {
  await fill(bucket, ['a--b', 'a--c', 'a-d', 'b']);
  t.deepEqual((await bucket.list({ delimiter: '--' })).delimitedPrefixes, ['a']);
  t.is((await bucket.list({ delimiter: '' })).objects.length, 4);
});

contract('list() starts after startAfter, or after the cursor when that is later', async (t, { bucket }) => {
  await fill(bucket, KEYS);
  const keys = async (options: StoreListOptions) => (await bucket.list(options)).objects.map(object => object.key);
  t.deepEqual(await keys({ startAfter: 'd' }), ['e/4', 'f']);
  t.deepEqual(await keys({ startAfter: 'c' }), ['d', 'e/4', 'f']);
  const { cursor = '' } = await bucket.list({ limit: 5 });
  t.deepEqual(await keys({ startAfter: 'a', cursor }), ['e/4', 'f']);
  t.deepEqual(await keys({ startAfter: 'e/4', cursor }), ['f']);
});

contract('list() goes on behind the cursor when its key was deleted and others were added', async (t, { bucket }) => {
  await fill(bucket, ['a', 'b', 'c', 'd']);
  const { cursor = '' } = await bucket.list({ limit: 2 });
  await bucket.delete('b');
  await fill(bucket, ['aa', 'bb']);
  t.deepEqual(
    (await bucket.list({ cursor })).objects.map(object => object.key),
    ['bb', 'c', 'd'],
  );
});

contract('list() is empty when the bucket or the prefix has no key', async (t, { bucket }) => {
  t.deepEqual(await bucket.list(), { objects: [], delimitedPrefixes: [], truncated: false });
  await fill(bucket, ['b']);
  t.deepEqual((await bucket.list({ prefix: 'a' })).objects, []);
  t.deepEqual((await bucket.list({ startAfter: 'z' })).objects, []);
});

contract('list() returns the metadata that include names, and no other', async (t, { bucket }) => {
  await bucket.put('key', 'x', { httpMetadata: { contentType: 'a/b' }, customMetadata: { c: 'd' } });
  const only = async (include?: StoreListOptions['include']) =>
    (await bucket.list(include === undefined ? {} : { include })).objects[0];
  const none = await only();
  if (none === undefined) return t.fail();
  t.deepEqual([(await only())?.httpMetadata, (await only())?.customMetadata], [undefined, undefined]);
  t.deepEqual([(await only([]))?.httpMetadata, (await only([]))?.customMetadata], [undefined, undefined]);
  const http = await only(['httpMetadata']);
  t.deepEqual([http?.httpMetadata, http?.customMetadata], [{ contentType: 'a/b' }, undefined]);
  const both = await only(['httpMetadata', 'customMetadata']);
  t.deepEqual([both?.httpMetadata, both?.customMetadata], [{ contentType: 'a/b' }, { c: 'd' }]);
  t.throws(() => Reflect.apply(none.writeHttpMetadata, none, [new Headers()]), {
    instanceOf: TypeError,
    message: /include/,
  });
});

contract('list() returns each object as head() does, whatever the objects beside it have', async (t, { bucket }) => {
  await bucket.put('a', 'plain');
  await bucket.put('b', 'hashed', { sha1: createHash('sha1').update('hashed').digest('hex') });
  await bucket.put('c', 'cold', { storageClass: 'InfrequentAccess', customMetadata: { name: 'value' } });
  const upload = await bucket.createMultipartUpload('d', { httpMetadata: { cacheExpiry: new Date(86_400_000) } });
  await upload.complete([await upload.uploadPart(1, 'parts')]);
  await bucket.put('e', 'plain');
  const fields = (object: StoreObject | null) => ({
    ...object,
    range: undefined,
    checksums: object?.checksums.toJSON(),
  });
  const { objects } = await bucket.list({ include: ['httpMetadata', 'customMetadata'] });
  t.is(objects.length, 5);
  for (const object of objects) t.deepEqual(fields(object), fields(await bucket.head(object.key)), object.key);
  for (const object of (await bucket.list()).objects) {
    const { httpMetadata: _, customMetadata: __, ...others } = fields(await bucket.head(object.key));
    t.deepEqual(fields(object), others);
  }
});

contract('list() returns a page of every size, with the cursor that it ends at', async (t, { bucket }) => {
  const keys = Array.from({ length: 1002 }, (_, at) => `${at}`.padStart(4, '0'));
  await fill(bucket, keys);
  for (const limit of [1, 333, 334, 335, 668, 1000]) {
    const page = await bucket.list({ limit });
    t.deepEqual(
      page.objects.map(object => object.key),
      keys.slice(0, limit),
    );
    const rest = await bucket.list({ ...(page.cursor === undefined ? undefined : { cursor: page.cursor }) });
    t.is(rest.objects[0]?.key, keys[limit]);
    t.is(rest.truncated, keys.length - limit > 1000);
  }
});

contract('list() ends a page early when the metadata is large', async (t, { bucket }) => {
  const customMetadata = { large: 'x'.repeat(8000) };
  await Promise.all(Array.from({ length: 60 }, (_, index) => bucket.put(`k${index + 10}`, '', { customMetadata })));
  const page = await bucket.list({ include: ['customMetadata'] });
  t.true(page.truncated);
  t.true(page.objects.length < 40 && page.objects.length > 20);
  t.is((await bucket.list()).objects.length, 60);
});

contract('list() rejects a limit that is none with 10022', async (t, { bucket }) => {
  for (const limit of [0, 1001, -1, 1.5, Number.NaN]) {
    await t.throwsAsync(bucket.list({ limit }), {
      code: 10022,
      message: /^list: limit is .* from 1 to 1000 \(10022\)$/,
    });
  }
  await t.notThrowsAsync(bucket.list({ limit: 1000 }));
});

contract('list() refuses a cursor that is none, and options of the wrong type', async (t, { bucket }) => {
  await t.throwsAsync(bucket.list({ cursor: 'nonsense!' }), {
    instanceOf: TypeError,
    message: /^list: the cursor is "nonsense!"/,
  });
  await t.throwsAsync(bucket.list({ cursor: '' }), { instanceOf: TypeError });
  for (const name of ['prefix', 'delimiter', 'startAfter', 'cursor', 'limit', 'include']) {
    const options: StoreListOptions = {};
    Reflect.set(options, name, { odd: true });
    await t.throwsAsync(bucket.list(options), { instanceOf: TypeError }, name);
  }
  const options: StoreListOptions = {};
  Reflect.set(options, 'include', ['everything']);
  await t.throwsAsync(bucket.list(options), { instanceOf: RangeError, message: /"everything"/ });
});

/** What a listing is, in the simplest words: filter, group, sort, cut. */
function modelList(keys: readonly string[], options: StoreListOptions): string[] {
  const { prefix = '', delimiter = '', startAfter } = options;
  const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const entries = new Set<string>();
  for (const key of keys) {
    if (!key.startsWith(prefix) || (startAfter !== undefined && bytes(key, startAfter) <= 0)) continue;
    const at = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    entries.add(at === -1 ? `o:${key}` : `g:${key.slice(0, at)}`);
  }
  return [...entries].sort();
}

/** The first page of the model, as far as its order does not matter. ASCII alone. */
function modelPage(keys: readonly string[], options: StoreListOptions, limit: number) {
  const order = (entry: string) => (entry.startsWith('g:') ? `${entry.slice(2)}/` : entry.slice(2));
  const all = modelList(keys, options).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return { found: all.slice(0, limit).sort(), truncated: all.length > limit };
}

const character = fc.constantFrom('a', 'b', '/', '-', '\u00e9', '\u{1f600}', '\0', '\uffff');
const key = fc.string({ unit: character, maxLength: 6 }).filter(text => text === text.normalize());

contract('list() agrees with the model on any keys, prefix, delimiter, start and page size', async (t, { storage }) => {
  let count = 0;
  const options = fc.record(
    {
      prefix: fc.string({ unit: character, maxLength: 2 }),
      delimiter: fc.constantFrom('/', '-', 'a', '//', '\u{1f600}', ''),
      startAfter: key,
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 25 }),
      fc.uniqueArray(key, { maxLength: 5 }),
      fc.array(fc.tuple(options, fc.integer({ min: 1, max: 7 })), { minLength: 1, maxLength: 8 }),
      async (keys, deleted, queries) => {
        const engine = await bucketsOf(storage, 'model').open(`model-${count++}`);
        const bucket = hostBucket(bucketService(async () => engine));
        await fill(bucket, keys);
        if (deleted.length > 0) await bucket.delete(deleted);
        const left = keys.filter(one => !deleted.includes(one));
        for (const [query, limit] of queries) {
          const entries: string[] = [];
          for await (const page of pagesOf(bucket, { ...query, limit })) {
            const found = page.objects.length + page.delimitedPrefixes.length;
            if (found > limit || (page.truncated && found !== limit)) return false;
            entries.push(
              ...page.objects.map(object => `o:${object.key}`),
              ...page.delimitedPrefixes.map(group => `g:${group}`),
            );
          }
          if (JSON.stringify(entries.sort()) !== JSON.stringify(modelList(left, query))) return false;
        }
        return true;
      },
    ),
    { numRuns: 60 },
  );
  t.pass();
});

contract(
  'list() by delimiter agrees with the model while keys come and go between and during listings',
  async (t, { storage }) => {
    let count = 0;
    const small = fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 5 });
    const query = fc.record({
      prefix: fc.constantFrom('', 'a/', 'b'),
      limit: fc.constantFrom(2, 3, 1000),
      startAfter: fc.constantFrom('', 'a/b', 'b'),
    });
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), keys: fc.tuple(small), meanwhile: query }),
      fc.record({ kind: fc.constant('complete' as const), keys: fc.tuple(small), meanwhile: query }),
      fc.record({
        kind: fc.constant('delete' as const),
        keys: fc.array(small, { minLength: 1, maxLength: 6 }),
        meanwhile: query,
      }),
      fc.record({ kind: fc.constant('list' as const), query }),
    );
    const list = async (bucket: StoreBucket, options: StoreListOptions) => {
      const { objects, delimitedPrefixes, truncated } = await bucket.list({ ...options, delimiter: '/' });
      const found = [...objects.map(object => `o:${object.key}`), ...delimitedPrefixes.map(group => `g:${group}`)];
      return { found: found.sort(), truncated };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async steps => {
        const engine = await bucketsOf(storage, 'stateful').open(`stateful-${count++}`);
        const bucket = hostBucket(bucketService(async () => engine));
        const keys = new Set<string>();
        for (const one of steps) {
          if (one.kind === 'list') {
            const { limit, prefix, startAfter } = one.query;
            const model = modelPage([...keys], { prefix, delimiter: '/', startAfter }, limit);
            if (JSON.stringify(await list(bucket, one.query)) !== JSON.stringify(model)) return false;
            continue;
          }
          // Read before, while and after the change: what it does not see must not be kept.
          const listings = [list(bucket, one.meanwhile)];
          const change = (async () => {
            if (one.kind === 'delete') await bucket.delete(one.keys);
            else if (one.kind === 'put') await bucket.put(one.keys[0], 'x');
            else await (await bucket.createMultipartUpload(one.keys[0])).complete([]);
          })();
          listings.push(list(bucket, one.meanwhile));
          await listings[0];
          listings.push(list(bucket, one.meanwhile));
          await change;
          for (const key of one.keys) {
            if (one.kind === 'delete') keys.delete(key);
            else keys.add(key);
          }
          await Promise.all(listings);
        }
        return true;
      }),
      { numRuns: 80 },
    );
    t.pass();
  },
);

contract('list() by "/" agrees with the model at every depth, page after page', async (t, { storage }) => {
  let count = 0;
  const part = fc.constantFrom(
    '',
    'a',
    'a-',
    'b',
    '0',
    '\0',
    '\u{1f600}',
    '\uffff',
    '\u{10ffff}',
    'e\u0301',
    'x'.repeat(90),
  );
  const path = (minLength: number, maxLength: number) =>
    fc.array(part, { minLength, maxLength }).map(parts => parts.join('/'));
  const anyKey = fc.oneof(path(1, 4), path(1, 4), path(8, 11));
  // Of one key, so that many share what is before it.
  const keys = fc
    .tuple(fc.array(anyKey, { minLength: 1, maxLength: 5 }), fc.array(path(1, 3), { maxLength: 12 }))
    .map(([some, ends]) => [...some, ...ends.map((end, at) => `${some[at % some.length] ?? ''}/${end}`)]);
  const cut = fc.double({ min: 0, max: 1, noNaN: true });
  const query = fc.record({
    of: cut,
    length: cut,
    from: fc.option(fc.tuple(cut, cut)),
    limit: fc.constantFrom(1, 2, 3, 1000),
  });
  await fc.assert(
    fc.asyncProperty(keys, fc.array(query, { minLength: 1, maxLength: 6 }), async (given, queries) => {
      const engine = await bucketsOf(storage, 'deep').open(`deep-${count++}`);
      const bucket = hostBucket(bucketService(async () => engine));
      await fill(bucket, given);
      const normal = [...new Set(given.map(one => one.normalize()))];
      /** The beginning of one of the keys; of whole characters. */
      const beginning = (of: number, length: number): string => {
        const one = Array.from(normal[Math.floor(of * (normal.length - 1))] ?? '');
        return one.slice(0, Math.round(length * one.length)).join('');
      };
      for (const { of, length, from, limit } of queries) {
        const options: StoreListOptions = {
          delimiter: '/',
          prefix: beginning(of, length),
          ...(from === null ? undefined : { startAfter: beginning(...from) }),
        };
        const entries: string[] = [];
        for await (const page of pagesOf(bucket, { ...options, limit })) {
          entries.push(...page.delimitedPrefixes.map(group => `g:${group}`));
          entries.push(...page.objects.map(object => `o:${object.key.normalize()}`));
        }
        if (JSON.stringify(entries.sort()) !== JSON.stringify(modelList(normal, options))) return false;
      }
      return true;
    }),
    { numRuns: 100 },
  );
  t.pass();
});

contract('list() by "/" keeps order where groups and objects alternate', async (t, { engine, bucket }) => {
  const names = Array.from({ length: 1100 }, (_, at) => `${String(at).padStart(4, '0')}${at % 3 === 0 ? '/x' : ''}`);
  await fill(bucket, names);
  const query = { delimiter: '/', includeHttpMetadata: false, includeCustomMetadata: false };
  const entriesOf = ({ objects, delimitedPrefixes }: Awaited<ReturnType<typeof engine.list>>) =>
    [...objects.map(({ key }) => key), ...delimitedPrefixes].sort();
  const expected = names.map(name => name.replace('x', '')).sort();
  const first = await engine.list({ ...query, limit: 1000 });
  t.deepEqual([entriesOf(first), first.truncated], [expected.slice(0, 1000), true]);
  const { cursor = '' } = first;
  const second = await engine.list({ ...query, limit: 1000, cursor });
  t.deepEqual([entriesOf(second), second.truncated], [expected.slice(1000), false]);
});

contract('list() by "/" ends a page when its metadata is more than a page holds', async (t, { engine, bucket }) => {
  const customMetadata = { large: 'x'.repeat(8000) };
  const names = Array.from({ length: 70 }, (_, at) => `${100 + at}${at % 10 === 0 ? '/x' : ''}`);
  await Promise.all(names.map(name => bucket.put(name, '', { customMetadata })));
  const found: string[] = [];
  let pages = 0;
  const query = { delimiter: '/', limit: 1000, includeHttpMetadata: false, includeCustomMetadata: true };
  for await (const page of pagesOf(engine, query)) {
    found.push(...page.objects.map(({ key }) => key), ...page.delimitedPrefixes);
    pages++;
  }
  t.deepEqual(found.sort(), names.map(name => name.replace('x', '')).sort());
  t.is(pages, 2);
});

contract('list() by delimiter finds groups of any size', async (t, { bucket }) => {
  const sizes = [1, 2, 3, 31, 32, 33, 70, 1, 200, 5];
  const keys = sizes.flatMap((size, group) => Array.from({ length: size }, (_, index) => `g${group}/${1000 + index}`));
  await fill(bucket, [...keys, 'g3x', 'z']);
  for (let turn = 0; turn < 2; turn++) {
    const page = await bucket.list({ delimiter: '/' });
    t.deepEqual(
      page.delimitedPrefixes,
      sizes.map((_, group) => `g${group}`),
    );
    t.deepEqual(
      page.objects.map(object => object.key),
      ['g3x', 'z'],
    );
    t.false(page.truncated);
  }
});
