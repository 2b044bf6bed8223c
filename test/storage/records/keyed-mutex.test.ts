import test from 'ava';
import { KeyedMutex } from '../../../src/storage/records/keyed-mutex.js';

test('run() lets one task in at a time, in order, by key', async t => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  const task = (key: string, name: string) =>
    mutex.run(key, async () => {
      log.push(`${name} in`);
      await new Promise(resolve => setImmediate(resolve));
      log.push(`${name} out`);
    });
  await Promise.all([task('k', '1'), task('k', '2'), task('other', '3'), task('k', '4')]);
  t.deepEqual(
    log.filter(line => !line.startsWith('3')),
    ['1 in', '1 out', '2 in', '2 out', '4 in', '4 out'],
  );
  t.true(log.indexOf('3 out') < log.indexOf('2 out'));
});

test('run() gives the lock free when the task fails, and keeps nothing of idle keys', async t => {
  const mutex = new KeyedMutex();
  await t.throwsAsync(
    mutex.run('k', () => Promise.reject(new Error('x'))),
    { message: 'x' },
  );
  t.is(await mutex.run('k', async () => mutex.size), 1);
  t.is(mutex.size, 0);
});

test('runAll() does not deadlock when the keys overlap in any order', async t => {
  const mutex = new KeyedMutex();
  let inside = 0;
  const task = async () => {
    t.is(++inside, 1);
    await new Promise(resolve => setImmediate(resolve));
    inside--;
  };
  await Promise.all([
    mutex.runAll(['a', 'b', 'b'], task),
    mutex.runAll(['b', 'a'], task),
    mutex.runAll(['c', 'b', 'a'], task),
  ]);
  t.is(mutex.size, 0);
});
