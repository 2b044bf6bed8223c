import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import { fastify } from 'fastify';
import type { EdgeHost } from '../../../src/index.js';
import { listen } from '../listen.js';
import { handler, newHost, nextInvocation } from '../new-host.js';

const ECHO = handler(`
  const body = await request.text();
  return new Response(request.method + ' ' + request.url + ' ' + body, { headers: { 'x-header': request.headers.get('x-header') ?? 'none' } });`);

function portOf(server: http.Server): number {
  return (server.address() as AddressInfo).port; // it listens on TCP
}

async function serving(t: ExecutionContext, source: string, host: EdgeHost = newHost(t)): Promise<string> {
  const fn = await host.load(source);
  return listen(t, host.listener({ function: fn }));
}

test('listener() lets the function find headers in whatever case the client wrote them', async t => {
  const origin = await serving(
    t,
    handler("return new Response([request.headers.get('X-HEADER'), ...request.headers.keys()].join(' '))"),
  );
  const request = http.get(`${origin}/`, { headers: { 'X-Header': 'v', 'X-OTHER': 'w' } });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]; // the event's own type
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  t.is(Buffer.concat(chunks).toString(), 'v connection edge-client-ip host x-header x-other');
});

test('listener() passes a chunk on before the body is complete', async t => {
  const origin = await serving(t, handler('return new Response(request.body.pipeThrough(new TransformStream()))'));
  const request = http.request(`${origin}/`, { method: 'POST' });
  request.write('one');
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]; // the event's own type
  const [first] = await once(response, 'data');
  t.is(String(first), 'one');
  request.end('two');
  const [second] = await once(response, 'data');
  t.is(String(second), 'two');
});

test('listener() mounts in Express and sees the whole URL', async t => {
  const host = newHost(t);
  const fn = await host.load(ECHO);
  const app = express();
  app.use('/plugins', host.listener({ function: fn }));
  const origin = await listen(t, app);
  t.is(await (await fetch(`${origin}/plugins/x?y`)).text(), `GET ${origin}/plugins/x?y `);
});

test('listener() serves behind Fastify', async t => {
  const host = newHost(t);
  const fn = await host.load(ECHO);
  const listener = host.listener({ function: fn });
  const app = fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.all('/plugins/*', (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const response = await fetch(`${origin}/plugins/x`, { method: 'POST', body: 'payload' });
  t.is(await response.text(), `POST ${origin}/plugins/x payload`);
});

test('listener() cancels the invocation when the client disconnects', async t => {
  const host = newHost(t);
  const origin = await serving(
    t,
    handler(`await new Promise(resolve => request.signal.addEventListener('abort', resolve)); console.log('gone')`),
    host,
  );
  const logged = once(host, 'log');
  const event = nextInvocation(host);
  const request = http.get(origin).on('error', () => {});
  await once(request, 'socket');
  await new Promise(resolve => setTimeout(resolve, 100));
  request.destroy();
  t.like((await logged)[0], { message: 'gone' });
  t.is((await event).outcome, 'canceled');
});

test('listener() tells a response that the client left midway', async t => {
  const host = newHost(t);
  const origin = await serving(
    t,
    handler('return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(65536)) } }))'),
    host,
  );
  const event = nextInvocation(host);
  const request = http.get(origin);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]; // the event's own type
  await once(response, 'data');
  request.destroy();
  t.is((await event).outcome, 'responseStreamDisconnected');
});

test('listener() cancels requests that wait behind another on a connection that the client ends', async t => {
  const host = newHost(t);
  const origin = await serving(
    t,
    handler(`if (new URL(request.url).pathname === '/body')
        return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(65536)) } }));
      console.log('begun');
      return new Promise(() => {});`),
    host,
  );
  const outcomes: string[] = [];
  const over = new Promise<void>(resolve => {
    host.on('invocation', ({ outcome }) => {
      outcomes.push(outcome);
      if (outcomes.length === 4) resolve();
    });
  });
  let begun = 0;
  const allBegun = new Promise<void>(resolve => {
    host.on('log', () => {
      if (++begun === 2) resolve();
    });
  });
  const { port, hostname } = new URL(origin);
  const client = net.connect(Number(port), hostname).on('error', () => {});
  for (const path of ['/', '/body', '/', '/body'])
    client.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);
  await allBegun;
  client.destroy();
  await over;
  t.deepEqual([...new Set(outcomes)].sort(), ['canceled', 'responseStreamDisconnected']);
});

test('listener() refuses a body that is too large early by its Content-Length, and in the stream', async t => {
  const host = newHost(t, { limits: { bodyBytes: 1000 } });
  const origin = await serving(
    t,
    handler('return new Response(String((await request.arrayBuffer()).byteLength))'),
    host,
  );
  t.is(await (await fetch(origin, { method: 'POST', body: 'x'.repeat(1000) })).text(), '1000');
  const early = await fetch(origin, { method: 'POST', body: 'x'.repeat(1001) });
  t.is(early.status, 413);
  t.regex(await early.text(), /Request entity too large/i);
  const streamed = http.request(origin, { method: 'POST' });
  streamed.on('error', () => {});
  streamed.write('x'.repeat(600));
  streamed.write('x'.repeat(600));
  const [response] = (await once(streamed, 'response')) as [http.IncomingMessage]; // the event's own type
  t.is(response.statusCode, 413);
  streamed.destroy();
});

test('listener() declines Transfer-Encoding together with Content-Length, and serves nothing behind it on the connection', async t => {
  const host = newHost(t);
  const fn = await host.load(ECHO);
  const server = http
    .createServer({ insecureHTTPParser: true }, host.listener({ function: fn }))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = net.connect(portOf(server), '127.0.0.1');
  const behind = 'GET /behind HTTP/1.1\r\nHost: x\r\n\r\n';
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${behind}`,
  );
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  t.regex(answer, /^HTTP\/1\.1 400 /);
  t.regex(answer, /^connection: close/im);
  t.is(answer.split('HTTP/1.1 ').length, 2);
  t.is(fn.stats().invocations, 0);
});
