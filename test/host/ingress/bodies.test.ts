/** Bodies of requests that frameworks have read before the listener got the request. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import express from 'express';
import { fastify } from 'fastify';
import { listen } from '../../servers.js';
import { handler, newHost } from '../new-host.js';

const DIGEST = handler("return new Response(await crypto.subtle.digest('SHA-256', await request.arrayBuffer()))");
const ECHO = handler('return new Response(request.body)');
const JSON_HEADERS = { 'content-type': 'application/json' };
const ODD_JSON = '{ "a" :  1.0 }';

test('a body that express.json() has read is refused with what to do, and a warning says it once', async t => {
  const host = newHost(t);
  const warnings: Error[] = [];
  host.on('warning', error => warnings.push(error));
  const app = express();
  app.use(express.json());
  app.use(host.listener({ function: await host.load(ECHO) }));
  const origin = await listen(t, app);
  for (let n = 0; n < 2; n++) {
    const response = await fetch(origin, {
      method: 'POST',
      body: ODD_JSON,
      headers: { ...JSON_HEADERS, accept: 'application/json' },
    });
    t.is(response.status, 500);
    const page = await response.text();
    t.is(JSON.parse(page).error.code, 'EDGE_BODY_READ');
    t.regex(page, /listener\(\) has to come before what parses bodies.*rawBody/);
  }
  const told = warnings.filter(error => 'code' in error && error.code === 'EDGE_BODY_READ');
  t.is(told.length, 1);
  t.regex(told[0]?.message ?? '', /POST request.*read it already/);
});

test('requests without a body, and with one that the parser leaves alone, pass express.json()', async t => {
  const host = newHost(t);
  const app = express();
  app.use(express.json());
  app.use(host.listener({ function: await host.load(ECHO) }));
  const origin = await listen(t, app);
  t.is((await fetch(origin)).status, 200);
  t.is((await fetch(origin, { method: 'POST' })).status, 200);
  t.is(await (await fetch(origin, { method: 'POST', body: 'plain' })).text(), 'plain');
});

for (const bytes of [14, 300_000]) {
  test(`${bytes} bytes that the application has kept in rawBody are the body, to the byte`, async t => {
    const host = newHost(t);
    const app = express();
    app.use(
      express.json({
        limit: '1mb',
        verify: (request, _response, buffer) => Object.assign(request, { rawBody: buffer }),
      }),
    );
    app.use(host.listener({ function: await host.load(ECHO) }));
    const origin = await listen(t, app);
    const body = ODD_JSON.padEnd(bytes);
    t.is(await (await fetch(origin, { method: 'POST', body, headers: JSON_HEADERS })).text(), body);
    const chunked = http.request(origin, { method: 'POST', headers: JSON_HEADERS });
    chunked.write(body.slice(0, 5));
    chunked.end(body.slice(5));
    const [response] = (await once(chunked, 'response')) as [http.IncomingMessage]; // the event's own type
    t.is(Buffer.concat(await response.toArray()).toString(), body);
  });
}

test('bytes that a parser has decoded are not those that were sent', async t => {
  const host = newHost(t);
  const app = express();
  app.use(express.raw({ type: '*/*', limit: '1mb' }));
  app.use(host.listener({ function: await host.load(ECHO) }));
  const origin = await listen(t, app);
  t.is(await (await fetch(origin, { method: 'POST', body: 'as sent' })).text(), 'as sent');
  const encoded = { method: 'POST', headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' } };
  t.is((await fetch(origin, { ...encoded, body: gzipSync('decoded') })).status, 500);
  const chunked = http.request(origin, encoded);
  chunked.write(gzipSync('decoded'));
  chunked.end();
  const [response] = (await once(chunked, 'response')) as [http.IncomingMessage]; // the event's own type
  t.is(response.statusCode, 500);
  response.resume();
});

test('rawBody that is a text, or not all of the body, is no body', async t => {
  const host = newHost(t);
  const fn = await host.load(ECHO);
  const listener = host.listener({ function: fn });
  let rawBody: unknown;
  const origin = await listen(t, async (request, response) => {
    await request.toArray();
    listener(Object.assign(request, { rawBody }), response);
  });
  const statusWith = async (value: unknown): Promise<number> => {
    rawBody = value;
    return (await fetch(origin, { method: 'POST', body: 'abc' })).status;
  };
  for (const value of ['abc', Buffer.from('ab'), {}, undefined]) t.is(await statusWith(value), 500);
  t.is(await statusWith(Buffer.from('abc')), 200);
  t.is(await statusWith(new TextEncoder().encode('abc')), 200);
});

test('rawBody that throws is answered with an internal error, and a warning says what it threw', async t => {
  const host = newHost(t);
  const warnings: string[] = [];
  host.on('warning', error => warnings.push(error.message));
  const listener = host.listener({ function: await host.load(ECHO) });
  const origin = await listen(t, async (request, response) => {
    await request.toArray();
    Object.defineProperty(request, 'rawBody', {
      get: () => {
        throw new Error('from a getter');
      },
    });
    listener(request, response);
  });
  const headers = { accept: 'application/json' };
  const response = await fetch(origin, { method: 'POST', body: 'a body', headers });
  t.is(response.status, 500);
  const page = await response.text();
  t.regex(page, /EDGE_INTERNAL/);
  t.notRegex(page, /getter/);
  t.true(warnings.includes('from a getter'), warnings.join());
});

test('rawBody is under the limit of bodies, whatever the head said', async t => {
  const host = newHost(t, { limits: { bodyBytes: 10 } });
  const listener = host.listener({ function: await host.load(ECHO) });
  const origin = await listen(t, async (request, response) => {
    const rawBody = Buffer.concat(await request.toArray());
    listener(Object.assign(request, { rawBody }), response);
  });
  const chunked = http.request(origin, { method: 'POST' });
  chunked.write('x'.repeat(6));
  chunked.end('x'.repeat(6));
  const [response] = (await once(chunked, 'response')) as [http.IncomingMessage]; // the event's own type
  t.is(response.statusCode, 413);
  response.resume();
});

test('a body of which a part was read before is refused', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(ECHO) });
  const origin = await listen(t, async (request, response) => {
    await once(request, 'readable');
    request.read(1);
    listener(request, response);
  });
  t.is((await fetch(origin, { method: 'POST', body: 'abc' })).status, 500);
});

test('an application that reads along takes nothing away, also while the function starts', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(ECHO) });
  let seen = '';
  const origin = await listen(t, (request, response) => {
    request.on('data', chunk => {
      seen += chunk;
    });
    listener(request, response);
  });
  const body = 'x'.repeat(200_000);
  t.is(await (await fetch(origin, { method: 'POST', body })).text(), body);
  t.is(seen, body);
});

test('an application that reads along goes on when the function reads no more', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(handler('return new Response("enough")')) });
  const seen: Promise<string>[] = [];
  const origin = await listen(t, (request, response) => {
    let text = '';
    request.on('data', chunk => {
      text += chunk;
    });
    seen.push(once(request, 'end').then(() => text));
    listener(request, response);
  });
  const body = 'x'.repeat(400_000);
  t.is(await (await fetch(origin, { method: 'POST', body })).text(), 'enough');
  t.is((await seen[0])?.length, body.length);
});

test('a body that the application has held up is passed on', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(ECHO) });
  const origin = await listen(t, (request, response) => {
    request.pause();
    setImmediate(() => listener(request, response));
  });
  const body = 'x'.repeat(200_000);
  t.is(await (await fetch(origin, { method: 'POST', body })).text(), body);
});

for (const parsers of ['its own parsers', 'a parser that keeps the bytes', 'no parsers'] as const) {
  test(`Fastify with ${parsers}: a body arrives, or is refused`, async t => {
    const host = newHost(t);
    const listener = host.listener({ function: await host.load(ECHO) });
    const app = fastify();
    if (parsers !== 'its own parsers') app.removeAllContentTypeParsers();
    if (parsers === 'no parsers') app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    if (parsers === 'a parser that keeps the bytes') {
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
        Object.assign(request.raw, { rawBody: body });
        done(null, body);
      });
    }
    app.all('/*', (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    t.teardown(() => app.close());
    const answer = await fetch(origin, { method: 'POST', body: ODD_JSON, headers: JSON_HEADERS });
    if (parsers === 'its own parsers') t.is(answer.status, 500);
    else t.is(await answer.text(), ODD_JSON);
    t.is((await fetch(origin)).status, 200);
  });
}

test('large bodies that were read before come as fast as the function reads them', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(DIGEST) });
  const origin = await listen(t, async (request, response) => {
    const rawBody = Buffer.concat(await request.toArray());
    listener(Object.assign(request, { rawBody }), response);
  });
  const body = Buffer.alloc(5_000_000, 'abcdefg');
  const digest = Buffer.from(await (await fetch(origin, { method: 'POST', body })).arrayBuffer());
  t.deepEqual(digest, createHash('sha256').update(body).digest());
});
