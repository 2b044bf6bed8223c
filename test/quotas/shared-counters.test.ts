/** Against a real Redis, whose URL is in EDGEHOST_REDIS_URL. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';

import { Admission, type AdmissionRequest } from '../../src/quotas/requests/admission.js';
import { openRedisCounters } from '../../src/quotas/requests/shared-counters.js';
import { resolveLimits } from '../../src/quotas/resolve-limits.js';
import { unlessMissing } from '../needs.js';

const url = process.env.EDGEHOST_REDIS_URL;
const withRedis = unlessMissing(url === undefined ? 'no redis-server (EDGEHOST_REDIS_URL is not set)' : undefined);

withRedis('increment() counts up, key by key, and keys end with their life', async t => {
  const keyPrefix = randomUUID();
  const counters = await openRedisCounters({ url: url ?? '', keyPrefix });
  t.teardown(() => counters.close());
  t.is(await counters.increment('a', 60), 1);
  t.is(await counters.increment('a', 60), 2);
  t.is(await counters.increment('b', 60), 1);
});

withRedis('two hosts on one Redis count as one account', async t => {
  const keyPrefix = randomUUID();
  const open = async (): Promise<Admission> => {
    const shared = await openRedisCounters({ url: url ?? '', keyPrefix });
    t.teardown(() => shared.close());
    // In the middle of a minute: the clock of Redis is known to a millisecond or two.
    return new Admission({ shared, now: () => Date.UTC(2026, 0, 15, 12, 0, 30) });
  };
  const hosts = [await open(), await open()];
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 100 }] });
  const request: AdmissionRequest = { account: 'acme', limits, mode: 'fail-closed' };
  const verdicts = await Promise.all(Array.from({ length: 300 }, async (_, i) => hosts[i % 2]?.check(request)));
  t.is(verdicts.filter(verdict => verdict?.kind === 'admit').length, 100);
  t.like(await hosts[0]?.check(request), { kind: 'refuse', code: 'EDGE_RATE_LIMITED' });
});

/** A way to Redis that can be cut, and blocked so that nothing is answered. */
async function wayToRedis(t: ExecutionContext) {
  const target = new URL(url ?? '');
  const sockets = new Set<Socket>();
  const state = { isBlocked: false };
  const server = createServer(inner => {
    const outer = connect(Number(target.port), target.hostname);
    sockets.add(inner).add(outer);
    inner.on('error', () => {}).on('data', bytes => state.isBlocked || outer.write(bytes));
    outer.on('error', () => {}).pipe(inner);
    inner.on('close', () => outer.destroy());
  });
  const listen = async (port = 0): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server.close();
  };
  t.teardown(cut);
  return { port: await listen(), listen, cut, state };
}

withRedis(
  'when Redis goes away requests are served by own counts, which is said once, and so is its coming back',
  async t => {
    const way = await wayToRedis(t);
    const told: string[] = [];
    let onTold: () => void = () => {};
    const shared = await openRedisCounters({
      url: `redis://127.0.0.1:${way.port}`,
      keyPrefix: randomUUID(),
      onError: error => {
        told.push(error.message);
        onTold();
      },
    });
    t.teardown(() => shared.close());
    const admission = new Admission({ shared });
    const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 1e9, requestsPerDay: 1e9 }] });
    const request: AdmissionRequest = { account: 'acme', limits, mode: 'fail-closed' };
    t.like(await admission.check(request), { kind: 'admit' });
    const isGone = new Promise<void>(resolve => {
      onTold = resolve;
    });
    way.cut();
    await isGone;
    for (let n = 0; n < 100; n++) t.like(await admission.check(request), { kind: 'admit' });
    t.is(told.length, 1);
    t.regex(told[0] ?? '', /cannot be reached .*own counts/);

    await way.listen(way.port);
    while (told.length < 2) {
      t.like(await admission.check(request), { kind: 'admit' });
      await new Promise(resolve => setImmediate(resolve));
    }
    t.regex(told[1] ?? '', /can be reached again/);
    t.is(told.length, 2);
  },
);

withRedis('while Redis does not answer one request in a while waits for it, and no other', async t => {
  const way = await wayToRedis(t);
  const told: string[] = [];
  const shared = await openRedisCounters({
    url: `redis://127.0.0.1:${way.port}`,
    keyPrefix: randomUUID(),
    timeoutMs: 20,
    onError: error => told.push(error.message),
  });
  t.teardown(() => shared.close());
  way.state.isBlocked = true;
  await t.throwsAsync(shared.increment('a', 60), { message: /no answer from Redis within 20 ms/ });
  for (let n = 0; n < 1000; n++) await t.throwsAsync(shared.increment('a', 60), { message: /cannot be reached/ });
  t.is(told.length, 1);
});

withRedis('hosts whose clocks are minutes apart count as one account', async t => {
  const keyPrefix = randomUUID();
  const hosts = await Promise.all(
    [-10 * 60_000, 0, 3 * 86_400_000].map(async offMs => {
      const now = (): number => Date.now() + offMs;
      const shared = await openRedisCounters({ url: url ?? '', keyPrefix, now });
      t.teardown(() => shared.close());
      return new Admission({ shared, now });
    }),
  );
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: Infinity, requestsPerDay: 2 }] });
  const verdicts: unknown[] = [];
  for (const host of hosts) verdicts.push(await host.check({ account: 'acme', limits, mode: 'fail-closed' }));
  t.like(verdicts, [{ kind: 'admit' }, { kind: 'admit' }, { kind: 'refuse', code: 'EDGE_DAILY_LIMIT' }]);
});

withRedis('increment() rejects after close()', async t => {
  const counters = await openRedisCounters({ url: url ?? '', keyPrefix: randomUUID() });
  await counters.close();
  await t.throwsAsync(counters.increment('a', 60));
});

test('increment() rejects when there is no server, and opening does not', async t => {
  const errors: unknown[] = [];
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  server.close();
  await once(server, 'close');
  const onError = (error: unknown): void => void errors.push(error);
  const counters = await openRedisCounters({ url: `redis://127.0.0.1:${port}`, connectTimeoutMs: 50, onError });
  await t.throwsAsync(counters.increment('a', 60));
  await counters.close();
  t.true(errors.length > 0);
});

test('increment() rejects in a bounded time when the server does not answer', async t => {
  const sockets = new Set<Socket>();
  const server = createServer(socket => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const counters = await openRedisCounters({ url: `redis://127.0.0.1:${port}`, connectTimeoutMs: 50, timeoutMs: 10 });
  await t.throwsAsync(counters.increment('a', 60));
  await counters.close();
});

test('openRedisCounters() throws when the URL is not one of Redis', async t => {
  await t.throwsAsync(openRedisCounters({ url: 'http://127.0.0.1' }), { message: /protocol/i });
});
