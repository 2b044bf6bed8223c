import test from 'ava';
import { byteStream, drain } from '../../../benchmarks/measuring/byte-stream.js';
import { callsPerSecond } from '../../../benchmarks/measuring/workload.js';
import { largeFunction } from '../../../benchmarks/subjects/sources.js';

test('callsPerSecond() keeps so many calls under way', async t => {
  let underWay = 0;
  let most = 0;
  const call = async (): Promise<void> => {
    most = Math.max(most, ++underWay);
    await new Promise(resolve => setImmediate(resolve));
    underWay--;
  };
  t.true((await callsPerSecond(call, 7, 0.5)) > 0);
  t.is(most, 7);
});

test('callsPerSecond() rejects when a call does', async t => {
  const call = async () => Promise.reject(new Error('broken'));
  await t.throwsAsync(callsPerSecond(call, 2, 1), { message: 'broken' });
});

for (const bytes of [1, 65_535, 65_536, 200_000]) {
  test(`byteStream() gives ${bytes} bytes`, async t => {
    await t.notThrowsAsync(drain(byteStream(bytes), bytes));
  });
}

test('drain() rejects when bytes are missing', async t => {
  await t.throwsAsync(drain(byteStream(10), 11), { message: /11 bytes came with 10/ });
});

test('largeFunction() is about as long as asked for, and differs by its tag', t => {
  const source = largeFunction(20, 'one');
  t.true(Math.abs(source.length - 20_000) < 1000, `${source.length}`);
  t.not(source, largeFunction(20, 'two'));
});
