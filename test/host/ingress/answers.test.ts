/** Answers as clients get them: bodies, headers and pages of errors. */
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation, sharedHost } from '../new-host.js';
import { bytesOf, overBoth, type ProtocolClient } from '../protocols.js';

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

for (const isolation of ISOLATIONS) {
  overBoth(
    `listener() answers real HTTP with method, URL, headers and body (${isolation})`,
    async (t, { listen, fetch }) => {
      const origin = await serving(t, listen, ECHO, newHost(t, { isolation }));
      const response = await fetch(`${origin}/a%2Fb?q=1`, {
        method: 'POST',
        body: 'hello',
        headers: { 'x-header': 'v' },
      });
      t.is(response.status, 200);
      t.is(response.headers.get('x-header'), 'v');
      t.is(response.headers.get('content-type'), 'text/plain;charset=UTF-8');
      t.is(await response.text(), `POST ${origin}/a%2Fb?q=1 hello`);
    },
  );
}

overBoth('listener() streams both ways, whatever the size', async (t, { listen, fetch }) => {
  const origin = await serving(t, listen, handler('return new Response(request.body)'));
  const bytes = Buffer.alloc(3_000_000, 'abc');
  const response = await fetch(`${origin}/`, { method: 'PUT', body: bytes });
  t.true(Buffer.from(await response.arrayBuffer()).equals(bytes));
});

overBoth('listener() answers HEAD with the length and no body', async (t, { listen, fetch }) => {
  const origin = await serving(t, listen, handler('return new Response("12345")'));
  const response = await fetch(`${origin}/`, { method: 'HEAD' });
  t.is(response.headers.get('content-length'), '5');
  t.is(await response.text(), '');
});

overBoth('responses without a body, and to HEAD, end', async (t, { listen, fetch }) => {
  const origin = await serving(
    t,
    listen,
    handler(
      "const status = Number(new URL(request.url).searchParams.get('s')); return new Response(status === 200 ? '12345' : null, { status })",
    ),
  );
  for (const status of [204, 205, 304]) t.is((await fetch(`${origin}/?s=${status}`)).status, status);
  const head = await fetch(`${origin}/?s=200`, { method: 'HEAD' });
  t.is(head.headers.get('content-length'), '5');
});

overBoth('listener() keeps repeated set-cookie headers apart', async (t, { listen, fetch }) => {
  const origin = await serving(
    t,
    listen,
    handler(
      `const r = new Response('x'); r.headers.append('set-cookie', 'a=1'); r.headers.append('set-cookie', 'b=2'); return r`,
    ),
  );
  t.deepEqual((await fetch(origin)).headers.getSetCookie(), ['a=1', 'b=2']);
});

overBoth(
  'listener() answers an error page, or JSON when the client wants it, when the handler throws',
  async (t, { listen, fetch }) => {
    const origin = await serving(t, listen, handler('throw new Error("secret of the function")'));
    const page = await fetch(origin);
    t.is(page.status, 500);
    t.regex(page.headers.get('content-type') ?? '', /text\/html/);
    const html = await page.text();
    t.regex(html, /1101/);
    t.notRegex(html, /secret/);
    const json = await fetch(origin, { headers: { accept: 'application/json' } });
    t.like(await json.json(), { error: { code: 'EDGE_HANDLER_THREW', status: 500 } });
  },
);

overBoth(
  'listener() routes, calls next for what matches no route, and answers 404 without one',
  async (t, { listen, fetch }) => {
    const host = newHost(t);
    await host.load(handler('return new Response("routed")'), { routes: ['*/plugins/*'] });
    const listener = host.listener();
    const origin = await listen(t, (request, response) => {
      listener(request, response, request.url === '/next' ? () => response.end('next') : undefined);
    });
    t.is(await (await fetch(`${origin}/plugins/a`)).text(), 'routed');
    t.is(await (await fetch(`${origin}/next`)).text(), 'next');
    t.is((await fetch(`${origin}/none`)).status, 404);
  },
);

overBoth('passThroughOnException() hands the request to next when the handler throws', async (t, { listen, fetch }) => {
  const host = newHost(t);
  const fn = await host.load(handler('ctx.passThroughOnException(); throw new Error("x")'));
  const listener = host.listener({ function: fn });
  const origin = await listen(t, (request, response) => listener(request, response, () => response.end('behind')));
  t.is(await (await fetch(origin)).text(), 'behind');
});

overBoth('listener() never sends more or fewer bytes than a declared length', async (t, { listen, fetch }) => {
  const origin = await serving(
    t,
    listen,
    handler(`const n = Number(new URL(request.url).searchParams.get('n'));
    return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(n)); c.close() } }), { headers: { 'content-length': '10' } })`),
  );
  t.is((await (await fetch(`${origin}/?n=10`)).arrayBuffer()).byteLength, 10);
  await t.throwsAsync(fetch(`${origin}/?n=5`).then(response => response.arrayBuffer()));
  await t.throwsAsync(fetch(`${origin}/?n=20`).then(response => response.arrayBuffer()));
  t.is((await (await fetch(`${origin}/?n=10`)).arrayBuffer()).byteLength, 10);
});

for (const isolation of ISOLATIONS) {
  overBoth(
    `listener() says of a declared length that is none that it is the function's fault (${isolation})`,
    async (t, { listen, fetch }) => {
      const host = newHost(t, { isolation });
      const origin = await serving(
        t,
        listen,
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
    },
  );
}

for (const length of ['0x10', '16e0', '+16', '16.0', '16, 16', '']) {
  overBoth(
    `listener() leaves out the declared length "${length}", which proxies would not all read alike`,
    async (t, { listen, fetch }) => {
      const origin = await serving(
        t,
        listen,
        handler(`
      const body = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('0123456789abcdef')); c.close() } });
      return new Response(body, { headers: { 'content-length': ${JSON.stringify(length)} } })`),
      );
      const response = await fetch(origin);
      t.is(response.headers.get('content-length'), null);
      t.is(await response.text(), '0123456789abcdef');
      t.is((await fetch(origin, { method: 'HEAD' })).headers.get('content-length'), null);
    },
  );
}

overBoth(
  'listener() sends as many headers as it takes of a request, and refuses an answer with more',
  async (t, { listen, fetch }) => {
    const host = newHost(t);
    const origin = await serving(
      t,
      listen,
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
  },
);

overBoth('values of headers are bytes, a character each, in requests and in answers', async (t, { listen, open }) => {
  const origin = await serving(
    t,
    listen,
    handler("return new Response(null, { headers: { 'x-back': request.headers.get('x-value') } })"),
  );
  const { fields } = await open(origin, { headers: { 'x-value': 'é\xff' } }).answer;
  t.deepEqual(fields.get('x-back'), ['é\xff']);
});

overBoth('listener() leaves hop-by-hop headers of the function out', async (t, { listen, fetch }) => {
  const origin = await serving(
    t,
    listen,
    handler(
      `return new Response('x', { headers: { 'transfer-encoding': 'chunked', connection: 'upgrade', 'keep-alive': 'x' } })`,
    ),
  );
  const response = await fetch(origin);
  t.is(response.headers.get('transfer-encoding'), null);
  t.is(await response.text(), 'x');
});

overBoth(
  'a body may come to its end after the answer, where waitUntil holds what reads it',
  async (t, { listen, open }) => {
    const host = newHost(t);
    const fn = await host.load(
      handler(
        `ctx.waitUntil(request.text().then(text => console.log(text.length), error => console.log(error))); return new Response('early')`,
      ),
    );
    const origin = await listen(t, host.listener({ function: fn }));
    const logged = once(host, 'log');
    const over = nextInvocation(host);
    const { body, answer } = open(origin, { method: 'POST' });
    body.write('x'.repeat(100_000));
    t.is(String(await bytesOf(await answer)), 'early');
    await new Promise(resolve => setTimeout(resolve, 200));
    body.end('x'.repeat(100_000));
    t.is((await logged)[0].message, '200000');
    t.is((await over).outcome, 'ok');
  },
);
