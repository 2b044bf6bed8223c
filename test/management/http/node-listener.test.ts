import { once } from 'node:events';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import type { ManagementOptions } from '../../../src/management/management.js';
import { bytesOf, overBoth, type ProtocolClient } from '../../host/protocols.js';
import { portOf } from '../../servers.js';
import { type Api, makeApi, readAnswer, TOKEN, upload } from '../support/api.js';

interface Listening {
  readonly api: Api;
  readonly url: string;
}

async function served(
  t: ExecutionContext,
  { listen }: ProtocolClient,
  options: Partial<ManagementOptions> = {},
): Promise<Listening> {
  const api = makeApi(options);
  return { api, url: await listen(t, api.management.listener()) };
}

/** A server of HTTP/1.1, for tests that write on its connection themselves. */
async function listen(
  t: ExecutionContext,
  now?: string,
  serverOptions: ServerOptions = {},
): Promise<Listening & { readonly port: number }> {
  const api = makeApi({}, now);
  const server: Server = createServer(serverOptions, api.management.listener());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = portOf(server);
  return { api, url: `http://127.0.0.1:${port}`, port };
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

overBoth('listener() answers reads and changes', async (t, client) => {
  const { url } = await served(t, client);
  const body = JSON.stringify({ name: 'example.com', account: { id: 'acme' } });
  const made = await client.fetch(`${url}/zones`, { method: 'POST', headers: json, body });
  t.is(made.status, 201);
  t.regex(made.headers.get('etag') ?? '', /^"[\w-]+"$/);
  const list = await client.fetch(`${url}/zones`, { headers: { authorization } });
  t.is(list.headers.get('connection'), client.protocol === 'HTTP/1.1' ? 'keep-alive' : null);
  t.like(await list.json(), { success: true, result_info: { total_count: 1 } });
  const { id } = (await readAnswer(made)).result;
  t.is((await client.fetch(`${url}/zones/${id}`, { method: 'DELETE', headers: { authorization } })).status, 200);
  t.is((await client.fetch(`${url}/zones/${id}`, { headers: { authorization } })).status, 404);
});

overBoth('listener() takes an upload with binary modules', async (t, client) => {
  const { api, url } = await served(t, client);
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256);
  const form = upload('export default {}');
  form.set('data.bin', new File([bytes], 'data.bin', { type: 'application/octet-stream' }));
  const encoded = new Response(form);
  const headers = { authorization, 'content-type': encoded.headers.get('content-type') ?? '' };
  const body = new Uint8Array(await encoded.arrayBuffer());
  const response = await client.fetch(`${url}/accounts/acme/functions/hello`, { method: 'PUT', headers, body });
  t.is(response.status, 200);
  t.deepEqual(new Uint8Array(api.functions.serving.get('acme/hello')?.modules[1]?.content ?? []), bytes);
});

overBoth('listener() answers 413 to a large body and reads no more of it', async (t, client) => {
  const { url } = await served(t, client, { limits: { bodyBytes: 1000 } });
  for (const headers of [{ ...json, 'content-length': '900000' }, json]) {
    const { body, answer, leave } = client.open(`${url}/zones`, { method: 'POST', headers });
    body.write('x'.repeat(300_000));
    const response = await answer;
    t.is(response.status, 413);
    // The stream of HTTP/2 ends by itself.
    if (client.protocol === 'HTTP/1.1') t.deepEqual(response.fields.get('connection'), ['close']);
    t.like(JSON.parse(String(await bytesOf(response))), { success: false, errors: [{ code: 1006 }] });
    leave();
  }
});

overBoth('listener() answers 401 without reading the body', async (t, client) => {
  const { url } = await served(t, client);
  const headers = { 'content-type': 'application/json', 'content-length': '100000' };
  const { answer, leave } = client.open(`${url}/zones`, { method: 'POST', headers });
  t.is((await answer).status, 401);
  leave();
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
  const { port } = await listen(t, undefined, { insecureHTTPParser: true });
  const answer = await raw(port, `${DOUBLE}GET /deprecations HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  t.regex(answer, /^HTTP\/1\.1 400 /);
  t.is(answer.split('HTTP/1.1 ').length, 2);
  t.regex(answer, /connection: close/i);
  t.true(answer.includes('"code":1009'));
});

test('listener() reads a request with both framings before 2023-07-01', async t => {
  const { port } = await listen(t, '2023-06-30T00:00:00Z', { insecureHTTPParser: true });
  const answer = await raw(port, DOUBLE);
  // Understood as far as the schema, which {} does not fit.
  t.true(answer.includes('"code":1002'));
});

test('listener() never sees both framings where the parser is strict: the server declines', async t => {
  const { port } = await listen(t);
  t.regex(await raw(port, DOUBLE), /^HTTP\/1\.1 400 /);
});

overBoth('listener() answers garbage in the target or the host with an error, and goes on', async (t, client) => {
  const { url } = await served(t, client);
  for (const [target, host] of [
    ['/zones', 'a b'],
    ['//', 'localhost'],
    ['/%zz', 'localhost'],
    ['http://', 'localhost'],
    ['/zones', '['],
  ] as const) {
    const status = await client.open(url, { target, headers: { host } }).answer.then(
      answer => answer.status,
      // The server of HTTP/2 itself resets what cannot be an :authority.
      (error: Error) => (error.message.includes('NGHTTP2_PROTOCOL_ERROR') ? 400 : Promise.reject(error)),
    );
    t.true(status >= 400 && status < 500, `${target} ${host}: ${status}`);
  }
  t.is((await client.fetch(`${url}/deprecations`)).status, 200);
});

for (const length of [{ 'content-length': '100' }, {}]) {
  const announced = 'content-length' in length ? 'announced' : 'not announced';
  overBoth(
    `listener() survives a client that goes away inside its body, its length ${announced}, and changes nothing`,
    async (t, client) => {
      const { api, url } = await served(t, client);
      const { body, leave } = client.open(`${url}/zones`, { method: 'POST', headers: { ...json, ...length } });
      // A whole document, so that only the missing end tells.
      body.write(JSON.stringify({ name: 'example.com', account: { id: 'acme' } }));
      await new Promise(resolve => setTimeout(resolve, 100));
      leave();
      t.is((await client.fetch(`${url}/deprecations`)).status, 200);
      await new Promise(resolve => setTimeout(resolve, 100));
      t.deepEqual((await api.call('GET', '/zones')).body.result, []);
    },
  );
}

overBoth('listener() gives the address of the client to the audit log', async (t, client) => {
  const { api, url } = await served(t, client);
  const sent = JSON.stringify({ name: 'example.com', account: { id: 'acme' } });
  await client.fetch(`${url}/zones`, { method: 'POST', headers: json, body: sent });
  const { body } = await api.call('GET', '/accounts/acme/audit_logs');
  const [entry] = Array.isArray(body.result) ? body.result : [];
  t.is(entry.actor.address, '127.0.0.1');
});

overBoth('fetch() gives up a body that trickles longer than allowed', async (t, client) => {
  const { url } = await served(t, client, { limits: { bodyMs: 1 } });
  const headers = { ...json, 'content-length': '100' };
  const { body, answer } = client.open(`${url}/zones`, { method: 'POST', headers });
  body.write('{');
  t.true(String(await bytesOf(await answer)).includes('"code":1010'));
});

// It serves HTTP/1.1 alone.
test('listener() answers below the mount path of Express', async t => {
  const api = makeApi({ basePath: '/api' });
  const app = express();
  app.use('/api', api.management.listener());
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const port = portOf(server);
  const response = await fetch(`http://127.0.0.1:${port}/api/zones`, {
    headers: { authorization, connection: 'close' },
  });
  t.is(response.status, 200);
});
