import { once } from 'node:events';
import { createServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import test from 'ava';

import { createEgress } from '../../../src/bindings/egress/egress.js';
import { egressService } from '../../../src/bindings/egress/egress-service.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import {
  addressOf,
  headerOf,
  outgoing,
  readRequest,
  readText,
  redirecting,
  startEgress,
  startOrigin,
} from './origin-server.js';

test('fetch() answers with status, text, headers and body of the server', async t => {
  const origin = await startOrigin(t, (_request, response) => {
    response.writeHead(201, 'Made', { 'x-a': 'caf\u00e9', 'set-cookie': ['a=1', 'b=2'] }).end('hello');
  });
  const response = await startEgress(t).fetch(outgoing(origin.url));
  t.is(response.status, 201);
  t.is(response.statusText, 'Made');
  t.is(headerOf(response, 'x-a'), 'caf\u00e9');
  t.is(response.headers.filter(name => name.toLowerCase() === 'set-cookie').length, 2);
  t.is(response.url, origin.url);
  t.false(response.redirected);
  t.is(await readText(response), 'hello');
});

test('fetch() sends method, headers, query and whole bodies', async t => {
  const origin = await startOrigin(t, async (request, response) => {
    const body = await readRequest(request);
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
  });
  const egress = startEgress(t);
  const response = await egress.fetch(
    outgoing(`${origin.url}a?b=c#d`, { method: 'post', headers: ['X-A', '1', 'x-a', '2'], body: Buffer.from('data') }),
  );
  const seen = JSON.parse(await readText(response));
  t.is(seen.method, 'POST');
  t.is(seen.url, '/a?b=c');
  t.is(seen.headers['x-a'], '1, 2');
  t.is(seen.headers['content-length'], '4');
  t.is(seen.headers['user-agent'], 'edgehost');
  t.is(seen.headers['accept-encoding'], 'gzip, deflate, br');
  t.is(seen.body, 'data');
});

test('fetch() streams a request body, with the length that the function gave', async t => {
  const origin = await startOrigin(t, async (request, response) => {
    response.end(
      `${request.headers['content-length']} ${request.headers['transfer-encoding']} ${await readRequest(request)}`,
    );
  });
  const egress = startEgress(t);
  async function* body() {
    yield Buffer.from('ab');
    yield Buffer.from('cd');
  }
  const chunked = await egress.fetch(outgoing(origin.url, { method: 'POST', body: body() }));
  t.is(await readText(chunked), 'undefined chunked abcd');
  const fixed = await egress.fetch(
    outgoing(origin.url, { method: 'POST', body: body(), headers: ['content-length', '4'] }),
  );
  t.is(await readText(fixed), '4 undefined abcd');
});

test('fetch() fails when a streamed body is not as long as the function said', async t => {
  const origin = await startOrigin(t, (_request, response) => response.end());
  async function* body() {
    yield Buffer.from('abcdef');
  }
  const request = outgoing(origin.url, { method: 'POST', body: body(), headers: ['content-length', '4'] });
  await t.throwsAsync(startEgress(t).fetch(request), { code: 'EDGE_EGRESS_FAILED' });
});

test('fetch() leaves out headers that belong to the connection', async t => {
  const origin = await startOrigin(t, (request, response) => response.end(JSON.stringify(request.headers)));
  const headers = [
    'host',
    'evil.example',
    'connection',
    'x-a',
    'transfer-encoding',
    'chunked',
    'expect',
    '100-continue',
  ];
  const more = [
    'te',
    'trailers',
    'upgrade',
    'h2c',
    'keep-alive',
    '1',
    'proxy-authorization',
    'a',
    'content-length',
    '9',
  ];
  const response = await startEgress(t).fetch(outgoing(origin.url, { headers: [...headers, ...more] }));
  const seen = JSON.parse(await readText(response));
  t.is(seen.host, new URL(origin.url).host);
  t.is(seen.connection, 'keep-alive');
  for (const name of ['transfer-encoding', 'expect', 'te', 'upgrade', 'proxy-authorization', 'content-length']) {
    t.is(seen[name], undefined, name);
  }
});

for (const [what, head] of Object.entries({
  'is missing': undefined,
  'has no URL': { method: 'GET', headers: [] },
  'has a relative URL': { method: 'GET', url: '/a', headers: [] },
  'has another scheme': { method: 'GET', url: 'file:///etc/passwd', headers: [] },
  'has credentials in the URL': { method: 'GET', url: 'http://a:b@127.0.0.1/', headers: [] },
  'has a URL without end': { method: 'GET', url: `http://127.0.0.1/${'a'.repeat(70_000)}`, headers: [] },
  'has a line break in the method': { method: 'GET / HTTP/1.1\r\nx: y', url: 'http://127.0.0.1/', headers: [] },
  'has the method CONNECT': { method: 'connect', url: 'http://127.0.0.1/', headers: [] },
  'has the method TRACE': { method: 'TRACE', url: 'http://127.0.0.1/', headers: [] },
  'has an object as its method': { method: {}, url: 'http://127.0.0.1/', headers: [] },
  'has headers that are no list': { method: 'GET', url: 'http://127.0.0.1/', headers: { a: 'b' } },
  'has a name without value': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a'] },
  'has a line break in a header': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a', 'b\r\nc: d'] },
  'has a line break in a header name': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a\r\nb', 'c'] },
  'has a NUL in a header': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a', '\0'] },
  'has a header beyond bytes': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a', '\u0100'] },
  'has a number as a header': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a', 1] },
  'has headers without end': { method: 'GET', url: 'http://127.0.0.1/', headers: ['a', 'b'.repeat(200_000)] },
  'has no redirect mode that is known': { method: 'GET', url: 'http://127.0.0.1/', headers: [], redirect: 'maybe' },
})) {
  test(`fetch() throws a TypeError when the head ${what}`, async t => {
    const request = { ...outgoing('http://127.0.0.1/'), head };
    await t.throwsAsync(startEgress(t).fetch(request), { instanceOf: TypeError });
  });
}

test('fetch() throws a TypeError and ends the body when a GET has one', async t => {
  let isEnded = false;
  const body = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false, value: Buffer.from('a') }) as const,
      return: async () => {
        isEnded = true;
        return { done: true, value: undefined } as const;
      },
    }),
  };
  await t.throwsAsync(startEgress(t).fetch(outgoing('http://127.0.0.1/', { body })), { instanceOf: TypeError });
  t.true(isEnded);
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`fetch() follows a ${status}`, async t => {
    const origin = await startOrigin(t, redirecting(status, '/there?a#b'));
    const response = await startEgress(t).fetch(outgoing(origin.url));
    t.is(response.status, 200);
    t.true(response.redirected);
    t.is(response.url, `${origin.url}there?a`);
    t.is(await readText(response), 'done');
  });
}

test('fetch() gives the redirect itself when the mode is manual', async t => {
  const origin = await startOrigin(t, redirecting(302, '/there'));
  const response = await startEgress(t).fetch(outgoing(origin.url, { redirect: 'manual' }));
  t.is(response.status, 302);
  t.is(headerOf(response, 'location'), '/there');
  t.false(response.redirected);
  t.is(await readText(response), 'moved');
});

test('fetch() fails on a redirect when the mode is error', async t => {
  const origin = await startOrigin(t, redirecting(302, '/there'));
  const fetching = startEgress(t).fetch(outgoing(origin.url, { redirect: 'error' }));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED' });
});

test('fetch() gives a redirect without Location as it is', async t => {
  const origin = await startOrigin(t, (_request, response) => response.writeHead(302).end('nowhere'));
  const response = await startEgress(t).fetch(outgoing(origin.url));
  t.is(response.status, 302);
  t.is(await readText(response), 'nowhere');
});

test('fetch() follows a Location of bytes that are no UTF-8', async t => {
  const origin = await startOrigin(t, (request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/\xc3\xa4?\xff' }).end();
    else response.end(request.url);
  });
  t.is(await readText(await startEgress(t).fetch(outgoing(origin.url))), '/%C3%A4?%FF');
});

for (const location of ['http://', 'ftp://127.0.0.1/', 'http://a:b@127.0.0.1/', 'data:,hello', 'file:///etc/passwd']) {
  test(`fetch() fails when redirected to ${location}`, async t => {
    const origin = await startOrigin(t, redirecting(302, location));
    await t.throwsAsync(startEgress(t).fetch(outgoing(origin.url)), { code: 'EDGE_EGRESS_FAILED' });
  });
}

test('fetch() follows 20 redirects and fails at the 21st', async t => {
  const origin = await startOrigin(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('done');
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const egress = startEgress(t);
  t.is(await readText(await egress.fetch(outgoing(`${origin.url}20`))), 'done');
  await t.throwsAsync(egress.fetch(outgoing(`${origin.url}21`)), {
    code: 'EDGE_EGRESS_FAILED',
    message: /redirects more than 20 times/,
  });
});

test('fetch() follows no more redirects than it is told', async t => {
  const origin = await startOrigin(t, redirecting(302, '/there'));
  const egress = startEgress(t);
  t.is((await egress.fetch(outgoing(origin.url, { redirects: 1 }))).status, 200);
  await t.throwsAsync(egress.fetch(outgoing(origin.url, { redirects: 0 })), { code: 'EDGE_EGRESS_FAILED' });
});

test('fetch() fails when an account has more sockets than it may, and other accounts do not', async t => {
  const origin = await startOrigin(t, () => {});
  const egress = startEgress(t, { allow: ['127.0.0.1'], socketsPerAccount: 2 });
  const stuck = [1, 2].map(() => egress.fetch(outgoing(origin.url)).catch(() => 'closed'));
  while (origin.requests.length < 2) await once(origin.server, 'request');
  const message = /2 sockets open, at most 2 .*egress\.socketsPerAccount/;
  await t.throwsAsync(egress.fetch(outgoing(origin.url)), { code: 'EDGE_EGRESS_FAILED', message });
  const other = egress.fetch(outgoing(origin.url, { account: 'other' })).catch(() => 'closed');
  await once(origin.server, 'request');
  await egress.close();
  t.deepEqual(await Promise.all([...stuck, other]), ['closed', 'closed', 'closed']);
});

test('fetch() frees sockets for the account when they close', async t => {
  const origin = await startOrigin(t, (_request, response) =>
    response.writeHead(200, { connection: 'close' }).end('ok'),
  );
  const egress = startEgress(t, { allow: ['127.0.0.1'], socketsPerAccount: 1 });
  for (let served = 0; served < 3; ) {
    // The socket of the request before is closed a moment after its body has ended.
    const response = await egress.fetch(outgoing(origin.url)).catch(() => undefined);
    if (response !== undefined && (await readText(response)) === 'ok') served++;
    await new Promise(resolve => setImmediate(resolve));
  }
  t.is(origin.requests.length, 3);
});

test('fetch() tells each hop before it is made, and ends with what the callback throws', async t => {
  const origin = await startOrigin(t, redirecting(302, '/there'));
  const hops: string[] = [];
  const onHop = (url: URL, hop: number): undefined => {
    hops.push(`${hop} ${url.pathname}`);
    if (hop === 1) throw new EdgeError('EDGE_SUBREQUEST_LIMIT', 'enough');
  };
  await t.throwsAsync(startEgress(t).fetch(outgoing(origin.url, { onHop })), { code: 'EDGE_SUBREQUEST_LIMIT' });
  t.deepEqual(hops, ['0 /', '1 /there']);
  t.is(origin.requests.length, 1);
});

for (const [status, method, expected] of [
  [301, 'POST', 'GET '],
  [302, 'POST', 'GET '],
  [302, 'PUT', 'PUT data'],
  [303, 'PUT', 'GET '],
  [307, 'POST', 'POST data'],
  [308, 'PUT', 'PUT data'],
] as const) {
  test(`fetch() sends ${expected} on after a ${status} for ${method}`, async t => {
    const origin = await startOrigin(t, async (request, response) => {
      const body = await readRequest(request);
      if (request.url === '/') response.writeHead(status, { location: '/there' }).end();
      else response.end(`${request.method} ${body} ${request.headers['content-type'] ?? 'none'}`);
    });
    const headers = ['content-type', 'text/plain'];
    const request = outgoing(origin.url, { method, headers, body: Buffer.from('data') });
    const type = expected.startsWith('GET') ? 'none' : 'text/plain';
    t.is(await readText(await startEgress(t).fetch(request)), `${expected} ${type}`);
  });
}

test('fetch() fails when a streamed body would have to be sent again', async t => {
  const origin = await startOrigin(t, redirecting(307, '/there'));
  async function* body() {
    yield Buffer.from('a');
  }
  const fetching = startEgress(t).fetch(outgoing(origin.url, { method: 'POST', body: body() }));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED', message: /streamed body/ });
});

test('fetch() keeps Authorization and Cookie from another origin', async t => {
  const second = await startOrigin(t, (request, response) => response.end(JSON.stringify(request.headers)));
  const first = await startOrigin(t, (_request, response) => response.writeHead(302, { location: second.url }).end());
  const headers = ['authorization', 'secret', 'Cookie', 'a=b', 'x-a', '1'];
  const response = await startEgress(t).fetch(outgoing(first.url, { headers }));
  const seen = JSON.parse(await readText(response));
  t.is(seen.authorization, undefined);
  t.is(seen.cookie, undefined);
  t.is(seen['x-a'], '1');
  t.is(first.requests[0]?.headers.authorization, 'secret');
});

for (const [coding, encode] of Object.entries({
  gzip: gzipSync,
  'x-gzip': gzipSync,
  GZIP: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  'gzip, br': (bytes: Buffer) => brotliCompressSync(gzipSync(bytes)),
})) {
  test(`fetch() decodes a body in ${coding}`, async t => {
    const text = 'hello '.repeat(10_000);
    const origin = await startOrigin(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end(encode(Buffer.from(text)));
    });
    const response = await startEgress(t).fetch(outgoing(origin.url));
    t.true(response.decoded);
    t.is(headerOf(response, 'content-encoding'), coding);
    t.is(await readText(response), text);
  });
}

test('fetch() decodes raw deflate, byte by byte', async t => {
  const text = 'hello '.repeat(100);
  const origin = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'deflate' });
    for (const byte of deflateRawSync(Buffer.from(text))) response.write(Buffer.of(byte));
    response.end();
  });
  t.is(await readText(await startEgress(t).fetch(outgoing(origin.url))), text);
});

test('fetch() hands a body in an unknown coding on as it is', async t => {
  const origin = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'rot13' }).end('uryyb');
  });
  const response = await startEgress(t).fetch(outgoing(origin.url));
  t.false(response.decoded);
  t.is(await readText(response), 'uryyb');
});

test('fetch() gives an empty body when an encoded one is empty', async t => {
  for (const coding of ['gzip', 'deflate', 'br']) {
    const origin = await startOrigin(t, (_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(),
    );
    t.is(await readText(await startEgress(t).fetch(outgoing(origin.url))), '', coding);
  }
});

for (const [status, method] of [
  [204, 'GET'],
  [304, 'GET'],
  [200, 'HEAD'],
] as const) {
  test(`fetch() gives no body for a ${status} to ${method}`, async t => {
    const origin = await startOrigin(t, (_request, response) => {
      response.writeHead(status, { 'content-encoding': 'gzip' }).end();
    });
    const response = await startEgress(t).fetch(outgoing(origin.url, { method }));
    t.is(response.status, status);
    t.is(response.body, null);
  });
}

test('fetch() fails when the server refuses, hangs up or talks nonsense', async t => {
  const server = createServer(socket => {
    socket.once('data', data => {
      if (data.includes('/nonsense')) socket.end('SSH-2.0-hello\r\n');
      else socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = addressOf(server);
  const egress = startEgress(t);
  await t.throwsAsync(egress.fetch(outgoing(`http://127.0.0.1:${port}/`)), { code: 'EDGE_EGRESS_FAILED' });
  await t.throwsAsync(egress.fetch(outgoing(`http://127.0.0.1:${port}/nonsense`)), {
    code: 'EDGE_EGRESS_FAILED',
    message: /the answer is not HTTP\/1.1/,
  });
  server.close();
  await once(server, 'close');
  const refused = await t.throwsAsync(egress.fetch(outgoing(`http://127.0.0.1:${port}/`)), {
    code: 'EDGE_EGRESS_FAILED',
  });
  t.regex(refused.message, /refused/);
});

test('fetch() ends the body with an error when the server breaks it off', async t => {
  const origin = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 10 }).write('half');
    response.socket?.end();
  });
  const response = await startEgress(t).fetch(outgoing(origin.url));
  await t.throwsAsync(readText(response), { code: 'EDGE_EGRESS_FAILED', message: /broke off/ });
});

test('fetch() uses sockets again when bodies were read to their end, those of redirects too', async t => {
  const origin = await startOrigin(t, redirecting(302, '/there'));
  const egress = startEgress(t);
  for (let i = 0; i < 5; i++) await readText(await egress.fetch(outgoing(origin.url)));
  t.is(origin.requests.length, 10);
  // The second hop may start before the body of the redirect has come: two sockets, and never a third.
  t.true(new Set(origin.requests.map(request => request.socket)).size <= 2);
});

test('fetch() does not share sockets between accounts', async t => {
  const origin = await startOrigin(t, (_request, response) => response.end());
  const egress = startEgress(t);
  await readText(await egress.fetch(outgoing(origin.url)));
  await readText(await egress.fetch(outgoing(origin.url, { account: 'other' })));
  t.is(origin.sockets.size, 2);
});

test('fetch() lets the least recently used origin go when an account has more than originsPerAccount', async t => {
  const origins = [];
  for (let i = 0; i < 3; i++) origins.push(await startOrigin(t, (_request, response) => response.end('ok')));
  const egress = startEgress(t, { allow: ['127.0.0.1'], originsPerAccount: 2 });
  for (const origin of origins) t.is(await readText(await egress.fetch(outgoing(origin.url))), 'ok');
  const [first] = origins;
  for (const socket of first?.sockets ?? []) await once(socket, 'close');
  t.is(first?.sockets.size, 0);
});

test('close() ends what is under way and refuses what comes', async t => {
  const origin = await startOrigin(t, () => {});
  const egress = createEgress({ allow: ['127.0.0.1'] });
  const fetching = egress.fetch(outgoing(origin.url));
  await once(origin.server, 'request');
  await egress.close();
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED' });
  await t.throwsAsync(egress.fetch(outgoing(origin.url)), { code: 'EDGE_CLOSED' });
});

test('createEgress() throws when a number is out of bounds', t => {
  t.throws(() => createEgress({ originsPerAccount: 0 }), {
    instanceOf: RangeError,
    message: /egress\.originsPerAccount is 0/,
  });
  t.throws(() => createEgress({ keepAliveMs: 1.5 }), { instanceOf: RangeError });
  t.throws(() => createEgress({ allow: ['nowhere'] }), { instanceOf: TypeError });
});

test('egressService() answers the method fetch and no other', async t => {
  const origin = await startOrigin(t, (_request, response) => response.end('hello'));
  const service = egressService(startEgress(t), { account: 'acme', function: 'hello', checkUrl() {} });
  const { signal } = new AbortController();
  const args = { method: 'GET', url: origin.url, headers: [] };
  const reply = await service({ method: 'fetch', args, body: null, signal, work: OWN_WORK });
  t.like(reply.head, { status: 200, url: origin.url, redirected: false, decoded: false });
  t.false('body' in Object(reply.head));
  await t.throwsAsync(service({ method: 'connect', args, body: null, signal, work: OWN_WORK }), {
    code: 'EDGE_NOT_SUPPORTED',
  });
});
