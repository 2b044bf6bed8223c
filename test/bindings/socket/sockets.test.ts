import { once } from 'node:events';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHostOptions } from '../../../src/index.js';
import { CERTIFICATE } from '../../certificate.js';
import { newHost } from '../../host/new-host.js';
import { deferred, serverTls, tcpServer } from './tcp-servers.js';

/** Helpers of functions. */
const HELPERS = `
  import { connect } from 'edgehost:sockets';
  const text = async stream => new Response(stream).text();
  const write = async (socket, chunk) => { const w = socket.writable.getWriter(); await w.write(chunk); w.releaseLock(); };
  const read = async socket => { const r = socket.readable.getReader(); const { value } = await r.read(); r.releaseLock(); return new TextDecoder().decode(value); };
  const failure = async promise => promise.then(() => 'no failure', error => error.name + ': ' + error.message + ' ' + error.code);
  const outcome = async promise => promise.then(value => value === undefined ? 'undefined' : JSON.stringify(value), error => 'rejected: ' + error.message);
`;

const ALLOWED: EdgeHostOptions = {
  egress: { allow: ['127.0.0.0/8'], ca: CERTIFICATE, resolve: async () => ['127.0.0.1'] },
};

/** A function whose handler is `body`, with `port` and `request` in scope; it answers what the handler gives back. */
async function functionOf(
  t: ExecutionContext,
  port: number,
  body: string,
  options: EdgeHostOptions = ALLOWED,
): Promise<EdgeFunction> {
  const source = `${HELPERS} export default { async fetch(request, env, ctx) { const port = ${port}; ${body} } };`;
  return newHost(t, options).load(source);
}

async function answerOf(
  t: ExecutionContext,
  port: number,
  body: string,
  options: EdgeHostOptions = ALLOWED,
): Promise<string> {
  const fn = await functionOf(t, port, body, options);
  return (await fn.fetch('http://x/')).text();
}

const echo = (socket: Socket): void => void socket.pipe(socket);

for (const isolation of ['process', 'thread'] as const) {
  test(`connect() sends what is written and receives what comes (${isolation})`, async t => {
    const port = await tcpServer(t, echo);
    const answer = await answerOf(
      t,
      port,
      `const socket = connect('127.0.0.1:' + port);
       const { remoteAddress, localAddress } = await socket.opened;
       await write(socket, new TextEncoder().encode('bytes,'));
       await write(socket, 'text');
       await socket.writable.close();
       const received = await text(socket.readable);
       return new Response([received, remoteAddress, localAddress, await outcome(socket.closed)].join(' '));`,
      { ...ALLOWED, isolation },
    );
    t.is(answer, `bytes,text 127.0.0.1:${port}  undefined`);
  });
}

test('connect() is there before the connection is: what is written early is sent', async t => {
  const port = await tcpServer(t, echo);
  const answer = await answerOf(
    t,
    port,
    `const socket = connect({ hostname: 'somewhere.example', port });
     const writer = socket.writable.getWriter();
     const written = [writer.write('a'), writer.write('b'), writer.close()];
     const received = await text(socket.readable);
     await Promise.all(written);
     return new Response(received);`,
  );
  t.is(answer, 'ab');
});

test('connect() from a module with the name of the hosted platform is the same', async t => {
  const fn = await newHost(t).load(
    `import { connect } from 'cloudflare:sockets'; import { connect as own } from 'edgehost:sockets';
     export default { fetch: () => Response.json(connect === own) };`,
  );
  t.true(await (await fn.fetch('http://x/')).json());
});

test('connect() throws a TypeError for what is no address, and for options that there are not', async t => {
  const answer = await answerOf(
    t,
    0,
    `const messages = [];
     for (const args of [[''], ['host'], [':80'], ['host:x'], ['host:70000'], ['a b:1'], [{ port: 1 }], [{ hostname: 'h' }],
       [{ hostname: 'h', port: 1.5 }], [{ hostname: 'a/b', port: 1 }], ['h:1', { secureTransport: 'tls' }], ['h:1', { highWaterMark: -1 }]]) {
       try { connect(...args); messages.push('none'); } catch (error) { messages.push(error.name + ': ' + error.message); }
     }
     return Response.json(messages);`,
  );
  const unsupported = 'TypeError: Specified address is empty string, contains unsupported characters or is too long.';
  t.deepEqual(JSON.parse(answer), [
    unsupported,
    'TypeError: Specified address is missing port.',
    'TypeError: Specified address is missing hostname.',
    'TypeError: Specified address could not be parsed.',
    'TypeError: Specified address could not be parsed.',
    'TypeError: Specified address could not be parsed.',
    'TypeError: Specified address is missing hostname.',
    'TypeError: Specified address is missing port.',
    'TypeError: The port of the address is "1.5", expected 0 to 65535',
    unsupported,
    'TypeError: Unsupported value in secureTransport socket option: tls',
    'TypeError: Option highWaterMark of connect() is -1, expected a number from 0 on',
  ]);
});

test('connect() is refused in the global scope', async t => {
  await t.throwsAsync(
    newHost(t).load(`import { connect } from 'edgehost:sockets'; connect('h:1'); export default { fetch() {} };`),
    { message: /connect\(\) is not allowed in the global scope/ },
  );
});

test('opened and closed reject when nothing listens, with a hint for ports of HTTP', async t => {
  const port = await tcpServer(t, echo);
  const host = newHost(t, { egress: { allow: ['127.0.0.0/8'], resolve: async () => ['127.0.0.2'] } });
  const fn = await host.load(
    `${HELPERS} export default { async fetch() {
       const socket = connect('refused.example:${port}');
       const writer = socket.writable.getWriter();
       return Response.json([await failure(socket.opened), await failure(socket.closed), await failure(socket.readable.getReader().read()),
         await failure(writer.write('x')), await failure(connect('127.0.0.2:80').opened)]);
     } };`,
  );
  const failures: unknown = await (await fn.fetch('http://x/')).json();
  const lost = `Error: Cannot connect to refused.example:${port}: proxy request failed, cannot connect to the specified address (the connection was refused) EDGE_EGRESS_FAILED`;
  t.deepEqual(failures, [
    lost,
    lost,
    lost,
    lost,
    'Error: Cannot connect to 127.0.0.2:80: proxy request failed, cannot connect to the specified address (the connection was refused). It looks like you might be trying to connect to a HTTP-based service: consider using fetch instead EDGE_EGRESS_FAILED',
  ]);
});

test('the end of the other side closes the socket, and what it has sent can still be read', async t => {
  const port = await tcpServer(t, socket => socket.end('all of it'));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     const closed = await outcome(socket.closed);
     const late = await failure(socket.writable.getWriter().write('late'));
     return new Response([closed, await text(socket.readable), late].join('|'));`,
  );
  t.is(answer, 'undefined|all of it|TypeError: The socket is closed undefined');
});

test('allowHalfOpen lets the function write after the other end has ended', async t => {
  const received: Buffer[] = [];
  const { promise, resolve } = deferred<void>();
  const port = await tcpServer(t, socket => {
    socket.end('first');
    socket.on('data', chunk => received.push(chunk)).on('end', resolve);
  });
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port, { allowHalfOpen: true });
     const first = await text(socket.readable);
     await write(socket, 'second');
     await socket.writable.close();
     return new Response([first, await outcome(socket.closed)].join('|'));`,
  );
  t.is(answer, 'first|undefined');
  await promise;
  t.is(Buffer.concat(received).toString(), 'second');
});

test('closed of a socket that is written to its end resolves without a read when nothing is left to be read', async t => {
  const port = await tcpServer(t, socket => socket.resume().on('end', () => socket.end()));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     await socket.writable.close();
     return new Response(await outcome(socket.closed));`,
  );
  t.is(answer, 'undefined');
});

test('a reset of the other end rejects reads, writes and closed', async t => {
  const port = await tcpServer(t, socket => socket.once('data', () => socket.resetAndDestroy()));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     const writer = socket.writable.getWriter();
     await writer.write('x');
     return Response.json([await failure(socket.readable.getReader().read()), await failure(socket.closed), await failure(writer.write('y'))]);`,
  );
  const lost = `Error: The connection to 127.0.0.1:${port} was lost: the connection was reset EDGE_EGRESS_FAILED`;
  t.deepEqual(JSON.parse(answer), [lost, lost, lost]);
});

test('close() sends what was written and ends a read that waits', async t => {
  const { promise, resolve } = deferred<string>();
  const port = await tcpServer(t, socket => {
    const chunks: Buffer[] = [];
    socket.on('data', chunk => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks).toString()));
  });
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     const reading = socket.readable.getReader().read();
     const writer = socket.writable.getWriter();
     for (let i = 0; i < 100; i++) writer.write('x'.repeat(10_000)).catch(() => {});
     await socket.close();
     return Response.json([await reading, await outcome(socket.closed)]);`,
  );
  t.deepEqual(JSON.parse(answer), [{ done: true }, 'undefined']);
  t.is((await promise).length, 1_000_000);
});

test('abort() of the writer gives the connection up', async t => {
  const { promise, resolve } = deferred<void>();
  const port = await tcpServer(t, socket =>
    socket
      .on('end', () => resolve())
      .on('close', () => resolve())
      .resume(),
  );
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     await socket.opened;
     await socket.writable.abort(new Error('no more')).catch(() => {});
     return new Response(await failure(socket.closed));`,
  );
  t.is(answer, 'Error: no more undefined');
  await promise;
});

test('sockets end with their invocation', async t => {
  const { promise, resolve } = deferred<void>();
  const port = await tcpServer(t, socket =>
    socket
      .on('end', () => resolve())
      .on('close', () => resolve())
      .resume(),
  );
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port); await socket.opened; return new Response('done');`,
  );
  t.is(answer, 'done');
  await promise;
});

test('a client that leaves ends the sockets of its invocation', async t => {
  const { promise, resolve } = deferred<void>();
  const opened = deferred<void>();
  const port = await tcpServer(t, socket => {
    opened.resolve();
    socket
      .on('end', () => resolve())
      .on('close', () => resolve())
      .resume();
  });
  const fn = await functionOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port); await socket.closed; return new Response();`,
  );
  const leaving = new AbortController();
  const answer = fn.fetch('http://x/', { signal: leaving.signal });
  await opened.promise;
  leaving.abort();
  await t.throwsAsync(answer, { any: true });
  await promise;
});

test('a function that does not read holds the other end back', async t => {
  const stalled = deferred<number>();
  const port = await tcpServer(t, socket => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const fill = (): void => {
      while (socket.write(chunk)) sent += chunk.length;
      sent += chunk.length;
      if (sent > 64 * 1024 * 1024) stalled.resolve(sent);
    };
    socket.on('drain', fill);
    socket.once('data', () => stalled.resolve(sent));
    fill();
  });
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     await socket.opened;
     await scheduler.wait(200);
     await write(socket, 'how much?');
     const reader = socket.readable.getReader();
     let total = 0;
     while (total < 8_000_000) total += (await reader.read()).value.length;
     return new Response('read');`,
  );
  t.is(answer, 'read');
  // The buffers of the system on both sides, and those of the host.
  t.true((await stalled.promise) < 32 * 1024 * 1024);
});

test('what a socket receives is handed on as a response, and what a request has as a body is sent', async t => {
  const size = 5_000_000;
  const port = await tcpServer(t, echo);
  const fn = await functionOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     ctx.waitUntil(request.body.pipeTo(socket.writable));
     return new Response(socket.readable);`,
  );
  const body = Buffer.alloc(size, 'abcdefg');
  const response = await fn.fetch('http://x/', { method: 'POST', body });
  t.true(Buffer.from(await response.arrayBuffer()).equals(body));
});

test("secureTransport 'on' speaks TLS and checks the name of the certificate", async t => {
  const port = await tcpServer(t, socket => echo(serverTls(socket)));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('secure.example:' + port, { secureTransport: 'on' });
     await write(socket, 'over TLS');
     const other = connect('other.example:' + port, { secureTransport: 'on' });
     return Response.json([await read(socket), socket.secureTransport, await failure(other.opened),
       await failure((async () => socket.startTls())())]);`,
  );
  t.deepEqual(JSON.parse(answer), [
    'over TLS',
    'on',
    `Error: Cannot connect to other.example:${port}: proxy request failed, cannot connect to the specified address (ERR_TLS_CERT_ALTNAME_INVALID) EDGE_EGRESS_FAILED`,
    'TypeError: Cannot startTls on a TLS socket. undefined',
  ]);
});

/** Answers `go` to `start`, and speaks TLS from then on. */
function startTlsServer(socket: Socket, behind = ''): void {
  socket.once('data', () => {
    socket.write(`go${behind}`, () => echo(serverTls(socket)));
  });
}

test('startTls() goes on with TLS, over a socket of its own', async t => {
  const port = await tcpServer(t, socket => startTlsServer(socket));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('secure.example:' + port, { secureTransport: 'starttls' });
     await write(socket, 'start');
     const go = await read(socket);
     const secured = socket.startTls();
     const early = write(secured, 'behind');
     const { remoteAddress } = await secured.opened;
     await early;
     return Response.json([go, await outcome(socket.closed), socket.upgraded, secured.secureTransport, secured.upgraded, remoteAddress,
       await read(secured), await failure((async () => socket.startTls())()), await failure(socket.writable.getWriter().write('x'))]);`,
  );
  t.deepEqual(JSON.parse(answer), [
    'go',
    'undefined',
    true,
    'on',
    false,
    `127.0.0.1:${port}`,
    'behind',
    'TypeError: Cannot startTls: it was called on this socket before undefined',
    'TypeError: The socket is closed undefined',
  ]);
});

test('startTls() takes a read along whose reader was released', async t => {
  const port = await tcpServer(t, socket => startTlsServer(socket));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port, { secureTransport: 'starttls' });
     const writer = socket.writable.getWriter(), reader = socket.readable.getReader();
     await writer.write('start');
     await reader.read();
     const waiting = failure(reader.read());
     writer.releaseLock(); reader.releaseLock();
     const secured = socket.startTls({ expectedServerHostname: 'secure.example' });
     await write(secured, 'one');
     return Response.json([await waiting, await read(secured)]);`,
  );
  t.deepEqual(JSON.parse(answer), ['TypeError: Reader was released undefined', 'one']);
});

test('startTls() checks the name that is expected', async t => {
  const port = await tcpServer(t, socket => startTlsServer(socket));
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('secure.example:' + port, { secureTransport: 'starttls' });
     await write(socket, 'start');
     await read(socket);
     const secured = socket.startTls({ expectedServerHostname: 'other.example' });
     return Response.json([await failure(secured.opened), await failure(secured.closed), await failure(read(secured))]);`,
  );
  const refused = `Error: Cannot connect to secure.example:${port}: proxy request failed, cannot connect to the specified address (ERR_TLS_CERT_ALTNAME_INVALID) EDGE_EGRESS_FAILED`;
  t.deepEqual(JSON.parse(answer), [refused, refused, refused]);
});

test('bytes that came in the clear are not taken for bytes that came over TLS', async t => {
  const port = await tcpServer(t, socket => {
    socket.write('go');
    socket.once('data', () => socket.write('injected'));
  });
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('secure.example:' + port, { secureTransport: 'starttls' });
     await read(socket);
     await write(socket, 'now');
     await scheduler.wait(100);
     const secured = socket.startTls();
     return new Response(await failure(secured.opened));`,
  );
  t.is(
    answer,
    'TypeError: Cannot startTls: the other end has sent bytes that were not read before it was called undefined',
  );
});

test("startTls() is refused without secureTransport 'starttls', while the streams are locked, and after close()", async t => {
  const port = await tcpServer(t, echo);
  const answer = await answerOf(
    t,
    port,
    `const plain = connect('127.0.0.1:' + port);
     const locked = connect('127.0.0.1:' + port, { secureTransport: 'starttls' });
     const writer = locked.writable.getWriter();
     const messages = [await failure((async () => plain.startTls())()), await failure((async () => locked.startTls())())];
     await locked.close();
     messages.push(await failure((async () => locked.startTls())()));
     return Response.json(messages);`,
  );
  t.deepEqual(JSON.parse(answer), [
    "TypeError: The `secureTransport` socket option must be set to 'starttls' for startTls to be used. undefined",
    'TypeError: Cannot startTls: release the locks of the reader and of the writer first undefined',
    'TypeError: Cannot startTls: the socket is closed undefined',
  ]);
});

test('the host closes its server sockets only when the function has ended its side', async t => {
  const ended = deferred<void>();
  const port = await tcpServer(t, async socket => {
    socket.resume();
    await once(socket, 'end');
    ended.resolve();
    socket.end('bye');
  });
  const answer = await answerOf(
    t,
    port,
    `const socket = connect('127.0.0.1:' + port);
     const writer = socket.writable.getWriter();
     await writer.write('hello');
     await writer.close();
     return new Response(socket.readable);`,
  );
  await ended.promise;
  t.is(answer, 'bye');
});
