/** Host names of accounts, through a host: what one account loads or asks for never answers for names of another. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, HostManagement } from '../../src/index.js';
import { handler, newHost } from '../host/new-host.js';
import { clientOf, PROTOCOLS } from '../host/protocols.js';

const says = (text: string): string => handler(`return new Response('${text}')`);

/** The account that answers, by `host.fetch()` and by a listener, over both protocols; undefined for none. */
async function asker(
  t: ExecutionContext,
  host: EdgeHost,
): Promise<(name: string, path?: string) => Promise<string | undefined>> {
  const clients = PROTOCOLS.map(clientOf);
  const origins = await Promise.all(clients.map(({ listen }) => listen(t, host.listener())));
  return async (name, path = '/') => {
    const fetched = await host.fetch(`http://${name}${path}`).then(
      response => response.text(),
      () => undefined,
    );
    for (const [at, { fetch, protocol }] of clients.entries()) {
      const response = await fetch(`${origins[at]}${path}`, { headers: { host: name } });
      const text = await response.text();
      const heard = response.status === 200 ? text : undefined;
      t.is(heard, fetched, `the listener over ${protocol} and fetch() answer alike for ${name}${path}`);
    }
    return fetched;
  };
}

const TAKEN = { code: 'EDGE_NAME_TAKEN' };
const DENIED = { code: 'EDGE_NAME_DENIED' };
const VARIANTS = ['victim.example', 'VICTIM.Example', 'victim.example.', 'victim.example:8080'];

test('an account cannot take host names of another by load(), setTriggers(), check() or edgehost.toml', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const ask = await asker(t, host);
  const victim = host.account('victim', { zones: ['victim.example'] });
  await victim.load(says('victim'), { routes: ['victim.example/*'] });
  const mallory = host.account('mallory');
  await mallory.load(says('mallory'), { name: 'own', routes: ['mallory.example/*', '*/public/*'] });
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'index.js'), says('evil'));
  for (const pattern of ['victim.example/login*', 'www.victim.example/*', '*.victim.example/*', 'VICTIM.example./*']) {
    await t.throwsAsync(mallory.load(says('evil'), { name: 'evil', routes: [pattern] }), {
      ...TAKEN,
      message: /zone "victim.example" of account "victim"/,
    });
    t.throws(() => mallory.setTriggers('own', { routes: ['mallory.example/*', pattern] }), TAKEN);
    await t.throwsAsync(mallory.check(says('evil'), { name: 'evil', routes: [pattern] }), TAKEN);
    await writeFile(join(directory, 'edgehost.toml'), `name = "evil"\nmain = "index.js"\nroutes = ["${pattern}"]\n`);
    await t.throwsAsync(mallory.loadFile(directory), TAKEN);
  }
  t.is(mallory.function('evil'), undefined);
  for (const name of VARIANTS) {
    t.is(await ask(name, '/login'), 'victim', name);
    t.is(await ask(name, '/public/x'), 'victim', name);
    t.is(await ask(`www.${name}`, '/public/x'), undefined, `www.${name}`);
  }
  t.is(await ask('mallory.example'), 'mallory');
  t.is(await ask('nobody.example', '/public/x'), 'mallory');
});

test('two accounts that load one name at once get one of it, and the other changes nothing', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const ask = await asker(t, host);
  await host.account('b').load(says('b before'), { name: 'f', routes: ['b.example/*'] });
  const [a, b] = await Promise.allSettled([
    host.account('a').load(says('a'), { routes: ['race.example/*'] }),
    host.account('b').load(says('b after'), { name: 'f', routes: ['race.example/*', 'b.example/*'] }),
  ]);
  t.deepEqual([a.status, b.status].sort(), ['fulfilled', 'rejected']);
  const isFirst = a.status === 'fulfilled';
  t.like(isFirst ? b : a, { reason: { code: 'EDGE_NAME_TAKEN' } });
  t.is(await ask('race.example'), isFirst ? 'a' : 'b after');
  t.is(await ask('b.example'), isFirst ? 'b before' : 'b after');
});

test('names are free again when a function is unloaded, loses its route or its account is closed', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const ask = await asker(t, host);
  const fn = await host.account('a').load(says('a'), { routes: ['one.example/*', 'two.example/*'] });
  const load = (name: string) => host.account('b').load(says('b'), { name: name.slice(0, 3), routes: [`${name}/*`] });
  await t.throwsAsync(load('one.example'), { ...TAKEN, message: /function "function" of account "a"/ });
  host.account('a').setTriggers('function', { routes: ['two.example/*'] });
  await load('one.example');
  t.is(await ask('one.example'), 'b');
  await t.throwsAsync(load('two.example'), TAKEN);
  fn.unload();
  await load('two.example');
  const closed = host.account('c', { zones: ['three.example'] });
  await t.throwsAsync(load('three.example'), TAKEN);
  await closed.close();
  await load('three.example');
  t.is(await ask('three.example'), 'b');
});

test('account() refuses zones that others have, and makes no account then', async t => {
  const host = newHost(t);
  host.account('a', { zones: ['a.example'] });
  t.throws(() => host.account('b', { zones: ['A.example.'] }), TAKEN);
  t.throws(() => host.account('b', { zones: ['co.uk'] }), { instanceOf: RangeError });
  t.throws(() => host.account('b', { zones: ['a b'] }), { instanceOf: TypeError });
  t.is(host.health().accounts, 1);
  const none = host.account('b', { zones: [] });
  await t.throwsAsync(none.load(says('b'), { routes: ['b.example/*'] }), DENIED);
  await t.throwsAsync(none.load(says('b'), { routes: ['*/*'] }), DENIED);
});

// --- The management API ---

const TENANT = 'token-of-mallory-with-every-permission';

function call(api: HostManagement, method: string, path: string, body: unknown, token = TENANT): Promise<Response> {
  const isForm = body instanceof FormData;
  return api(
    new Request(`http://api${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    }),
  );
}

function form(source: string): FormData {
  const parts = new FormData();
  parts.set('metadata', JSON.stringify({ main_module: 'index.js' }));
  parts.set('index.js', new File([source], 'index.js', { type: 'application/javascript+module' }));
  return parts;
}

test("a tenant's token cannot take host names of others through the management API", async t => {
  const host = newHost(t, { isolation: 'thread' });
  const ask = await asker(t, host);
  host.account('victim', { zones: ['victim.co.uk'] });
  host.account('mallory');
  const api = host.management({
    tokens: [{ name: 'mallory', token: TENANT, account: 'mallory', permissions: 'all' }],
    zoneOwnership: (_account, zone) => zone !== 'denied.example',
  });
  await host.account('victim').load(says('victim'), { routes: ['victim.co.uk/*', '*.victim.co.uk/*'] });
  await host.account('carol').load(says('carol'), { routes: ['carol.example.com/admin*'] });
  t.is((await call(api, 'PUT', '/accounts/mallory/functions/evil', form(says('mallory')))).status, 200);
  const zone = async (name: string) => (await call(api, 'POST', '/zones', { name, account: { id: 'mallory' } })).status;
  for (const name of ['victim.co.uk', 'www.victim.co.uk', 'WWW.VICTIM.co.uk.', 'example.com', 'carol.example.com']) {
    t.is(await zone(name), 409, name);
  }
  for (const name of ['co.uk', 'com.ac', 'denied.example']) t.is(await zone(name), 403, name);
  const own = await call(api, 'POST', '/zones', { name: 'mallory.example', account: { id: 'mallory' } });
  const { result } = (await own.json()) as { readonly result: { readonly id: string } }; // the zone
  const route = async (pattern: string) => {
    const answer = await call(api, 'POST', `/zones/${result.id}/routes`, { pattern, function: 'evil' });
    return answer.status;
  };
  for (const pattern of [
    'www.victim.co.uk/*',
    'victim.co.uk/login*',
    'carol.example.com/a*',
    '*/*',
    '*mallory.example/*',
  ]) {
    t.is(await route(pattern), 400, pattern);
  }
  t.is(await route('*.mallory.example/*'), 201);
  t.is(await ask('www.victim.co.uk'), 'victim');
  t.is(await ask('victim.co.uk', '/login'), 'victim');
  t.is(await ask('carol.example.com', '/admin'), 'carol');
  t.is(await ask('x.mallory.example'), 'mallory');
  // The application's code cannot take the tenant's name by mistake either.
  await t.throwsAsync(host.load(says('default'), { routes: ['x.mallory.example/a'] }), TAKEN);
});

test('load() waits for the zones of a management API that is being opened', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const options = {
    tokens: [{ name: 'mallory', token: TENANT, account: 'mallory', permissions: 'all' }],
    zoneOwnership: () => true,
  } as const;
  const first = newHost(t, { storage: directory });
  first.account('mallory');
  const body = { name: 'mallory.example', account: { id: 'mallory' } };
  t.is((await call(first.management(options), 'POST', '/zones', body)).status, 201);
  await first.close();
  const second = newHost(t, { storage: directory });
  second.management(options);
  await t.throwsAsync(second.load(says('default'), { routes: ['mallory.example/*'] }), TAKEN);
});
