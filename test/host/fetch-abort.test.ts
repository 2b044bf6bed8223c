import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { handler, newHost } from './new-host.js';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

test('fetch() rejects when the signal of its request fires, also when garbage was collected meanwhile', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler("await new Promise(resolve => request.signal.addEventListener('abort', resolve))"),
  );
  const controller = new AbortController();
  const answer = fn.fetch('http://x/', { signal: controller.signal });
  await new Promise(resolve => setImmediate(resolve));
  if (typeof collect === 'function') collect();
  await new Promise(resolve => setImmediate(resolve));
  controller.abort(new Error('gone'));
  await t.throwsAsync(answer, { message: 'gone' });
});
