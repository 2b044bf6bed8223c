/** Bodies whose length was announced and that end before it: nothing takes a part of a body for all of it. */
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHost } from '../../../src/index.js';
import { handler, ISOLATIONS, type Isolation, newHost, nextInvocation } from '../new-host.js';
import { bytesOf, overBoth } from '../protocols.js';

/** More than the first window, so that it travels as a stream. */
const ANNOUNCED = 200_000;
const SENT = 150_000;

function short(): ReadableStream<Uint8Array> {
  return ReadableStream.from([Buffer.alloc(SENT / 2, 1), Buffer.alloc(SENT / 2, 2)]);
}

function shortRequest(method: string): Request {
  const headers = { 'content-length': String(ANNOUNCED) };
  return new Request('http://x/', { method, headers, body: short(), duplex: 'half' });
}

const BINDINGS = { buckets: { FILES: 'files' }, kv: { VALUES: 'values' } };

function storing(
  t: ExecutionContext,
  isolation: Isolation,
  code: string,
): Promise<{ host: EdgeHost; fn: EdgeFunction }> {
  const host = newHost(t, { isolation });
  return host.load(handler(code), BINDINGS).then(fn => ({ host, fn }));
}

const ANSWER = `new Response(new ReadableStream({
  pull(controller) { controller.enqueue(new Uint8Array(${SENT})); controller.close(); }
}), { headers: { 'content-length': '${ANNOUNCED}' } })`;

for (const isolation of ISOLATIONS) {
  for (const [what, put] of [
    ['a bucket', 'env.FILES.put("key", request.body)'],
    ['a namespace', 'env.VALUES.put("key", request.body)'],
    [
      'a multipart upload',
      'env.FILES.createMultipartUpload("key").then(upload => upload.uploadPart(1, request.body)).then(part => globalThis.part = part)',
    ],
    [
      'a cache',
      'caches.default.put("https://c.example/key", new Response(request.body, { headers: { "cache-control": "max-age=60" } }))',
    ],
  ] as const) {
    test(`put() of ${what} stores nothing of a request that is shorter than its Content-Length (${isolation})`, async t => {
      const { host, fn } = await storing(
        t,
        isolation,
        `if (request.method === 'PUT') { await ${put}; return new Response('stored'); }
         const kept = await caches.default.match('https://c.example/key');
         return new Response(String(kept !== undefined || globalThis.part !== undefined));`,
      );
      await t.throwsAsync(fn.fetch(shortRequest('PUT')), { code: 'EDGE_REQUEST_MALFORMED', message: /200000.*150000/ });
      t.is(await host.bucket('files').get('key'), null);
      t.is(await host.kv('values').get('key'), null);
      t.is(await (await fn.fetch('http://x/')).text(), 'false');
    });
  }

  test(`fetch() fails a response that is shorter than its Content-Length (${isolation})`, async t => {
    const { fn } = await storing(t, isolation, `return ${ANSWER};`);
    const response = await fn.fetch('http://x/');
    await t.throwsAsync(response.arrayBuffer(), { code: 'EDGE_RESPONSE_HEADER' });
  });

  test(`a service binding fails an answer that is shorter than its Content-Length (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    await host.load(handler(`return ${ANSWER};`), { name: 'called' });
    const fn = await host.load(
      handler(`
        const answer = await env.CALLED.fetch('http://x/');
        return new Response(await answer.arrayBuffer().then(bytes => 'read ' + bytes.byteLength, () => 'failed'));`),
      { services: { CALLED: 'called' } },
    );
    t.is(await (await fn.fetch('http://x/')).text(), 'failed');
  });

  test(`an object that is passed on is answered with its length (${isolation})`, async t => {
    const { host, fn } = await storing(
      t,
      isolation,
      `const range = { offset: 1, length: ${ANNOUNCED - 1} };
       if (request.url.endsWith('/kv')) return new Response(await env.VALUES.get('key', 'stream'));
       return new Response((await env.FILES.get('key', { range })).body);`,
    );
    const body = Buffer.alloc(ANNOUNCED, 3);
    await host.bucket('files').put('key', body);
    await host.kv('values').put('key', body);
    const ofObject = await fn.fetch('http://x/');
    t.is(ofObject.headers.get('content-length'), String(ANNOUNCED - 1));
    t.is((await ofObject.arrayBuffer()).byteLength, ANNOUNCED - 1);
    const ofValue = await fn.fetch('http://x/kv');
    t.is(ofValue.headers.get('content-length'), String(ANNOUNCED));
    t.is((await ofValue.arrayBuffer()).byteLength, ANNOUNCED);
  });
}

overBoth('listener() breaks off a response that is shorter than its Content-Length', async (t, { listen, open }) => {
  const host = newHost(t);
  await host.load(handler(`return ${ANSWER};`), { routes: ['*/*'] });
  const answer = await open(await listen(t, host.listener())).answer;
  await t.throwsAsync(bytesOf(answer), { message: /aborted|closed with error code NGHTTP2_INTERNAL_ERROR/ });
});

for (const headers of [{ 'content-length': String(ANNOUNCED) }, {}]) {
  const length = 'content-length' in headers ? 'a length' : 'no length';
  overBoth(
    `listener() stores nothing of a request with ${length} whose client goes before its end`,
    async (t, { listen, open }) => {
      const host = newHost(t);
      await host.load(handler(`await env.FILES.put('key', request.body); return new Response('stored');`), {
        ...BINDINGS,
        routes: ['*/*'],
      });
      const over = nextInvocation(host);
      const { body, leave } = open(await listen(t, host.listener()), { method: 'PUT', headers });
      body.write(Buffer.alloc(SENT), () => leave());
      t.is((await over).outcome, 'canceled');
      t.is(await host.bucket('files').get('key'), null);
    },
  );
}
