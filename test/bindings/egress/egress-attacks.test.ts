/** What a hostile function, or a hostile server in league with it, tries against outgoing fetch. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createGzip, deflateSync, gzipSync } from 'node:zlib';
import test from 'ava';

import { createEgress } from '../../../src/bindings/egress/egress.js';
import { addressOf, outgoing, readText, startEgress, startOrigin } from './origin-server.js';

for (const host of [
  'localhost',
  'LOCALHOST.',
  'a.localhost',
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0x7f.1',
  '0',
  '0.0.0.0',
  '①②⑦.0.0.1',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '[fe80::1]',
  '169.254.169.254',
  '[fd00:ec2::254]',
]) {
  test(`a function cannot reach the inside at ${host}`, async t => {
    const origin = await startOrigin(t, (_request, response) => response.end('secret'));
    const egress = startEgress(t, {});
    const error = await t.throwsAsync(egress.fetch(outgoing(`http://${host}:${origin.port}/`)));
    t.regex(String(Object(error).code), /^EDGE_EGRESS_(DENIED|FAILED)$/);
    t.is(origin.requests.length, 0);
    t.is(origin.sockets.size, 0);
  });
}

test('a name that resolves to a private address is not connected to', async t => {
  const origin = await startOrigin(t, (_request, response) => response.end('secret'));
  for (const addresses of [['127.0.0.1'], ['::1'], ['::ffff:127.0.0.1'], ['10.0.0.1', '127.0.0.1']]) {
    const egress = startEgress(t, { resolve: async () => addresses });
    const fetching = egress.fetch(outgoing(`http://evil.example:${origin.port}/`));
    const error = await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_DENIED' });
    t.notRegex(error.message, /127|10\.0|::/, 'the error does not tell what names resolve to inside');
  }
  t.is(origin.sockets.size, 0);
});

test('a function cannot tell a name that exists inside from one that does not', async t => {
  const notFound = (code: string) => async (): Promise<string[]> => {
    throw Object.assign(new Error(`query ${code}`), { code });
  };
  const answers = [async () => ['10.0.0.1'], async () => ['fd00::1', '127.0.0.1'], async () => []];
  const errors = [];
  for (const resolve of [...answers, notFound('ENOTFOUND'), notFound('ENODATA')]) {
    const error = await t.throwsAsync(startEgress(t, { resolve }).fetch(outgoing('http://database.internal/')));
    errors.push({ ...error, message: error.message, cause: error.cause });
  }
  for (const error of errors) t.deepEqual(error, errors[0]);
  t.like(errors[0], { code: 'EDGE_EGRESS_DENIED', cause: undefined });
});

test('a resolver that breaks down is no refusal of the policy', async t => {
  const resolve = async (): Promise<string[]> => {
    throw Object.assign(new Error('query ESERVFAIL'), { code: 'ESERVFAIL' });
  };
  const fetching = startEgress(t, { resolve }).fetch(outgoing('http://database.internal/'));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED' });
});

test('a name that changes its address after the check gains nothing', async t => {
  const inside = await startOrigin(t, (_request, response) => response.end('secret'));
  let lookups = 0;
  const egress = startEgress(t, {
    allow: ['127.0.0.2'],
    resolve: async () => (lookups++ === 0 ? ['127.0.0.2'] : ['127.0.0.1']),
  });
  const url = `http://rebind.example:${inside.port}/`;
  await t.throwsAsync(egress.fetch(outgoing(url)), { code: 'EDGE_EGRESS_FAILED' });
  await t.throwsAsync(egress.fetch(outgoing(url)), { code: 'EDGE_EGRESS_DENIED' });
  t.is(lookups, 2);
  t.is(inside.requests.length, 0);
});

test('of a name with public and private addresses only allowed ones are tried', async t => {
  const inside = await startOrigin(t, (_request, response) => response.end('secret'));
  const egress = startEgress(t, { allow: ['127.0.0.2'], resolve: async () => ['127.0.0.1', '127.0.0.2'] });
  await t.throwsAsync(egress.fetch(outgoing(`http://mixed.example:${inside.port}/`)), { code: 'EDGE_EGRESS_FAILED' });
  t.is(inside.requests.length, 0);
});

test('a resolver that answers what is no address reaches nothing', async t => {
  const egress = startEgress(t, { resolve: async () => ['localhost', '127.1', ''] });
  await t.throwsAsync(egress.fetch(outgoing('http://odd.example/')), { code: 'EDGE_EGRESS_DENIED' });
});

test('a resolver that finds nothing ends the request alone', async t => {
  const egress = startEgress(t, {
    resolve: async () => {
      throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    },
  });
  await t.throwsAsync(egress.fetch(outgoing('http://missing.example/')), { code: 'EDGE_EGRESS_DENIED' });
});

for (const location of [
  'http://127.0.0.2:PORT/',
  'http://[::ffff:127.0.0.2]:PORT/',
  'http://2130706434:PORT/',
  '//127.2:PORT',
]) {
  test(`a redirect from an allowed server to ${location} is not followed`, async t => {
    const inside = await startOrigin(t, (_request, response) => response.end('secret'), '127.0.0.2');
    const target = location.replace('PORT', String(inside.port));
    const outside = await startOrigin(t, (_request, response) => response.writeHead(302, { location: target }).end());
    const egress = startEgress(t, { allow: ['127.0.0.1'] });
    await t.throwsAsync(egress.fetch(outgoing(outside.url)), { code: 'EDGE_EGRESS_DENIED' });
    t.is(inside.requests.length, 0);
  });
}

test('a denied address is not reached over a socket that another name opened', async t => {
  const inside = await startOrigin(t, (_request, response) => response.end('secret'));
  const egress = startEgress(t, { allow: ['127.0.0.2'], resolve: async () => ['127.0.0.1'] });
  for (let i = 0; i < 3; i++) {
    await t.throwsAsync(egress.fetch(outgoing(`http://again.example:${inside.port}/`)), { code: 'EDGE_EGRESS_DENIED' });
  }
  t.is(inside.sockets.size, 0);
});

for (const port of [22, 25, 6379, 6667, 0]) {
  const isBad = port !== 6379;
  test(`port ${port} ${isBad ? 'is' : 'is not'} blocked as one that HTTP may not use`, async t => {
    const egress = startEgress(t, { allow: ['127.0.0.1'], connectTimeoutMs: 1000 });
    const error = await t.throwsAsync(egress.fetch(outgoing(`http://127.0.0.1:${port}/`)));
    t.is(/bad port/.test(error.message), isBad);
  });
}

test('a request cannot be smuggled in the path', async t => {
  const origin = await startOrigin(t, (request, response) => response.end(request.url));
  const egress = startEgress(t);
  const response = await egress.fetch(outgoing(`${origin.url}a b\r\nHost: evil\r\n\r\nGET /b HTTP/1.1`));
  t.is(await readText(response), '/a%20bHost:%20evilGET%20/b%20HTTP/1.1');
  t.is(origin.requests.length, 1);
});

test('a head without end ends the request', async t => {
  const egress = startEgress(t);
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 200 OK\r\n');
    const flood = (): void => {
      while (socket.writable && socket.write(`x-a: ${'a'.repeat(1000)}\r\n`));
    };
    socket.on('drain', flood);
    flood();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const fetching = egress.fetch(outgoing(`http://127.0.0.1:${addressOf(server).port}/`));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED', message: /maxHeaderBytes/ });
});

test('a body with more codings than five is refused', async t => {
  const origin = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip, gzip, gzip, gzip, gzip, gzip' }).end(gzipSync('a'));
  });
  await t.throwsAsync(startEgress(t).fetch(outgoing(origin.url)), { code: 'EDGE_EGRESS_FAILED', message: /codings/ });
});

test('a body that is no gzip ends with an error', async t => {
  for (const coding of ['gzip', 'deflate', 'br']) {
    const origin = await startOrigin(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end('this is not compressed at all');
    });
    const response = await startEgress(t).fetch(outgoing(origin.url));
    await t.throwsAsync(readText(response), { code: 'EDGE_EGRESS_FAILED' }, coding);
  }
});

for (const [coding, bomb] of [
  ['gzip', gzipSync(Buffer.alloc(64 << 20))],
  ['deflate', deflateSync(Buffer.alloc(64 << 20))],
  ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(64 << 20)))],
] as const) {
  test(`a bomb in ${coding} is unpacked only as far as it is read`, async t => {
    const origin = await startOrigin(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end(bomb);
    });
    const response = await startEgress(t).fetch(outgoing(origin.url));
    const iterator = response.body?.[Symbol.asyncIterator]();
    const before = process.memoryUsage();
    const first = await iterator?.next();
    t.true((first?.value?.byteLength ?? 0) > 0);
    // Everything that could be unpacked without being asked for has its chance.
    for (let i = 0; i < 200; i++) await new Promise(resolve => setImmediate(resolve));
    const after = process.memoryUsage();
    t.true(
      after.arrayBuffers - before.arrayBuffers < 8 << 20,
      `${after.arrayBuffers - before.arrayBuffers} bytes more`,
    );
    await iterator?.return?.();
  });
}

test('a body without end is fetched only as far as it is read', async t => {
  let sent = 0;
  const origin = await startOrigin(t, (_request, response) => {
    const chunk = Buffer.alloc(64 * 1024);
    const flood = (): void => {
      while (!response.destroyed && sent < 256 << 20) {
        sent += chunk.length;
        if (!response.write(chunk)) return;
      }
    };
    response.on('drain', flood);
    flood();
  });
  const response = await startEgress(t).fetch(outgoing(origin.url));
  const iterator = response.body?.[Symbol.asyncIterator]();
  await iterator?.next();
  for (let i = 0; i < 200; i++) await new Promise(resolve => setImmediate(resolve));
  t.true(sent < 64 << 20, `${sent} bytes were sent`);
  await iterator?.return?.();
});

/** Waits until the server has lost every socket. */
/** undici opens a socket in place of one that was given up, and keeps it for so long: nothing here waits for that. */
const BRIEFLY = { allow: ['127.0.0.1'], keepAliveMs: 1 };

async function noSockets(sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) {
    socket.on('error', () => {});
    if (!socket.closed) await new Promise(resolve => socket.once('close', resolve));
  }
}

test('an abort before the answer rejects with its reason and releases the socket', async t => {
  const origin = await startOrigin(t, () => {});
  const abort = new AbortController();
  const fetching = startEgress(t, BRIEFLY).fetch(outgoing(origin.url, { signal: abort.signal }));
  await once(origin.server, 'request');
  abort.abort(new Error('gone'));
  await t.throwsAsync(fetching, { message: 'gone' });
  await noSockets(origin.sockets);
  t.is(origin.sockets.size, 0);
});

test('an abort within the body ends it with its reason and releases the socket', async t => {
  const origin = await startOrigin(t, (_request, response) => void response.write('half'));
  const abort = new AbortController();
  const response = await startEgress(t, BRIEFLY).fetch(outgoing(origin.url, { signal: abort.signal }));
  const iterator = response.body?.[Symbol.asyncIterator]();
  await iterator?.next();
  const reading = iterator?.next();
  abort.abort(new Error('gone'));
  await t.throwsAsync(async () => reading, { message: 'gone' });
  await noSockets(origin.sockets);
  t.pass();
});

test('an abort of an encoded body that nobody reads releases the socket', async t => {
  const origin = await startOrigin(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const gzip = createGzip();
    gzip.pipe(response);
    gzip.write('half');
    gzip.flush();
  });
  const abort = new AbortController();
  await startEgress(t, BRIEFLY).fetch(outgoing(origin.url, { signal: abort.signal }));
  abort.abort();
  await noSockets(origin.sockets);
  t.pass();
});

test('an abort before the start makes no connection', async t => {
  const origin = await startOrigin(t, (_request, response) => response.end());
  const signal = AbortSignal.abort(new Error('gone'));
  await t.throwsAsync(startEgress(t, BRIEFLY).fetch(outgoing(origin.url, { signal })), { message: 'gone' });
  t.is(origin.sockets.size, 0);
});

test('a body that is canceled before it was read releases the socket', async t => {
  const origin = await startOrigin(t, (_request, response) => void response.write('half'));
  const response = await startEgress(t, BRIEFLY).fetch(outgoing(origin.url));
  const done = await response.body?.[Symbol.asyncIterator]().return?.();
  t.true(done?.done);
  await noSockets(origin.sockets);
  t.pass();
});

test('a body that is canceled while a chunk is awaited ends at once', async t => {
  const origin = await startOrigin(t, (_request, response) => void response.write('half'));
  const response = await startEgress(t, BRIEFLY).fetch(outgoing(origin.url));
  const iterator = response.body?.[Symbol.asyncIterator]();
  await iterator?.next();
  const reading = iterator?.next();
  await iterator?.return?.();
  t.true((await reading)?.done);
  await noSockets(origin.sockets);
});

test('a request body whose producer fails ends the request', async t => {
  const origin = await startOrigin(t, request => void request.resume());
  async function* body() {
    yield Buffer.from('a');
    throw new Error('the function gave up');
  }
  const fetching = startEgress(t, BRIEFLY).fetch(outgoing(origin.url, { method: 'POST', body: body() }));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED' });
  await noSockets(origin.sockets);
});

test('a request body is ended when the answer comes first', async t => {
  let isEnded = false;
  async function* body() {
    try {
      for (;;) {
        yield Buffer.alloc(1024);
        await new Promise(resolve => setImmediate(resolve));
      }
    } finally {
      isEnded = true;
    }
  }
  const origin = await startOrigin(t, (_request, response) => response.end('early'));
  const response = await startEgress(t).fetch(outgoing(origin.url, { method: 'POST', body: body() }));
  t.is(await readText(response), 'early');
  while (!isEnded) await new Promise(resolve => setImmediate(resolve));
  t.pass();
});

test('a slow server does not keep others of the account from another origin', async t => {
  const slow = await startOrigin(t, () => {});
  const quick = await startOrigin(t, (_request, response) => response.end('quick'));
  const egress = startEgress(t, { allow: ['127.0.0.1'], connectionsPerOrigin: 2 });
  const abort = new AbortController();
  const stuck = Array.from({ length: 20 }, () =>
    egress.fetch(outgoing(slow.url, { signal: AbortSignal.any([abort.signal]) })).catch(() => 'gone'),
  );
  t.is(await readText(await egress.fetch(outgoing(quick.url))), 'quick');
  t.true(slow.sockets.size <= 2);
  abort.abort();
  t.deepEqual(new Set(await Promise.all(stuck)), new Set(['gone']));
});

test('a server that takes too long to answer is given up', async t => {
  const origin = await startOrigin(t, () => {});
  const egress = startEgress(t, { allow: ['127.0.0.1'], headersTimeoutMs: 1 });
  const fetching = egress.fetch(outgoing(origin.url));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED', message: /headersTimeoutMs/ });
});

test('an answer on a socket that nobody asked on reaches nobody', async t => {
  // The server sends two answers to one request, hoping that the second is taken for that of the next request.
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => {
      const answer = (text: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
      socket.write(answer('first') + answer('poison'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const egress = startEgress(t);
  const url = `http://127.0.0.1:${addressOf(server).port}/`;
  t.is(await readText(await egress.fetch(outgoing(url))), 'first');
  t.is(await readText(await egress.fetch(outgoing(url))), 'first');
});

test('sockets end with close(), also those with bodies that nobody reads', async t => {
  const origin = await startOrigin(t, (_request, response) => void response.write('half'));
  const egress = createEgress({ allow: ['127.0.0.1'] });
  await egress.fetch(outgoing(origin.url));
  await egress.fetch(outgoing(origin.url));
  await egress.close();
  await noSockets(origin.sockets);
  t.pass();
});

test('the loopback is reachable to the test itself', async t => {
  // Without this, every test above would pass on a machine that has no loopback.
  const origin = await startOrigin(t, (_request, response) => response.end());
  const socket = connect(origin.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  t.pass();
});
