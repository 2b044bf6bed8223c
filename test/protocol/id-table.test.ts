import test from 'ava';
import fc from 'fast-check';
import { IdTable } from '../../src/protocol/id-table.js';

interface Entry {
  readonly name: string;
}

type Step = readonly ['set' | 'delete', id: number];

const ids = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));
const steps = fc.array(fc.tuple(fc.constantFrom('set', 'set', 'delete'), ids), { maxLength: 400 });

test('an IdTable has what a Map has, whatever is set and deleted', t => {
  fc.assert(
    fc.property(steps, (all: Step[]) => {
      const table = new IdTable<Entry>();
      const map = new Map<number, Entry>();
      all.forEach(([step, id], at) => {
        if (step === 'delete') t.is(table.delete(id), map.delete(id));
        else {
          table.set(id, { name: `${at}` });
          map.set(id, { name: `${at}` });
        }
        t.is(table.size, map.size);
      });
      for (const [, id] of all) {
        t.is(table.has(id), map.has(id));
        t.is(table.get(id)?.name, map.get(id)?.name);
      }
      const sorted = [...map].sort(([a], [b]) => a - b);
      t.deepEqual(table.entries(), sorted);
      t.deepEqual(
        table.values(),
        sorted.map(([, entry]) => entry),
      );
    }),
    { numRuns: 300 },
  );
});

test('get() and delete() of what is no id find nothing', t => {
  const table = new IdTable<Entry>();
  table.set(1, { name: 'one' });
  for (const id of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1 + 2 ** 32]) {
    t.is(table.get(id), undefined);
    t.false(table.has(id));
    t.false(table.delete(id));
  }
  t.is(table.size, 1);
});

test('one that is there for long is found among ten thousand that come and go', t => {
  const table = new IdTable<Entry>();
  const stays = { name: 'stays' };
  table.set(2, stays);
  for (let id = 4; id < 20_000; id += 2) {
    table.set(id, { name: `${id}` });
    if (id > 200) t.true(table.delete(id - 100));
  }
  t.is(table.get(2), stays);
  table.clear();
  t.is(table.size, 0);
  t.is(table.get(2), undefined);
});

test('some() sees what is there, and nothing of what is gone', t => {
  const table = new IdTable<Entry>();
  t.false(table.some(() => true));
  table.set(7, { name: 'seven' });
  t.true(table.some(({ name }) => name === 'seven'));
  t.false(table.some(({ name }) => name === 'eight'));
  table.delete(7);
  t.false(table.some(() => true));
});

test('entries() stay as they are while the table changes', t => {
  const table = new IdTable<Entry>();
  for (let id = 1; id <= 40; id++) table.set(id, { name: `${id}` });
  const seen = table.values().map(({ name }) => {
    table.delete(Number(name));
    return name;
  });
  t.is(seen.length, 40);
  t.is(table.size, 0);
});
