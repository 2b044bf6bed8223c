import { createHash } from 'node:crypto';
import test from 'ava';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { HostOpens } from '../../../src/protocol/messages.js';
import { ServiceId } from '../../../src/quotas/service-calls.js';
import { IGNORES_ALL } from '../../pool/host/fake-isolate.js';
import { createGuest, handler, inGuest, readBody } from '../guest.js';

const OK = { status: 200, statusText: 'OK', headers: ['X-A', '1'], url: 'https://o.example/', redirected: false };

test('fetch() calls the service with method, URL, redirect mode and headers', async t => {
  let head: unknown;
  await inGuest(
    t,
    `await fetch('https://o.example/x', { method: 'put', redirect: 'manual', headers: { 'X-B': 'é' }, body: 'data' })`,
    {
      onCall: call => {
        head = call.head;
        t.is(call.body, 'data');
        call.exchange.reply(200, JSON.stringify(OK), true, null, true);
      },
    },
  );
  t.deepEqual(head, {
    method: 'fetch',
    args: {
      method: 'PUT',
      url: 'https://o.example/x',
      redirect: 'manual',
      headers: ['x-b', 'é', 'content-type', 'text/plain;charset=UTF-8'],
    },
  });
});

test('fetch() resolves with status, headers, URL and body', async t => {
  const seen = await inGuest(
    t,
    `const r = await fetch('https://o.example/'); return [r.status, r.url, r.redirected, [...r.headers], await r.text()]`,
    {
      onCall: ({ exchange }) =>
        exchange.reply(200, JSON.stringify({ ...OK, status: 404, redirected: true }), true, 'gone', true),
    },
  );
  t.deepEqual(seen, [404, 'https://o.example/', true, [['x-a', '1']], 'gone']);
});

test('fetch() leaves out the headers of a content coding that was taken off', async t => {
  const headers = ['content-encoding', 'gzip', 'content-length', '5', 'etag', '"x"'];
  const seen = await inGuest(t, `return [...(await fetch('https://o.example/')).headers]`, {
    onCall: ({ exchange }) => exchange.reply(200, JSON.stringify({ ...OK, headers, decoded: true }), true, null, true),
  });
  t.deepEqual(seen, [['etag', '"x"']]);
});

const DIGESTS = Object.fromEntries(
  ['sha256', 'sha384', 'sha512'].map(name => [name, createHash(name).update('gone').digest('base64')]),
);
const { sha256 = '', sha384 = '', sha512 = '' } = DIGESTS;
const WRONG = createHash('sha512').update('here').digest('base64');

for (const [what, integrity, isRight] of [
  ['the digest of the body', `sha256-${sha256}`, true],
  [
    'a digest in base64url without padding',
    `sha512-${sha512.replace(/[+/=]/g, c => ({ '+': '-', '/': '_' })[c] ?? '')}`,
    true,
  ],
  ['a digest with options, between white space', ` \n\tsha384-${sha384}?x  `, true],
  ['several digests of one strength', `sha512-${WRONG} sha512-${sha512}`, true],
  ['nothing that is known', 'md5-x sha1-x sha256 x', true],
  ['another digest', `sha512-${WRONG}`, false],
  ['a stronger digest that is wrong', `sha256-${sha256} sha512-${WRONG}`, false],
  ['no digest', 'sha256-x', false],
] as const) {
  test(`fetch() ${isRight ? 'resolves' : 'rejects'} when its integrity is ${what}`, async t => {
    const run = `return fetch('https://o.example/', { integrity: ${JSON.stringify(integrity)} }).then(r => r.text(), e => e.name);`;
    const onCall = ({ exchange }: { exchange: Exchange }): void =>
      exchange.reply(200, JSON.stringify(OK), true, 'gone', true);
    t.is(await inGuest(t, run, { onCall }), isRight ? 'gone' : 'TypeError');
  });
}

test('fetch() compares the integrity of data: URLs and of bodies that come in chunks, and has none without a body', async t => {
  const run = `const ask = (url, init) => fetch(url, { integrity: 'sha256-${sha256}', ...init }).then(r => r.text(), e => e.name);
    return [await ask('data:,gone'), await ask('data:,here'), await ask('https://o.example/'), await ask('https://o.example/', { method: 'HEAD' })];`;
  const onCall = ({ exchange }: { exchange: Exchange }): void => {
    exchange.reply(200, JSON.stringify(OK), true, null, false);
    exchange.write(Buffer.from('go'));
    exchange.write(Buffer.from('ne'));
    exchange.end();
  };
  t.deepEqual(await inGuest(t, run, { onCall }), ['gone', 'TypeError', 'gone', 'TypeError']);
});

test('fetch() reads a streamed body chunk by chunk', async t => {
  const read = `let n = 0; for await (const chunk of (await fetch('https://o.example/')).body) n += chunk.length; return n`;
  const seen = await inGuest(t, read, {
    onCall: ({ exchange }) => {
      exchange.reply(200, JSON.stringify(OK), true, null, false);
      exchange.write(Buffer.alloc(70_000));
      exchange.write(Buffer.alloc(10));
      exchange.end();
    },
  });
  t.is(seen, 70_010);
});

test('fetch() sends a streamed body', async t => {
  let sent = '';
  const body = `new ReadableStream({ start(c) { for (const part of ['a', 'b', 'c']) c.enqueue(new TextEncoder().encode(part)); c.close(); } })`;
  await inGuest(t, `await fetch('https://o.example/', { method: 'POST', duplex: 'half', body: ${body} })`, {
    onCall: async ({ exchange }) => {
      sent = await readBody(exchange);
      exchange.reply(200, JSON.stringify(OK), true, null, true);
    },
  });
  t.is(sent, 'abc');
});

test('fetch() pipes the body of the incoming request', async t => {
  const onCall = async ({ exchange }: { exchange: Parameters<typeof readBody>[0] }): Promise<void> => {
    const text = await readBody(exchange);
    exchange.reply(200, JSON.stringify(OK), true, `echo ${text}`, true);
  };
  const guest = await createGuest(
    t,
    handler(`return fetch('https://o.example/', { method: 'POST', body: request.body, duplex: 'half' })`),
    { onCall },
  );
  t.is((await guest.fetch({ method: 'POST', body: ['x', 'y'] })).body, 'echo xy');
});

test('fetch() rejects with the error of the service', async t => {
  const seen = await inGuest(
    t,
    `try { await fetch('https://o.example/') } catch (e) { return [e.name, e.message, e.code, e instanceof TypeError] }`,
    {
      onCall: ({ exchange }) => exchange.fail('TypeError\nrefused by policy\nEDGE_X'),
    },
  );
  t.deepEqual(seen, ['TypeError', 'refused by policy', 'EDGE_X', true]);
});

test('fetch() rejects the reading of a body that failed', async t => {
  const read = `const r = await fetch('https://o.example/'); try { await r.text() } catch (e) { return [e.name, e.message] }`;
  const seen = await inGuest(t, read, {
    onCall: ({ exchange }) => {
      exchange.reply(200, JSON.stringify(OK), true, null, false);
      setImmediate(() => exchange.fail('TypeError\nconnection reset\n'));
    },
  });
  t.deepEqual(seen, ['TypeError', 'connection reset']);
});

test('fetch() rejects the closed promise of a body that failed when nobody reads it', async t => {
  const run = `const r = await fetch('https://o.example/'); const reader = r.body.getReader(); await reader.read();
    try { await reader.closed } catch (e) { return [e instanceof TypeError, e.message, e.code] }`;
  const seen = await inGuest(t, run, {
    onCall: ({ exchange }) => {
      exchange.reply(200, JSON.stringify(OK), true, null, false);
      exchange.write(Buffer.from('first'));
      setImmediate(() => exchange.fail('EdgeError\nconnection reset\nEDGE_EGRESS_FAILED'));
    },
  });
  t.deepEqual(seen, [true, 'connection reset', 'EDGE_EGRESS_FAILED']);
});

test('request.body fails when the client goes away and nobody reads it', async t => {
  const script = `addEventListener('fetch', event => {
    const reader = event.request.body.getReader();
    event.waitUntil(reader.closed.catch(error => console.log('closed', error instanceof Error)));
    event.respondWith(new Promise(() => {}));
  });`;
  const guest = await createGuest(t, script);
  const logged = new Promise<string>(resolve => {
    const exchange = guest.handle.invoke(HostOpens.Fetch, 'POST\nhttps://example.com/', false, null, false, {
      ...IGNORES_ALL,
      onLog: (_level, text) => resolve(text),
    });
    exchange.write(Buffer.from('half'));
    setImmediate(() => exchange.fail('Error\nthe client is gone\n'));
  });
  t.is(await logged, 'closed true');
});

test('fetch() rejects with the reason of its signal when that aborts', async t => {
  const run = `const c = new AbortController(); const p = fetch('https://o.example/', { signal: c.signal }); c.abort('why'); try { await p } catch (e) { return e }`;
  t.is(await inGuest(t, run, { onCall: () => {} }), 'why');
});

test('fetch() fails the body of the answer when its signal aborts', async t => {
  const run = `const c = new AbortController(); const r = await fetch('https://o.example/', { signal: c.signal });
    const p = r.text(); setTimeout(() => c.abort(), 1); try { await p } catch (e) { return e.name }`;
  const onCall = ({ exchange }: { exchange: Parameters<typeof readBody>[0] }): void =>
    exchange.reply(200, JSON.stringify(OK), true, null, false);
  t.is(await inGuest(t, run, { onCall }), 'AbortError');
});

test('fetch() reads data: URLs without the service', async t => {
  const run = `const r = await fetch('data:text/html;base64,PGI+'); return [r.headers.get('content-type'), await r.text()]`;
  t.deepEqual(await inGuest(t, run), ['text/html', '<b>']);
});

test('bucket binding calls its service', async t => {
  const calls: unknown[] = [];
  const seen = await inGuest(t, `await FILES.put('k', 'v'); return FILES.get('missing')`, {
    bindings: [{ name: 'FILES', service: ServiceId.Bucket }],
    onCall: ({ service, head, body, exchange }) => {
      calls.push([service, head.method, head.binding, head.args, body]);
      exchange.reply(200, 'null', true, null, true);
    },
  });
  t.is(seen, null);
  t.deepEqual(calls, [
    [1, 'put', 'FILES', { key: 'k' }, 'v'],
    [1, 'get', 'FILES', { key: 'missing' }, ''],
  ]);
});
