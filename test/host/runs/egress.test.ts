/** The option `egress` of sandboxes: hosts by name, and secrets that stay outside of runs. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { WebSocketServer } from 'ws';
import type {
  AccountSandbox,
  EdgeHost,
  EdgeHostOptions,
  EgressEvent,
  EgressRules,
  RunResult,
} from '../../../src/index.js';
import { addressOf, type Origin, startOrigin } from '../../bindings/egress/origin-server.js';
import { newHost } from '../new-host.js';

const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
/** Names below localhost are resolved everywhere. */
const INSIDE = { egress: { allow: ['127.0.0.0/8', '::1'] } } as const;

const PLACES: readonly { readonly name: string; readonly options: EdgeHostOptions }[] = [
  { name: 'a process for each account', options: { isolation: 'process' } },
  { name: 'threads', options: { isolation: 'thread' } },
  { name: 'a backend process', options: { backend: 'process' } },
];

function hostIn(t: ExecutionContext, options: EdgeHostOptions): EdgeHost {
  if (options.backend !== 'process') return newHost(t, { ...INSIDE, ...options });
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return newHost(t, { ...INSIDE, storage, ...options });
}

/** Answers its head, which is where an echoing server gives a header away. */
function startEcho(t: ExecutionContext): Promise<Origin> {
  return startOrigin(t, (request, response) => {
    if (request.url?.startsWith('/to/') === true) {
      response.writeHead(302, { location: decodeURIComponent(request.url.slice(4)) }).end();
      return;
    }
    const seen = request.headers.authorization ?? 'none';
    response.writeHead(200, { 'x-seen': seen, location: `/${encodeURIComponent(seen)}` });
    response.end('x'.repeat(1000));
  });
}

/** Makes the request of its input, and tells all that it can find out. */
const FETCHES = `
  const fill = text => text.replaceAll('$GH', env.GH);
  const headers = Object.fromEntries(Object.entries(input.headers ?? {}).map(([name, value]) => [name, fill(value)]));
  try {
    const response = await fetch(fill(input.url), { ...input, headers });
    const text = await response.text();
    console.log(JSON.stringify([...response.headers]), response.url);
    return { status: response.status, url: response.url, headers: [...response.headers], length: text.length, env };
  } catch (error) {
    console.error(error.stack);
    if (input.throws) throw error;
    return { code: error.code, message: error.message, env };
  }`;

interface Outcome {
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly headers?: readonly [string, string][];
  readonly env?: Readonly<Record<string, string>>;
}

interface Rig {
  readonly host: EdgeHost;
  readonly box: AccountSandbox;
  readonly events: EgressEvent[];
  readonly results: RunResult[];
  run(url: string, init?: object): Promise<Outcome>;
}

function rigOf(t: ExecutionContext, egress: EgressRules | undefined, options: EdgeHostOptions = {}): Rig {
  const host = hostIn(t, options);
  const events: EgressEvent[] = [];
  const results: RunResult[] = [];
  host.on('egress', event => events.push(event));
  const box = host.account('acme').sandbox({ name: 'box', ...(egress !== undefined && { egress }) });
  const run = async (url: string, init: object = {}): Promise<Outcome> => {
    const result = await box.run(FETCHES, { input: { url, ...init } });
    results.push(result);
    if (result.status !== 'ok') throw new Error(`The run is ${result.status}: ${result.error?.message}`);
    return result.value as Outcome; // of FETCHES
  };
  return { host, box, events, results, run };
}

for (const { name, options } of PLACES) {
  test(`a run has no network by default, and an event says what would allow it, with ${name}`, async t => {
    const { port, requests } = await startEcho(t);
    const rig = rigOf(t, undefined, options);
    const { code, message = '', env } = await rig.run(`http://a.localhost:${port}/`);
    t.is(code, 'EDGE_EGRESS_DENIED');
    t.true(
      message.includes(
        `{"host":"a.localhost","ports":[${port}]} in option egress.hosts of sandbox "box" of account "acme" would allow it`,
      ),
      message,
    );
    t.deepEqual(env, {});
    t.is(requests.length, 0);
    t.is(rig.events.length, 1);
    t.like(rig.events[0], { account: 'acme', function: 'box', reason: 'host', host: 'a.localhost', port });
    t.is(rig.events[0]?.invocation, rig.results[0]?.id);
  });

  test(`a run reaches the hosts of option egress, and its bytes are counted, with ${name}`, async t => {
    const { port } = await startEcho(t);
    const rig = rigOf(t, { hosts: ['a.localhost'] }, options);
    t.is((await rig.run(`http://a.localhost:${port}/`, { method: 'POST', body: 'y'.repeat(500) })).status, 200);
    t.is(rig.results[0]?.usage.egressBytes, 1500);
    t.is((await rig.run(`http://b.localhost:${port}/`)).code, 'EDGE_EGRESS_DENIED');
    t.is(rig.results[1]?.usage.egressBytes, 0);
  });

  test(`a secret reaches its host and never a result, a log or an error, with ${name}`, async t => {
    const { port, requests } = await startEcho(t);
    const secrets = { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } };
    const rig = rigOf(t, { hosts: ['a.localhost', 'b.localhost'], secrets }, options);
    const headers = { authorization: 'Bearer $GH' };
    const answer = await rig.run(`http://a.localhost:${port}/`, { headers });
    t.regex(answer.env?.GH ?? '', /^edgesecret-[0-9a-f]{48}$/);
    t.is(requests[0]?.headers.authorization, `Bearer ${TOKEN}`);
    t.is(new Map(answer.headers).get('x-seen'), `Bearer ${answer.env?.GH}`);
    t.is((await rig.run(`http://b.localhost:${port}/`, { headers })).code, 'EDGE_EGRESS_DENIED');
    t.is(requests.length, 1);
    const away = encodeURIComponent(`http://b.localhost:${port}/`);
    t.is((await rig.run(`http://a.localhost:${port}/to/${away}`, { headers })).status, 200);
    t.deepEqual(
      requests.slice(1).map(request => request.headers.authorization),
      [`Bearer ${TOKEN}`, undefined],
    );
    await t.throwsAsync(rig.run(`http://b.localhost:${port}/`, { headers, throws: true }));
    await rig.run('http://a.localhost:1/', { headers });
    t.notRegex(JSON.stringify([rig.results, rig.events]), new RegExp(TOKEN));
  });

  test(`a run may make as many fetches as its account's limit, with ${name}`, async t => {
    const { port } = await startEcho(t);
    const host = hostIn(t, options);
    const box = host.account('acme', { limits: { subrequests: 3 } }).sandbox({ egress: { hosts: ['*'] } });
    const code = `
      const codes = [];
      for (let i = 0; i < 5; i++) codes.push(await fetch(input).then(r => r.text()).then(() => 'ok', error => error.code ?? error.message));
      return codes;`;
    const { value } = await box.run(code, { input: `http://a.localhost:${port}/` });
    t.deepEqual((value as string[]).slice(0, 3), ['ok', 'ok', 'ok']);
    t.regex(String((value as string[])[3]), /EDGE_SUBREQUEST_LIMIT|subrequests/);
  });

  test(`WebSockets of a run are under its rules, with ${name}`, async t => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    t.teardown(() => server.close());
    await once(server, 'listening');
    server.on('connection', socket => socket.on('message', data => socket.send(`echo ${data}`)));
    const { port } = addressOf(server);
    const rig = rigOf(t, { hosts: ['a.localhost'] }, options);
    const code = `
      const socket = new WebSocket(input);
      return await new Promise(resolve => {
        socket.onopen = () => socket.send('hi');
        socket.onmessage = event => { resolve(event.data); socket.close(); };
        socket.onerror = () => resolve('failed');
      });`;
    t.is((await rig.box.run(code, { input: `ws://a.localhost:${port}/` })).value, 'echo hi');
    t.is((await rig.box.run(code, { input: `ws://b.localhost:${port}/` })).value, 'failed');
    t.is(rig.events.length, 1);
  });
}

test('the hosts of the account bound a sandbox, and its secrets are not in env', async t => {
  const { port } = await startEcho(t);
  const host = hostIn(t, {});
  const secrets = { KEY: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } };
  const account = host.account('acme', { egress: { hosts: ['a.localhost'], secrets } });
  const box = account.sandbox({ egress: { hosts: ['*'] } });
  const code = 'return { env, answer: await fetch(input).then(r => r.text()).then(() => "ok", e => e.message) }';
  const run = async (name: string): Promise<unknown> =>
    (await box.run(code, { input: `http://${name}.localhost:${port}/` })).value;
  t.deepEqual(await run('a'), { env: {}, answer: 'ok' });
  t.regex(JSON.stringify(await run('b')), /option egress\.hosts of account \\"acme\\" allows it/);
  await account.update({ egress: { hosts: ['b.localhost'] } });
  t.regex(JSON.stringify(await run('a')), /option egress\.hosts of account \\"acme\\" allows it/);
  t.deepEqual(await run('b'), { env: {}, answer: 'ok' });
});

test('with() narrows the hosts and does not add one', async t => {
  const { port } = await startEcho(t);
  const secrets = { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } };
  const { box } = rigOf(t, { hosts: ['a.localhost', 'b.localhost'], secrets });
  const code = `return await fetch(input, { headers: { 'x-key': env.GH ?? '' } }).then(r => r.text()).then(() => 'ok', e => e.code)`;
  const answers = async (sandbox: AccountSandbox, secret = true): Promise<unknown[]> => {
    const values: unknown[] = [];
    for (const name of ['a', 'b', 'c'])
      values.push(
        (
          await sandbox.run(secret ? code : code.replace('env.GH', "''"), {
            input: `http://${name}.localhost:${port}/`,
          })
        ).value,
      );
    return values;
  };
  const narrower = box.with({ egress: { hosts: ['a.localhost', 'c.localhost'] } });
  t.deepEqual(await answers(narrower), ['ok', 'EDGE_EGRESS_DENIED', 'EDGE_EGRESS_DENIED']);
  const narrowest = narrower.with({ egress: { hosts: ['b.localhost'] } }).with({});
  t.deepEqual(await answers(narrowest, false), Array(3).fill('EDGE_EGRESS_DENIED'));
  t.deepEqual(await answers(box, false), ['ok', 'ok', 'EDGE_EGRESS_DENIED']);
  t.throws(() => box.with({ egress: { hosts: ['*'], secrets } as never }), { message: /secrets/ });
});

test('the option egress of sandbox() is checked, and no message has a secret', t => {
  const { host } = rigOf(t, undefined);
  const account = host.account('acme');
  t.throws(() => account.sandbox({ egress: { hosts: ['https://x'] } }), { instanceOf: TypeError });
  const secrets = { GH: { hosts: ['*'], value: TOKEN } };
  const error = t.throws(() => account.sandbox({ egress: { hosts: ['*'], secrets } }), { instanceOf: TypeError });
  t.notRegex(error?.message ?? '', new RegExp(TOKEN));
});

test('types declares the secrets in env, and the places in which they stand for their values', t => {
  const account = newHost(t).account('acme');
  const hosts = ['api.example.com', '*.example.net'];
  const box = account.sandbox({
    egress: { hosts, secrets: { GH: { hosts, value: TOKEN }, OTHER: { hosts, value: TOKEN, in: ['header', 'url'] } } },
  });
  t.is(
    box.with({ tools: { now: { run: () => 1 } } }).types,
    [
      'declare const tools: {\n  now(input?: unknown): Promise<unknown>;\n};',
      'declare const env: {',
      '  /** Stands for a secret in the header of requests to api.example.com, *.example.net */',
      '  readonly GH: string;',
      '  /** Stands for a secret in the header or url of requests to api.example.com, *.example.net */',
      '  readonly OTHER: string;',
      '};\n',
    ].join('\n'),
  );
  t.notRegex(account.sandbox().types, /env/);
});

test('a session has the placeholders of its sandbox, and its runs reach the hosts', async t => {
  const { port, requests } = await startEcho(t);
  const secrets = { GH: { hosts: ['a.localhost'], value: TOKEN, allowHttp: true } };
  const { box } = rigOf(t, { hosts: ['a.localhost'], secrets });
  const session = box.session('one');
  await session.run('globalThis.key = env.GH');
  const { value, isFirst } = await session.run(`return (await fetch(input, { headers: { 'x-key': key } })).status`, {
    input: `http://a.localhost:${port}/`,
  });
  t.deepEqual([value, isFirst, requests[0]?.headers['x-key']], [200, false, TOKEN]);
});
