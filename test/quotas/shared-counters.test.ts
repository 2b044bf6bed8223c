/** Against a real Redis, whose URL is in EDGEHOST_REDIS_URL. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import test from 'ava';

import { Admission, type AdmissionRequest } from '../../src/quotas/admission.js';
import { resolveLimits } from '../../src/quotas/resolve-limits.js';
import { openRedisCounters } from '../../src/quotas/shared-counters.js';

const url = process.env.EDGEHOST_REDIS_URL;
const withRedis = url === undefined ? test.skip : test;
if (url === undefined) test('skipped: EDGEHOST_REDIS_URL names no Redis server', t => t.pass());

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
    return new Admission({ shared, now: () => Date.UTC(2026, 0, 15, 12) });
  };
  const hosts = [await open(), await open()];
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 100 }] });
  const request: AdmissionRequest = { account: 'acme', limits, mode: 'fail-closed' };
  const verdicts = await Promise.all(Array.from({ length: 300 }, async (_, i) => hosts[i % 2]?.check(request)));
  t.is(verdicts.filter(verdict => verdict?.kind === 'admit').length, 100);
  t.like(await hosts[0]?.check(request), { kind: 'refuse', code: 'EDGE_RATE_LIMITED' });
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
