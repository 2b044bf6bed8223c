import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation } from '../new-host.js';
import { clientOf, PROTOCOLS } from '../protocols.js';

const ECHO = handler(`
  const body = await request.text();
  return new Response(request.method + ' ' + request.url + ' ' + body, { headers: { 'x-header': request.headers.get('x-header') ?? 'none' } });`);

for (const protocol of PROTOCOLS) {
  const { listen, fetch } = clientOf(protocol);

  async function serving(t: ExecutionContext, source: string, host: EdgeHost = newHost(t)): Promise<string> {
    const fn = await host.load(source);
    return listen(t, host.listener({ function: fn }));
  }

  for (const isolation of ISOLATIONS) {
    test(`listener() answers real HTTP with method, URL, headers and body (${isolation}) over ${protocol}`, async t => {
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

  test(`listener() streams both ways, whatever the size over ${protocol}`, async t => {
    const origin = await serving(t, handler('return new Response(request.body)'));
    const bytes = Buffer.alloc(3_000_000, 'abc');
    const response = await fetch(`${origin}/`, { method: 'PUT', body: bytes });
    t.true(Buffer.from(await response.arrayBuffer()).equals(bytes));
  });

  test(`listener() answers HEAD with the length and no body over ${protocol}`, async t => {
    const origin = await serving(t, handler('return new Response("12345")'));
    const response = await fetch(`${origin}/`, { method: 'HEAD' });
    t.is(response.headers.get('content-length'), '5');
    t.is(await response.text(), '');
  });

  test(`listener() keeps repeated set-cookie headers apart over ${protocol}`, async t => {
    const origin = await serving(
      t,
      handler(
        `const r = new Response('x'); r.headers.append('set-cookie', 'a=1'); r.headers.append('set-cookie', 'b=2'); return r`,
      ),
    );
    t.deepEqual((await fetch(origin)).headers.getSetCookie(), ['a=1', 'b=2']);
  });

  test(`listener() answers an error page, or JSON when the client wants it, when the handler throws over ${protocol}`, async t => {
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

  test(`listener() routes, calls next for what matches no route, and answers 404 without one over ${protocol}`, async t => {
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

  test(`passThroughOnException() hands the request to next when the handler throws over ${protocol}`, async t => {
    const host = newHost(t);
    const fn = await host.load(handler('ctx.passThroughOnException(); throw new Error("x")'));
    const listener = host.listener({ function: fn });
    const origin = await listen(t, (request, response) => listener(request, response, () => response.end('behind')));
    t.is(await (await fetch(origin)).text(), 'behind');
  });

  test(`listener() never sends more or fewer bytes than a declared length over ${protocol}`, async t => {
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
    test(`listener() says of a declared length that is none that it is the function's fault (${isolation}) over ${protocol}`, async t => {
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
    test(`listener() leaves out the declared length "${length}", which proxies would not all read alike over ${protocol}`, async t => {
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

  test(`listener() sends as many headers as it takes of a request, and refuses an answer with more over ${protocol}`, async t => {
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

  test(`listener() leaves hop-by-hop headers of the function out over ${protocol}`, async t => {
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
}
