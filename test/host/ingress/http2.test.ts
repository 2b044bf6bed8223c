/** The listener and the rules in which HTTP/2 differs from HTTP/1.1 (RFC 9113, 8). */
import { once } from 'node:events';
import http2 from 'node:http2';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { CERTIFICATE, KEY } from '../../certificate.js';
import { portOf } from '../../servers.js';
import { handler, newHost, nextInvocation } from '../new-host.js';
import { clientOf, sessionOf } from '../protocols.js';

const { listen, fetch } = clientOf('HTTP/2');

async function serving(t: ExecutionContext, body: string, host: EdgeHost = newHost(t)): Promise<string> {
  return listen(t, host.listener({ function: await host.load(handler(body)) }));
}

test('a function behind HTTP/2 sees header fields alone, with the host that :authority names', async t => {
  const origin = await serving(
    t,
    "new Headers([...request.headers]); new Request('http://y/', request); return Response.json([...request.headers])",
  );
  const fields = await fieldsOf(
    await fetch(`${origin}/a`, { headers: { ':authority': 'a.test:81', 'x-a': '1', te: 'trailers' } }),
  );
  t.deepEqual([...fields.keys()], ['edge-client-http', 'edge-client-ip', 'host', 'x-a']);
  t.is(fields.get('host'), 'a.test:81');
  const both = await fetch(origin, { headers: { ':authority': 'a.test', host: 'A.test' } });
  t.is((await fieldsOf(both)).get('host'), 'a.test');
});

test('cookies that HTTP/2 has split into several fields reach the function as one', async t => {
  const origin = await serving(t, "return new Response(request.headers.get('cookie'))");
  const stream = sessionOf(origin).request({ ':path': '/', cookie: ['a=1', 'b=2', 'c=3'] });
  t.is(Buffer.concat(await stream.toArray()).toString(), 'a=1; b=2; c=3');
});

test('an answer over HTTP/2 has neither a status text nor fields of a connection', async t => {
  const warnings: string[] = [];
  const onWarning = (warning: Error): void => {
    warnings.push(warning.message);
  };
  process.on('warning', onWarning);
  const origin = await serving(
    t,
    `const names = ['Connection', 'Keep-Alive', 'Proxy-Connection', 'Transfer-Encoding', 'Upgrade', 'TE'];
     return new Response('x', { statusText: 'Own', headers: [...names.map(name => [name, 'x']), ['X-Upper', 'y'], ['ETag', '"a"'], ['x-two', '1'], ['x-two', '2']] })`,
  );
  const response = await fetch(origin);
  t.is(response.status, 200);
  t.is(await response.text(), 'x');
  t.deepEqual([...response.headers.keys()].sort(), [
    'content-length',
    'content-type',
    'date',
    'etag',
    'x-two',
    'x-upper',
  ]);
  t.is(response.headers.get('x-two'), '1, 2');
  await new Promise(resolve => setImmediate(resolve));
  process.off('warning', onWarning);
  t.deepEqual(
    warnings.filter(text => text.includes('HTTP/2') || text.includes('connection header')),
    [],
  );
});

for (const length of [{}, { 'content-length': '400000' }] as const) {
  test(`an upload over HTTP/2 that the client resets is an error, ${'content-length' in length ? 'announced' : 'of no announced length'}`, async t => {
    const host = newHost(t);
    const logs: string[] = [];
    host.on('log', ({ message }) => logs.push(message));
    const fn = await host.load(
      `export default { async fetch(request, env, ctx) {
        request.signal.addEventListener('abort', () => console.log('abort'));
        const put = env.FILES.put('k', request.body);
        ctx.waitUntil(put.then(() => console.log('stored'), error => console.log('refused')));
        console.log('begun');
        await put;
      } };`,
      { buckets: { FILES: 'files' } },
    );
    const origin = await listen(t, host.listener({ function: fn }));
    const begun = once(host, 'log');
    const over = nextInvocation(host);
    const stream = sessionOf(origin).request({ ':path': '/', ':method': 'POST', ...length }, { endStream: false });
    stream.on('error', () => {});
    stream.write('x'.repeat(100_000));
    await begun;
    stream.close(http2.constants.NGHTTP2_CANCEL);
    t.is((await over).outcome, 'canceled');
    t.deepEqual(logs, ['begun', 'abort', 'refused']);
  });
}

test('an answer over HTTP/2 that breaks off is reset, and never looks whole', async t => {
  const origin = await serving(
    t,
    "let n = 0; return new Response(new ReadableStream({ async pull(c) { await scheduler.wait(20); if (n++ === 2) throw new Error('x'); c.enqueue(new Uint8Array(10)) } }))",
  );
  const response = await fetch(origin);
  await t.throwsAsync(response.arrayBuffer(), { message: /reset with code 2|INTERNAL_ERROR/ });
});

test('an answer over HTTP/2 may come before the end of the body of its request', async t => {
  const origin = await serving(t, "return new Response('early')");
  const stream = sessionOf(origin).request({ ':path': '/', ':method': 'POST' }, { endStream: false });
  stream.on('error', () => {});
  stream.write('x');
  t.is(Buffer.concat(await stream.toArray()).toString(), 'early');
});

test('a body over HTTP/2 that is slow to be read holds up no other request of its connection', async t => {
  const origin = await serving(
    t,
    "if (request.method === 'GET') return new Response('other'); console.log('waits'); await scheduler.wait(1500); return new Response(String((await request.arrayBuffer()).byteLength))",
  );
  const slow = fetch(origin, { method: 'POST', body: 'x'.repeat(2_000_000) });
  await new Promise(resolve => setTimeout(resolve, 300));
  t.is(await (await fetch(origin)).text(), 'other');
  t.is(await (await fetch(origin, { method: 'POST', body: 'y' })).text(), '1');
  t.is(await (await slow).text(), '2000000');
});

test('an answer over HTTP/2 is made as fast as the client reads it, and no listeners pile up', async t => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on('warning', onWarning);
  const host = newHost(t);
  const logs: string[] = [];
  host.on('log', ({ message }) => logs.push(message));
  const origin = await serving(
    t,
    `let n = 0;
     return new Response(new ReadableStream({ pull(c) { n++; c.enqueue(new Uint8Array(65536)); if (n === 200) c.close() } }, { highWaterMark: 0 })
       .pipeThrough(new TransformStream({ flush() { console.log('all') } })))`,
    host,
  );
  const stream = sessionOf(origin).request({ ':path': '/' });
  await once(stream, 'response');
  await new Promise(resolve => setTimeout(resolve, 500));
  t.deepEqual(logs, []);
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  t.is(bytes, 200 * 65_536);
  await Promise.all(Array.from({ length: 30 }, async () => (await fetch(origin)).arrayBuffer()));
  process.off('warning', onWarning);
  t.deepEqual(warnings, []);
});

test('a body over HTTP/2 with trailers arrives whole', async t => {
  const origin = await serving(t, 'return new Response(await request.text())');
  const stream = sessionOf(origin).request(
    { ':path': '/', ':method': 'POST' },
    { endStream: false, waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
  stream.end('body');
  t.is(Buffer.concat(await stream.toArray()).toString(), 'body');
});

test('what waitUntil was given goes on after an answer over HTTP/2 was delivered', async t => {
  const host = newHost(t);
  const origin = await serving(t, "ctx.waitUntil(scheduler.wait(200)); return new Response('x')", host);
  const over = nextInvocation(host);
  t.is(await (await fetch(origin)).text(), 'x');
  const { outcome, wallMs } = await over;
  t.is(outcome, 'ok');
  t.true(wallMs > 150);
});

test('requests that are open when a session of HTTP/2 is closed are answered', async t => {
  const origin = await serving(t, "await scheduler.wait(300); return new Response('drained')");
  const session = sessionOf(origin);
  const answer = fetch(origin);
  await new Promise(resolve => setTimeout(resolve, 100));
  session.close();
  t.is(await (await answer).text(), 'drained');
});

for (const method of ['get', 'Get', 'FETCH', 'X'.repeat(30_000)]) {
  test(`a method that HTTP/1.1 would not have carried reaches no function: ${method.slice(0, 10)}`, async t => {
    const host = newHost(t);
    const fn = await host.load(handler("return new Response('ran')"));
    const origin = await listen(t, host.listener({ function: fn }));
    t.is((await fetch(origin, { method })).status, 400);
    t.is((await fetch(origin, { method: 'PROPFIND' })).status, 200);
    t.is(fn.stats().invocations, 1);
  });
}

test('an extended CONNECT, by which HTTP/2 opens WebSockets, is refused', async t => {
  const host = newHost(t);
  const fn = await host.load(handler("return new Response('ran')"));
  const server = http2.createServer({ settings: { enableConnectProtocol: true } });
  const listener = host.listener({ function: fn });
  // Without it Node makes no requests of streams.
  server.on('request', listener);
  server.on('connect', (request, response) => listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = http2.connect(`http://127.0.0.1:${portOf(server)}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  await once(session, 'remoteSettings');
  const stream = session.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/', ':scheme': 'http' });
  const [answer] = await once(stream, 'response');
  t.is(answer[':status'], 400);
  stream.close();
  t.is(fn.stats().invocations, 0);
});

for (const [what, name] of [
  ['connection', 'connection'],
  ['upgrade', 'upgrade'],
  ['transfer-encoding', 'transfer-encoding'],
  ['keep-alive', 'keep-alive'],
  ['proxy-connection', 'proxy-connection'],
] as const) {
  test(`a request over HTTP/2 with the field ${what} reaches no function`, async t => {
    const host = newHost(t);
    const fn = await host.load(handler("return new Response('ran')"));
    const origin = await listen(t, host.listener({ function: fn }));
    const code = await resetCodeOf(origin, name);
    t.is(code, http2.constants.NGHTTP2_PROTOCOL_ERROR);
    t.is(fn.stats().invocations, 0);
  });
}

test('one listener serves HTTP/2 and HTTP/1.1 on a server with allowHTTP1', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('return new Response(request.client.httpProtocol + request.url)'));
  const warnings: Error[] = [];
  host.on('warning', warning => warnings.push(warning));
  const server = http2.createSecureServer({ key: KEY, cert: CERTIFICATE, allowHTTP1: true });
  server.on('request', host.listener({ function: fn }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  const stream = session.request({ ':path': '/x' });
  t.is(Buffer.concat(await stream.toArray()).toString(), `HTTP/2https://127.0.0.1:${port}/x`);
  t.deepEqual(warnings, []);
  const { get } = await import('node:https');
  const [plain] = await once(get({ port, path: '/y', rejectUnauthorized: false, agent: false }), 'response');
  t.is(Buffer.concat(await plain.toArray()).toString(), `HTTP/1.1https://localhost:${port}/y`);
});

async function fieldsOf(response: Response): Promise<ReadonlyMap<string, string>> {
  const pairs: [string, string][] = JSON.parse(await response.text());
  return new Map(pairs);
}

/** Sends a request whose head has a field that Node's client refuses to send: its frames are written here. */
async function resetCodeOf(origin: string, name: string): Promise<number> {
  const { connect } = await import('node:net');
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  const literal = (key: string, value: string): Buffer =>
    Buffer.concat([Buffer.from([0, key.length]), Buffer.from(key), Buffer.from([value.length]), Buffer.from(value)]);
  const block = Buffer.concat([
    Buffer.from([0x82, 0x84, 0x86]), // GET, /, http
    literal(':authority', 'a.test'),
    literal(name, 'x'),
  ]);
  const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.concat([frame(4, 0, 0, Buffer.alloc(0)), frame(1, 5, 1, block)]));
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
      if (received[at + 3] !== 3 || at + 13 > received.length) continue;
      socket.destroy();
      return received.readUInt32BE(at + 9);
    }
  }
  return 0;
}
