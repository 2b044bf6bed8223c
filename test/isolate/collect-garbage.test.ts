import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { collectGarbage } from '../../src/isolate/metering/collect-garbage.js';

test('collectGarbage() collects what only a WeakRef holds', async t => {
  const weak = new WeakRef({});
  await new Promise(setImmediate);
  collectGarbage();
  t.is(weak.deref(), undefined);
});

test('collectGarbage() collects in a thread that has a limit, and the thread goes on', async t => {
  const thread = new Worker(new URL('collect-garbage.worker.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
  });
  // Asked for before the message: a thread that has ended already gives both at once.
  const exited = once(thread, 'exit');
  const [{ before, after }] = await once(thread, 'message');
  t.true(before > 80_000_000, `${before} bytes`);
  t.true(after < 20_000_000, `${after} bytes`);
  const [code] = await exited;
  t.is(code, 0);
});
