/** Functions fetch custom domains of this host through its router: by default, without the network, as any HTTP client could. */
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from './new-host.js';

const fetching = (url: string, init = '{}'): string =>
  handler(`
    try {
      const response = await fetch(${JSON.stringify(url)}, ${init});
      return new Response(response.body, { status: response.status, headers: { 'x-was': response.headers.get('x-was') ?? '' } });
    } catch (error) {
      return Response.json({ code: error.code ?? error.cause?.code, message: String(error) });
    }
  `);

const custom = (name: string, zone?: string) => ({
  routes: [{ pattern: `${name}/*`, customDomain: true, ...(zone !== undefined && { zone }) }],
});

for (const isolation of ISOLATIONS) {
  test(`fetch() of a custom domain of this host reaches its function, with method, headers and body both ways (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    await host.load(
      handler(`
        const text = await request.text();
        return Response.json([request.method, request.url, request.headers.get('host'), request.headers.get('x-a'), text.length], {
          status: 201, headers: { 'x-was': 'there' },
        });
      `),
      custom('api.example.com', 'example.com'),
    );
    const fn = await host.load(
      fetching('https://api.example.com/a?b', '{ method: "PUT", body: request.body, headers: { "x-a": "1" } }'),
      { routes: ['www.example.com/*'] },
    );
    const event = nextInvocation(host, ({ function: name }) => name === fn.name);
    const response = await fn.fetch('https://www.example.com/', { method: 'POST', body: 'x'.repeat(300_000) });
    t.is(response.status, 201);
    t.is(response.headers.get('x-was'), 'there');
    t.deepEqual(await response.json(), ['PUT', 'https://api.example.com/a?b', 'api.example.com', '1', 300_000]);
    t.is((await event).subrequests, 1);
  });

  test(`long and encoded bodies come as they would over the network (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const zipped = gzipSync('zipped').toString('base64');
    await host.load(
      handler(`
        if (request.url.endsWith('/long')) return new Response('y'.repeat(2_000_000));
        const bytes = Uint8Array.from(atob('${zipped}'), character => character.charCodeAt(0));
        return new Response(bytes, { headers: { 'content-encoding': 'gzip' } });
      `),
      custom('api.example.com'),
    );
    const source = handler(
      'return new Response((await fetch("https://api.example.com" + new URL(request.url).pathname)).body)',
    );
    const fn = await host.load(source);
    t.is((await textOf(fn.fetch('http://x/long'))).length, 2_000_000);
    t.is(await textOf(fn.fetch('http://x/zipped')), 'zipped');
  });
}

const THREADS = { isolation: 'thread' } as const;

test('what goes wrong at the other function is a page, as for any client', async t => {
  const host = newHost(t, THREADS);
  await host.load(handler('throw new Error("inside")'), custom('api.example.com'));
  const fn = await host.load(fetching('https://api.example.com/', '{ headers: { accept: "application/json" } }'));
  const response = await fn.fetch('http://x/');
  t.is(response.status, 500);
  const text = await response.text();
  t.true(text.includes('EDGE_HANDLER_THREW'));
  t.false(text.includes('inside'));
});

test('a redirect to a custom domain is followed there, and counts', async t => {
  const host = newHost(t, {
    ...THREADS,
    outbound: request =>
      request.url.includes('away') ? Response.redirect('https://api.example.com/', 302) : undefined,
  });
  await host.load(handler('return new Response("here")'), custom('api.example.com'));
  const fn = await host.load(fetching('https://away.example/'));
  const event = nextInvocation(host, ({ function: name }) => name === fn.name);
  t.is(await textOf(fn.fetch('http://x/')), 'here');
  t.is((await event).subrequests, 2);
});

test('functions that fetch each other in a loop end with EDGE_LOOP', async t => {
  const host = newHost(t, THREADS);
  let invocations = 0;
  host.on('invocation', () => invocations++);
  const fn = await host.load(fetching('https://loop.example.com/'), custom('loop.example.com'));
  t.like(JSON.parse(await textOf(fn.fetch('https://loop.example.com/'))), { code: 'EDGE_LOOP' });
  t.is(invocations <= 17, true, String(invocations));
});

test('a tree of fetches ends, however wide it is', async t => {
  const host = newHost(t, { ...THREADS, limits: { cpuMs: 60_000 } });
  let invocations = 0;
  host.on('invocation', () => invocations++);
  const wide = handler(`
    const all = await Promise.all([1, 2, 3].map(() => fetch('https://loop.example.com/').then(response => response.text(), error => error.code)));
    return new Response(all.join(' ').slice(0, 1000));
  `);
  const fn = await host.load(wide, custom('loop.example.com'));
  t.true((await textOf(fn.fetch('https://loop.example.com/'))).includes('EDGE_LOOP'));
  t.true(invocations <= 1 + 3 * 100, String(invocations));
});

const DENIED = 'EDGE_EGRESS_DENIED';

test('a domain of another account is reached where the owner of the host has given it the name, and nowhere else', async t => {
  const asked: string[] = [];
  // In place of the network, which these names are not looked up in.
  const resolve = (name: string) => {
    asked.push(name);
    return Promise.resolve(['127.0.0.1']);
  };
  const host = newHost(t, { ...THREADS, egress: { resolve } });
  const given = host.account('given', { zones: ['given.example'] });
  await given.load(handler('return new Response("given")'), custom('api.given.example'));
  // Its customer has written a route for a name that is not its own.
  await host.account('thief').load(handler('return new Response("stolen")'), custom('api.bank.example'));
  const caller = host.account('caller');
  const fetchOf = async (url: string): Promise<string> =>
    textOf((await caller.load(fetching(url), { name: 'f' })).fetch('http://x/'));
  t.is(await fetchOf('https://api.given.example/'), 'given');
  t.deepEqual(asked, []);
  t.like(JSON.parse(await fetchOf('https://api.bank.example/')), { code: DENIED });
  t.deepEqual(asked, ['api.bank.example']);
});

test('neither a route without customDomain nor one with a wildcard takes what functions fetch', async t => {
  const resolve = () => Promise.resolve(['127.0.0.1']);
  const host = newHost(t, { ...THREADS, egress: { resolve } });
  await host.load(handler('return new Response("plain")'), { routes: ['plain.example/*'] });
  await host.load(handler('return new Response("any")'), {
    routes: [
      { pattern: '*/*', customDomain: true },
      { pattern: '*.wild.example/*', customDomain: true },
    ],
  });
  for (const name of ['plain.example', 'x.wild.example', 'else.example']) {
    const fn = await host.load(fetching(`https://${name}/`), { name: 'f' });
    t.like(JSON.parse(await textOf(fn.fetch('http://x/'))), { code: DENIED }, name);
  }
});

test('the limits of the function that is fetched hold, not those of the caller', async t => {
  const host = newHost(t, THREADS);
  const served = host.account('served', { plan: 'free', limits: { requestsPerMinute: 1 }, zones: ['served.example'] });
  await served.load(handler('return new Response("served")'), custom('served.example'));
  const fn = await host.account('caller').load(fetching('https://served.example/'));
  t.is(await textOf(fn.fetch('http://x/')), 'served');
  t.is((await fn.fetch('http://x/')).status, 429);
});

test('outbound goes before the router, and lets a request go on with its body by answering undefined', async t => {
  const seen: string[] = [];
  const host = newHost(t, {
    ...THREADS,
    outbound: async request => {
      seen.push(`${request.method} ${request.url}`);
      if (request.url.endsWith('/read')) await request.text();
      return request.url.endsWith('/own') ? new Response('own') : undefined;
    },
  });
  await host.load(handler('return new Response("echo " + (await request.text()))'), custom('api.example.com'));
  const source = handler(`
    const path = new URL(request.url).pathname;
    const init = path === '/stream' || path === '/read' ? { method: 'POST', body: new Blob(['streamed']).stream().pipeThrough(new TransformStream()), duplex: "half" } : { method: 'POST', body: 'bytes' };
    return fetch("https://api.example.com" + path, init).catch(error => new Response(error.code ?? String(error)));
  `);
  const fn = await host.load(source);
  t.is(await textOf(fn.fetch('http://x/own')), 'own');
  t.is(await textOf(fn.fetch('http://x/bytes')), 'echo bytes');
  t.is(await textOf(fn.fetch('http://x/stream')), 'echo streamed');
  t.is(await textOf(fn.fetch('http://x/read')), 'EDGE_EGRESS_FAILED');
  t.is(seen.length, 4);
});
