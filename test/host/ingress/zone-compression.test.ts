/** The zone settings `brotli`, until the schedule ends it, and `compression_rules` of the management API, in the listener of the host. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ZoneCompression } from '../../../src/hostnames/zone-compression.js';
import { handler, newHost } from '../new-host.js';
import { overBoth, type ProtocolClient } from '../protocols.js';

const BEFORE = '2024-08-14T12:00:00Z';
const AFTER = '2024-08-16T12:00:00Z';
const TEXT = handler(
  `return new Response('some text '.repeat(500), { headers: { 'content-type': 'text/plain', 'cache-control': 'public, max-age=60' } })`,
);

interface Answer {
  readonly status: number;
  readonly result: { readonly id: string };
  readonly errors: readonly { readonly message: string }[];
}

async function start(t: ExecutionContext, { listen, fetch }: ProtocolClient, storage: string, clock: { at: string }) {
  const host = newHost(t, { storage });
  const account = host.account('acme', { zones: ['example.com', 'example.org'], zonePlan: 'enterprise' });
  const api = host.management({ now: () => new Date(clock.at) });
  const { value } = await api.issueToken({ name: 'test', account: 'acme', permissions: ['zones:edit', 'zones:read'] });
  await account.load(TEXT, { name: 'text', routes: ['example.com/*', '*.example.com/*', 'example.org/*'] });
  const origin = await listen(t, host.listener({ cache: true }));
  return {
    host,
    account,
    async call(method: string, path: string, body?: unknown): Promise<Answer> {
      const headers = { authorization: `Bearer ${value}`, 'content-type': 'application/json' };
      const answer = await api(
        new Request(`http://api${path}`, {
          method,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      );
      return { status: answer.status, ...((await answer.json()) as Omit<Answer, 'status'>) };
    },
    /** The coding of an answer. */
    async coding(name: string, accepted = 'br, gzip;q=0.5', path = '/'): Promise<string | undefined> {
      const { headers } = await fetch(origin + path, { headers: { host: name, 'accept-encoding': accepted } });
      return headers.get('content-encoding') ?? undefined;
    },
  };
}

overBoth(
  'answers of a zone have no Brotli while its setting is off, those from the cache neither, until the schedule ends it',
  async (t, client) => {
    const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    const clock = { at: BEFORE };
    const first = await start(t, client, directory, clock);
    const { result: zone } = await first.call('POST', '/zones', { name: 'example.com', account: { id: 'acme' } });
    t.is(await first.coding('example.com'), 'br', 'the default');
    t.is((await first.call('PATCH', `/zones/${zone.id}/settings/brotli`, { value: 'off' })).status, 200);
    t.is(await first.coding('example.com'), 'gzip', 'from the cache');
    t.is(await first.coding('www.example.com:80'), 'gzip', 'a name below the zone');
    t.is(await first.coding('example.com', 'br', '/br'), undefined);
    t.is(await first.coding('example.org'), 'br', 'another zone');
    await first.host.close();

    const second = await start(t, client, directory, clock);
    await second.call('GET', `/zones/${zone.id}`);
    t.is(await second.coding('example.com'), 'gzip', 'after a restart');
    t.is((await second.call('PATCH', `/zones/${zone.id}/settings/brotli`, { value: 'on' })).status, 200);
    t.is(await second.coding('example.com'), 'br');
    t.is((await second.call('PATCH', `/zones/${zone.id}/settings/brotli`, { value: 'off' })).status, 200);
    t.is(await second.coding('example.com'), 'gzip');
    clock.at = AFTER;
    t.is(await second.coding('example.com'), 'br', 'the setting has ended');
    t.is((await second.call('PATCH', `/zones/${zone.id}/settings/brotli`, { value: 'off' })).status, 410);
    clock.at = BEFORE;
    t.is(await second.coding('example.com'), 'gzip');
    t.is((await second.call('DELETE', `/zones/${zone.id}`)).status, 200);
    t.is(await second.coding('example.com'), 'br', 'the zone is gone');
  },
);

overBoth(
  'compression rules of an Enterprise zone override what its answers are compressed by, also from the cache',
  async (t, client) => {
    const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    const clock = { at: BEFORE };
    const first = await start(t, client, directory, clock);
    const { result: zone } = await first.call('POST', '/zones', { name: 'example.com', account: { id: 'acme' } });
    const rules = `/zones/${zone.id}/settings/compression_rules`;
    t.like((await first.call('GET', rules)).result, { value: [], editable: true });
    const value = [
      { pattern: 'example.com/plain/*', algorithms: [] },
      { pattern: 'example.com/old', algorithms: ['gzip'] },
      { pattern: '*.example.com/*', algorithms: ['gzip', 'brotli'] },
      { pattern: 'example.com/*', algorithms: ['brotli'] },
    ];
    t.is((await first.call('PATCH', rules, { value })).status, 200);
    t.is((await first.call('PATCH', `/zones/${zone.id}/settings/brotli`, { value: 'off' })).status, 200);
    const see = async (from: typeof first): Promise<(string | undefined)[]> => [
      await from.coding('example.com', 'br, gzip', '/plain/a'),
      await from.coding('example.com', 'br, gzip', '/old?x=1'),
      await from.coding('example.com', 'br, gzip', '/older'),
      await from.coding('example.com', 'gzip', '/'),
      await from.coding('www.example.com:80', 'br, gzip', '/'),
      await from.coding('www.example.com', 'br, gzip;q=0.5', '/'),
      await from.coding('example.org', 'br, gzip', '/'),
    ];
    const expected = [undefined, 'gzip', 'br', undefined, 'gzip', 'br', 'br'];
    t.deepEqual(await see(first), expected);
    t.deepEqual(await see(first), expected, 'from the cache');
    await first.host.close();

    const second = await start(t, client, directory, { at: AFTER });
    await second.call('GET', `/zones/${zone.id}`);
    t.deepEqual(await see(second), expected, 'after a restart, and the end of the setting brotli');
    await second.account.update({ zonePlan: 'business' });
    t.is(await second.coding('example.com', 'br, gzip', '/plain/a'), 'br', 'the plan has no rules');
    t.like((await second.call('GET', rules)).result, { value, editable: false });
    await second.account.update({ zonePlan: 'enterprise' });
    t.is(await second.coding('example.com', 'br, gzip', '/plain/a'), undefined);
    t.is((await second.call('PATCH', rules, { value: [] })).status, 200);
    t.is(await second.coding('example.com', 'br, gzip', '/plain/a'), 'br');
    t.is((await second.call('PATCH', rules, { value })).status, 200);
    t.is((await second.call('DELETE', `/zones/${zone.id}`)).status, 200);
    t.is(await second.coding('example.com', 'br, gzip', '/plain/a'), 'br', 'the zone is gone');
  },
);

overBoth('compression rules are refused for zones of other plans, and where they are not valid', async (t, client) => {
  const { account, call } = await start(t, client, ':memory:', { at: AFTER });
  const { result: zone } = await call('POST', '/zones', { name: 'example.com', account: { id: 'acme' } });
  const rules = `/zones/${zone.id}/settings/compression_rules`;
  for (const [value, message] of [
    [[{ pattern: 'example.com/*', algorithms: ['deflate'] }], /\/value\/0\/algorithms\/0/],
    [[{ pattern: 'example.com/*' }], /algorithms/],
    [
      [{ pattern: 'example.org/*', algorithms: [] }],
      /\/value\/0\/pattern "example\.org\/\*" must begin with a host in the zone/,
    ],
    [[{ pattern: 'example.com/*/x', algorithms: [] }], /\/value\/0\/pattern/],
    [Array.from({ length: 26 }, () => ({ pattern: 'example.com/*', algorithms: [] })), /25/],
    ['off', /\/value/],
  ] as const) {
    const { status, errors } = await call('PATCH', rules, { value });
    t.is(status, 400);
    t.regex(errors[0]?.message ?? '', message);
  }
  await account.update({ zonePlan: 'business' });
  const { status, errors } = await call('PATCH', rules, { value: [] });
  t.is(status, 403);
  t.regex(errors[0]?.message ?? '', /compression_rules is for zones of plan enterprise, .* has plan business/);
});

test('what a zone says about compression is in force only for names that its account owns, and the nearest zone decides', t => {
  const owners = new Map([
    ['a.test', 'alice'],
    ['www.a.test', 'alice'],
    ['b.test', 'bob'],
  ]);
  const compression = new ZoneCompression(name => owners.get(name));
  const always = (): boolean => true;
  const hasBrotli = (host: string): boolean => compression.algorithmsOf(host, '/')?.includes('brotli') ?? true;
  compression.setBrotli('alice', 'a.test', false, always);
  compression.setBrotli('alice', 'b.test', false, always);
  t.false(hasBrotli('a.test:8080'));
  t.true(hasBrotli('b.test'), 'that of another account');
  t.false(hasBrotli('www.a.test'));
  compression.setBrotli('alice', 'www.a.test', true, always);
  t.true(hasBrotli('www.a.test'));
  compression.setRules('bob', 'a.test', [{ pattern: 'a.test/*', algorithms: ['brotli'] }], always);
  t.false(hasBrotli('a.test'));
  compression.setRules('alice', 'a.test', [{ pattern: 'a.test:8080/*', algorithms: ['brotli'] }], always);
  t.false(hasBrotli('a.test'));
  t.true(hasBrotli('a.test:8080'));
  compression.setRules('alice', 'a.test', [{ pattern: 'a.test/*', algorithms: ['brotli'] }], () => false);
  t.false(hasBrotli('a.test'));
  compression.deleteBrotli('bob', 'a.test');
  t.false(hasBrotli('a.test'));
  compression.deleteAccount('alice');
  t.true(hasBrotli('a.test'));
});
