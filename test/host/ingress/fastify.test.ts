/** Bodies behind Fastify, and over HTTP/2, that are sent in every way a client can think of: they arrive to the byte, or the request ends by an error. */
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type FastifyInstance, fastify } from 'fastify';
import type { EdgeFunction, InvocationEvent } from '../../../src/index.js';
import { listen, portOf } from '../../servers.js';
import { handler, newHost } from '../new-host.js';

/** Says what it has read, or why it could not. */
const READS = handler("return new Response('read ' + (await request.text()))");
const CHUNKED = { 'transfer-encoding': 'chunked', 'content-type': 'application/json' };

type Parsers = 'own' | 'kept' | 'none';

interface Rig {
  readonly port: number;
  readonly app: FastifyInstance;
  readonly fn: EdgeFunction;
  /** The next invocation that is over. */
  invocation(): Promise<InvocationEvent>;
}

async function rig(t: ExecutionContext, parsers: Parsers, hook?: () => Promise<void>): Promise<Rig> {
  const host = newHost(t);
  const fn = await host.load(READS);
  const listener = host.listener({ function: fn });
  const app = fastify();
  if (parsers !== 'own') app.removeAllContentTypeParsers();
  if (parsers === 'none') app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  if (parsers === 'kept') {
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      Object.assign(request.raw, { rawBody: body });
      done(null, body);
    });
  }
  if (hook !== undefined) app.addHook('preHandler', hook);
  app.all('/*', (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const port = portOf(app.server);
  const invocation = (): Promise<InvocationEvent> => new Promise(resolve => host.once('invocation', resolve));
  return { port, app, fn, invocation };
}

for (const parsers of ['kept', 'none'] as const) {
  for (const bytes of [3, 200_000]) {
    test(`${bytes} bytes in chunks arrive behind Fastify, its parsers: ${parsers}`, async t => {
      const { port } = await rig(t, parsers);
      const request = http.request({ port, method: 'POST', headers: CHUNKED });
      const body = 'x'.repeat(bytes);
      for (let at = 0; at < bytes; at += 40_000) request.write(body.slice(at, at + 40_000));
      request.end();
      t.is(await answerOf(request), `read ${body}`);
    });
  }
}

test('a body in chunks that the parsers of Fastify have read is refused', async t => {
  const { port } = await rig(t, 'own');
  const request = http.request({ port, method: 'POST', headers: CHUNKED });
  request.end('{"a":1}');
  t.regex(await answerOf(request), /EDGE_BODY_READ/);
});

for (const [what, head] of [
  ['of a length that does not come', 'content-length: 100\r\n\r\nabc'],
  ['in chunks that break off', 'transfer-encoding: chunked\r\n\r\n5\r\nab'],
] as const) {
  test(`a body ${what} never arrives as if it were complete`, async t => {
    const { port, invocation } = await rig(t, 'none');
    const over = invocation();
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n${head}`);
    let answer = '';
    socket.on('data', bytes => {
      answer += bytes;
    });
    // The rest of the body is due, and the client ends its side.
    socket.end();
    const { outcome } = await over;
    t.is(outcome, 'canceled');
    t.notRegex(answer, /read abc|read ab/);
    socket.destroy();
  });
}

test('bytes beyond the length of a body are none of it', async t => {
  const { port } = await rig(t, 'none');
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nabcdef\r\n\r\n');
  let answer = '';
  for await (const bytes of socket) {
    answer += bytes;
    if (answer.includes('read abc') || answer.includes('400')) break;
  }
  t.notRegex(answer, /abcd/);
});

for (const method of ['GET', 'POST'] as const) {
  test(`a client that has gone before a hook of Fastify let its ${method} through is waited for by nobody`, async t => {
    let letThrough = (): void => {};
    const hooks = new EventEmitter();
    const { port, app, fn, invocation } = await rig(t, 'none', () => {
      hooks.emit('reached');
      return new Promise(resolve => {
        letThrough = resolve;
      });
    });
    const isReached = once(hooks, 'reached');
    const gone = new Promise<void>(resolve => {
      app.server.once('request', (_request: http.IncomingMessage, response: http.ServerResponse) =>
        response.once('close', () => resolve()),
      );
    });
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const body = method === 'GET' ? '\r\n' : 'content-type: text/plain\r\ncontent-length: 100\r\n\r\nabc';
    socket.write(`${method} / HTTP/1.1\r\nhost: a\r\n${body}`);
    await isReached;
    socket.destroy();
    await gone;
    const over = invocation();
    letThrough();
    // The next one is the first of which there is anything to report.
    const isReachedAgain = once(hooks, 'reached');
    const next = http.request({ port }).end();
    await isReachedAgain;
    letThrough();
    t.is(await answerOf(next), 'read ');
    t.is((await over).outcome, 'ok');
    t.is(fn.stats().invocations, 1);
  });
}

test('a body over HTTP/2 arrives, whether its length is announced or not', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(READS) });
  const server = http2.createServer();
  server.on('request', listener);
  const session = http2.connect(`http://127.0.0.1:${await portOfNew(server)}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  const post = async (body: string, headers: http2.OutgoingHttpHeaders): Promise<string> => {
    const stream = session.request({ ':method': 'POST', ...headers });
    stream.end(body);
    return Buffer.concat(await stream.toArray()).toString();
  };
  for (const body of ['', 'abc', 'x'.repeat(200_000)]) {
    t.is((await post(body, {})).length, 5 + body.length);
    t.is((await post(body, { 'content-length': body.length })).length, 5 + body.length);
  }
  const get = session.request({ ':method': 'GET' });
  t.is(Buffer.concat(await get.toArray()).toString(), 'read ');
});

test('a client of HTTP/2 that has gone before the listener got its request is waited for by nobody', async t => {
  const host = newHost(t);
  const fn = await host.load(READS);
  const listener = host.listener({ function: fn });
  const handedOn = new EventEmitter();
  const server = http2.createServer(async (request, response) => {
    if (request.url === '/gone') await once(response, 'close');
    // The types of node:http2 are not those of node:http, whose part of the interface it has.
    listener(request as never, response as never);
    handedOn.emit(request.url);
  });
  const session = http2.connect(`http://127.0.0.1:${await portOfNew(server)}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  const over = once(handedOn, '/gone');
  const gone = session.request({ ':method': 'POST', ':path': '/gone' });
  gone.on('error', () => {});
  gone.write('abc');
  await once(server, 'stream');
  gone.close(http2.constants.NGHTTP2_CANCEL);
  await over;
  const next = session.request({ ':method': 'POST', ':path': '/next' });
  next.end('abc');
  t.is(Buffer.concat(await next.toArray()).toString(), 'read abc');
  t.is(fn.stats().invocations, 1);
});

for (const bytes of [3, 200_000]) {
  test(`${bytes} bytes that two functions are to read are read by both, or refused`, async t => {
    const host = newHost(t);
    const counts = handler("return new Response((await request.text()).length + ' bytes')");
    const first = host.listener({ function: await host.load(counts, { name: 'first' }) });
    const second = host.listener({ function: await host.load(counts, { name: 'second' }) });
    const answers = new EventEmitter();
    const origin = await listen(t, (request, response) => {
      first(request, response);
      const other = new http.ServerResponse(request);
      other.end = (chunk: unknown) => {
        answers.emit('answer', String(chunk));
        return other;
      };
      second(request, other);
    });
    // The first time they are started, the second time they are warm.
    for (let n = 0; n < 2; n++) {
      const answer = once(answers, 'answer');
      const response = await fetch(origin, { method: 'POST', body: 'x'.repeat(bytes) });
      t.is(await response.text(), `${bytes} bytes`);
      t.regex(String(await answer), new RegExp(`^${bytes} bytes$|listener\\(\\) has to come before|EDGE_BODY_READ`));
    }
  });
}

async function answerOf(request: http.ClientRequest): Promise<string> {
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]; // the event's own type
  return Buffer.concat(await response.toArray()).toString();
}

async function portOfNew(server: http2.Http2Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port; // it listens on a port
}
