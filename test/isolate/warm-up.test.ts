/** Alone in its file: tests of isolates leave realms of their own, which are collected now or later. */
import { getHeapStatistics } from 'node:v8';
import test from 'ava';
import { collectGarbage } from '../../src/isolate/metering/collect-garbage.js';
import { platformOps } from '../../src/isolate/ops/platform.js';
import { warmUp } from '../../src/isolate/warm-up.js';

function realms(): number {
  collectGarbage();
  return getHeapStatistics().number_of_native_contexts;
}

test('warmUp() leaves no realm behind', async t => {
  const before = realms();
  await warmUp(platformOps);
  // A timer of the load holds the realm until it fires.
  for (let rounds = 0; rounds < 100 && realms() > before; rounds++) await new Promise(setImmediate);
  t.is(realms(), before);
});
