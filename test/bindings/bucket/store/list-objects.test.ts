import test from 'ava';
import fc from 'fast-check';
import type { ListQuery } from '../../../../src/bindings/bucket/engine.js';
import { bucketKeys } from '../../../../src/bindings/bucket/store/bucket-keys.js';
import { listObjects } from '../../../../src/bindings/bucket/store/list-objects.js';
import { indexInsertOps, indexRemoveOps } from '../../../../src/bindings/bucket/store/listing-index.js';
import { encodeObject } from '../../../../src/bindings/bucket/store/object-codec.js';
import type { LevelDatabase, LevelIterator } from '../../../../src/storage/records/level-database.js';
import { openMemoryDatabase } from '../../../../src/storage/records/memory-database.js';
import { RecordStore } from '../../../../src/storage/records/record-store.js';

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
    getMany: (keys, options) => between('get', () => database.getMany(keys, options)),
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

test('listObjects() shows what was there all along, and nothing that never was, while keys come and go', async t => {
  const call = fc.record({
    method: fc.constantFrom('put', 'delete', 'list', 'list', 'page'),
    name: fc.constantFrom('a/', 'a/b/', 'c'),
  });
  // A client has keys of its own, and shares groups with the others.
  const clients = fc.array(fc.array(call, { minLength: 3, maxLength: 8 }), { minLength: 3, maxLength: 3 });
  const entryOf = (key: string) => (key.includes('/') ? 'a/' : key);
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), clients, async (scheduler, lists) => {
      const records = new RecordStore(await scheduled(scheduler));
      const keys = new Set<string>();
      const changing = new Set<string>();
      const listings = new Set<{ readonly steady: Set<string>; readonly possible: Set<string> }>();
      const change = async (key: string, isPut: boolean): Promise<void> => {
        if (keys.has(key) === isPut) return;
        const recordKey = bucketKeys.objects(BUCKET) + key;
        changing.add(key);
        for (const { steady, possible } of listings) {
          steady.delete(key);
          possible.add(key);
        }
        await records.commit(
          isPut
            ? [{ type: 'put', key: recordKey, value: record(key) }, ...indexInsertOps(BUCKET, key)]
            : [{ type: 'del', key: recordKey }, ...indexRemoveOps(BUCKET, [key])],
        );
        changing.delete(key);
        if (isPut) keys.add(key);
        else keys.delete(key);
      };
      const list = async (limit: number): Promise<void> => {
        const listing = {
          steady: new Set([...keys].filter(key => !changing.has(key))),
          possible: new Set([...keys, ...changing]),
        };
        listings.add(listing);
        const { objects, delimitedPrefixes } = await listObjects(records, BUCKET, { ...QUERY, limit });
        listings.delete(listing);
        const shown = [...delimitedPrefixes, ...objects.map(({ key }) => key)];
        const all = [...new Set([...listing.steady].map(entryOf))].sort();
        const possible = new Set([...listing.possible].map(entryOf));
        if (limit === 1000 && !all.every(entry => shown.includes(entry))) throw new Error(`${shown} is not ${all}`);
        if (!shown.every(entry => possible.has(entry))) throw new Error(`${shown} is more than ${[...possible]}`);
      };
      const client = async (calls: (typeof lists)[number], index: number): Promise<void> => {
        for (const { method, name } of calls) {
          if (method === 'list') await list(1000);
          else if (method === 'page') await list(2);
          else await change(`${name}${index}`, method === 'put');
        }
      };
      await scheduler.waitFor(Promise.all(lists.map(client)));
      await scheduler.waitFor(Promise.all([list(1000), list(2)]));
    }),
    { numRuns: 400 },
  );
  t.pass();
});
