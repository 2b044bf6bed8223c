/** The option `egress` of accounts and functions: hosts by name, and secrets that stay outside of functions. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { WebSocketServer } from 'ws';
import type { EdgeHost, EdgeHostOptions, EgressEvent, EgressRules } from '../../../src/index.js';
import { handler, newHost, nextInvocation } from '../../host/new-host.js';
import { tcpServer } from '../socket/tcp-servers.js';
import { addressOf, type Origin, startOrigin } from './origin-server.js';

const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
/** Names below localhost are resolved everywhere, so that the backend process needs no resolver of the application. */
const INSIDE = { egress: { allow: ['127.0.0.0/8', '::1'] } } as const;

const PLACES: readonly { readonly name: string; readonly options: EdgeHostOptions }[] = [
  { name: 'a process for each account', options: {} },
  { name: 'threads', options: { isolation: 'thread' } },
  { name: 'a backend process', options: { backend: 'process' } },
];

function hostIn(t: ExecutionContext, options: EdgeHostOptions): EdgeHost {
  if (options.backend !== 'process') return newHost(t, { ...INSIDE, ...options });
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return newHost(t, { ...INSIDE, storage, ...options });
}

/** Answers its head as JSON. */
function startEcho(t: ExecutionContext): Promise<Origin> {
  return startOrigin(t, (request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ url: request.url, method: request.method, headers: request.headers }));
  });
}

/** A function that makes the request in its own request, `{ url, init }`, and answers what came of it. */
const FETCHES = handler(`
  const { url, init } = await request.json();
  const fill = text => text.replaceAll('$GH', env.GH);
  const headers = Object.fromEntries(Object.entries(init?.headers ?? {}).map(([name, value]) => [name, value.startsWith('b:') ? 'Basic ' + btoa(fill(value.slice(2))) : fill(value)]));
  try {
    const response = await fetch(fill(url), { ...init, headers });
    return Response.json({ status: response.status, url: response.url, headers: [...response.headers], text: await response.text(), GH: env.GH });
  } catch (error) {
    return Response.json({ code: error.code, message: error.message, GH: env.GH });
  }`);

interface Outcome {
  readonly status?: number;
  readonly url?: string;
  readonly headers?: [string, string][];
  readonly text?: string;
  readonly code?: string;
  readonly message?: string;
  readonly GH?: string;
}

interface Rig {
  readonly host: EdgeHost;
  readonly events: EgressEvent[];
  run(url: string, init?: { headers?: Record<string, string>; method?: string; redirect?: string }): Promise<Outcome>;
}

async function rigOf(t: ExecutionContext, egress: EgressRules, options: EdgeHostOptions = {}): Promise<Rig> {
  const host = hostIn(t, options);
  const events: EgressEvent[] = [];
  host.on('egress', event => events.push(event));
  const fn = await host.load(FETCHES, { name: 'caller', egress });
  return {
    host,
    events,
    run: async (url, init) => {
      const body = JSON.stringify({ url, init });
      return (await (await fn.fetch('http://x/', { method: 'POST', body })).json()) as Outcome; // of FETCHES
    },
  };
}

function headersOf({ text = '{}' }: Outcome): Record<string, string> {
  return JSON.parse(text).headers;
}

for (const { name, options } of PLACES) {
  test(`fetch() reaches the hosts of option egress and no others, with ${name}`, async t => {
    const { port } = await startEcho(t);
    const rig = await rigOf(t, { hosts: ['a.localhost', `*.b.localhost:${port}`] }, options);
    t.is((await rig.run(`http://a.localhost:${port}/`)).status, 200);
    t.is((await rig.run(`http://A.LOCALHOST.:${port}/`)).status, 200);
    t.is((await rig.run(`http://x.y.b.localhost:${port}/`)).status, 200);
    for (const other of [
      'b.localhost',
      'c.localhost',
      'a.localhost.evil.example',
      'xa.localhost',
      '127.0.0.1',
      '[::1]',
    ]) {
      const { code, message = '' } = await rig.run(`http://${other}:${port}/`);
      t.is(code, 'EDGE_EGRESS_DENIED', other);
      t.true(
        message.startsWith(`Cannot fetch http://${other}:${port} (GET): no entry of option egress.hosts of`),
        message,
      );
      t.regex(message, /\{"host":"[^"]+","ports":\[\d+\]\} in option egress.hosts of function "caller" would allow it/);
    }
  });

  test(`a secret reaches its host and never the function, with ${name}`, async t => {
    const { port, requests } = await startEcho(t);
    const rig = await rigOf(
      t,
      {
        hosts: ['a.localhost', 'b.localhost'],
        secrets: { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } },
      },
      options,
    );
    const answer = await rig.run(`http://a.localhost:${port}/`, {
      headers: { authorization: 'Bearer $GH', 'x-two': '$GH-$GH' },
    });
    t.regex(String(answer.GH), /^edgesecret-[0-9a-f]{48}$/);
    t.like(headersOf(answer), { authorization: `Bearer ${TOKEN}`, 'x-two': `${TOKEN}-${TOKEN}` });
    const basic = await rig.run(`http://a.localhost:${port}/`, { headers: { authorization: 'b:user:$GH' } });
    t.is(headersOf(basic).authorization, `Basic ${btoa(`user:${TOKEN}`)}`);
    const before = requests.length;
    const refused = await rig.run(`http://b.localhost:${port}/`, { headers: { authorization: 'Bearer $GH' } });
    t.is(refused.code, 'EDGE_EGRESS_DENIED');
    t.regex(String(refused.message), /the secret GH belongs to a\.localhost/);
    const inUrl = await rig.run(`http://a.localhost:${port}/?key=$GH`);
    t.regex(
      String(inUrl.message),
      /the secret GH may not stand in the URL \('url' in `in` of option egress\.secrets\.GH of function "caller" would allow it\)/,
    );
    t.is(requests.length, before);
    t.notRegex(JSON.stringify([refused, inUrl]), new RegExp(TOKEN));
  });

  test(`a refusal is an event that says what would allow it, with ${name}`, async t => {
    const rig = await rigOf(t, { hosts: ['a.localhost'] }, options);
    const event = new Promise<EgressEvent>(resolve => rig.host.once('egress', resolve));
    const over = nextInvocation(rig.host);
    await rig.run('https://c.localhost/users?id=1', { method: 'DELETE' });
    const { invocation } = await over;
    const { message, remedy, ...rest } = await event;
    t.deepEqual(rest, {
      account: 'default',
      function: 'caller',
      invocation,
      reason: 'host',
      protocol: 'https',
      host: 'c.localhost',
      port: 443,
      method: 'DELETE',
      path: '/users',
      entry: { host: 'c.localhost', ports: [443] },
      unreported: 0,
    });
    t.is(remedy, '{"host":"c.localhost","ports":[443]} in option egress.hosts of function "caller" would allow it');
    t.true(message.includes(remedy));
  });
}

const SOCKETS = `import { connect } from 'edgehost:sockets';
  const outcome = promise => promise.then(() => 'open', error => error.code + ' ' + error.message);
  export default { async fetch(request) {
    const targets = await request.json();
    const outcomes = await Promise.all(targets.map(target => outcome(connect(target).opened)));
    return Response.json(outcomes);
  } };`;

for (const { name, options } of PLACES) {
  test(`connect() opens the sockets that option egress allows, with ${name}`, async t => {
    const port = await tcpServer(t, socket => void socket.pipe(socket));
    const other = await tcpServer(t, socket => void socket.pipe(socket));
    const host = hostIn(t, options);
    const narrowed = { host: 'narrow.localhost', ports: [port] };
    const hosts = [
      `a.localhost:${port}`,
      { ...narrowed, methods: ['GET'] },
      { ...narrowed, host: 'path.localhost', paths: ['/'] },
      '*.wild.localhost',
    ];
    const fn = await host.load(SOCKETS, { name: 'dials', egress: { hosts } });
    const dial = async (...targets: string[]): Promise<string[]> =>
      (await fn.fetch('http://x/', { method: 'POST', body: JSON.stringify(targets) })).json() as Promise<string[]>;
    t.deepEqual(await dial(`a.localhost:${port}`, `A.localhost.:${port}`, `x.wild.localhost:${other}`), [
      'open',
      'open',
      'open',
    ]);
    const refused = await dial(
      `a.localhost:${other}`,
      `narrow.localhost:${port}`,
      `path.localhost:${port}`,
      `127.1:${port}`,
      `wild.localhost:${port}`,
    );
    for (const outcome of refused)
      t.regex(outcome, /^EDGE_EGRESS_DENIED Cannot connect to .*: no entry of option egress\.hosts/);
    const late = new Promise<EgressEvent>(resolve => {
      host.on('egress', event => {
        if (event.host === 'late.localhost') resolve(event);
      });
    });
    await dial(`late.localhost:${port}`);
    const event = await late;
    t.like(event, {
      protocol: 'tcp',
      host: 'late.localhost',
      port,
      entry: { host: 'late.localhost', ports: [port] },
    });
    t.is(event.method, undefined);
  });

  test(`a WebSocket gets secrets in its headers and protocols, with ${name}`, async t => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: set => [...set][0] ?? false });
    t.teardown(() => server.close());
    await once(server, 'listening');
    const seen = new Promise<{ authorization: string | undefined; protocol: string | undefined }>(resolve => {
      server.on('connection', (ws, request) => {
        resolve({
          authorization: request.headers.authorization,
          protocol: request.headers['sec-websocket-protocol'],
        });
        ws.close();
      });
    });
    const { port } = addressOf(server);
    const fn = await hostIn(t, options).load(
      handler(`
        const url = 'http://a.localhost:${port}/';
        const headers = { upgrade: 'websocket', authorization: 'Bearer ' + env.GH, 'sec-websocket-protocol': 'key.' + env.GH };
        const response = await fetch(url, { headers });
        const outcome = await fetch('http://b.localhost:${port}/', { headers: { upgrade: 'websocket' } }).catch(error => error);
        const secret = await fetch('http://c.localhost:${port}/', { headers }).catch(error => error);
        return Response.json([response.status, response.headers.get('sec-websocket-protocol') === 'key.' + env.GH, outcome.code, secret.code, secret.message]);`),
      {
        egress: {
          hosts: ['a.localhost', 'c.localhost'],
          secrets: { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } },
        },
      },
    );
    const [status, isHidden, ...refusals] = (await (await fn.fetch('http://x/')).json()) as unknown[];
    t.deepEqual([status, isHidden], [101, true]);
    t.deepEqual(refusals.slice(0, 2), ['EDGE_EGRESS_DENIED', 'EDGE_EGRESS_DENIED']);
    t.regex(String(refusals[2]), /the secret GH belongs to a\.localhost/);
    t.deepEqual(await seen, { authorization: `Bearer ${TOKEN}`, protocol: `key.${TOKEN}` });
  });
}

test('an account and its function are both asked, and secrets of the account are in the environment', async t => {
  const { port } = await startEcho(t);
  const host = newHost(t, INSIDE);
  const acme = host.account('acme', {
    egress: {
      hosts: ['a.localhost', 'b.localhost'],
      secrets: { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } },
    },
  });
  const plain = await acme.load(FETCHES, { name: 'plain' });
  const narrow = await acme.load(FETCHES, { name: 'narrow', egress: { hosts: ['b.localhost', 'c.localhost'] } });
  const run = async (fn: typeof plain, url: string): Promise<Outcome> => {
    const body = JSON.stringify({ url, init: { headers: { authorization: '$GH' } } });
    return (await (await fn.fetch('http://x/', { method: 'POST', body })).json()) as Outcome; // of FETCHES
  };
  t.is(headersOf(await run(plain, `http://a.localhost:${port}/`)).authorization, TOKEN);
  t.regex(String((await run(plain, `http://c.localhost:${port}/`)).message), /egress\.hosts of account "acme"/);
  t.regex(String((await run(narrow, `http://a.localhost:${port}/`)).message), /egress\.hosts of function "narrow"/);
  t.regex(String((await run(narrow, `http://c.localhost:${port}/`)).message), /egress\.hosts of account "acme"/);
  const own = await acme.load(handler('return new Response(env.GH);'), { name: 'own', vars: { GH: 'its own' } });
  t.is(await (await own.fetch('http://x/')).text(), 'its own');
});

test('update() gives the functions of an account other hosts and another value', async t => {
  const { port } = await startEcho(t);
  const host = newHost(t, INSIDE);
  const rules = (name: string, value: string): EgressRules => ({
    hosts: [name],
    secrets: { GH: { hosts: [name], value, allowHttp: true } },
  });
  const acme = host.account('acme', { egress: rules('a.localhost', TOKEN) });
  const fn = await acme.load(FETCHES);
  const run = async (url: string): Promise<Outcome> => {
    const body = JSON.stringify({ url, init: { headers: { authorization: '$GH' } } });
    return (await (await fn.fetch('http://x/', { method: 'POST', body })).json()) as Outcome; // of FETCHES
  };
  t.is(headersOf(await run(`http://a.localhost:${port}/`)).authorization, TOKEN);
  await acme.update({ egress: rules('b.localhost', 'another-token') });
  t.is((await run(`http://a.localhost:${port}/`)).code, 'EDGE_EGRESS_DENIED');
  t.is(headersOf(await run(`http://b.localhost:${port}/`)).authorization, 'another-token');
});

test('the placeholder of one account is a text like any other in another', async t => {
  const { port } = await startEcho(t);
  const host = newHost(t, INSIDE);
  const egress = (value: string): EgressRules => ({
    hosts: ['a.localhost'],
    secrets: { GH: { hosts: ['a.localhost'], value, allowHttp: true } },
  });
  const source = handler(`
    const stolen = new URL(request.url).searchParams.get('stolen') ?? env.GH;
    const { headers } = await (await fetch('http://a.localhost:${port}/', { headers: { authorization: stolen } })).json();
    return Response.json([env.GH, headers.authorization]);`);
  const one = await host.account('one').load(source, { egress: egress('value-of-one') });
  const two = await host.account('two').load(source, { egress: egress('value-of-two') });
  const [placeholder, sent] = (await (await one.fetch('http://x/')).json()) as string[];
  t.is(sent, 'value-of-one');
  t.deepEqual(((await (await two.fetch(`http://x/?stolen=${placeholder}`)).json()) as string[])[1], placeholder);
});

test('a function of this host that answers the request gets the placeholder', async t => {
  const host = newHost(t);
  const acme = host.account('acme');
  await acme.load(handler(`return new Response(request.headers.get('authorization'));`), {
    name: 'answers',
    routes: [{ pattern: 'api.example.com/*', customDomain: true }],
  });
  const fn = await acme.load(
    handler(`
      const response = await fetch('https://api.example.com/', { headers: { authorization: env.GH } });
      return new Response(String(await response.text() === env.GH));`),
    { egress: { hosts: ['api.example.com'], secrets: { GH: { hosts: ['api.example.com'], value: TOKEN } } } },
  );
  t.is(await (await fn.fetch('http://x/')).text(), 'true');
});

test('the handler of option outbound gets the secrets, and only allowed requests', async t => {
  const seen: (string | null)[] = [];
  const host = newHost(t, {
    outbound: request => {
      seen.push(`${request.url} ${request.headers.get('authorization')}`);
      return new Response('', { headers: { 'x-echo': request.headers.get('authorization') ?? '' } });
    },
  });
  const fn = await host.load(
    handler(`
      const init = { headers: { authorization: 'Bearer ' + env.GH } };
      const response = await fetch('https://api.example.com/', init);
      const other = await fetch('https://other.example.com/').catch(error => error);
      return Response.json([response.headers.get('x-echo') === 'Bearer ' + env.GH, other.code]);`),
    { egress: { hosts: ['api.example.com'], secrets: { GH: { hosts: ['api.example.com'], value: TOKEN } } } },
  );
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [true, 'EDGE_EGRESS_DENIED']);
  t.deepEqual(seen, [`https://api.example.com/ Bearer ${TOKEN}`]);
});

test('no event, log, tail or error has the value of a secret', async t => {
  const origin = await startOrigin(t, (request, response) => {
    response.statusMessage = `Got ${request.headers.authorization}`;
    response.setHeader('x-echo', String(request.headers.authorization));
    if (request.url === '/lost') request.socket.destroy();
    else response.end();
  });
  const host = newHost(t, INSIDE);
  const said: unknown[] = [];
  const note = (event: unknown): void => void said.push(event, String(event));
  host.on('invocation', note).on('log', note).on('egress', note).on('warning', note);
  const acme = host.account('acme');
  const tail = acme.tail();
  const fn = await acme.load(
    handler(`
      const headers = { authorization: 'Bearer ' + env.GH };
      const url = 'http://a.localhost:${origin.port}/';
      const echo = await fetch(url, { headers });
      const lost = await fetch(url + 'lost', { headers }).catch(error => error);
      const denied = await fetch('http://b.localhost/', { headers }).catch(error => error);
      const aborted = await fetch(url, { headers, signal: AbortSignal.abort() }).catch(error => error);
      const long = await fetch(url, { headers: { authorization: 'Bearer ' + env.GH.repeat(1000) } }).catch(error => error);
      ctx.waitUntil(fetch(url, { headers }).then(response => console.log([...response.headers], response.statusText)));
      const texts = [lost, denied, aborted, long].map(error => [error.name, error.message, error.stack, error.cause]);
      console.log(env, request, texts, [...echo.headers], echo.statusText, echo.url);
      return Response.json({ texts, echo: [...echo.headers], statusText: echo.statusText });`),
    {
      egress: {
        hosts: ['a.localhost', 'b.localhost'],
        secrets: { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } },
      },
    },
  );
  const over = nextInvocation(host);
  said.push(await (await fn.fetch('http://x/')).text());
  await over;
  for await (const item of tail) {
    said.push(item);
    break;
  }
  const text = JSON.stringify(said);
  t.true(origin.requests.every(({ headers }) => headers.authorization?.includes(TOKEN)));
  t.is(origin.requests.length, 3);
  t.false(text.includes(TOKEN));
  t.true(text.includes('edgesecret-'));
});

test('update() keeps secrets out of what other applications on the storage are told', async t => {
  const host = hostIn(t, { backend: 'process' });
  const acme = host.account('acme');
  const fn = await acme.load(handler('return new Response(typeof env.GH);'));
  await acme.update({ egress: { hosts: [], secrets: { GH: { hosts: ['a.example'], value: TOKEN } } } });
  t.is(await (await fn.fetch('http://x/')).text(), 'string');
  await acme.update({ plan: 'free', egress: { hosts: ['b.example'] } });
  t.is(await (await fn.fetch('http://x/')).text(), 'undefined');
  t.is(acme.limits.plan, 'free');
});

test('a customer with the management API neither widens the hosts of the account nor sees its secrets', async t => {
  const { port } = await startEcho(t);
  const host = newHost(t, INSIDE);
  const acme = host.account('acme', {
    egress: {
      hosts: ['a.localhost', 'b.localhost'],
      secrets: { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } },
    },
  });
  const token = 'a-token-of-the-test-as-long-as-it-has-to-be';
  const management = host.management({
    tokens: [{ name: 'edit', token, account: 'acme', permissions: ['functions:edit', 'functions:read'] }],
  });
  const texts: string[] = [];
  const call = async (method: string, path: string, body: FormData | null = null): Promise<number> => {
    const url = `http://api.test/accounts/acme/functions/${path}`;
    const headers = { authorization: `Bearer ${token}` };
    const answer = await management(new Request(url, { method, headers, body }));
    texts.push(await answer.text());
    return answer.status;
  };
  const upload = (egress?: object): FormData => {
    const form = new FormData();
    form.set('metadata', JSON.stringify({ main_module: 'index.js', ...(egress !== undefined && { egress }) }));
    form.set('index.js', new File([FETCHES], 'index.js', { type: 'application/javascript+module' }));
    return form;
  };
  const run = async (url: string): Promise<Outcome> => {
    const body = JSON.stringify({ url, init: { headers: { authorization: '$GH' } } });
    const answer = await acme.function('f')?.fetch('http://x/', { method: 'POST', body });
    return (await answer?.json()) as Outcome; // of FETCHES
  };
  t.is(await call('PUT', 'f', upload({ hosts: ['*'] })), 200);
  t.is(headersOf(await run(`http://a.localhost:${port}/`)).authorization, TOKEN);
  t.regex(String((await run(`http://c.localhost:${port}/`)).message), /egress\.hosts of account "acme"/);
  t.is(await call('PUT', 'f', upload({ hosts: ['b.localhost'] })), 200);
  t.regex(String((await run(`http://a.localhost:${port}/`)).message), /egress\.hosts of function "f"/);
  for (const path of ['f', 'f/settings', 'f/bindings', 'f/secrets', 'f/versions'])
    t.is(await call('GET', path), 200, path);
  t.false(texts.join().includes(TOKEN));
});
