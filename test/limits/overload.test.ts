/** More waits for an isolate than there can ever be room for. */
import test from 'ava';
import { handler, newHost } from '../host/new-host.js';

test('fetch() rejects with EDGE_OVERLOADED when 10,000 requests wait for the isolate of the function already', async t => {
  const wide = { hostBytes: 2 ** 30, hostHeapBytes: 2 ** 30, openInvocations: 20_000 };
  const host = newHost(t, { isolation: 'thread', maxIsolatesPerAccount: 1, spareIsolates: 0, ...wide });
  const waiting = await host.load(handler('return new Response("")'), { name: 'waiting' });
  const busy = await host.load(handler('console.log("busy"); await scheduler.wait(600_000)'), { name: 'busy' });
  const isBusy = new Promise(resolve => host.once('log', resolve));
  busy.fetch('http://x/').catch(() => {});
  await isBusy;
  for (let n = 0; n < 10_000; n++) waiting.fetch('http://x/').catch(() => {});
  await t.throwsAsync(waiting.fetch('http://x/'), { code: 'EDGE_OVERLOADED', message: /10,?000/ });
});
