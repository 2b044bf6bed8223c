import test from 'ava';
import fc from 'fast-check';
import type { LevelDatabase, LevelOperation } from '../../../src/storage/records/level-database.js';
import { openMemoryDatabase } from '../../../src/storage/records/memory-database.js';
import { RecordCache } from '../../../src/storage/records/record-cache.js';
import { RecordStore } from '../../../src/storage/records/record-store.js';

const put = (key: string, value = key): LevelOperation => ({ type: 'put', key, value: Buffer.from(value) });
const del = (key: string): LevelOperation => ({ type: 'del', key });

function write(cache: RecordCache, operations: LevelOperation[]): void {
  cache.changing(operations);
  cache.changed(operations);
}

function withRecord(key = 'a'): RecordCache {
  const cache = new RecordCache();
  cache.keep(cache.startReading(), key, Buffer.from('1'));
  return cache;
}

test('get() gives what was kept', t => {
  const cache = withRecord();
  t.is(cache.get('a')?.toString(), '1');
  t.is(cache.get('b'), undefined);
});

test('keep() keeps nothing that was read across the beginning or the end of a batch', t => {
  const cache = new RecordCache();
  const before = cache.startReading();
  cache.changing([put('b')]);
  const meanwhile = cache.startReading();
  cache.keep(before, 'a', Buffer.from('old'));
  cache.changed([put('b')]);
  cache.keep(meanwhile, 'b', Buffer.from('old'));
  t.deepEqual([cache.get('a'), cache.get('b')], [undefined, undefined]);
});

test('keep() keeps nothing of a key that is being written, and other keys', t => {
  const cache = new RecordCache();
  cache.changing([put('a')]);
  cache.keep(cache.startReading(), 'a', Buffer.from('old'));
  cache.keep(cache.startReading(), 'b', Buffer.from('1'));
  t.deepEqual([cache.get('a'), cache.get('b')?.toString()], [undefined, '1']);
});

test('changing() takes records out until changed() brings the new ones', t => {
  const cache = withRecord();
  const operations = [put('a', '2')];
  cache.changing(operations);
  t.is(cache.get('a'), undefined);
  cache.changed(operations);
  t.is(cache.get('a')?.toString(), '2');
});

test('changed() keeps the last operation of a key, and no record that was not kept before', t => {
  const cache = withRecord();
  write(cache, [put('a', '2'), del('a'), put('b')]);
  t.deepEqual([cache.get('a'), cache.get('b')], [undefined, undefined]);
  const other = withRecord();
  write(other, [del('a'), put('a', '3')]);
  t.is(other.get('a')?.toString(), '3');
});

test('changed() keeps a copy: the buffer of a writer may change', t => {
  const cache = withRecord();
  const value = Buffer.from('2');
  write(cache, [{ type: 'put', key: 'a', value }]);
  value.write('x');
  t.is(cache.get('a')?.toString(), '2');
});

test('keep() and changed() leave large records out', t => {
  const cache = withRecord();
  const large = Buffer.alloc(RecordCache.MAX_RECORD_BYTES + 1);
  cache.keep(cache.startReading(), 'b', large);
  write(cache, [{ type: 'put', key: 'a', value: large }]);
  t.deepEqual([cache.get('a'), cache.get('b'), cache.bytes], [undefined, undefined, 0]);
});

test('keep() drops what was read least recently when MAX_BYTES are reached', t => {
  const cache = new RecordCache();
  const value = Buffer.alloc(RecordCache.MAX_RECORD_BYTES);
  const count = Math.ceil(RecordCache.MAX_BYTES / value.byteLength);
  for (let at = 0; at < count; at++) cache.keep(cache.startReading(), `${at}`, value);
  t.is(cache.get('0'), undefined);
  t.not(cache.get(`${count - 1}`), undefined);
  t.true(cache.bytes <= RecordCache.MAX_BYTES);
});

test('clear() forgets all, also what is being read', t => {
  const cache = withRecord();
  const ticket = cache.startReading();
  cache.clear();
  cache.keep(ticket, 'b', Buffer.from('1'));
  t.deepEqual([cache.get('a'), cache.get('b')], [undefined, undefined]);
});

/** A database whose reads and writes take effect, and answer, when the scheduler says. */
async function scheduled(scheduler: fc.Scheduler): Promise<LevelDatabase> {
  const database = await openMemoryDatabase();
  return {
    ...database,
    get: async key => {
      await scheduler.schedule(Promise.resolve(), `get ${key}`);
      const value = await database.get(key);
      await scheduler.schedule(Promise.resolve(), `got ${key}`);
      return value;
    },
    batch: async (operations, options) => {
      await scheduler.schedule(Promise.resolve(), 'batch');
      await database.batch(operations, options);
      await scheduler.schedule(Promise.resolve(), 'written');
    },
  };
}

test('get() never goes back: not behind a write that was acknowledged, nor behind what another get() gave', async t => {
  const kind = fc.constantFrom('get', 'get', 'get', 'put', 'put', 'delete');
  const clients = fc.array(fc.array(kind, { minLength: 4, maxLength: 8 }), { minLength: 3, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), clients, async (scheduler, lists) => {
      const records = new RecordStore(await scheduled(scheduler));
      // A deletion is a version too; for a missing record it is unknown which one.
      const isDeleted: boolean[] = [];
      let least = 0;
      const call = async (method: string): Promise<void> => {
        const from = least;
        if (method === 'get') {
          const value = await records.get('a');
          const isPossible =
            value === undefined ? from === 0 || isDeleted.slice(from - 1).includes(true) : Number(value) >= from;
          if (!isPossible) throw new Error(`read ${value} after version ${from}`);
          if (value !== undefined) least = Math.max(least, Number(value));
        } else {
          const version = isDeleted.push(method === 'delete');
          await records.commit([method === 'delete' ? del('a') : put('a', `${version}`)]);
          least = Math.max(least, version);
        }
      };
      const client = async (methods: readonly string[]): Promise<void> => {
        for (const method of methods) await call(method);
      };
      await scheduler.waitFor(Promise.all(lists.map(client)));
    }),
    { numRuns: 500 },
  );
  t.pass();
});
