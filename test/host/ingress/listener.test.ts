import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import { fastify } from 'fastify';
import type { EdgeHost } from '../../../src/index.js';
import { listen } from '../listen.js';
import { handler, ISOLATIONS, newHost, nextInvocation } from '../new-host.js';

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

for (const isolation of ISOLATIONS) {
  test(`listener() answers real HTTP with method, URL, headers and body (${isolation})`, async t => {
    const origin = await serving(t, ECHO, newHost(t, { isolation }));
    const response = await fetch(`${origin}/a%2Fb?q=1`, {
      method: 'POST',
      body: 'hello',
      headers: { 'x-header': 'v' },
    });
    t.is(response.status, 200);
    t.is(response.headers.get('x-header'), 'v');
    t.is(response.headers.get('content-type'), 'text/plain;charset=UTF-8');
    t.is(await response.text(), `POST ${origin}/a%2Fb?q=1 hello`);
  });
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

test('listener() streams both ways, whatever the size', async t => {
  const origin = await serving(t, handler('return new Response(request.body)'));
  const bytes = Buffer.alloc(3_000_000, 'abc');
  const response = await fetch(`${origin}/`, { method: 'PUT', body: bytes });
  t.true(Buffer.from(await response.arrayBuffer()).equals(bytes));
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

test('listener() answers HEAD with the length and no body', async t => {
  const origin = await serving(t, handler('return new Response("12345")'));
  const response = await fetch(`${origin}/`, { method: 'HEAD' });
  t.is(response.headers.get('content-length'), '5');
  t.is(await response.text(), '');
});

test('listener() keeps repeated set-cookie headers apart', async t => {
  const origin = await serving(
    t,
    handler(
      `const r = new Response('x'); r.headers.append('set-cookie', 'a=1'); r.headers.append('set-cookie', 'b=2'); return r`,
    ),
  );
  t.deepEqual((await fetch(origin)).headers.getSetCookie(), ['a=1', 'b=2']);
});

test('listener() answers an error page, or JSON when the client wants it, when the handler throws', async t => {
  const origin = await serving(t, handler('throw new Error("secret of the function")'));
  const page = await fetch(origin);
  t.is(page.status, 500);
  t.regex(page.headers.get('content-type') ?? '', /text\/html/);
  const html = await page.text();
  t.regex(html, /1101/);
  t.notRegex(html, /secret/);
  const json = await fetch(origin, { headers: { accept: 'application/json' } });
  t.like(await json.json(), { error: { code: 'EDGE_HANDLER_THREW', status: 500 } });
});

test('listener() routes, calls next for what matches no route, and answers 404 without one', async t => {
  const host = newHost(t);
  await host.load(handler('return new Response("routed")'), { routes: ['*/plugins/*'] });
  const listener = host.listener();
  const origin = await listen(t, (request, response) => {
    listener(request, response, request.url === '/next' ? () => response.end('next') : undefined);
  });
  t.is(await (await fetch(`${origin}/plugins/a`)).text(), 'routed');
  t.is(await (await fetch(`${origin}/next`)).text(), 'next');
  t.is((await fetch(`${origin}/none`)).status, 404);
});

test('passThroughOnException() hands the request to next when the handler throws', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('ctx.passThroughOnException(); throw new Error("x")'));
  const listener = host.listener({ function: fn });
  const origin = await listen(t, (request, response) => listener(request, response, () => response.end('behind')));
  t.is(await (await fetch(origin)).text(), 'behind');
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

test('listener() never sends more or fewer bytes than a declared length', async t => {
  const origin = await serving(
    t,
    handler(`const n = Number(new URL(request.url).searchParams.get('n'));
      return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(n)); c.close() } }), { headers: { 'content-length': '10' } })`),
  );
  t.is((await (await fetch(`${origin}/?n=10`)).arrayBuffer()).byteLength, 10);
  await t.throwsAsync(fetch(`${origin}/?n=5`).then(response => response.arrayBuffer()));
  await t.throwsAsync(fetch(`${origin}/?n=20`).then(response => response.arrayBuffer()));
  t.is((await (await fetch(`${origin}/?n=10`)).arrayBuffer()).byteLength, 10);
});

for (const isolation of ISOLATIONS) {
  test(`listener() says of a declared length that is none that it is the function's fault (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const origin = await serving(
      t,
      handler(`const n = Number(new URL(request.url).searchParams.get('n'));
        return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(n)); c.close() } }), { headers: { 'content-length': '10' } })`),
      host,
    );
    for (const bytes of [5, 20]) {
      const event = nextInvocation(host);
      await t.throwsAsync(fetch(`${origin}/?n=${bytes}`).then(response => response.arrayBuffer()));
      const { outcome, error } = await event;
      t.is(outcome, 'exception');
      t.is(error?.code, 'EDGE_RESPONSE_HEADER');
      t.regex(error?.message ?? '', /Content-Length is not the length of its body/);
    }
  });
}

for (const length of ['0x10', '16e0', '+16', '16.0', '16, 16', '']) {
  test(`listener() leaves out the declared length "${length}", which proxies would not all read alike`, async t => {
    const origin = await serving(
      t,
      handler(`
        const body = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('0123456789abcdef')); c.close() } });
        return new Response(body, { headers: { 'content-length': ${JSON.stringify(length)} } })`),
    );
    const response = await fetch(origin);
    t.is(response.headers.get('content-length'), null);
    t.is(await response.text(), '0123456789abcdef');
    t.is((await fetch(origin, { method: 'HEAD' })).headers.get('content-length'), null);
  });
}

test('listener() sends as many headers as it takes of a request, and refuses an answer with more', async t => {
  const host = newHost(t);
  const origin = await serving(
    t,
    handler(`
      const headers = new Headers();
      for (let i = Number(new URL(request.url).searchParams.get('n')); i > 0; i--) headers.append('set-cookie', 'a');
      return new Response(null, { headers });`),
    host,
  );
  t.is((await fetch(`${origin}/?n=1000`)).headers.getSetCookie().length, 1000);
  const event = nextInvocation(host, ({ url }) => url?.endsWith('?n=2000') === true);
  t.is((await fetch(`${origin}/?n=2000`)).status, 500);
  t.regex((await event).error?.message ?? '', /2000 headers.* at most 1999 /);
});

test('listener() leaves hop-by-hop headers of the function out', async t => {
  const origin = await serving(
    t,
    handler(
      `return new Response('x', { headers: { 'transfer-encoding': 'chunked', connection: 'upgrade', 'keep-alive': 'x' } })`,
    ),
  );
  const response = await fetch(origin);
  t.is(response.headers.get('transfer-encoding'), null);
  t.is(await response.text(), 'x');
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

test('listener() declines Transfer-Encoding together with Content-Length', async t => {
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
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  const [answer] = await once(socket, 'data');
  t.regex(String(answer), /^HTTP\/1\.1 400 /);
  socket.destroy();
});
