import test from 'ava';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from './new-host.js';

for (const isolation of ISOLATIONS) {
  test(`fetch() carries method, URL, headers and body both ways (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(
      handler(`return new Response(await request.text() + request.method + request.url, {
        status: 201, statusText: 'Made', headers: [['x-a', request.headers.get('x-a')], ['set-cookie', 'a=1'], ['set-cookie', 'b=2']] })`),
    );
    const response = await fn.fetch('http://x/p?q=ü#h', { method: 'POST', body: 'body ', headers: { 'x-a': 'é' } });
    t.is(response.status, 201);
    t.is(response.statusText, 'Made');
    t.is(response.headers.get('x-a'), 'é');
    t.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
    t.is(await response.text(), 'body POSThttp://x/p?q=%C3%BC');
  });

  test(`fetch() streams a large body through the function whole (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(handler('return new Response(request.body)'));
    const bytes = Buffer.alloc(5_000_000, 'abcdefg');
    const response = await fn.fetch('http://x/', { method: 'POST', body: bytes });
    t.true(Buffer.from(await response.arrayBuffer()).equals(bytes));
  });

  test(`fetch() hands out chunks whose buffers hold nothing else (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(handler('return new Response(request.body)'));
    const bytes = Buffer.alloc(2_000_000, 'abcdefg');
    const responses = await Promise.all([1, 2].map(() => fn.fetch('http://x/', { method: 'POST', body: bytes })));
    for (const { body } of responses) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body ?? []) {
        t.is(chunk.buffer.byteLength, chunk.byteLength);
        // Who gets a chunk may give its buffer away while the rest is on its way.
        chunks.push(structuredClone(chunk, { transfer: [chunk.buffer] }));
      }
      t.true(Buffer.concat(chunks).equals(bytes));
    }
  });

  test(`fetch() streams through guest code with backpressure (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(
      handler(`
        const { readable, writable } = new TransformStream({ transform(chunk, c) { c.enqueue(chunk.map(byte => byte ^ 1)) } });
        request.body.pipeTo(writable);
        return new Response(readable);`),
    );
    let produced = 0;
    const source = new ReadableStream({
      pull(controller) {
        produced += 65_536;
        controller.enqueue(new Uint8Array(65_536));
        if (produced >= 64 * 1024 * 1024) controller.close();
      },
    });
    const response = await fn.fetch(new Request('http://x/', { method: 'POST', body: source, duplex: 'half' }));
    const reader = response.body?.getReader();
    const first = await reader?.read();
    t.is(first?.value?.[0], 1);
    // The body is not read any further: the bytes under way fit the windows of the channel and the queues of a few streams.
    await new Promise(resolve => setTimeout(resolve, 300));
    t.true(produced < 8 * 1024 * 1024, `${produced} bytes were taken from the source`);
    await reader?.cancel();
  });

  test(`fetch() rejects with EDGE_HANDLER_THREW when the handler throws (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load('export default {\n  fetch() {\n    throw new RangeError("no");\n  }\n}', {
      name: 'thrower',
    });
    const event = nextInvocation(host);
    await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_HANDLER_THREW', message: /threw RangeError: no/ });
    const { outcome, error } = await event;
    t.is(outcome, 'exception');
    t.regex(error?.stack ?? '', /thrower\.js:3:11/);
    t.notRegex(error?.stack ?? '', /node:|file:/);
  });

  test(`fetch() rejects with EDGE_NO_RESPONSE when the handler answers with something else (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(handler('return { status: 200 }'));
    await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_NO_RESPONSE', message: /returned no Response/ });
  });

  test(`fetch() aborts the function's request when its signal fires (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(
        `await new Promise(resolve => request.signal.addEventListener('abort', resolve)); console.log('aborted')`,
      ),
    );
    const controller = new AbortController();
    const logged = new Promise<string>(resolve => host.once('log', event => resolve(event.message)));
    const event = nextInvocation(host);
    const promise = fn.fetch(new Request('http://x/', { signal: controller.signal }));
    await new Promise(resolve => setImmediate(resolve));
    controller.abort(new Error('enough'));
    await t.throwsAsync(promise, { message: 'enough' });
    t.is(await logged, 'aborted');
    t.is((await event).outcome, 'canceled');
  });

  test(`waitUntil() goes on after the response, and its log lines come (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(
        `ctx.waitUntil(scheduler.wait(20).then(() => console.warn('late', { a: 1 }))); return new Response('now')`,
      ),
    );
    const event = nextInvocation(host);
    const log = new Promise(resolve => host.once('log', resolve));
    t.is(await textOf(fn.fetch('http://x/')), 'now');
    t.like(await log, { level: 'warn', message: 'late { a: 1 }', function: 'function', account: 'default' });
    t.like(await event, { outcome: 'ok', status: 200, logLines: 1, kind: 'fetch', method: 'GET', url: 'http://x/' });
  });

  test(`a response whose stream fails breaks the body, not the host (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(
      handler(
        `return new Response(new ReadableStream({ async pull(c) { c.enqueue(new Uint8Array(10)); await scheduler.wait(5); c.error(new Error('broken')) } }))`,
      ),
    );
    const response = await fn.fetch('http://x/');
    await t.throwsAsync(response.text(), { code: 'EDGE_RESPONSE_STREAM' });
    t.is((await fn.fetch('http://x/')).status, 200);
  });

  test(`globals of an isolate persist between requests (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(
      'let n = 0; export default { fetch() { return new Response(String(++n)) } }',
    );
    t.is(await textOf(fn.fetch('http://x/')), '1');
    t.is(await textOf(fn.fetch('http://x/')), '2');
  });

  test(`a bucket binding stores what host.bucket() reads (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        if (request.method === 'PUT') {
          const object = await env.FILES.put('a/b', request.body, { httpMetadata: request.headers, customMetadata: { x: 'y' } });
          return Response.json(object.checksums);
        }
        const object = await env.FILES.get('a/b');
        const headers = new Headers({ etag: object.httpEtag });
        object.writeHttpMetadata(headers);
        return new Response(object.body, { headers });`),
      { buckets: { FILES: 'files' } },
    );
    const bytes = Buffer.alloc(200_000, 'x');
    const put = await fn.fetch('http://x/', { method: 'PUT', body: bytes, headers: { 'content-type': 'text/x' } });
    t.is(JSON.parse(await put.text()).md5.length, 32);
    const got = await fn.fetch('http://x/');
    t.is(got.headers.get('content-type'), 'text/x');
    t.true(Buffer.from(await got.arrayBuffer()).equals(bytes));
    const object = await host.bucket('files').get('a/b');
    t.is(object?.size, 200_000);
    t.deepEqual(object?.customMetadata, { x: 'y' });
  });
}

test('host.fetch() finds the function by route, the most specific first', async t => {
  const host = newHost(t);
  await host.load(handler('return new Response("all")'), { name: 'all', routes: ['example.com/*'] });
  await host.load(handler('return new Response("api")'), {
    name: 'api',
    routes: ['example.com/api/*', '*.example.com/api/*'],
  });
  t.is(await textOf(host.fetch('https://example.com/api/1')), 'api');
  t.is(await textOf(host.fetch('https://example.com/other')), 'all');
  t.is(await textOf(host.fetch('https://a.example.com/api/x')), 'api');
  await t.throwsAsync(host.fetch('https://a.example.com/other'), { code: 'EDGE_NO_ROUTE' });
});

test('outbound gets every request of a function and answers it', async t => {
  const host = newHost(t, {
    outbound: async (request, caller) =>
      Response.json([request.method, request.url, await request.text(), caller.function]),
  });
  const fn = await host.load(handler('return fetch("https://api.example/x", { method: "POST", body: request.body })'), {
    name: 'caller',
  });
  const response = await fn.fetch('http://x/', { method: 'POST', body: 'payload' });
  t.deepEqual(JSON.parse(await response.text()), ['POST', 'https://api.example/x', 'payload', 'caller']);
});

test('scheduled() runs the handler to its end', async t => {
  const host = newHost(t);
  const fn = await host.load(
    `export default { async scheduled(controller, env, ctx) { console.log(controller.cron, controller.scheduledTime) } }`,
  );
  const log = new Promise(resolve => host.once('log', resolve));
  const event = nextInvocation(host);
  await fn.scheduled({ cron: '* * * * *', scheduledTime: new Date(5) });
  t.like(await log, { message: '* * * * * 5' });
  t.like(await event, { kind: 'scheduled', outcome: 'ok' });
});
