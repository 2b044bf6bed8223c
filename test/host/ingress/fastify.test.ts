/** Bodies behind Fastify, and over HTTP/2, that are sent in every way a client can think of: they arrive to the byte, or the request ends by an error. */
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { FastifyInstance } from 'fastify';
import type { EdgeFunction, InvocationEvent } from '../../../src/index.js';
import { handler, newHost } from '../new-host.js';
import { bytesOf, clientOf, type Exchange, overBoth, type ProtocolClient } from '../protocols.js';
import { fastifyWith, type Parsers } from './fastify-app.js';

/** Says what it has read, or why it could not. */
const READS = handler("return new Response('read ' + (await request.text()))");
const JSON_TYPE = { 'content-type': 'application/json' };

interface Rig {
  readonly origin: string;
  readonly app: FastifyInstance;
  readonly fn: EdgeFunction;
  /** The next invocation that is over. */
  invocation(): Promise<InvocationEvent>;
}

async function rig(
  t: ExecutionContext,
  client: ProtocolClient,
  parsers: Parsers,
  hook?: () => Promise<void>,
): Promise<Rig> {
  const host = newHost(t);
  const fn = await host.load(READS);
  const behind = await fastifyWith(t, client, host.listener({ function: fn }), parsers, hook);
  const invocation = (): Promise<InvocationEvent> => new Promise(resolve => host.once('invocation', resolve));
  return { ...behind, fn, invocation };
}

/** A connection on which a test writes the lines of HTTP/1.1 itself. */
function plainSocket(t: ExecutionContext, origin: string): net.Socket {
  const { port, hostname } = new URL(origin);
  const socket = net.connect(Number(port), hostname).on('error', () => {});
  t.teardown(() => socket.destroy());
  return socket;
}

for (const parsers of ['kept', 'none'] as const) {
  for (const bytes of [3, 200_000]) {
    overBoth(`${bytes} bytes in pieces arrive behind Fastify, its parsers: ${parsers}`, async (t, client) => {
      const { origin } = await rig(t, client, parsers);
      const request = client.open(origin, { method: 'POST', headers: JSON_TYPE });
      const text = 'x'.repeat(bytes);
      for (let at = 0; at < bytes; at += 40_000) request.body.write(text.slice(at, at + 40_000));
      request.body.end();
      t.is(await answerOf(request), `read ${text}`);
    });
  }
}

overBoth('a body in pieces that the parsers of Fastify have read is refused', async (t, client) => {
  const { origin } = await rig(t, client, 'own');
  const request = client.open(origin, { method: 'POST', headers: JSON_TYPE });
  request.body.write('{"a"');
  request.body.end(':1}');
  t.regex(await answerOf(request), /EDGE_BODY_READ/);
});

// These are the framings of HTTP/1.1. http2.test.ts has the tests of bodies that HTTP/2 breaks off.
for (const [what, head] of [
  ['of a length that does not come', 'content-length: 100\r\n\r\nabc'],
  ['in chunks that break off', 'transfer-encoding: chunked\r\n\r\n5\r\nab'],
] as const) {
  test(`a body ${what} never arrives as if it were complete`, async t => {
    const { origin, invocation } = await rig(t, clientOf('HTTP/1.1'), 'none');
    const over = invocation();
    const socket = plainSocket(t, origin);
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
  });
}

test('bytes beyond the length of a body are none of it', async t => {
  const { origin } = await rig(t, clientOf('HTTP/1.1'), 'none');
  const socket = plainSocket(t, origin);
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nabcdef\r\n\r\n');
  let answer = '';
  for await (const bytes of socket) {
    answer += bytes;
    if (answer.includes('read abc') || answer.includes('400')) break;
  }
  t.notRegex(answer, /abcd/);
});

for (const method of ['GET', 'POST'] as const) {
  overBoth(
    `a client that has gone before a hook of Fastify let its ${method} through is waited for by nobody`,
    async (t, client) => {
      let letThrough = (): void => {};
      const hooks = new EventEmitter();
      const { origin, app, fn, invocation } = await rig(t, client, 'none', () => {
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
      const { body, leave } = client.open(origin, { method, headers: { 'content-type': 'text/plain' } });
      if (method === 'POST') body.write('abc');
      await isReached;
      leave();
      await gone;
      const over = invocation();
      letThrough();
      // The next one is the first of which there is anything to report.
      const isReachedAgain = once(hooks, 'reached');
      const next = client.open(origin);
      await isReachedAgain;
      letThrough();
      t.is(await answerOf(next), 'read ');
      t.is((await over).outcome, 'ok');
      t.is(fn.stats().invocations, 1);
    },
  );
}

overBoth('a body arrives, whether its length is announced or not', async (t, { listen, open }) => {
  const host = newHost(t);
  const origin = await listen(t, host.listener({ function: await host.load(READS) }));
  const post = async (text: string, headers: Readonly<Record<string, string>>): Promise<string> => {
    const request = open(origin, { method: 'POST', headers });
    if (text.length > 0) request.body.write(text);
    request.body.end();
    return answerOf(request);
  };
  for (const text of ['', 'abc', 'x'.repeat(200_000)]) {
    t.is((await post(text, {})).length, 5 + text.length);
    t.is((await post(text, { 'content-length': String(text.length) })).length, 5 + text.length);
  }
  t.is(await answerOf(open(origin)), 'read ');
});

overBoth('a client that has gone before the listener got its request is waited for by nobody', async (t, client) => {
  const host = newHost(t);
  const fn = await host.load(READS);
  const listener = host.listener({ function: fn });
  const requests = new EventEmitter();
  const origin = await client.listen(t, async (request, response) => {
    requests.emit(`come ${request.url}`);
    if (request.url === '/gone') await once(response, 'close');
    listener(request, response);
    requests.emit(`handed on ${request.url}`);
  });
  const come = once(requests, 'come /gone');
  const over = once(requests, 'handed on /gone');
  const { body, leave } = client.open(`${origin}/gone`, { method: 'POST' });
  body.write('abc');
  await come;
  leave();
  await over;
  t.is(await (await client.fetch(`${origin}/next`, { method: 'POST', body: 'abc' })).text(), 'read abc');
  t.is(fn.stats().invocations, 1);
});

// Over HTTP/2 both functions would answer on the one stream of the request.
for (const bytes of [3, 200_000]) {
  test(`${bytes} bytes that two functions are to read are read by both, or refused`, async t => {
    const { listen, fetch } = clientOf('HTTP/1.1');
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
      t.regex(String(await answer), new RegExp(`^${bytes} bytes$|listener\\(\\) must come before|EDGE_BODY_READ`));
    }
  });
}

async function answerOf({ answer }: Exchange): Promise<string> {
  return String(await bytesOf(await answer));
}
