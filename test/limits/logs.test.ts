/** How much is recorded of one request. */
import test from 'ava';
import type { LogEvent } from '../../src/index.js';
import { LIMITS } from '../../src/quotas/limits.js';
import { handler, newHost, nextInvocation } from '../host/new-host.js';

const LIMIT = LIMITS.logBytes.values.free;
const HEAD = 'GET\nhttp://x/'.length;

for (const over of [0, 1]) {
  test(`${LIMIT} + ${over} bytes of console output and metadata are ${over === 0 ? 'recorded' : 'truncated, which is said once'}`, async t => {
    const host = newHost(t);
    const logs: LogEvent[] = [];
    host.on('log', event => logs.push(event));
    const fn = await host.load(
      handler(`console.log('a'.repeat(${LIMIT - HEAD - 10})); console.log('b'.repeat(${10 + over}));
        ${over === 0 ? '' : "console.log('never');"} return new Response('')`),
    );
    const event = nextInvocation(host);
    await fn.fetch('http://x/');
    t.deepEqual(
      (await event).warnings.map(({ limit }) => limit),
      ['logBytes'],
    );
    const recorded = logs.filter(({ level }) => level === 'log').reduce((sum, { message }) => sum + message.length, 0);
    t.is(recorded, LIMIT - HEAD);
    t.is(logs.filter(({ level }) => level === 'warn').length, over);
  });
}

test('an exception is recorded within the same limit', async t => {
  const host = newHost(t, { limits: { logBytes: 100 } });
  const fn = await host.load(handler(`console.log('a'.repeat(80)); throw new Error('b'.repeat(1000))`));
  const event = nextInvocation(host);
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_HANDLER_THREW' });
  const { error } = await event;
  t.true((error?.message.length ?? 1000) < 200);
  t.is(error?.stack, '');
});
