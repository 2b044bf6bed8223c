/** The zone setting `brotli` of the management API, in the listener of the host: until the schedule ends it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ZoneBrotli } from '../../../src/names/zone-brotli.js';
import { handler, newHost } from '../new-host.js';
import { overBoth, type ProtocolClient } from '../protocols.js';

const BEFORE = '2024-08-14T12:00:00Z';
const AFTER = '2024-08-16T12:00:00Z';
const TEXT = handler(
  `return new Response('some text '.repeat(500), { headers: { 'content-type': 'text/plain', 'cache-control': 'public, max-age=60' } })`,
);

async function start(t: ExecutionContext, { listen, fetch }: ProtocolClient, storage: string, clock: { at: string }) {
  const host = newHost(t, { storage });
  const account = host.account('acme', { zones: ['example.com', 'example.org'] });
  const api = host.management({ now: () => new Date(clock.at) });
  const { value } = await api.issueToken({ name: 'test', account: 'acme', permissions: ['zones:edit', 'zones:read'] });
  await account.load(TEXT, { name: 'text', routes: ['example.com/*', '*.example.com/*', 'example.org/*'] });
  const origin = await listen(t, host.listener({ cache: true }));
  return {
    host,
    async call(method: string, path: string, body?: unknown): Promise<{ status: number; result: { id: string } }> {
      const headers = { authorization: `Bearer ${value}`, 'content-type': 'application/json' };
      const answer = await api(
        new Request(`http://api${path}`, {
          method,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      );
      const { result } = (await answer.json()) as { result: { id: string } };
      return { status: answer.status, result };
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

test('the setting of a zone is in force only for names that its account owns, and the nearest zone decides', t => {
  const owners = new Map([
    ['a.test', 'alice'],
    ['www.a.test', 'alice'],
    ['b.test', 'bob'],
  ]);
  const brotli = new ZoneBrotli(name => owners.get(name));
  const always = (): boolean => true;
  brotli.set('alice', 'a.test', false, always);
  brotli.set('alice', 'b.test', false, always);
  t.false(brotli.isOn('a.test:8080'));
  t.true(brotli.isOn('b.test'), 'that of another account');
  t.false(brotli.isOn('www.a.test'));
  brotli.set('alice', 'www.a.test', true, always);
  t.true(brotli.isOn('www.a.test'));
  brotli.delete('bob', 'a.test');
  t.false(brotli.isOn('a.test'));
  brotli.deleteAccount('alice');
  t.true(brotli.isOn('a.test'));
});
