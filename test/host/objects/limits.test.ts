/** What an object takes at once. */
import test from 'ava';
import { errorCode } from '../../../src/quotas/errors.js';
import { newHost, textOf } from '../new-host.js';

const SLOW = `import { StatefulObject } from 'edgehost:workers';
export class Slow extends StatefulObject {
  free() { this.go?.(); }
  wait() { return new Promise(resolve => { this.go = resolve; setTimeout(resolve, 60_000); }); }
}
export default { async fetch(request, env) {
  const stub = env.SLOW.getByName('a');
  try { await stub.wait(); return new Response('done'); }
  catch (error) { return new Response([error.code, error.overloaded, error.retryable, error.remote].join()); }
} };`;

test('objectEvents: an object takes so many events, others beside it take theirs', async t => {
  const host = newHost(t, { limits: { objectEvents: 2 } });
  const fn = await host.load(SLOW, { name: 'slow', objects: { SLOW: 'Slow' } });
  const objects = fn.objects('Slow');
  const object = objects.getByName('a');
  const waiting = Promise.resolve(object.rpc.wait());
  t.is(await object.rpc.free(), undefined);
  await waiting;
  const both = [object.rpc.wait(), object.rpc.wait()].map(promise => Promise.resolve(promise).catch(errorCode));
  const error = await t.throwsAsync(Promise.resolve(object.rpc.free()), {
    message: /has 2 events that are not over, at most 2/,
  });
  t.is(errorCode(error), 'EDGE_OVERLOADED');
  t.is(await objects.getByName('b').rpc.free(), undefined);
  t.is(await textOf(fn.fetch('http://x/')), 'EDGE_OVERLOADED,true,,');
  await host.close({ drainMs: 0 });
  t.deepEqual(await Promise.all(both), ['EDGE_CLOSED', 'EDGE_CLOSED']);
});
