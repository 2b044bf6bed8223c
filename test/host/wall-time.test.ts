import test from 'ava';
import { newHost, nextInvocation } from './new-host.js';

test('scheduled() rejects with EDGE_WALL_TIME_LIMIT when the handler takes longer than wallMs', async t => {
  const host = newHost(t, { limits: { wallMs: 50 } });
  const fn = await host.load('export default { async scheduled() { await scheduler.wait(600_000) } }');
  const event = nextInvocation(host);
  await t.throwsAsync(fn.scheduled(), { code: 'EDGE_WALL_TIME_LIMIT', message: /limit wallMs is 50 ms/ });
  t.is((await event).outcome, 'exceededWallTime');
});
