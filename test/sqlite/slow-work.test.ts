/** Whose work ends when too much of it runs for long. */
import test from 'ava';
import { SlowWork } from '../../src/sqlite/pool/slow-work.js';

function slowWork(): { add(account: object, name: string): void; readonly ended: string[]; leave(name: string): void } {
  const work = new SlowWork();
  const ended: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    ended,
    add(account, name) {
      const end = (): void => void ended.push(name);
      ends.set(name, end);
      work.add(account, end);
    },
    leave: name => work.delete(ends.get(name) ?? (() => {})),
  };
}

test('of one account the longest ends with its third', t => {
  const { add, ended, leave } = slowWork();
  const [anna, bert] = [{}, {}];
  add(bert, 'b1');
  add(anna, 'a1');
  add(anna, 'a2');
  t.deepEqual(ended, []);
  add(anna, 'a3');
  t.deepEqual(ended, ['a1']);
  leave('a2');
  add(anna, 'a4');
  t.deepEqual(ended, ['a1']);
});

test('of many accounts the longest of that with the most ends', t => {
  const { add, ended } = slowWork();
  const [anna, bert] = [{}, {}];
  for (const name of ['c1', 'd1', 'e1']) add({}, name);
  for (const name of ['a1', 'a2']) add(anna, name);
  add(bert, 'b1');
  t.deepEqual(ended, []);
  add(bert, 'b2');
  t.is(ended.length, 1);
  t.true(['a1', 'b1'].includes(ended[0] ?? ''));
});
