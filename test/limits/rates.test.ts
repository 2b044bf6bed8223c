/** Request rates of an account through a real host, whose clock is the test's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { type AbuseEvent, EdgeHost, type EdgeHostOptions } from '../../src/index.js';
import { LIMITS } from '../../src/quotas/limits.js';
import { handler, newHost } from '../host/new-host.js';
import { overBoth } from '../host/protocols.js';
import { unlessMissing } from '../needs.js';

const OK = handler('return new Response("ok")');
const NOON = Date.UTC(2024, 0, 1, 12);
const MINUTE = 60_000;

function clock(start = NOON) {
  const time = { now: start };
  return { time, now: () => time.now };
}

overBoth(
  'the plan free serves 1,000 requests a minute; the next gets the page of code 1015 with 429; the next minute serves',
  async (t, { listen, fetch }) => {
    const { time, now } = clock();
    const host = newHost(t, { plan: 'free', now });
    const fn = await host.load(OK);
    const origin = await listen(t, host.listener({ function: fn }));
    for (let n = 0; n < LIMITS.requestsPerMinute.values.free; n++) await (await fn.fetch('http://x/')).text();
    await t.throwsAsync(fn.fetch('http://x/'), {
      code: 'EDGE_RATE_LIMITED',
      message: /limit requestsPerMinute is 1,000/,
    });
    const page = await fetch(origin);
    t.is(page.status, 429);
    t.regex(page.headers.get('content-type') ?? '', /text\/html/);
    t.regex(await page.text(), /1015/);
    const json = await fetch(origin, { headers: { accept: 'application/json' } });
    t.is(json.status, 429);
    t.like(await json.json(), { error: { code: 'EDGE_RATE_LIMITED' } });
    time.now += MINUTE;
    t.is((await fetch(origin)).status, 200);
  },
);

test('all functions of an account share its rate, and no other account does', async t => {
  const host = newHost(t, { plan: 'free', limits: { requestsPerMinute: 2 }, now: clock().now });
  const a = await host.load(OK, { name: 'a' });
  const b = await host.load(OK, { name: 'b' });
  const other = await host.account('other').load(OK);
  await a.fetch('http://x/');
  await b.fetch('http://x/');
  await t.throwsAsync(a.fetch('http://x/'), { code: 'EDGE_RATE_LIMITED' });
  t.is((await other.fetch('http://x/')).status, 200);
});

test('a paid plan has no rate', async t => {
  const host = newHost(t, { plan: 'bundled', now: clock().now });
  const fn = await host.load(OK);
  for (let n = 0; n <= LIMITS.requestsPerMinute.values.free; n++) await (await fn.fetch('http://x/')).text();
  t.is((await fn.fetch('http://x/')).status, 200);
});

overBoth(
  'past the daily limit a route that fails closed gets the page of code 1027, and midnight UTC serves again',
  async (t, { listen, fetch }) => {
    const { time, now } = clock();
    const host = newHost(t, { plan: 'free', limits: { requestsPerDay: 2 }, now });
    await host.load(OK, { routes: [{ pattern: '*/*', mode: 'fail-closed' }] });
    const origin = await listen(t, host.listener());
    for (let n = 0; n < 2; n++) t.is((await fetch(origin)).status, 200);
    const page = await fetch(origin);
    t.regex(await page.text(), /1027/);
    t.is(page.status, 429);
    time.now = Date.UTC(2024, 0, 2) - 1;
    t.is((await fetch(origin)).status, 429);
    time.now++;
    t.is((await fetch(origin)).status, 200);
  },
);

overBoth(
  'past the daily limit a route that fails open goes on as if no function were attached',
  async (t, { listen, fetch }) => {
    const host = newHost(t, { plan: 'free', limits: { requestsPerDay: 1 }, now: clock().now });
    await host.load(OK, { routes: [{ pattern: '*/*', mode: 'fail-open' }] });
    const listener = host.listener();
    const origin = await listen(t, (request, response) => listener(request, response, () => response.end('behind')));
    t.is(await (await fetch(origin)).text(), 'ok');
    t.is(await (await fetch(origin)).text(), 'behind');
    await t.throwsAsync(host.fetch(origin), { code: 'EDGE_NO_ROUTE', message: /bypassed/ });
  },
);

test("the day's count goes on over a restart", async t => {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-rates-'));
  t.teardown(() => rmSync(storage, { recursive: true, force: true }));
  const options: EdgeHostOptions = { storage, plan: 'free', limits: { requestsPerDay: 3 }, now: clock().now };
  const first = new EdgeHost({ ...options, spareIsolates: 0 });
  const fn = await first.load(OK);
  for (let n = 0; n < 2; n++) await (await fn.fetch('http://x/')).text();
  await first.close();
  const second = newHost(t, options);
  const again = await second.load(OK);
  await again.fetch('http://x/');
  await t.throwsAsync(again.fetch('http://x/'), { code: 'EDGE_DAILY_LIMIT' });
});

overBoth(
  'a flood from one address is refused with 1015, and its event names the rule',
  async (t, { listen, fetch }) => {
    const options: EdgeHostOptions = { limits: { addressRequestsPerSecond: 3 }, now: clock().now };
    const host = newHost(t, options);
    const events: AbuseEvent[] = [];
    host.on('abuse', event => events.push(event));
    const fn = await host.load(OK);
    const origin = await listen(t, host.listener({ function: fn }));
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await fetch(origin)).status);
    t.deepEqual(statuses, [200, 200, 200, 429, 429]);
    t.is(events.length, 1);
    t.like(events[0], {
      ruleId: 'edgehost-functions-anti-abuse',
      account: 'default',
      address: '127.0.0.1',
      allowed: 3,
    });
  },
);

for (const trustProxy of [false, true]) {
  overBoth(
    `the address that X-Forwarded-For tells ${trustProxy ? 'counts behind a proxy' : 'is no way around the limit without one'}`,
    async (t, { listen, fetch }) => {
      const host = newHost(t, { limits: { addressRequestsPerSecond: 1 }, now: clock().now });
      const addresses: string[] = [];
      host.on('abuse', ({ address }) => addresses.push(address));
      const fn = await host.load(OK);
      const origin = await listen(t, host.listener({ function: fn, trustProxy }));
      const statuses: number[] = [];
      for (const client of ['8.8.8.8', '8.8.4.4', '8.8.8.8']) {
        const response = await fetch(origin, { headers: { 'x-forwarded-for': `${client}, 10.0.0.1` } });
        statuses.push(response.status);
        await response.arrayBuffer();
      }
      t.deepEqual(statuses, trustProxy ? [200, 200, 429] : [200, 429, 429]);
      t.deepEqual(addresses, [trustProxy ? '8.8.8.8' : '127.0.0.1']);
    },
  );
}

for (const [what, header, trustProxy, isWarned] of [
  ['requests with X-Forwarded-For', 'x-forwarded-for', undefined, true],
  ['requests with Forwarded', 'forwarded', undefined, true],
  ['requests without either', 'x-other', undefined, false],
  ['an owner who says that there is no proxy', 'x-forwarded-for', false, false],
  ['an owner who names the proxy', 'x-forwarded-for', true, false],
] as const) {
  overBoth(
    `a flood limit that counts ${what} ${isWarned ? 'warns once and names trustProxy' : 'warns of nothing'}`,
    async (t, { listen, fetch }) => {
      const host = newHost(t, { limits: { addressRequestsPerSecond: 1000 }, now: clock().now });
      const warnings: string[] = [];
      host.on('warning', ({ message }) => warnings.push(message));
      const fn = await host.load(OK);
      const listener = host.listener({ function: fn, ...(trustProxy !== undefined && { trustProxy }) });
      const origin = await listen(t, listener);
      for (let n = 0; n < 3; n++) await (await fetch(origin, { headers: { [header]: `8.8.8.${n}` } })).arrayBuffer();
      const told = warnings.filter(message => message.includes('trustProxy'));
      t.is(told.length, isWarned ? 1 : 0);
      if (isWarned) t.regex(told[0] ?? '', /counts the requests of 127\.0\.0\.1.*address of a proxy/);
    },
  );
}

overBoth('with default options a proxy is no reason for a warning', async (t, { listen, fetch }) => {
  const host = newHost(t);
  const warnings: string[] = [];
  host.on('warning', ({ message }) => warnings.push(message));
  const origin = await listen(t, host.listener({ function: await host.load(OK) }));
  await (await fetch(origin, { headers: { 'x-forwarded-for': '8.8.8.8' } })).arrayBuffer();
  t.deepEqual(
    warnings.filter(message => message.includes('trustProxy')),
    [],
  );
});

overBoth(
  'the address that so many proxies have added counts, not what the client wrote before it',
  async (t, { listen, fetch }) => {
    const host = newHost(t, { limits: { addressRequestsPerSecond: 1 }, now: clock().now });
    const addresses: string[] = [];
    host.on('abuse', ({ address }) => addresses.push(address));
    const origin = await listen(t, host.listener({ function: await host.load(OK), trustProxy: 2 }));
    const statuses: number[] = [];
    for (const forged of ['1.1.1.1, ', '2.2.2.2, ', '']) {
      const response = await fetch(origin, { headers: { 'x-forwarded-for': `${forged}8.8.8.8, 10.0.0.1` } });
      statuses.push(response.status);
      await response.arrayBuffer();
    }
    t.deepEqual(statuses, [200, 429, 429]);
    t.deepEqual(addresses, ['8.8.8.8']);
  },
);

overBoth('with default options nothing is refused as abuse', async (t, { listen, fetch }) => {
  const host = newHost(t, { now: clock().now });
  const fn = await host.load(OK);
  const origin = await listen(t, host.listener({ function: fn }));
  const many = LIMITS.addressRequestsPerSecond.values.free + 1;
  let refused = 0;
  for (let n = 0; n < many; n += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(origin)));
    for (const answer of answers) {
      if (answer.status !== 200) refused++;
      await answer.arrayBuffer();
    }
  }
  t.is(refused, 0);
});

const redis = process.env.EDGEHOST_REDIS_URL;
const withRedis = unlessMissing(redis === undefined ? 'no redis-server (EDGEHOST_REDIS_URL is not set)' : undefined);

withRedis('two hosts on one Redis count as one account', async t => {
  const account = `a${process.pid}-${Math.random().toString(36).slice(2)}`;
  const options: EdgeHostOptions = {
    plan: 'free',
    limits: { requestsPerMinute: 4 },
    now: Date.now,
    quotas: { redis: redis ?? '' },
  };
  const fns = await Promise.all([0, 1].map(() => newHost(t, options).account(account).load(OK)));
  let served = 0;
  let refused = 0;
  for (let n = 0; n < 6; n++) {
    for (const fn of fns) {
      await fn.fetch('http://x/').then(
        () => served++,
        () => refused++,
      );
    }
  }
  // A minute may end in between.
  t.true(served === 4 || served === 8, `${served} were served`);
  t.is(served + refused, 12);
});
