/** Bodies of requests that frameworks have read before the listener got the request. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import express from 'express';
import { handler, newHost, sharedHost } from '../new-host.js';
import { bytesOf, clientOf, overBoth } from '../protocols.js';
import { fastifyWith } from './fastify-app.js';

const DIGEST = handler("return new Response(await crypto.subtle.digest('SHA-256', await request.arrayBuffer()))");
const ECHO = handler('return new Response(request.body)');
const JSON_HEADERS = { 'content-type': 'application/json' };
const ODD_JSON = '{ "a" :  1.0 }';

const shared = sharedHost();
/** Express serves HTTP/1.1 alone. */
const { listen, fetch, open } = clientOf('HTTP/1.1');

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
    t.regex(page, /listener\(\) must come before the parser of bodies.*rawBody/);
  }
  const told = warnings.filter(error => 'code' in error && error.code === 'EDGE_BODY_READ');
  t.is(told.length, 1);
  t.regex(told[0]?.message ?? '', /POST request.*read it already/);
});

test('requests without a body, and with one that the parser leaves alone, pass express.json()', async t => {
  const app = express();
  app.use(express.json());
  app.use(await shared.listener(ECHO));
  const origin = await listen(t, app);
  t.is((await fetch(origin)).status, 200);
  t.is((await fetch(origin, { method: 'POST' })).status, 200);
  t.is(await (await fetch(origin, { method: 'POST', body: 'plain' })).text(), 'plain');
});

for (const bytes of [14, 300_000]) {
  test(`${bytes} bytes that the application has kept in rawBody are the body, to the byte`, async t => {
    const app = express();
    app.use(
      express.json({
        limit: '1mb',
        verify: (request, _response, buffer) => Object.assign(request, { rawBody: buffer }),
      }),
    );
    app.use(await shared.listener(ECHO));
    const origin = await listen(t, app);
    const body = ODD_JSON.padEnd(bytes);
    t.is(await (await fetch(origin, { method: 'POST', body, headers: JSON_HEADERS })).text(), body);
    const chunked = open(origin, { method: 'POST', headers: JSON_HEADERS });
    chunked.body.write(body.slice(0, 5));
    chunked.body.end(body.slice(5));
    t.is(String(await bytesOf(await chunked.answer)), body);
  });
}

test('bytes that a parser has decoded are not those that were sent', async t => {
  const app = express();
  app.use(express.raw({ type: '*/*', limit: '1mb' }));
  app.use(await shared.listener(ECHO));
  const origin = await listen(t, app);
  t.is(await (await fetch(origin, { method: 'POST', body: 'as sent' })).text(), 'as sent');
  const encoded = { method: 'POST', headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' } };
  t.is((await fetch(origin, { ...encoded, body: gzipSync('decoded') })).status, 500);
  const chunked = open(origin, encoded);
  chunked.body.write(gzipSync('decoded'));
  chunked.body.end();
  t.is((await chunked.answer).status, 500);
});

overBoth('rawBody that is a text, or not all of the body, is no body', async (t, { listen, fetch }) => {
  const listener = await shared.listener(ECHO);
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

overBoth(
  'rawBody that throws is answered with an internal error, and a warning says what it threw',
  async (t, { listen, fetch }) => {
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
  },
);

overBoth('rawBody is under the limit of bodies, whatever the head said', async (t, { listen, open }) => {
  const host = newHost(t, { limits: { bodyBytes: 10 } });
  const listener = host.listener({ function: await host.load(ECHO) });
  const origin = await listen(t, async (request, response) => {
    const rawBody = Buffer.concat(await request.toArray());
    listener(Object.assign(request, { rawBody }), response);
  });
  const unannounced = open(origin, { method: 'POST' });
  unannounced.body.write('x'.repeat(6));
  unannounced.body.end('x'.repeat(6));
  t.is((await unannounced.answer).status, 413);
});

overBoth('a body of which a part was read before is refused', async (t, { listen, fetch }) => {
  const listener = await shared.listener(ECHO);
  const origin = await listen(t, async (request, response) => {
    await once(request, 'readable');
    request.read(1);
    listener(request, response);
  });
  t.is((await fetch(origin, { method: 'POST', body: 'abc' })).status, 500);
});

overBoth(
  'an application that reads along takes nothing away, also while the function starts',
  async (t, { listen, fetch }) => {
    const listener = await shared.listener(ECHO);
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
  },
);

overBoth('an application that reads along goes on when the function reads no more', async (t, { listen, fetch }) => {
  const listener = await shared.listener(handler('return new Response("enough")'));
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

overBoth('a body that the application has held up is passed on', async (t, { listen, fetch }) => {
  const listener = await shared.listener(ECHO);
  const origin = await listen(t, (request, response) => {
    request.pause();
    setImmediate(() => listener(request, response));
  });
  const body = 'x'.repeat(200_000);
  t.is(await (await fetch(origin, { method: 'POST', body })).text(), body);
});

for (const parsers of ['own', 'kept', 'none'] as const) {
  overBoth(`Fastify with parsers of the kind "${parsers}": a body arrives, or is refused`, async (t, client) => {
    const listener = await shared.listener(ECHO);
    const { origin } = await fastifyWith(t, client, listener, parsers);
    const answer = await client.fetch(origin, { method: 'POST', body: ODD_JSON, headers: JSON_HEADERS });
    if (parsers === 'own') t.is(answer.status, 500);
    else t.is(await answer.text(), ODD_JSON);
    t.is((await client.fetch(origin)).status, 200);
  });
}

overBoth('large bodies that were read before come as fast as the function reads them', async (t, { listen, fetch }) => {
  const listener = await shared.listener(DIGEST);
  const origin = await listen(t, async (request, response) => {
    const rawBody = Buffer.concat(await request.toArray());
    listener(Object.assign(request, { rawBody }), response);
  });
  const body = Buffer.alloc(5_000_000, 'abcdefg');
  const digest = Buffer.from(await (await fetch(origin, { method: 'POST', body })).arrayBuffer());
  t.deepEqual(digest, createHash('sha256').update(body).digest());
});
