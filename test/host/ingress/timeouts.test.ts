/** `timeoutMs` of the listener: how long a function may take to begin its answer. */
import { once } from 'node:events';
import test from 'ava';
import { handler, newHost, nextInvocation } from '../new-host.js';
import { overBoth } from '../protocols.js';

const WAITS = handler(`console.log('waits'); await scheduler.wait(600_000); return new Response('late');`);

overBoth(
  'a function that does not answer within timeoutMs is answered for with 504, and canceled',
  async (t, { listen, fetch }) => {
    const host = newHost(t);
    const fn = await host.load(WAITS);
    const origin = await listen(t, host.listener({ function: fn, timeoutMs: 100 }));
    const event = nextInvocation(host);
    const response = await fetch(origin, { headers: { accept: 'application/json' } });
    t.is(response.status, 504);
    t.like(await response.json(), { error: { code: 'EDGE_TIMEOUT', message: 'the function did not answer in time' } });
    const { outcome, status, error } = await event;
    t.is(outcome, 'exceededWallTime');
    t.is(status, undefined);
    t.like(error, { code: 'EDGE_TIMEOUT' });
    t.regex(error?.message ?? '', /not begun to answer within 100 ms \(option timeoutMs of host\.listener\(\)\)/);
  },
);

overBoth(
  'the time of the start counts to timeoutMs, and what starts later is canceled',
  async (t, { listen, fetch }) => {
    const host = newHost(t, { idleMs: 1 });
    const fn = await host.load(WAITS);
    const origin = await listen(t, host.listener({ function: fn, timeoutMs: 1 }));
    while (host.health().isolates > 0) await new Promise(resolve => setImmediate(resolve));
    const event = nextInvocation(host);
    t.is((await fetch(origin)).status, 504);
    t.true(['canceled', 'exceededWallTime'].includes((await event).outcome));
  },
);

overBoth('a body may take longer than timeoutMs', async (t, { listen, fetch }) => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`
      const { readable, writable } = new FixedLengthStream(4);
      const writer = writable.getWriter();
      ctx.waitUntil(scheduler.wait(1100).then(() => writer.write(new TextEncoder().encode('late'))).then(() => writer.close()));
      return new Response(readable);`),
  );
  const origin = await listen(t, host.listener({ function: fn, timeoutMs: 1000 }));
  const response = await fetch(origin);
  t.is(response.status, 200);
  t.is(await response.text(), 'late');
});

overBoth('a client that leaves before timeoutMs cancels the invocation', async (t, { listen, open }) => {
  const host = newHost(t);
  const fn = await host.load(WAITS);
  const origin = await listen(t, host.listener({ function: fn, timeoutMs: 60_000 }));
  const event = nextInvocation(host);
  const logged = once(host, 'log');
  const { leave } = open(origin);
  await logged;
  leave();
  t.is((await event).outcome, 'canceled');
});

overBoth('a function that asked for it has its late requests passed on', async (t, { listen, fetch }) => {
  const host = newHost(t);
  const fn = await host.load(handler('ctx.passThroughOnException(); await scheduler.wait(600_000)'));
  const listener = host.listener({ function: fn, timeoutMs: 100 });
  const origin = await listen(t, (request, response) => listener(request, response, () => response.end('behind')));
  t.is(await (await fetch(origin)).text(), 'behind');
});

test('listener() refuses a timeoutMs and a trustProxy that are none', t => {
  const host = newHost(t);
  const refused = [
    [{ timeoutMs: 0 }, RangeError, /timeoutMs/],
    [{ timeoutMs: '5' }, TypeError, /timeoutMs/],
    [{ trustProxy: 'loopback' }, TypeError, /trustProxy.*true, false, or the number of proxies/],
    [{ trustProxy: 0 }, RangeError, /trustProxy/],
  ] as const;
  for (const [options, instanceOf, message] of refused) {
    // What an application in JavaScript may give.
    t.throws(() => host.listener(options as Parameters<typeof host.listener>[0]), { instanceOf, message });
  }
});
