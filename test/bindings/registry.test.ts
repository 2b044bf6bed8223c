/** A binding that only these tests have works wherever the package's own do. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { ImplicitBinding, NamedBinding } from '../../src/bindings/binding.js';
import { type BindingClients, BindingRegistry, REGISTRY } from '../../src/bindings/registry.js';
import { EdgeHost, type EdgeHostOptions, type LoadOptions } from '../../src/index.js';
import { MAX_CALL_HEAD_BYTES, ServiceId } from '../../src/quotas/service-calls.js';
import { createGuest } from '../guest/guest.js';
import { ISOLATIONS, nextInvocation } from '../host/new-host.js';
import { counterBinding } from './counter/counter-binding.js';
import { CounterError, OVERFLOW } from './counter/counter-store.js';

const ROOT = new URL('../../../', import.meta.url);
const ROWS = fileURLToPath(new URL('test/bindings/counter/guest/bindings.ts', ROOT));

const scripts: { guestBundle(options: { bindings: string }): Promise<string> } = await import(
  new URL('.scripts/guest-bundle.mjs', ROOT).href
);
const guestBundle = await scripts.guestBundle({ bindings: ROWS });

const BACKEND_MAIN = fileURLToPath(new URL('./counter/backend-main.js', import.meta.url));

type Mode = NonNullable<EdgeHostOptions['backend']>;
const MODES: readonly Mode[] = process.platform === 'linux' ? ['inline', 'process'] : ['inline'];

function newHost(t: ExecutionContext, options: EdgeHostOptions = {}): EdgeHost {
  const parts = { registry: REGISTRY.with([counterBinding]), guestBundle, backendMain: BACKEND_MAIN };
  const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, ...options }, parts);
  t.teardown(() => host.close({ drainMs: 0 }));
  return host;
}

/** With a storage of its own, which the backend process needs. */
function hostIn(t: ExecutionContext, backend: Mode, storage = temporaryStorage(t)): EdgeHost {
  return newHost(t, { backend, storage });
}

function temporaryStorage(t: ExecutionContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'edgehost-counter-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** An option that the types of the public API do not have. */
function bound(counters: unknown, options: LoadOptions = {}): LoadOptions {
  return Object.assign({ ...options }, { counters });
}

const SOURCE = `
const ROUTES = {
  '/add': async ({ HITS }) => Response.json(await HITS.add(2)),
  '/bytes': async ({ HITS }, request) => Response.json(await HITS.addBytes(request.body ?? '')),
  '/large': async ({ LARGE }, request) => Response.json(await LARGE.addBytes(request.body)),
  '/own': async ({ LARGE }) => Response.json(await LARGE.addBytes(new Uint8Array(3_000_000))),
  '/lines': async ({ HITS }) => new Response(await HITS.lines()),
  '/long': async ({ HITS }) => Response.json(await HITS.add('x'.repeat(100)).catch(String)),
  '/many': async ({ HITS }) => {
    let answered = 0;
    try {
      for (;;) answered = await HITS.add(1);
    } catch (error) {
      return Response.json([answered, error.code]);
    }
  },
  '/slots': async ({ HITS }) => {
    const order = [];
    const first = await HITS.lines();
    const second = HITS.lines().then(lines => {
      order.push('second');
      return new Response(lines).text();
    });
    order.push(await HITS.add(0));
    await new Response(first).text();
    order.push('first');
    await second;
    return Response.json(order);
  },
};
export default { fetch: (request, env) => ROUTES[new URL(request.url).pathname](env, request) };
`;

for (const isolation of ISOLATIONS) {
  test(`a function uses a binding of its own kind by a call, a stream in and a stream out (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(SOURCE, bound({ HITS: 'hits', LARGE: 'large' }));
    const text = async (path: string, init?: RequestInit): Promise<string> =>
      (await fn.fetch(new Request(`https://example.com${path}`, init))).text();
    t.is(await text('/add'), '2');
    t.is(await text('/bytes', { method: 'POST', body: 'abc' }), '5');
    const body = new Blob([new Uint8Array(2_000_000)]).stream();
    t.is(await text('/large', { method: 'POST', body, duplex: 'half' }), '2000000');
    t.is(await text('/own'), '5000000');
    t.is(await text('/lines'), '1\n2\n3\n4\n5\n');
  });
}

for (const backend of MODES) {
  test(`the application uses the same counter as its functions, and not that of another account (${backend})`, async t => {
    const host = hostIn(t, backend);
    const acme = host.account('acme');
    const fn = await acme.load(SOURCE, bound({ HITS: 'hits', LARGE: 'large' }));
    const hits = acme.client(counterBinding, 'hits');
    t.is(await hits.add(40), 40);
    t.is(await (await fn.fetch('https://example.com/add')).json(), 42);
    t.is(await hits.addBytes(new Blob(['xy']).stream()), 44);
    const body = new Blob([new Uint8Array(2_000_000)]).stream();
    t.is(
      await (await fn.fetch('https://example.com/large', { method: 'POST', body, duplex: 'half' })).json(),
      2_000_000,
    );
    t.is((await (await fn.fetch('https://example.com/lines')).text()).split('\n').length, 45);
    t.is(await host.account('other').client(counterBinding, 'hits').add(1), 1);
    t.is((await new Response(await acme.client(counterBinding, 'few').lines()).text()).length, 0);
  });

  test(`errors of a binding of the host's own registry are instances of their class (${backend})`, async t => {
    const acme = hostIn(t, backend).account('acme');
    const overflow = { instanceOf: CounterError, code: OVERFLOW } as const;
    await t.throwsAsync(acme.client(counterBinding, 'hits').add(2 ** 60), overflow);
    await t.throwsAsync(acme.load(SOURCE, bound({ HITS: 'over', LARGE: 'large' })), overflow);
  });

  test(`a counter keeps its total when the host starts again (${backend})`, async t => {
    const storage = temporaryStorage(t);
    const before = hostIn(t, backend, storage);
    t.is(await before.account('acme').client(counterBinding, 'hits').add(40), 40);
    await before.close({ drainMs: 0 });
    const host = hostIn(t, backend, storage);
    t.is(await host.account('acme').client(counterBinding, 'hits').add(2), 42);
  });
}

test('Account and EdgeHost have a member for each row that names its client', t => {
  const host = newHost(t);
  const account = host.account('acme');
  const names: (keyof BindingClients)[] = ['bucket', 'caches', 'kv', 'queue', 'sql'];
  t.deepEqual(REGISTRY.rows.flatMap(({ application }) => application ?? []).sort(), names);
  for (const name of names) t.is(typeof host[name], typeof account[name], name);
  t.is(typeof Reflect.get(account, 'counter'), 'function');
  t.deepEqual(Object.keys(account), ['id', 'created']);
});

test('a client cannot have the name of another member of Account and EdgeHost', t => {
  const registry = REGISTRY.with([{ ...counterBinding, application: 'load' }]);
  t.throws(() => new EdgeHost({ storage: ':memory:' }, { registry }), {
    message: 'The application\'s client of counter cannot be called "load"',
  });
});

test('loadFile() reads the table of the row', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-counter-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'index.js'), SOURCE);
  const file = (table: string): void =>
    writeFileSync(join(folder, 'edgehost.toml'), `name = "hello"\nmain = "index.js"\n\n[[counters]]\n${table}`);
  const host = newHost(t);
  file('binding = "HITS"\ncounter_name = "hits"\n');
  const fn = await host.loadFile(folder);
  t.is(await (await fn.fetch('https://example.com/add')).json(), 2);
  file('binding = "HITS"\nbucket_name = "hits"\n');
  await t.throwsAsync(host.loadFile(folder), {
    code: 'EDGE_CONFIG_INVALID',
    message: /edgehost\.toml:6:1: .*bucket_name/,
  });
  file('binding = "HITS"\ncounter_name = "hits"\n[vars]\nHITS = "1"\n');
  await t.throwsAsync(host.loadFile(folder), { code: 'EDGE_CONFIG_INVALID', message: /edgehost\.toml:8:1: / });
});

test('the management API takes bindings of the type that the row names, shows them and serves them', async t => {
  const host = newHost(t);
  const acme = host.account('acme');
  const token = 'a-token-of-the-test-as-long-as-it-has-to-be';
  const management = host.management({ tokens: [{ name: 'all', token, account: 'acme', permissions: 'all' }] });
  const call = (method: string, path: string, body?: FormData | string): Promise<Response> =>
    management(
      new Request(`http://localhost/accounts/acme/functions/hello${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(typeof body === 'string' && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
      }),
    );
  const upload = (bindings: readonly object[]): Promise<Response> => {
    const form = new FormData();
    form.set('metadata', JSON.stringify({ main_module: 'index.js', bindings }));
    form.set('index.js', new File([SOURCE], 'index.js', { type: 'application/javascript+module' }));
    return call('PUT', '', form);
  };
  t.is((await upload([{ type: 'counter', name: 'HITS', counter_name: 'hits' }])).status, 200);
  t.is(await (await acme.function('hello')?.fetch('https://example.com/add'))?.json(), 2);
  t.like(await (await call('GET', '/bindings')).json(), {
    result: [{ type: 'counter', name: 'HITS', counter_name: 'hits' }],
  });
  const replaced = JSON.stringify([{ type: 'counter', name: 'HITS', counter_name: 'others' }]);
  t.is((await call('PUT', '/bindings', replaced)).status, 200);
  t.is(await (await acme.function('hello')?.fetch('https://example.com/bytes'))?.json(), 0);
  t.is((await upload([{ type: 'counter', name: 'HITS', counter_name: '' }])).status, 400);
  t.is((await upload([{ type: 'gauge', name: 'HITS', counter_name: 'hits' }])).status, 400);
  const document = JSON.stringify(await management.openapi());
  t.true(document.includes('"counter_name"'));
});

test('calls count as subrequests of the kind that the row names', async t => {
  const host = newHost(t);
  const fn = await host.load(SOURCE, bound({ HITS: 'hits' }, { limits: { internalSubrequests: 3 } }));
  const over = nextInvocation(host);
  t.deepEqual(await (await fn.fetch('https://example.com/many')).json(), [3, 'EDGE_SUBREQUEST_LIMIT']);
  t.is((await over).subrequests, 3);
});

test('a call of a method that holds a connection waits until the one before it has been read, others do not', async t => {
  const host = newHost(t);
  const fn = await host.load(SOURCE, bound({ HITS: 'hits' }, { limits: { connections: 1 } }));
  await host.account('default').client(counterBinding, 'hits').add(10);
  t.deepEqual(await (await fn.fetch('https://example.com/slots')).json(), [10, 'first', 'second']);
});

test('arguments that are longer than the row allows are refused before they are parsed', async t => {
  const host = newHost(t);
  const fn = await host.load(SOURCE, bound({ HITS: 'hits' }));
  t.is(
    await (await fn.fetch('https://example.com/long')).json(),
    'TypeError: The arguments of add are 109 bytes as JSON, at most 64 are allowed',
  );
});

test('load() checks the option of the row, prepares the binding, and knows nothing of it without the row', async t => {
  const host = newHost(t);
  await t.throwsAsync(host.load(SOURCE, bound('hits')), {
    instanceOf: TypeError,
    message: /Option counters of load\(\)/,
  });
  await t.throwsAsync(host.load(SOURCE, bound({ HITS: 1 })), { instanceOf: TypeError, message: /counters/ });
  await t.throwsAsync(host.load(SOURCE, bound({ 'not a name': 'hits' })), { instanceOf: TypeError });
  await t.throwsAsync(host.load(SOURCE, bound({ HITS: 'hits' }, { vars: { HITS: '' } })), { instanceOf: TypeError });
  await t.throwsAsync(host.load(SOURCE, bound({ HITS: 'none' })), { instanceOf: RangeError, message: /"none"/ });
  const plain = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => plain.close({ drainMs: 0 }));
  await t.throwsAsync(plain.load(SOURCE, bound({ HITS: 'hits' })), { message: /has no option "counters"/ });
});

for (const row of REGISTRY.named) {
  test(`the guest realm of the package makes bindings of type ${row.name}`, async t => {
    const script = `addEventListener('fetch', event => event.respondWith(new Response(typeof NAME)));`;
    // A row that gives the guest a configuration has it checked there: names of methods, for callbacks.
    const config = row.guestConfig?.({}, { date: '2024-01-01', flags: [] }, { account: 'acme', function: 'fn' });
    const binding = { name: 'NAME', service: row.id, ...(config !== undefined && { config }) };
    const guest = await createGuest(t, script, { bindings: [binding] });
    t.is((await guest.fetch()).body, 'object');
  });
}

test('new BindingRegistry() refuses rows that cannot be told apart, and arguments beyond what an isolate may send', t => {
  const other: NamedBinding = { ...counterBinding, id: ServiceId.Experimental, name: 'other' };
  const implicit: ImplicitBinding = {
    id: ServiceId.Experimental,
    name: 'implicit',
    implicit: true,
    subrequest: 'kv',
    methods: { big: { headBytes: MAX_CALL_HEAD_BYTES + 1 } },
    open: () => async () => ({ head: null }),
  };
  t.throws(() => REGISTRY.with([counterBinding, other]), { instanceOf: TypeError, message: /the same number, 127/ });
  t.throws(() => REGISTRY.with([{ ...counterBinding, option: 'buckets' }]), { message: /the same option, buckets/ });
  t.throws(() => new BindingRegistry([implicit]), { instanceOf: RangeError, message: /big of implicit/ });
});
