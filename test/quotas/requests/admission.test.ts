import test from 'ava';

import { ABUSE_RULE_ID, type AbuseEvent } from '../../../src/quotas/requests/abuse-guard.js';
import {
  Admission,
  type AdmissionDecision,
  type AdmissionOptions,
  type AdmissionRequest,
  refusalError,
} from '../../../src/quotas/requests/admission.js';
import type { SharedCounters } from '../../../src/quotas/requests/shared-counters.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';

function verdictKind(decision: AdmissionDecision | Promise<AdmissionDecision>): string {
  return 'then' in decision ? 'a promise' : decision.kind;
}

const NOON = Date.UTC(2026, 0, 15, 12);

/** An admission whose clock the test sets. */
function admissionAt(startMs: number, options: AdmissionOptions = {}) {
  const clock = { nowMs: startMs };
  return { clock, admission: new Admission({ ...options, now: () => clock.nowMs, writeIntervalMs: 1e9 }) };
}

const FREE = resolveLimits({ plan: 'free' });

function request(more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return { account: 'acme', limits: FREE, mode: 'fail-closed', ...more };
}

function memoryStore() {
  const values = new Map<string, string>();
  let puts = 0;
  return {
    values,
    puts: () => puts,
    get: async (key: string) => values.get(key),
    put: async (key: string, value: string) => {
      puts++;
      values.set(key, value);
    },
  };
}

/** Sends requests until the day is used up, minute after minute. */
function useUpDay(admission: Admission, clock: { nowMs: number }, limits = FREE): void {
  for (let i = 0; i < limits.requestsPerDay; i++) {
    if (i > 0 && i % limits.requestsPerMinute === 0) clock.nowMs += 60_000;
    admission.check(request({ limits }));
  }
  clock.nowMs += 60_000;
}

test('check() admits 1,000 requests a minute on the plan free, and refuses more with 1015 and 429', t => {
  const { admission } = admissionAt(NOON + 15_000);
  for (let i = 0; i < 1000; i++) t.deepEqual(admission.check(request()), { kind: 'admit' });
  const decision = admission.check(request());
  t.deepEqual(decision, {
    kind: 'refuse',
    code: 'EDGE_RATE_LIMITED',
    limit: 'requestsPerMinute',
    actual: 1001,
    allowed: 1000,
    retryAfterMs: 45_000,
  });
});

test('check() admits again in the next minute', t => {
  const { admission, clock } = admissionAt(NOON);
  for (let i = 0; i < 1001; i++) admission.check(request());
  clock.nowMs += 59_999;
  t.like(admission.check(request()), { kind: 'refuse' });
  clock.nowMs += 1;
  t.like(admission.check(request()), { kind: 'admit' });
});

test('check() counts accounts apart', t => {
  const { admission } = admissionAt(NOON);
  for (let i = 0; i < 1001; i++) admission.check(request());
  t.like(admission.check(request({ account: 'other' })), { kind: 'admit' });
});

test('check() admits 100,000 requests a day on the plan free, and refuses more with 1027 on a route that fails closed', t => {
  const { admission, clock } = admissionAt(Date.UTC(2026, 0, 15));
  useUpDay(admission, clock);
  t.is(admission.usage('acme').requestsPerDay, 100_000);
  t.like(admission.check(request()), { kind: 'refuse', code: 'EDGE_DAILY_LIMIT', actual: 100_001, allowed: 100_000 });
});

test('check() bypasses the function when the day is used up and the route fails open', t => {
  const { admission, clock } = admissionAt(Date.UTC(2026, 0, 15));
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerDay: 10 }] });
  useUpDay(admission, clock, limits);
  t.deepEqual(admission.check(request({ limits, mode: 'fail-open' })), { kind: 'bypass' });
  t.like(admission.check(request({ limits })), { kind: 'refuse' });
});

test('check() bypasses without a burst limit when the day is used up', t => {
  const { admission } = admissionAt(NOON);
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerDay: 5, requestsPerMinute: 5 }] });
  for (let i = 0; i < 5; i++) admission.check(request({ limits }));
  for (let i = 0; i < 20; i++) t.deepEqual(admission.check(request({ limits, mode: 'fail-open' })), { kind: 'bypass' });
});

test('check() serves again from midnight UTC on, not before', t => {
  const { admission, clock } = admissionAt(NOON);
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerDay: 10 }] });
  useUpDay(admission, clock, limits);
  clock.nowMs = Date.UTC(2026, 0, 15, 23, 59, 59, 999);
  t.like(admission.check(request({ limits })), { kind: 'refuse', retryAfterMs: 1 });
  clock.nowMs += 1;
  t.like(admission.check(request({ limits })), { kind: 'admit' });
  t.is(admission.usage('acme').requestsPerDay, 1);
});

test('check() does not count requests that it refuses', t => {
  const { admission } = admissionAt(NOON);
  for (let i = 0; i < 1500; i++) admission.check(request());
  t.deepEqual(admission.usage('acme'), { requestsPerMinute: 1000, requestsPerDay: 1000 });
});

test('counted() answers what the last request was counted as, whatever the time', t => {
  const { clock, admission } = admissionAt(NOON);
  t.deepEqual(admission.counted('acme'), { requestsPerMinute: 0, requestsPerDay: 0 });
  admission.check(request());
  admission.check(request());
  clock.nowMs += 60_000;
  t.deepEqual(admission.counted('acme'), { requestsPerMinute: 2, requestsPerDay: 2 });
  admission.check(request());
  t.deepEqual(admission.counted('acme'), { requestsPerMinute: 1, requestsPerDay: 3 });
});

test('check() does not begin anew when the clock is set back a little, also over midnight', t => {
  const { admission, clock } = admissionAt(Date.UTC(2026, 0, 16));
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerDay: 1000 }] });
  for (let i = 0; i < 1000; i++) admission.check(request({ limits }));
  clock.nowMs -= 300_000;
  t.like(admission.check(request({ limits })), { kind: 'refuse', code: 'EDGE_DAILY_LIMIT' });
});

test('check() does not hold the counts of a clock that was wrong against an account for ever', t => {
  const { admission, clock } = admissionAt(NOON);
  clock.nowMs += 365 * 86_400_000;
  for (let i = 0; i < 1000; i++) admission.check(request());
  clock.nowMs = NOON;
  for (let i = 0; i < 1000; i++) t.like(admission.check(request()), { kind: 'admit' });
  t.like(admission.check(request()), { kind: 'refuse' });
  clock.nowMs += 60_000;
  t.like(admission.check(request()), { kind: 'admit' });
});

test('check() remembers no more of a million client addresses than of ten thousand', t => {
  const { admission } = admissionAt(NOON);
  const limits = resolveLimits();
  for (let n = 0; n < 1_000_000; n++) {
    admission.check(request({ limits, address: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }));
  }
  t.true(admission.addressCount <= 10_000);
});

for (const plan of ['bundled', 'unbound', 'standard'] as const) {
  test(`check() admits any number of requests on the plan ${plan}, without a promise`, t => {
    const { admission } = admissionAt(NOON);
    const limits = resolveLimits({ plan });
    for (let i = 0; i < 5000; i++) admission.check(request({ limits }));
    t.deepEqual(admission.check(request({ limits })), { kind: 'admit' });
  });
}

test('check() refuses a flood from one address with 1015, and tells of it once a second', t => {
  const events: AbuseEvent[] = [];
  const { admission, clock } = admissionAt(NOON, { onAbuse: event => events.push(event) });
  const limits = resolveLimits({ zonePlan: 'free' });
  const flood = request({ limits, address: '8.8.8.8' });
  for (let i = 0; i < 4000; i++) t.like(admission.check(flood), { kind: 'admit' });
  for (let i = 0; i < 10; i++) t.like(admission.check(flood), { kind: 'refuse', code: 'EDGE_RATE_LIMITED' });
  t.like(admission.check(request({ limits, address: '8.8.4.4' })), { kind: 'admit' });
  t.deepEqual(events, [
    { ruleId: ABUSE_RULE_ID, account: 'acme', address: '8.8.8.8', actual: 4001, allowed: 4000, time: new Date(NOON) },
  ]);
  clock.nowMs += 1000;
  t.like(admission.check(flood), { kind: 'admit' });
});

test('check() does not hold against a client of one account what it asks of another', t => {
  const events: AbuseEvent[] = [];
  const { admission } = admissionAt(NOON, { onAbuse: event => events.push(event) });
  const tight = request({
    limits: resolveLimits({ overrides: [{ addressRequestsPerSecond: 2 }] }),
    address: '8.8.8.8',
  });
  for (let i = 0; i < 100; i++)
    admission.check({ ...tight, account: 'other', limits: resolveLimits({ zonePlan: 'free' }) });
  t.deepEqual(
    [1, 2, 3].map(() => verdictKind(admission.check(tight))),
    ['admit', 'admit', 'refuse'],
  );
  t.like(events, [{ account: 'acme', actual: 3, allowed: 2 }]);
});

test('check() tells of a flood also when an earlier request had a looser limit', t => {
  const events: AbuseEvent[] = [];
  const { admission } = admissionAt(NOON, { onAbuse: event => events.push(event) });
  const loose = request({ limits: resolveLimits({ zonePlan: 'free' }), address: '8.8.8.8' });
  for (let i = 0; i < 5; i++) admission.check(loose);
  const limits = resolveLimits({ overrides: [{ addressRequestsPerSecond: 2 }] });
  for (let i = 0; i < 3; i++) t.like(admission.check({ ...loose, limits }), { kind: 'refuse' });
  t.deepEqual(
    events.map(({ actual }) => actual),
    [6],
  );
});

for (const zonePlan of ['enterprise', undefined] as const) {
  test(`check() has no anti-abuse limit ${zonePlan === undefined ? 'where nobody has asked for one' : 'for enterprise'}`, t => {
    const { admission } = admissionAt(NOON);
    const limits = resolveLimits({ zonePlan });
    for (let i = 0; i < 10_000; i++) admission.check(request({ limits, address: '8.8.8.8' }));
    t.like(admission.check(request({ limits, address: '8.8.8.8' })), { kind: 'admit' });
    t.is(admission.addressCount, 0);
  });
}

test('check() takes all addresses of an IPv6 network for one, and IPv4-mapped ones for IPv4', async t => {
  const { admission } = admissionAt(NOON);
  const limits = resolveLimits({ overrides: [{ addressRequestsPerSecond: 1 }] });
  const kindOf = async (address: string) => (await admission.check(request({ limits, address }))).kind;
  t.is(await kindOf('2001:4860:1:2::1'), 'admit');
  t.is(await kindOf('2001:4860:1:2:ffff::9'), 'refuse');
  t.is(await kindOf('2001:4860:1:3::1'), 'admit');
  t.is(await kindOf('::ffff:8.8.8.8'), 'admit');
  t.is(await kindOf('8.8.8.8'), 'refuse');
});

test('check() remembers a bounded number of addresses', t => {
  const { admission } = admissionAt(NOON, { maxAddresses: 3 });
  const limits = resolveLimits({ overrides: [{ addressRequestsPerSecond: 1 }] });
  for (let i = 0; i < 1000; i++) admission.check(request({ limits, address: `8.8.${i >> 8}.${i & 255}` }));
  t.like(admission.check(request({ limits, address: '8.8.0.0' })), { kind: 'admit' }, 'long forgotten');
  t.like(admission.check(request({ limits, address: '8.8.3.231' })), { kind: 'refuse' }, 'the last one');
});

test('attach() goes on from the count that was written before a restart', async t => {
  const store = memoryStore();
  const first = admissionAt(NOON, { store });
  await first.admission.attach('acme');
  for (let i = 0; i < 700; i++) first.admission.check(request());
  await first.admission.close();
  const second = admissionAt(NOON + 60_000, { store });
  await second.admission.attach('acme');
  t.is(second.admission.usage('acme').requestsPerDay, 700);
  const tomorrow = admissionAt(NOON + 86_400_000, { store });
  await tomorrow.admission.attach('acme');
  t.is(tomorrow.admission.usage('acme').requestsPerDay, 0);
});

test('attach() adds to what was counted meanwhile, and once', async t => {
  const store = memoryStore();
  const first = admissionAt(NOON, { store });
  first.admission.check(request());
  await first.admission.close();
  const { admission } = admissionAt(NOON, { store });
  admission.check(request());
  await Promise.all([admission.attach('acme'), admission.attach('acme')]);
  await admission.attach('acme');
  t.is(admission.usage('acme').requestsPerDay, 2);
});

test('attach() takes a damaged count for none', async t => {
  const day = Math.floor(NOON / 86_400_000);
  const damaged = [
    '',
    '{',
    'null',
    '1',
    '[]',
    '{"day":1}',
    `{"day":${day},"requests":-5}`,
    `{"day":${day},"requests":"9"}`,
  ];
  for (const value of damaged) {
    const store = memoryStore();
    store.values.set('requests-today/acme', value);
    const { admission } = admissionAt(NOON, { store });
    await admission.attach('acme');
    t.is(admission.usage('acme').requestsPerDay, 0, value);
  }
});

test('close() writes once for many requests, and only what changed', async t => {
  const store = memoryStore();
  const { admission } = admissionAt(NOON, { store });
  for (let i = 0; i < 500; i++) admission.check(request());
  admission.usage('other');
  t.is(store.puts(), 0);
  await admission.close();
  t.is(store.puts(), 1);
});

test('the count is written in the background, at most once in an interval', async t => {
  const store = memoryStore();
  const written = new Promise<void>(resolve => {
    const { put } = store;
    store.put = async (key, value) => {
      await put(key, value);
      resolve();
    };
  });
  const admission = new Admission({ store, writeIntervalMs: 1, now: () => NOON });
  for (let i = 0; i < 100; i++) admission.check(request());
  // The timer of the interval does not keep a process alive: something else must, while this waits.
  const alive = setInterval(() => {}, 1000);
  await written;
  clearInterval(alive);
  t.is(store.puts(), 1);
  await admission.close();
});

test('a store that fails is told of and tried again, and requests are served', async t => {
  const store = memoryStore();
  const errors: unknown[] = [];
  const put = store.put;
  store.put = async () => {
    throw new Error('disk full');
  };
  store.get = async () => {
    throw new Error('disk gone');
  };
  const { admission } = admissionAt(NOON, { store, onError: error => errors.push(error) });
  await admission.attach('acme');
  t.like(admission.check(request()), { kind: 'admit' });
  await admission.detach('acme');
  t.is(errors.length, 2);
  admission.check(request());
  store.put = put;
  await admission.close();
  t.is(store.puts(), 1);
});

test('refusalError() names the limit, the actual and the option', t => {
  const { admission } = admissionAt(NOON);
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 0 }] });
  const decision = admission.check(request({ limits }));
  if (decision instanceof Promise || decision.kind !== 'refuse') return t.fail();
  const error = refusalError(decision, request({ limits }));
  t.is(error.code, 'EDGE_RATE_LIMITED');
  t.regex(
    error.message,
    /account "acme": number of requests this minute is 1, limit requestsPerMinute is 0 \(plan free/,
  );
});

/** Counters shared in memory, that can be made to fail. */
function sharedMemory() {
  const values = new Map<string, number>();
  const state = { isDown: false, aheadMs: 0 };
  const counters: SharedCounters = {
    async increment(key) {
      if (state.isDown) throw new Error('down');
      const value = (values.get(key) ?? 0) + 1;
      values.set(key, value);
      return value;
    },
    async decrement(key) {
      values.set(key, (values.get(key) ?? 0) - 1);
    },
    get aheadMs() {
      return state.aheadMs;
    },
    async ready() {},
    async close() {},
  };
  return { counters, state, values };
}

test('check() counts two hosts with shared counters as one account', async t => {
  const { counters } = sharedMemory();
  const hosts = [admissionAt(NOON, { shared: counters }), admissionAt(NOON, { shared: counters })];
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 10 }] });
  const verdicts = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => hosts[i % 2]?.admission.check(request({ limits }))),
  );
  t.is(verdicts.filter(decision => decision?.kind === 'admit').length, 10);
});

test('check() answers without the shared counters when they said that the limit is reached', async t => {
  const { counters, state } = sharedMemory();
  const { admission } = admissionAt(NOON, { shared: counters });
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerDay: 1 }] });
  await admission.check(request({ limits }));
  state.isDown = true;
  t.like(admission.check(request({ limits })), { kind: 'refuse', code: 'EDGE_DAILY_LIMIT' });
});

test('check() goes by its own counts when the shared counters cannot be reached', async t => {
  const { counters, state } = sharedMemory();
  const { admission } = admissionAt(NOON, { shared: counters });
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 3 }] });
  state.isDown = true;
  for (let i = 0; i < 3; i++) t.like(await admission.check(request({ limits })), { kind: 'admit' });
  t.like(await admission.check(request({ limits })), { kind: 'refuse' });
});

test('check() takes a request that the minute refuses back from the shared count of the day', async t => {
  const { counters, values } = sharedMemory();
  const { admission } = admissionAt(NOON, { shared: counters });
  const other = admissionAt(NOON, { shared: counters });
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 1 }] });
  await admission.check(request({ limits }));
  t.like(await other.admission.check(request({ limits })), { kind: 'refuse', limit: 'requestsPerMinute' });
  t.deepEqual(
    [...values].filter(([key]) => key.startsWith('day:')).map(([, value]) => value),
    [1],
  );
  t.is(other.admission.usage('acme').requestsPerDay, 1);
});

test('check() counts hosts whose clocks differ in one minute, which is that of the shared counters', async t => {
  const one = sharedMemory();
  const other = sharedMemory();
  other.state.aheadMs = 90_000;
  const shared: SharedCounters = { ...one.counters, aheadMs: 90_000 };
  const limits = resolveLimits({ plan: 'free', overrides: [{ requestsPerMinute: 1 }] });
  const right = admissionAt(NOON + 90_000, { shared: one.counters });
  const late = admissionAt(NOON, { shared });
  t.like(await right.admission.check(request({ limits })), { kind: 'admit' });
  t.like(await late.admission.check(request({ limits })), { kind: 'refuse' });
});
