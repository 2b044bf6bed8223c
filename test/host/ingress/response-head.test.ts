/** Heads of responses on their way through node:http or node:http2, and what applications put around it. */
import { once } from 'node:events';
import type http from 'node:http';
import type { ServerResponse } from 'node:http';
import test from 'ava';
import express from 'express';
import { handler, newHost, nextInvocation, sharedHost } from '../new-host.js';
import { bytesOf, clientOf, overBoth, sessionOf } from '../protocols.js';

const shared = sharedHost();

const REPEATED = handler(`
  const headers = new Headers({ 'content-type': 'text/x-own' });
  for (const name of ['set-cookie', 'link', 'vary', 'x-other']) {
    headers.append(name, name + '-1');
    headers.append(name, name + '-2');
  }
  return new Response('body', { headers });`);

/** As on-headers does it, which sessions and compression use: the head is known when writeHead() is called, and its headers come by setHeader(). */
function wrapWriteHead(response: ServerResponse): void {
  const plain = response.writeHead;
  response.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    for (const [name, value] of Object.entries(args.find(argument => typeof argument === 'object') ?? {})) {
      this.setHeader(name, value);
    }
    this.setHeader('x-wrapped', 'yes');
    const texts = args.filter(argument => typeof argument !== 'object');
    return Reflect.apply(plain, this, texts);
  };
}

for (const [what, prepare] of [
  ['a server alone', () => {}],
  ['headers that were set before', (response: ServerResponse) => response.setHeader('x-before', '1')],
  ['a middleware that wraps writeHead()', wrapWriteHead],
] as const) {
  overBoth(`listener() keeps every value of repeated headers behind ${what}`, async (t, { listen, open }) => {
    const listener = await shared.listener(REPEATED);
    const origin = await listen(t, (request, response) => {
      prepare(response);
      listener(request, response);
    });
    const { fields: headers } = await open(origin).answer;
    t.deepEqual(headers.get('set-cookie'), ['set-cookie-1', 'set-cookie-2']);
    for (const name of ['link', 'vary', 'x-other']) {
      t.is(headers.get(name)?.join(', '), `${name}-1, ${name}-2`);
    }
    t.deepEqual(headers.get('content-length'), ['4']);
  });
}

// Express serves HTTP/1.1 alone.
test('listener() leaves what the application has set, and adds to its cookies, Vary and Link', async t => {
  const { listen, open } = clientOf('HTTP/1.1');
  const app = express();
  app.use((_request, response, next) => {
    response.setHeader('set-cookie', ['session=1', 'theme=2']);
    response.setHeader('vary', 'origin');
    response.setHeader('link', '</a>');
    response.setHeader('x-frame-options', 'DENY');
    response.setHeader('content-type', 'text/replaced');
    response.setHeader('content-length', '9999');
    next();
  });
  app.use(await shared.listener(REPEATED));
  const { fields: headers } = await open(await listen(t, app)).answer;
  t.deepEqual(headers.get('set-cookie'), ['session=1', 'theme=2', 'set-cookie-1', 'set-cookie-2']);
  t.is(headers.get('vary')?.join(', '), 'origin, vary-1, vary-2');
  t.is(headers.get('link')?.join(', '), '</a>, link-1, link-2');
  t.deepEqual(headers.get('x-frame-options'), ['DENY']);
  t.deepEqual(headers.get('content-type'), ['text/x-own']);
  t.deepEqual(headers.get('content-length'), ['4']);
});

overBoth(
  'an error page keeps what the application has set, and replaces its type and length',
  async (t, { listen, open }) => {
    const listener = await shared.listener(handler('throw new Error()'));
    const origin = await listen(t, (request, response) => {
      response.setHeader('set-cookie', 'session=1');
      response.setHeader('content-length', '3');
      listener(request, response);
    });
    const { fields: headers } = await open(origin).answer;
    t.deepEqual(headers.get('set-cookie'), ['session=1']);
    t.not(headers.get('content-length')?.[0], '3');
  },
);

for (const isBehind of [false, true]) {
  overBoth(
    `listener() answers 502 for a header with a control character${isBehind ? ', behind headers that were set before' : ''}`,
    async (t, { listen, fetch }) => {
      const host = newHost(t);
      const fn = await host.load(
        handler(
          `return new Response('x', { headers: { 'x-plain': 'y', 'x-control': 'a\\u0001b', 'set-cookie': 'own' } })`,
        ),
      );
      const listener = host.listener({ function: fn });
      const origin = await listen(t, (request, response) => {
        if (isBehind) response.setHeader('x-before', '1');
        listener(request, response);
      });
      const event = nextInvocation(host);
      const response = await fetch(origin, { headers: { accept: 'application/json' } });
      t.is(response.status, 502);
      t.is(response.headers.get('x-plain'), null);
      t.is(response.headers.get('set-cookie'), null);
      t.is(response.headers.get('x-before'), isBehind ? '1' : null);
      t.like(await response.json(), { error: { code: 'EDGE_RESPONSE_HEADER' } });
      const { outcome, status, error } = await event;
      t.is(outcome, 'exception');
      t.is(status, undefined);
      t.like(error, { code: 'EDGE_RESPONSE_HEADER' });
      t.regex(error?.message ?? '', /header "x-control" has the character U\+0001/);
      t.is((await fetch(origin, { method: 'HEAD' })).status, 502);
    },
  );
}

for (const answer of ["'x'", 'new ReadableStream({ start(c) { c.enqueue(new Uint8Array(10)); c.close() } })', 'null']) {
  overBoth(
    `headers of more than 64 KiB are sent, or refused where they would end the connection, body: ${answer.slice(0, 9)}`,
    async (t, client) => {
      const host = newHost(t);
      const fn = await host.load(
        handler(`
        const headers = new Headers();
        for (let n = Number(new URL(request.url).searchParams.get('n')); n > 0; n--) headers.append('set-cookie', 'v'.repeat(200));
        return new Response(${answer}, { headers });`),
      );
      const origin = await client.listen(t, host.listener({ function: fn }));
      const isFirst = client.protocol === 'HTTP/1.1';
      const statusOf = async (count: number): Promise<number> => {
        const got = await client.open(`${origin}/?n=${count}`).answer;
        await bytesOf(got);
        return got.status;
      };
      // Each header counts 222 bytes.
      t.is(await statusOf(290), 200);
      const event = nextInvocation(host, ({ url }) => url?.endsWith('n=400') === true);
      t.is(await statusOf(400), isFirst ? 200 : 502);
      const { error } = await event;
      t.is(error?.code, isFirst ? undefined : 'EDGE_RESPONSE_HEADER');
      if (!isFirst) {
        t.regex(error?.message ?? '', /its headers take \d+ bytes, of which HTTP\/2 sends at most 65536/);
        t.false(sessionOf(origin).closed);
      }
      t.is(await statusOf(1), 200);
    },
  );
}

overBoth('what waitUntil holds goes on after an answer that could not be sent', async (t, { listen, fetch }) => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`
      ctx.waitUntil(scheduler.wait(20).then(() => console.log('afterwards')));
      return new Response('x', { headers: { 'x-control': '\\u0007' } });`),
  );
  const origin = await listen(t, host.listener({ function: fn }));
  const logged = once(host, 'log');
  t.is((await fetch(origin)).status, 502);
  t.like((await logged)[0], { message: 'afterwards' });
});

overBoth(
  'an application without a function behind its error page still gets its own headers out',
  async (t, { listen, open }) => {
    const host = newHost(t);
    const listener: http.RequestListener = host.listener();
    const origin = await listen(t, (request, response) => {
      wrapWriteHead(response);
      listener(request, response);
    });
    const { fields: headers } = await open(origin).answer;
    t.deepEqual(headers.get('x-wrapped'), ['yes']);
    t.regex(headers.get('content-type')?.[0] ?? '', /^text\/html/);
  },
);

const EVERY_BYTE = handler(`
  return new Response(Uint8Array.from({ length: 256 }, (_, byte) => byte), { headers: { 'content-type': 'application/x-bytes' } });`);

overBoth('listener() sends every byte of a short body as it is', async (t, { listen, fetch }) => {
  const origin = await listen(t, await shared.listener(EVERY_BYTE));
  const response = await fetch(origin);
  t.deepEqual(
    Buffer.from(await response.arrayBuffer()),
    Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)),
  );
  t.is(response.headers.get('content-length'), '256');
});

overBoth('listener() gives bytes to a middleware that has replaced end()', async (t, { listen, fetch }) => {
  const listener = await shared.listener(EVERY_BYTE);
  const origin = await listen(t, (request, response) => {
    const { end } = response;
    // It takes every body for UTF-8, as some do.
    response.end = function (this: ServerResponse, body: unknown) {
      return Reflect.apply(end, this, [typeof body === 'string' ? Buffer.from(body) : body]);
    };
    listener(request, response);
  });
  const response = await fetch(origin);
  t.deepEqual(
    Buffer.from(await response.arrayBuffer()),
    Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte)),
  );
});
