import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { heapBytesOf } from '../../../src/quotas/host/heap-bytes.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** The heap itself shows how much is kept. */
function measured(text: string, copies: number): number {
  const kept: unknown[] = [];
  collect();
  const before = getHeapStatistics().used_heap_size;
  for (let n = 0; n < copies; n++) kept.push(JSON.parse(text));
  collect();
  const used = getHeapStatistics().used_heap_size - before;
  return used / kept.length;
}

const unique = (count: number): string =>
  `{${Array.from({ length: count }, (_, at) => `"name${at}":"${at}"`).join(',')}}`;

const texts: readonly (readonly [string, string])[] = [
  ['empty arrays', `[${'[],'.repeat(40_000)}[]]`],
  ['empty objects', `[${'{},'.repeat(40_000)}{}]`],
  ['nested arrays', '['.repeat(20_000) + ']'.repeat(20_000)],
  ['numbers', `[${'1,'.repeat(50_000)}1]`],
  ['fractions', `[${'1.5,'.repeat(50_000)}{}]`],
  ['texts', `[${'"あいう",'.repeat(20_000)}""]`],
  ['names that are used once', unique(20_000)],
  ['a short call', '{"key":"a","range":{"offset":1,"length":2}}'],
];

for (const [name, text] of texts) {
  test.serial(`heapBytesOf() is not less than what ${name} take`, t => {
    const counted = heapBytesOf(JSON.parse(text), text.length);
    t.true(counted >= measured(text, text.length > 1000 ? 4 : 4000) * 0.95, `${counted}`);
  });
}

test('heapBytesOf() of a thousand keys is near their length', t => {
  const text = JSON.stringify({ keys: Array.from({ length: 1000 }, (_, at) => `${at}`.padStart(1000, 'k')) });
  t.true(heapBytesOf(JSON.parse(text), text.length) < 3 * text.length);
});
