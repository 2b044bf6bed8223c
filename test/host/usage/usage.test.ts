import { createServer } from 'node:http';
import test from 'ava';
import { EdgeHost, type InvocationEvent, type UsageValues, usageCsv } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { handler, ISOLATIONS, newHost } from '../new-host.js';

const DAY_MS = 86_400_000;

/** Adds the events up as a biller would that hears all of them. */
function sumOf(
  events: readonly InvocationEvent[],
): Partial<Omit<UsageValues, 'calls'>> & { calls: Record<string, number> } {
  const add = (pick: (event: InvocationEvent) => number): number => events.reduce((sum, event) => sum + pick(event), 0);
  const calls: Record<string, number> = {};
  for (const event of events) {
    for (const [kind, count] of Object.entries(event.calls)) calls[kind] = (calls[kind] ?? 0) + count;
  }
  return {
    invocations: events.length,
    requests: add(event => Number(event.kind === 'fetch')),
    cpuMs: add(event => Math.round(event.cpuMs * 1000)) / 1000,
    wallMs: add(event => Math.round(event.wallMs * 1000)) / 1000,
    requestBytes: add(event => event.requestBytes),
    responseBytes: add(event => event.responseBytes),
    subrequests: add(event => event.subrequests),
    egressSentBytes: add(event => event.egressSentBytes),
    egressReceivedBytes: add(event => event.egressReceivedBytes),
    calls,
  };
}

function nonZero(record: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== 0));
}

function eventsOf(host: EdgeHost): InvocationEvent[] {
  const events: InvocationEvent[] = [];
  host.on('invocation', event => events.push(event));
  return events;
}

const MIXED = handler(`
  const { pathname } = new URL(request.url);
  if (pathname === '/throw') throw new Error('no');
  if (pathname === '/fetch') return fetch('https://example.com/', { method: 'POST', body: await request.text() });
  if (pathname === '/bucket') {
    await env.FILES.put('a', 'b');
    await env.FILES.head('a');
    return new Response(request.body);
  }
  return new Response('x'.repeat(100_000));
`);

for (const isolation of ISOLATIONS) {
  test(`usage() is the sum of the invocation events, with isolation ${isolation}`, async t => {
    const outbound = async (request: Request) => new Response(`${await request.text()} and more`);
    const host = newHost(t, { isolation, outbound });
    const events = eventsOf(host);
    const acme = host.account('acme');
    const mixed = await acme.load(MIXED, { name: 'mixed', buckets: { FILES: 'files' } });
    const other = await acme.load('export default { fetch() { return new Response("x"); }, scheduled() {} }', {
      name: 'other',
      crons: ['0 4 * * *'],
    });
    await host.account('else').load(handler('return new Response("of another account");'));

    const post = { method: 'POST', body: 'twelve bytes' };
    for (const path of ['', 'throw', 'fetch', 'bucket', 'fetch'] as const) {
      const init = path === '' || path === 'throw' ? undefined : post;
      await mixed.fetch(`https://example.org/${path}`, init).then(
        response => response.text(),
        () => {},
      );
    }
    await (await other.fetch('https://example.org/')).text();
    await other.scheduled({ cron: '0 4 * * *' });
    while (events.length < 7) await new Promise(setImmediate);

    const { records } = await acme.usage({ by: 'function' });
    t.deepEqual(
      records.map(record => record.function),
      ['mixed', 'other'],
    );
    for (const record of records) {
      const expected = sumOf(events.filter(event => event.function === record.function));
      t.like(record, { ...expected, calls: record.calls });
      t.deepEqual(nonZero(record.calls), expected.calls);
    }
    const [first, second] = records;
    t.deepEqual(nonZero(first?.requestOutcomes ?? {}), { ok: 4, exception: 1 });
    t.deepEqual(nonZero(second?.kinds ?? {}), { fetch: 1, scheduled: 1 });
    t.like(first, { requestBytes: 36, egressSentBytes: 24, egressReceivedBytes: 42, subrequests: 4 });
    t.deepEqual(nonZero(first?.calls ?? {}), { fetch: 2, bucket: 2 });

    const [total] = (await acme.usage({ by: 'total' })).records;
    t.like(total, { ...sumOf(events), calls: total?.calls });
  });
}

test('usage() counts bodies that are spliced in the host', async t => {
  const size = 3_000_000;
  const server = createServer((_, response) => response.end(Buffer.alloc(size))).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const host = newHost(t, { egress: { allow: ['127.0.0.0/8'] } });
  const events = eventsOf(host);
  const fn = await host.load(handler(`return fetch('http://127.0.0.1:${port}/');`));
  t.is((await (await fn.fetch('https://example.org/')).arrayBuffer()).byteLength, size);
  while (events.length < 1) await new Promise(setImmediate);
  const [total] = (await host.account('default').usage({ by: 'total' })).records;
  t.like(total, { responseBytes: size, egressReceivedBytes: size, egressSentBytes: 0 });
});

test('usage() leaves what functions of the host fetch of each other out of egress', async t => {
  const host = newHost(t);
  const events = eventsOf(host);
  const acme = host.account('acme', { zones: ['example.com'] });
  await acme.load(handler('return new Response("inside");'), {
    name: 'inner',
    routes: [{ pattern: 'inner.example.com', customDomain: true }],
  });
  const outer = await acme.load(
    handler('return fetch("https://inner.example.com/", { method: "POST", body: "in" });'),
    {
      name: 'outer',
    },
  );
  t.is(await (await outer.fetch('https://example.org/')).text(), 'inside');
  while (events.length < 2) await new Promise(setImmediate);
  const { records } = await acme.usage({ by: 'function' });
  t.like(records[0], { function: 'inner', requestBytes: 2, responseBytes: 6 });
  t.like(records[1], { function: 'outer', egressSentBytes: 0, egressReceivedBytes: 0, responseBytes: 6 });
});

test('usage() has an invocation on the day that it is over, also when the clock goes backwards', async t => {
  let now = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
  const host = newHost(t, { now: () => now });
  const events = eventsOf(host);
  const fn = await host.load(handler('return new Response("x");'));
  const call = async (): Promise<void> => {
    const before = events.length;
    await (await fn.fetch('https://example.org/')).text();
    while (events.length === before) await new Promise(setImmediate);
  };
  await call();
  now += 1;
  await call();
  await call();
  now -= 1;
  await call();
  const account = host.account('default');
  const query = { from: '2026-11-01', to: '2026-12-02' };
  const days = async () => (await account.usage(query)).records.map(({ day, requests }) => [day, requests]);
  t.deepEqual(await days(), [
    ['2026-11-30', 2],
    ['2026-12-01', 2],
  ]);
  now -= DAY_MS;
  await call();
  t.deepEqual((await days())[0], ['2026-11-29', 1]);
  t.is((await account.usage({ from: '2026-11-01', to: '2026-12-01', by: 'total' })).records[0]?.requests, 3);
});

test('usage() adds up versions of a function, and keeps one that is unloaded', async t => {
  const host = newHost(t);
  const events = eventsOf(host);
  const call = async (text: string, name: string): Promise<void> => {
    const fn = await host.load(handler(`return new Response(${JSON.stringify(text)});`), { name });
    await (await fn.fetch('https://example.org/')).text();
  };
  await call('one', 'first');
  await call('second', 'first');
  host.account('default').function('first')?.unload();
  await call('one', 'renamed');
  while (events.length < 3) await new Promise(setImmediate);
  const { records } = await host.account('default').usage({ by: 'function' });
  t.deepEqual(
    records.map(record => [record.function, record.requests, record.responseBytes]),
    [
      ['first', 2, 9],
      ['renamed', 1, 3],
    ],
  );
});

test('usage() of a host has every account, and usageCsv() a line for each record', async t => {
  const host = newHost(t);
  const events = eventsOf(host);
  for (const id of ['b', 'a']) {
    const fn = await host.account(id).load(handler('return new Response("x");'), { name: 'hello' });
    await (await fn.fetch('https://example.org/')).text();
  }
  while (events.length < 2) await new Promise(setImmediate);
  const accounts: string[] = [];
  for await (const { account } of host.usage()) accounts.push(account);
  t.deepEqual(accounts, ['a', 'b']);
  for await (const report of host.usage({ account: 'b' })) t.is(report.records[0]?.requests, 1);
  const none = await host.usage({ account: 'gone', by: 'total' }).next();
  t.like(none.value, { account: 'gone', records: [{ requests: 0 }] });
  await t.throwsAsync(host.usage({ account: '../a' }).next(), { instanceOf: TypeError, message: /name of an account/ });
  const lines: string[] = [];
  for await (const line of usageCsv(host.usage({ by: 'day-function' }))) lines.push(line);
  t.is(lines.length, 3);
  t.true(lines.every(line => line.endsWith('\r\n')));
  t.true(lines[0]?.startsWith('account,from,to,day,function,invocations,requests,'));
  t.regex(lines[1] ?? '', /^a,\d{4}-\d\d-01,[\d-]{10},[\d-]{10},hello,1,1,/);
});

test('usage() without a query is the usage of the plan, as before', async t => {
  const host = newHost(t);
  t.like(host.account('acme').usage(), { plan: 'standard' });
});

for (const [query, message] of [
  [
    { from: 'yesterday' },
    /Option from of usage\(\) is the string "yesterday", expected a Date from 1970 on, or a day such as "2026-11-22"/,
  ],
  [{ from: '2026-02-30' }, /Option from of usage\(\) is the string "2026-02-30"/],
  [{ to: new Date(Number.NaN) }, /Option to of usage\(\) is an invalid Date/],
  [
    { from: '2026-11-02', to: '2026-11-02' },
    /Option to of usage\(\) is the string "2026-11-02", expected a time after from/,
  ],
  [{ from: '2000-01-01', to: '2026-01-01' }, /9497 days apart, at most 3660 are allowed/],
  [
    { by: 'hour' },
    /Option by of usage\(\) is the string "hour", expected one of 'day', 'function', 'day-function', 'total'/,
  ],
  [{ since: '2026-01-01' }, /since/],
] as const) {
  test(`usage() refuses ${JSON.stringify(query)}`, async t => {
    const host = newHost(t);
    // Wrong on purpose.
    const wrong = query as Parameters<EdgeHost['usage']>[0] & object;
    const error = await t.throwsAsync(host.account('acme').usage(wrong));
    t.true(error instanceof TypeError || error instanceof RangeError);
    t.regex(error?.message ?? '', message);
  });
}

test('usage() is refused where it is not kept', async t => {
  const host = newHost(t, { usage: false });
  const fn = await host.load(handler('return new Response("x");'));
  await (await fn.fetch('https://example.org/')).text();
  await t.throwsAsync(host.account('default').usage({}), { code: 'EDGE_NOT_SUPPORTED', message: /keeps no usage/ });
  t.false(host.metrics().includes('edgehost_invocations_total'));
});

test('usage is not kept by a host that was given no storage, unless it is asked to', async t => {
  const host = new EdgeHost({ isolation: 'thread' });
  const asked = new EdgeHost({ isolation: 'thread', usage: { keepDays: 2 } });
  t.teardown(() => Promise.all([host.close({ drainMs: 0 }), asked.close({ drainMs: 0 })]));
  await t.throwsAsync(host.account('acme').usage({}), {
    code: 'EDGE_NOT_SUPPORTED',
    message: /option storage or usage/,
  });
  t.true(asked.metrics().includes('edgehost_invocations_total'));
});

test('usage() of a closed host is refused, and opens no storage', async t => {
  const host = newHost(t);
  const account = host.account('acme');
  await host.close();
  await t.throwsAsync(account.usage({}), { code: 'EDGE_CLOSED' });
  await t.throwsAsync(host.usage().next(), { code: 'EDGE_CLOSED' });
  t.false(host.health().storage.isOpen);
});

test('a host whose storage is in use by another serves, and keeps its usage later', async t => {
  const storage = await temporaryDirectory(t);
  const first = newHost(t, { storage, backend: 'inline' });
  await first.bucket('files').put('a', 'b');
  const second = newHost(t, { storage, backend: 'inline' });
  const fn = await second.load(handler('return new Response("x");'));
  t.is(await (await fn.fetch('https://example.org/')).text(), 'x');
  await t.throwsAsync(second.account('default').usage({}), { code: 'EDGE_STORAGE_LOCKED' });
  t.regex(second.metrics(), /^edgehost_invocations_total\{kind="fetch",outcome="ok"\} 1$/m);
  await first.close();
  const [total] = (await second.account('default').usage({ by: 'total' })).records;
  t.is(total?.requests, 1);
});
