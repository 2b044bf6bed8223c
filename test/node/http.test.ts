import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { builtinModules } from 'node:module';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { build } from 'esbuild';
import { ISOLATIONS, newHost, textOf } from '../host/new-host.js';
import { sameAsNode } from './same-as-node.js';

/** A server outside, which the functions of these tests may reach. */
async function serve(
  t: ExecutionContext,
  listener: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
}

test('the classes and checks of http answer as Node', async t => {
  await sameAsNode(
    t,
    "import http, { METHODS, STATUS_CODES, Agent, validateHeaderName, validateHeaderValue } from 'node:http'; import https from 'https';",
    `print(METHODS.includes('PATCH'), STATUS_CODES[418], http.maxHeaderSize, https.globalAgent.defaultPort, http.globalAgent.protocol);
     attempt(() => validateHeaderName('a b')); attempt(() => validateHeaderName('x-y')); attempt(() => validateHeaderValue('x', undefined)); attempt(() => validateHeaderValue('x', 'a\\u0001'));
     attempt(() => http.request({ path: '/a b' })); attempt(() => http.request('https://a.example/')); attempt(() => http.request({ method: 'A B' }));
     print(new Agent().getName({ host: 'a', port: 1 }), Agent() instanceof Agent, new Agent({ maxSockets: 3 }).maxSockets);
     const message = new http.OutgoingMessage();
     message.setHeader('X-One', 1); message.setHeader('set-cookie', ['a', 'b']); message.appendHeader('X-One', 'two');
     print(message.getHeaders(), message.getHeaderNames(), message.getRawHeaderNames(), message.hasHeader('x-one'), message.getHeader('SET-COOKIE'));
     message.removeHeader('X-ONE'); print(message.getHeader('x-one')); attempt(() => message.setHeader('a b', 1)); attempt(() => message.setHeader('a', '\\n'));
     const response = new http.ServerResponse({ method: 'GET' });
     print(response.statusCode, response.headersSent, response.writableEnded, response.finished, response instanceof http.OutgoingMessage);
     attempt(() => response.writeHead(20));
     function Old() { http.ServerResponse.call(this, { method: 'GET' }); } Old.prototype = Object.create(http.ServerResponse.prototype);
     print(new Old().statusCode, new http.IncomingMessage().headers, typeof http.createServer, http.createServer() instanceof http.Server);`,
  );
});

const CLIENT = `
import http, { get, request } from 'node:http';
const read = async message => { let text = ''; for await (const chunk of message) text += chunk; return text; };
const asked = (options, body, ...args) => new Promise((resolve, reject) => {
  const req = request(options, ...args, async res => resolve([res.statusCode, res.headers['x-seen'], res.headers['set-cookie'], await read(res)]));
  req.on('error', reject);
  for (const chunk of body ?? []) req.write(chunk);
  req.end();
});
export default { async fetch(incoming, env) {
  const url = new URL(incoming.url);
  const base = env.BASE;
  const { port } = new URL(base);
  if (url.pathname === '/get') {
    return Response.json(await new Promise(done => get(base + '/x?y=1', async res => done([res.statusCode, res.statusMessage, res.httpVersion, await read(res)]))));
  }
  if (url.pathname === '/post') {
    return Response.json(await asked({ host: '127.0.0.1', port, path: '/p', method: 'POST', headers: { 'X-Own': 'v', cookie: 'a=1' }, auth: 'u:p' }, ['one', Buffer.from('two')]));
  }
  if (url.pathname === '/stream') {
    return Response.json(await asked(new URL(base + '/s'), Array.from({ length: 40 }, () => 'x'.repeat(10_000)), { method: 'PUT' }));
  }
  if (url.pathname === '/redirect') return Response.json(await asked(base + '/redirect'));
  if (url.pathname === '/events') {
    const events = [];
    await new Promise(done => {
      const req = get(base + '/e', res => { events.push('response'); res.on('end', () => events.push('end')).resume(); });
      for (const name of ['socket', 'finish', 'close']) req.on(name, () => events.push(name));
      req.on('close', done);
    });
    return Response.json(events.sort());
  }
  if (url.pathname === '/abort') {
    const error = await new Promise(done => { const req = get(base + '/never'); req.on('error', done); req.on('socket', () => req.destroy()); });
    const signalled = await new Promise(done => get(base + '/never', { signal: AbortSignal.abort() }).on('error', done));
    const timedOut = await new Promise(done => { const req = get(base + '/never', { timeout: 20 }); req.on('error', () => {}); req.on('timeout', () => { req.destroy(); done('timeout'); }); });
    return Response.json([error.code, signalled.name, timedOut]);
  }
  const errors = [];
  for (const options of [{ createConnection() {} }, { socketPath: '/x' }, { ca: 'x' }, { rejectUnauthorized: false }]) {
    try { request(options); } catch (error) { errors.push(error.code + ' ' + error.message); }
  }
  errors.push((await new Promise(done => get('http://10.0.0.1/').on('error', done))).name);
  return Response.json(errors);
} };`;

for (const isolation of ISOLATIONS) {
  test(`the client of http works over fetch(), isolation ${isolation}`, async t => {
    const base = await serve(t, (req, res) => {
      if (req.url === '/never') return;
      if (req.url === '/redirect') {
        res.writeHead(302, { location: '/x' }).end();
        return;
      }
      let length = 0;
      let text = '';
      req.on('data', (chunk: Buffer) => {
        length += chunk.length;
        text += chunk;
      });
      req.on('end', () => {
        res.setHeader('set-cookie', ['a=1', 'b=2']);
        res.setHeader('x-seen', [req.headers['x-own'], req.headers.authorization, req.headers.cookie].join());
        res.end(`${req.method} ${req.url} ${length > 20 ? length : text}`);
      });
    });
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
    const fn = await host.load(CLIENT, { vars: { BASE: base } });
    const json = async (path: string): Promise<unknown> => JSON.parse(await textOf(fn.fetch(`http://x${path}`)));
    t.deepEqual(await json('/get'), [200, 'OK', '1.1', 'GET /x?y=1 ']);
    t.deepEqual(await json('/post'), [200, 'v,Basic dTpw,a=1', ['a=1', 'b=2'], 'POST /p onetwo']);
    t.deepEqual(await json('/stream'), [200, ',,', ['a=1', 'b=2'], 'PUT /s 400000']);
    t.deepEqual((await json('/redirect')) as unknown[], [302, null, null, '']);
    t.deepEqual(await json('/events'), ['close', 'end', 'finish', 'response', 'socket']);
    t.deepEqual(await json('/abort'), ['ECONNRESET', 'AbortError', 'timeout']);
    const errors = (await json('/errors')) as string[];
    t.regex(
      errors[0] ?? '',
      /^EDGE_NOT_SUPPORTED node:http: request\(\) with the option "createConnection" is not supported/,
    );
    t.is(errors.length, 5);
  });
}

const SERVER = `
import http from 'node:http';
import { AsyncLocalStorage } from 'node:async_hooks';
import { handleAsNodeRequest, httpServerHandler } from 'cloudflare:node';
const context = new AsyncLocalStorage();
const server = http.createServer((req, res) => context.run(req.url, async () => {
  if (req.url === '/throw') throw new Error('thrown in the listener');
  if (req.url === '/empty') { res.writeHead(204).end(); return; }
  if (req.url === '/destroy') { res.destroy(new Error('destroyed')); return; }
  if (req.url === '/stream') {
    res.writeHead(201, 'Made', ['x-a', '1', 'x-b', '2']);
    for (let i = 0; i < 50; i++) if (!res.write('y'.repeat(10_000))) await new Promise(done => res.once('drain', done));
    res.end('end');
    return;
  }
  let body = '';
  for await (const chunk of req) body += chunk;
  res.statusCode = 202;
  res.setHeader('set-cookie', ['a=1', 'b=2']);
  const events = [];
  for (const name of ['finish', 'close']) res.on(name, () => console.log(name, res.writableFinished));
  res.end(JSON.stringify({ method: req.method, url: req.url, host: req.headers.host, cookie: req.headers.cookie, raw: req.rawHeaders.length % 2, body,
    store: context.getStore(), encrypted: req.socket.encrypted, version: req.httpVersion, address: server.address() }));
}));
server.listen(8080);
const { fetch } = httpServerHandler({ port: 8080 });
export default { async fetch(request, env, ctx) {
  if (request.url.endsWith('/none')) return handleAsNodeRequest(1, request, env, ctx).catch(error => new Response(error.message));
  if (request.url.endsWith('/used')) {
    const error = await new Promise(done => http.createServer().on('error', done).listen(8080));
    const other = http.createServer((req, res) => res.end('other'));
    await new Promise(done => other.listen(done));
    const text = await (await httpServerHandler(other).fetch(request)).text();
    return Response.json([error.code, text, await new Promise(done => other.close(done)) ?? 'closed', other.address()]);
  }
  return fetch(request, env, ctx);
} };`;

for (const isolation of ISOLATIONS) {
  test(`a server of http answers requests of the fetch handler, isolation ${isolation}`, async t => {
    const fn = await newHost(t, { isolation }).load(SERVER);
    const answer = await fn.fetch('http://shop.example/a?b=c', {
      method: 'POST',
      body: 'hello',
      headers: { cookie: 'a=b' },
    });
    t.is(answer.status, 202);
    t.deepEqual(answer.headers.getSetCookie(), ['a=1', 'b=2']);
    t.deepEqual(await answer.json(), {
      method: 'POST',
      url: '/a?b=c',
      host: 'shop.example',
      cookie: 'a=b',
      raw: 0,
      body: 'hello',
      store: '/a?b=c',
      encrypted: false,
      version: '1.1',
      address: { address: '127.0.0.1', family: 'IPv4', port: 8080 },
    });
    const streamed = await fn.fetch('http://x/stream');
    t.deepEqual([streamed.status, streamed.statusText, streamed.headers.get('x-b')], [201, 'Made', '2']);
    t.is((await streamed.text()).length, 500_003);
    const empty = await fn.fetch('http://x/empty');
    t.deepEqual([empty.status, await empty.text()], [204, '']);
    t.is((await fn.fetch('http://x/a', { method: 'HEAD' })).status, 202);
    await t.throwsAsync(fn.fetch('http://x/destroy'), { code: 'EDGE_HANDLER_THREW', message: /destroyed/ });
    await t.throwsAsync(fn.fetch('http://x/throw'), { code: 'EDGE_HANDLER_STALLED' });
    t.regex(
      await textOf(fn.fetch('http://x/none')),
      /No server of the function listens on port 1: servers listen on 8080/,
    );
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/used'))), ['EADDRINUSE', 'other', 'closed', null]);
  });
}

/** A function with the libraries in it, bundled as builds for the hosted platform do. */
async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: process.cwd() },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:node', 'node:*', ...builtinModules],
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

const EXPRESS = `
  import express from 'express';
  import { httpServerHandler } from 'cloudflare:node';
  const app = express();
  app.use(express.json());
  app.get('/hello/:name', (req, res) => res.set('x-own', 'yes').json({ hello: req.params.name, query: req.query, protocol: req.protocol }));
  app.post('/echo', (req, res) => res.status(201).send(req.body));
  app.get('/fail', () => { throw new Error('failed'); });
  app.listen(3000);
  export default httpServerHandler({ port: 3000 });`;

const KOA = `
  import Koa from 'koa';
  import { httpServerHandler } from 'cloudflare:node';
  const app = new Koa();
  app.use(context => { context.body = { path: context.path, query: context.query }; });
  app.listen(3001);
  export default httpServerHandler({ port: 3001 });`;

test('Express and Koa answer inside functions', async t => {
  const host = newHost(t, { limits: { startupMs: 5000, cpuMs: 5000 } });
  const express = await host.load(await bundled(EXPRESS), { name: 'express' });
  const hello = await express.fetch('http://x/hello/you?a=1');
  t.deepEqual(
    [hello.status, hello.headers.get('x-own'), await hello.json()],
    [200, 'yes', { hello: 'you', query: { a: '1' }, protocol: 'http' }],
  );
  const echo = await express.fetch('http://x/echo', {
    method: 'POST',
    body: '{"a":[1]}',
    headers: { 'content-type': 'application/json' },
  });
  t.deepEqual([echo.status, await echo.json()], [201, { a: [1] }]);
  t.is((await express.fetch('http://x/fail')).status, 500);
  t.is((await express.fetch('http://x/nothing')).status, 404);
  const koa = await host.load(await bundled(KOA), { name: 'koa' });
  t.deepEqual(JSON.parse(await textOf(koa.fetch('http://x/a?b=c'))), { path: '/a', query: { b: 'c' } });
});
