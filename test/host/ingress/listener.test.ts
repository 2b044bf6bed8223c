/** The listener in servers and frameworks, and clients that go. */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import type { EdgeHost } from '../../../src/index.js';
import { portOf } from '../../servers.js';
import { handler, newHost, nextInvocation, sharedHost } from '../new-host.js';
import { bytesOf, clientOf, overBoth, type ProtocolClient, sessionOf } from '../protocols.js';
import { fastifyWith } from './fastify-app.js';

const ECHO = handler(`
  const body = await request.text();
  return new Response(request.method + ' ' + request.url + ' ' + body, { headers: { 'x-header': request.headers.get('x-header') ?? 'none' } });`);

const shared = sharedHost();

/** In the host that all tests share, or in one of its own. */
async function serving(
  t: ExecutionContext,
  listen: ProtocolClient['listen'],
  source: string,
  own?: EdgeHost,
): Promise<string> {
  return listen(
    t,
    await (own === undefined ? shared.listener(source) : own.listener({ function: await own.load(source) })),
  );
}

// Names of HTTP/2 are in lower case.
test('listener() lets the function find headers in whatever case the client wrote them', async t => {
  const { listen, fetch } = clientOf('HTTP/1.1');
  const origin = await serving(
    t,
    listen,
    handler("return new Response([request.headers.get('X-HEADER'), ...request.headers.keys()].join(' '))"),
  );
  const response = await fetch(`${origin}/`, { headers: { 'X-Header': 'v', 'X-OTHER': 'w' } });
  t.is(await response.text(), 'v connection edge-client-ip host x-header x-other');
});

overBoth('listener() passes a chunk on before the body is complete', async (t, { listen, open }) => {
  const origin = await serving(
    t,
    listen,
    handler('return new Response(request.body.pipeThrough(new TransformStream()))'),
  );
  const { body, answer } = open(`${origin}/`, { method: 'POST' });
  body.write('one');
  const chunks = (await answer).body[Symbol.asyncIterator]();
  t.is(String((await chunks.next()).value), 'one');
  body.end('two');
  t.is(String((await chunks.next()).value), 'two');
});

// Express serves HTTP/1.1 alone.
test('listener() mounts in Express and sees the whole URL', async t => {
  const { listen, fetch } = clientOf('HTTP/1.1');
  const app = express();
  app.use('/plugins', await shared.listener(ECHO));
  const origin = await listen(t, app);
  t.is(await (await fetch(`${origin}/plugins/x?y`)).text(), `GET ${origin}/plugins/x?y `);
});

overBoth('listener() serves behind Fastify', async (t, client) => {
  const listener = await shared.listener(ECHO);
  const { origin } = await fastifyWith(t, client, listener, 'none');
  const body = 'x'.repeat(200_000);
  const response = await client.fetch(`${origin}/plugins/x`, { method: 'POST', body });
  t.is(await response.text(), `POST ${origin}/plugins/x ${body}`);
});

overBoth('listener() cancels the invocation when the client disconnects', async (t, { listen, open }) => {
  const host = newHost(t);
  const origin = await serving(
    t,
    listen,
    handler(
      `request.signal.addEventListener('abort', () => console.log('gone')); console.log('begun'); await scheduler.wait(600_000)`,
    ),
    host,
  );
  const begun = once(host, 'log');
  const event = nextInvocation(host);
  const { leave } = open(origin);
  await begun;
  const logged = once(host, 'log');
  leave();
  t.like((await logged)[0], { message: 'gone' });
  t.is((await event).outcome, 'canceled');
});

overBoth('listener() tells a response that the client left midway', async (t, { listen, open }) => {
  const host = newHost(t);
  const origin = await serving(
    t,
    listen,
    handler('return new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(65536)) } }))'),
    host,
  );
  const event = nextInvocation(host);
  const { answer, leave } = open(origin);
  await (await answer).body[Symbol.asyncIterator]().next();
  leave();
  t.is((await event).outcome, 'responseStreamDisconnected');
});

overBoth('listener() cancels all requests of a connection that the client ends', async (t, client) => {
  const host = newHost(t);
  const origin = await serving(
    t,
    client.listen,
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
  // Over HTTP/1.1 the other requests wait behind the first.
  const end = client.protocol === 'HTTP/1.1' ? pipelined(origin, PATHS) : sideBySide(origin, PATHS);
  await allBegun;
  end();
  await over;
  t.deepEqual([...new Set(outcomes)].sort(), ['canceled', 'responseStreamDisconnected']);
});

const PATHS = ['/', '/body', '/', '/body'];

/** @returns ends the connection */
function pipelined(origin: string, paths: readonly string[]): () => void {
  const { port, hostname } = new URL(origin);
  const client = net.connect(Number(port), hostname).on('error', () => {});
  for (const path of paths) client.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);
  return () => client.destroy();
}

function sideBySide(origin: string, paths: readonly string[]): () => void {
  const session = sessionOf(origin);
  for (const path of paths) session.request({ ':path': path }).on('error', () => {});
  return () => session.destroy();
}

overBoth(
  'listener() refuses a body that is too large early by its Content-Length, and in the stream',
  async (t, { listen, fetch, open }) => {
    const host = newHost(t, { limits: { bodyBytes: 1000 } });
    const origin = await serving(
      t,
      listen,
      handler('return new Response(String((await request.arrayBuffer()).byteLength))'),
      host,
    );
    t.is(await (await fetch(origin, { method: 'POST', body: 'x'.repeat(1000) })).text(), '1000');
    const length = { 'content-length': '1001' };
    const early = await open(origin, { method: 'POST', headers: length }).answer;
    t.is(early.status, 413);
    t.regex(String(await bytesOf(early)), /Request entity too large/i);
    const streamed = open(origin, { method: 'POST' });
    streamed.body.write('x'.repeat(600));
    streamed.body.write('x'.repeat(600));
    t.is((await streamed.answer).status, 413);
    streamed.leave();
  },
);

// HTTP/2 frames all bodies in one way.
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
