import test from 'ava';
import fc from 'fast-check';
import type { ListQuery } from '../../../src/bindings/bucket/engine.js';
import { listObjects } from '../../../src/bindings/bucket/list-objects.js';
import { ListingCache } from '../../../src/bindings/bucket/listing-cache.js';
import { encodeObject } from '../../../src/bindings/bucket/object-codec.js';
import { KeyValueStore } from '../../../src/bindings/storage/key-value-store.js';
import type { LevelDatabase, LevelIterator } from '../../../src/bindings/storage/level-database.js';
import { openMemoryDatabase } from '../../../src/bindings/storage/memory-database.js';
import { recordKeys } from '../../../src/bindings/storage/record-keys.js';

/** A database that does each thing, and answers, when the scheduler says. */
async function scheduled(scheduler: fc.Scheduler): Promise<LevelDatabase> {
  const database = await openMemoryDatabase();
  const wait = (what: string) => scheduler.schedule(Promise.resolve(), what);
  const between = async <T>(what: string, task: () => Promise<T>): Promise<T> => {
    await wait(`begin ${what}`);
    const result = await task();
    await wait(`end ${what}`);
    return result;
  };
  const slow = <Entry>(iterator: LevelIterator<Entry>): LevelIterator<Entry> => ({
    nextv: size => between('read', () => iterator.nextv(size)),
    seek: target => iterator.seek(target),
    close: () => iterator.close(),
  });
  return {
    ...database,
    getMany: keys => between('get', () => database.getMany(keys)),
    batch: (operations, options) => between('batch', () => database.batch(operations, options)),
    iterator: options => slow(database.iterator(options)),
    keys: options => slow(database.keys(options)),
  };
}

const QUERY: ListQuery = { limit: 1000, delimiter: '/', includeHttpMetadata: false, includeCustomMetadata: false };
const BUCKET = 'bucket';

function record(key: string): Buffer {
  const object = {
    key,
    version: '',
    size: 0,
    etag: '',
    uploaded: 0,
    httpMetadata: {},
    customMetadata: {},
    checksums: {},
    storageClass: 'Standard',
  } as const;
  return encodeObject({ object, body: { kind: 'embedded', bytes: new Uint8Array(0) } }, key);
}

test('listObjects() knows what is there after any changes at once with any listings', async t => {
  const call = fc.record({
    method: fc.constantFrom('put', 'delete', 'list', 'list', 'page'),
    name: fc.constantFrom('a/', 'b/', 'c'),
  });
  // A client has keys of its own, and shares groups with the others.
  const clients = fc.array(fc.array(call, { minLength: 3, maxLength: 8 }), { minLength: 3, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), clients, async (scheduler, lists) => {
      const records = new KeyValueStore(await scheduled(scheduler));
      const cache = new ListingCache();
      const keys = new Set<string>();
      const change = async (key: string, isPut: boolean): Promise<void> => {
        if (keys.has(key) === isPut) return;
        const recordKey = recordKeys.objects(BUCKET) + key;
        const changed = cache.changing([key], isPut ? 'added' : 'removed');
        await records.commit([
          isPut ? { type: 'put', key: recordKey, value: record(key) } : { type: 'del', key: recordKey },
        ]);
        changed();
        if (isPut) keys.add(key);
        else keys.delete(key);
      };
      const list = async (limit: number): Promise<string> => {
        const { objects, delimitedPrefixes } = await listObjects(records, BUCKET, cache, { ...QUERY, limit });
        return [...objects.map(({ key }) => key), ...delimitedPrefixes].sort().join();
      };
      const client = async (calls: (typeof lists)[number], index: number): Promise<void> => {
        for (const { method, name } of calls) {
          if (method === 'list') await list(1000);
          else if (method === 'page') await list(2);
          else await change(`${name}${index}`, method === 'put');
        }
      };
      await scheduler.waitFor(Promise.all(lists.map(client)));
      const expected = [...new Set([...keys].map(key => (key.includes('/') ? key.slice(0, 2) : key)))].sort();
      const found = [list(1000), list(1000), list(2)];
      const [first, second, page] = await scheduler.waitFor(Promise.all(found));
      t.deepEqual([first, second, page], [expected.join(), expected.join(), expected.slice(0, 2).join()]);
    }),
    { numRuns: 400 },
  );
});
