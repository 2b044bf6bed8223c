/** EventSource in a function, over its network and over a fetcher. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { ISOLATIONS, newHost, sharedHost, textOf } from '../new-host.js';

/** Collects events until the source has closed for good or `count` events have come. */
const COLLECT = `
  const collect = (source, count, types = ['message']) => new Promise(resolve => {
    const seen = [];
    const add = entry => { seen.push(entry); if (seen.length === count) { source.close(); resolve(seen); } };
    source.onopen = () => add('open');
    source.onerror = event => add(['error', source.readyState, event instanceof ErrorEvent]);
    for (const type of types) source.addEventListener(type, event => add([event.type, event.data, event.lastEventId, event.origin]));
  });`;

const inFetch = (code: string): string => `${COLLECT} export default { async fetch(request, env, ctx) { ${code} } };`;

for (const isolation of ISOLATIONS) {
  test(`EventSource reads the events of a server, and asks again with the last id when they end (${isolation})`, async t => {
    const asked: (string | undefined)[][] = [];
    const server = createServer((request, response) => {
      const { accept, 'last-event-id': id } = request.headers;
      asked.push([request.url, accept, typeof id === 'string' ? id : undefined]);
      response.setHeader('content-type', 'text/event-stream; charset=utf-8');
      if (asked.length === 1)
        response.end('retry: 1\n\n: comment\nid: 7\ndata: one\ndata: two\n\nevent: own\ndata\n\ndata: lost');
      else response.write('data: three\n\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
    const fn = await host.load(
      inFetch(`
        const source = new EventSource('${origin}/events');
        const before = [source.readyState, source.url, source.withCredentials];
        const seen = await collect(source, 6, ['message', 'own']);
        return Response.json([before, seen, source.readyState]);`),
    );
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      [0, `${origin}/events`, false],
      [
        'open',
        ['message', 'one\ntwo', '7', origin],
        ['own', '', '7', origin],
        ['error', 0, true],
        'open',
        ['message', 'three', '7', origin],
      ],
      2,
    ]);
    t.deepEqual(asked, [
      ['/events', 'text/event-stream', undefined],
      ['/events', 'text/event-stream', '7'],
    ]);
  });
}

const { load } = sharedHost();

test('EventSource ends for good with an answer that is no event stream', async t => {
  const fn = await load(
    inFetch(`
      const answers = [new Response(null, { status: 204 }), new Response('data: a\\n\\n'),
        new Response('x', { status: 500, headers: { 'content-type': 'text/event-stream' } }), 'text'];
      const all = [];
      for (const answer of answers) {
        const source = new EventSource('http://a/', { fetcher: { fetch: () => answer } });
        all.push(await collect(source, 1));
      }
      return Response.json(all);`),
  );
  t.deepEqual(
    JSON.parse(await textOf(fn.fetch('http://x/'))),
    Array.from({ length: 4 }, () => [['error', 2, true]]),
  );
});

test('EventSource.from() reads a stream once, whatever ends its lines and wherever its chunks end', async t => {
  const fn = await load(
    inFetch(`
      const text = '\\uFEFFdata: é\\r\\n\\r\\ndata:x\\rdata: y\\r\\rid: 1\\0\\nid\\nfoo: bar\\n:\\ndata\\n\\n';
      const bytes = new TextEncoder().encode(text);
      const stream = new ReadableStream({ start(c) { for (const byte of bytes) c.enqueue(new Uint8Array([byte])); c.close(); } });
      const source = EventSource.from(stream);
      return Response.json([source.readyState, source.url, await collect(source, 4)]);`),
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
    1,
    '',
    [
      ['message', 'é', '', ''],
      ['message', 'x\ny', '', ''],
      ['message', '', '', ''],
      ['error', 2, true],
    ],
  ]);
});

test('EventSource refuses what it cannot read, and close() ends the connection', async t => {
  const fn = await load(
    `let early; try { new EventSource('http://a/'); } catch (error) { early = error.message; }
    ${inFetch(`
      const refused = act => { try { act(); } catch (error) { return error.name; } };
      const all = [refused(() => new EventSource()), refused(() => new EventSource('/a')), refused(() => new EventSource('http://a/', { fetcher: 1 })),
        refused(() => new EventSource('http://a/', { withCredentials: true })), refused(() => EventSource.from('x')), refused(() => EventSource.prototype.url)];
      let cancelled;
      const ended = new Promise(resolve => { cancelled = resolve; });
      const source = EventSource.from(new ReadableStream({ cancel: cancelled }));
      source.close();
      source.close();
      return Response.json([early, all, (await ended).name, source.readyState]);`)}`,
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
    'new EventSource() is not allowed in the global scope of a function, because no event is being handled yet. Move it into a handler.',
    ['TypeError', 'SyntaxError', 'TypeError', 'NotSupportedError', 'TypeError', 'TypeError'],
    'AbortError',
    2,
  ]);
});
