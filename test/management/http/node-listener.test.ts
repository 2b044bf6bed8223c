import { once } from 'node:events';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import type { ManagementOptions } from '../../../src/management/management.js';
import { type Api, makeApi, TOKEN, upload } from '../support/api.js';

interface Listening {
  readonly api: Api;
  readonly url: string;
  readonly port: number;
}

async function listen(
  t: ExecutionContext,
  options: Partial<ManagementOptions> = {},
  now?: string,
  serverOptions: ServerOptions = {},
): Promise<Listening> {
  const api = makeApi(options, now);
  const server: Server = createServer(serverOptions, api.management.listener());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = portOf(server.address());
  return { api, url: `http://127.0.0.1:${port}`, port };
}

function portOf(address: string | AddressInfo | null): AddressInfo {
  if (typeof address !== 'object' || address === null) throw new TypeError('not listening');
  return address;
}

/** Sends bytes as they are and answers all that comes back until the other side ends. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

const authorization = `Bearer ${TOKEN}`;
const json = { authorization, 'content-type': 'application/json' };

test('listener() answers over real HTTP', async t => {
  const { url } = await listen(t);
  const body = JSON.stringify({ name: 'example.com', account: { id: 'acme' } });
  const made = await fetch(`${url}/zones`, { method: 'POST', headers: json, body });
  t.is(made.status, 201);
  t.regex(made.headers.get('etag') ?? '', /^"[\w-]+"$/);
  const list = await fetch(`${url}/zones`, { headers: { authorization } });
  t.is(list.headers.get('connection'), 'keep-alive');
  t.like(await list.json(), { success: true, result_info: { total_count: 1 } });
});

test('listener() takes an upload with binary modules', async t => {
  const { api, url } = await listen(t);
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256);
  const form = upload('export default {}');
  form.set('data.bin', new File([bytes], 'data.bin', { type: 'application/octet-stream' }));
  const response = await fetch(`${url}/accounts/acme/functions/hello`, {
    method: 'PUT',
    headers: { authorization },
    body: form,
  });
  t.is(response.status, 200);
  t.deepEqual(new Uint8Array(api.functions.serving.get('acme/hello')?.modules[1]?.content ?? []), bytes);
});

test('listener() answers 413 to a large body and ends the connection', async t => {
  const { url } = await listen(t, { limits: { bodyBytes: 1000 } });
  const response = await fetch(`${url}/zones`, { method: 'POST', headers: json, body: 'x'.repeat(900_000) });
  t.is(response.status, 413);
  t.is(response.headers.get('connection'), 'close');
  t.like(await response.json(), { success: false, errors: [{ code: 1006 }] });
});

test('listener() answers 401 without reading the body', async t => {
  const { url } = await listen(t);
  const response = await fetch(`${url}/zones`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: 'x'.repeat(100_000),
  });
  t.is(response.status, 401);
});

const DOUBLE = [
  'POST /zones HTTP/1.1',
  'Host: localhost',
  `Authorization: ${authorization}`,
  'Content-Type: application/json',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  '',
  '2\r\n{}\r\n0\r\n\r\n',
].join('\r\n');

test('listener() declines both framings in the envelope where the parser of the server is lenient', async t => {
  const { port } = await listen(t, {}, undefined, { insecureHTTPParser: true });
  const answer = await raw(port, `${DOUBLE}GET /deprecations HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  t.regex(answer, /^HTTP\/1\.1 400 /);
  t.is(answer.split('HTTP/1.1 ').length, 2);
  t.regex(answer, /connection: close/i);
  t.true(answer.includes('"code":1009'));
});

test('listener() reads a request with both framings before 2023-07-01', async t => {
  const { port } = await listen(t, {}, '2023-06-30T00:00:00Z', { insecureHTTPParser: true });
  const answer = await raw(port, DOUBLE);
  // Understood as far as the schema, which {} does not fit.
  t.true(answer.includes('"code":1002'));
});

test('listener() never sees both framings where the parser is strict: the server declines', async t => {
  const { port } = await listen(t);
  t.regex(await raw(port, DOUBLE), /^HTTP\/1\.1 400 /);
});

test('listener() answers garbage in the target or the host with an error, and goes on', async t => {
  const { port, url } = await listen(t);
  for (const [target, host] of [
    ['/zones', 'a b'],
    ['//', 'localhost'],
    ['/%zz', 'localhost'],
    ['http://', 'localhost'],
    ['/zones', '['],
  ] as const) {
    const answer = await raw(port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    t.regex(answer, /^HTTP\/1\.1 4\d\d /, `${target} ${host}`);
  }
  t.is((await fetch(`${url}/deprecations`)).status, 200);
});

test('listener() survives a client that goes away inside its body, and changes nothing', async t => {
  const { api, port, url } = await listen(t);
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST /zones HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name"`,
  );
  await new Promise(resolve => setImmediate(resolve));
  socket.destroy();
  t.is((await fetch(`${url}/deprecations`)).status, 200);
  t.deepEqual((await api.call('GET', '/zones')).body.result, []);
});

test('listener() gives the address of the client to the audit log', async t => {
  const { api, url } = await listen(t);
  await fetch(`${url}/zones`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ name: 'example.com', account: { id: 'acme' } }),
  });
  const { body } = await api.call('GET', '/accounts/acme/audit_logs');
  const [entry] = Array.isArray(body.result) ? body.result : [];
  t.is(entry.actor.address, '127.0.0.1');
});

test('fetch() gives up a body that trickles longer than allowed', async t => {
  const { port } = await listen(t, { limits: { bodyMs: 1 } });
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(
    `POST /zones HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  );
  const [chunk] = await once(socket, 'data');
  t.true(String(chunk).includes('"code":1010'));
});

test('listener() answers below the mount path of Express', async t => {
  const api = makeApi({ basePath: '/api' });
  const app = express();
  app.use('/api', api.management.listener());
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = portOf(server.address());
  const response = await fetch(`http://127.0.0.1:${port}/api/zones`, {
    headers: { authorization, connection: 'close' },
  });
  t.is(response.status, 200);
});

test('listener() serves HTTP/2: reads, changes, refuses what is too large, and drops a change that the client resets', async t => {
  const { management } = makeApi();
  const server = createHttp2();
  server.on('request', management.listener());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${portOf(server.address()).port}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  const ask = async (
    method: string,
    body?: string,
  ): Promise<readonly [number, { result_info?: { total_count: number } }]> => {
    const stream = session.request(
      { ':method': method, ':path': '/zones', ...json },
      { endStream: body === undefined },
    );
    stream.on('error', () => {});
    if (body !== undefined) stream.end(body);
    const [head] = await once(stream, 'response');
    return [head[':status'], JSON.parse(Buffer.concat(await stream.toArray()).toString())];
  };
  const zone = (name: string): string => JSON.stringify({ name, account: { id: 'acme' } });
  t.is((await ask('POST', zone('one.example')))[0], 201);
  t.is((await ask('GET'))[1].result_info?.total_count, 1);
  t.is((await ask('POST', zone('x'.repeat(3_000_000))))[0], 413);
  const reset = session.request({ ':method': 'POST', ':path': '/zones', ...json }, { endStream: false });
  reset.on('error', () => {});
  reset.write(zone('two.example'));
  await new Promise(resolve => setTimeout(resolve, 100));
  reset.close(8);
  await once(reset, 'close');
  await new Promise(resolve => setTimeout(resolve, 100));
  t.is((await ask('GET'))[1].result_info?.total_count, 1);
});
