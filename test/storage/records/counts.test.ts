import test from 'ava';
import { type RecordOperation, withCounts } from '../../../src/storage/records/counts.js';

const count = (key: string, by: number): RecordOperation => ({ type: 'count', key, by });

/** What is written, on records with these numbers; and which were read. */
async function written(operations: readonly RecordOperation[], numbers: Readonly<Record<string, number>> = {}) {
  const read: string[] = [];
  const found = await withCounts(operations, async keys => {
    read.push(...keys);
    return keys.map(key => (numbers[key] === undefined ? undefined : Buffer.from(`${numbers[key]}`)));
  });
  return {
    read,
    operations: found.map(each => (each.type === 'put' ? `${each.key}=${Buffer.from(each.value)}` : `-${each.key}`)),
  };
}

for (const [title, operations, numbers, expected] of [
  ['begins a record at 0', [count('a', 1)], {}, ['a=1']],
  ['adds to what is there', [count('a', 1)], { a: 41 }, ['a=42']],
  ['adds up what one batch counts', [count('a', 1), count('b', -1), count('a', -3)], { a: 5, b: 2 }, ['a=3', 'b=1']],
  ['removes a record at 0', [count('a', -2)], { a: 2 }, ['-a']],
  ['removes a record that would be below 0', [count('a', -2)], { a: 1 }, ['-a']],
  ['leaves alone what does not change', [count('a', 1), count('a', -1)], { a: 7 }, []],
  ['counts on from large numbers', [count('a', 1)], { a: 2 ** 52 }, [`a=${2 ** 52 + 1}`]],
  [
    'keeps other operations, in their order',
    [{ type: 'del', key: 'x' }, count('a', 1), { type: 'put', key: 'x', value: Buffer.from('1') }],
    {},
    ['-x', 'x=1', 'a=1'],
  ],
] as const) {
  test(`withCounts() ${title}`, async t => {
    t.deepEqual((await written(operations, numbers)).operations, [...expected]);
  });
}

test('withCounts() reads each record once, and none that does not change', async t => {
  const operations = [count('a', 1), count('a', 1), count('b', 1), count('b', -1)];
  t.deepEqual((await written(operations)).read, ['a']);
});
