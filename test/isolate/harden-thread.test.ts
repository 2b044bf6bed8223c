import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';

async function results(): Promise<{ readonly [name: string]: unknown }> {
  const worker = new Worker(new URL('./harden-thread.worker.js', import.meta.url), { execArgv: ['--no-warnings'] });
  const [message] = await once(worker, 'message');
  await worker.terminate();
  return message;
}

test('hardenThread() leaves no way to compile code or to reach the process', async t => {
  const { removed, compilers } = await results();
  t.deepEqual(removed, []);
  t.is(compilers, 0);
});

test('hardenThread() freezes the intrinsics and lets objects override what they inherit', async t => {
  const { hasFrozenIntrinsics, overrides } = await results();
  t.true(hasFrozenIntrinsics);
  t.deepEqual(overrides, ['Renamed: second', 'own', 1]);
});

test("hardenThread() leaves Node's sockets, compression, cryptography, timers and text working", async t => {
  const { echo, gzip, digestBytes, timer, text } = await results();
  t.deepEqual([echo, gzip, digestBytes, timer, text], ['hello', 'compressed', 32, 'fired', '\u3042']);
});
