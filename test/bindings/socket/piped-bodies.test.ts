/** `pipeTo(socket.writable)` of what comes from the host, which moves there: it must look as if each chunk went through the function. */
import { createHash } from 'node:crypto';
import { createServer, type RequestOptions, request } from 'node:http';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { newHost } from '../../host/new-host.js';
import { deferred, tcpServer } from './tcp-servers.js';

const LONG = 8 * 1024 * 1024;
/** More than all buffers between the client and a server that does not read. */
const ENDLESS = 64 * 1024 * 1024;

/** A server of a function whose handler is `body`. */
async function serve(
  t: ExecutionContext,
  port: number,
  body: string,
  isolation: 'process' | 'thread',
): Promise<string> {
  const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
  const fn = await host.load(
    `import { connect } from 'edgehost:sockets';
     const outcome = promise => promise.then(value => String(value), error => error.name + ': ' + error.message);
     export default { async fetch(request) { const socket = connect('127.0.0.1:${port}'); ${body} } };`,
  );
  const server = createServer(host.listener({ function: fn })).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on TCP');
  return `http://127.0.0.1:${address.port}/`;
}

/** Sends `bytes` of a pattern as the body of a request, as fast as they are taken. */
function post(url: string, bytes: number, options: RequestOptions = {}) {
  const outgoing = request(url, { method: 'POST', ...options });
  const hash = createHash('sha256');
  let sent = 0;
  const go = (): void => {
    while (sent < bytes && !outgoing.destroyed) {
      const chunk = Buffer.alloc(Math.min(65_536, bytes - sent), (sent >> 16) & 0xff);
      sent += chunk.length;
      hash.update(chunk);
      if (!outgoing.write(chunk)) return;
    }
    if (!outgoing.destroyed) outgoing.end();
  };
  outgoing.on('drain', go);
  outgoing.on('error', () => {});
  go();
  const answer = new Promise<string>(resolve => {
    let hasAnswer = false;
    outgoing.once('response', async response => {
      hasAnswer = true;
      let text = '';
      try {
        for await (const chunk of response.setEncoding('utf8')) text += chunk;
      } catch {
        text += ' (broken)';
      }
      resolve(text);
    });
    outgoing.once('close', () => {
      if (!hasAnswer) resolve('no answer');
    });
  });
  return { outgoing, answer, digest: () => hash.copy().digest('hex'), sentBytes: () => sent };
}

/** Answers with the digest of all that came. */
const digests = (socket: Socket): void => {
  const hash = createHash('sha256');
  socket.on('data', chunk => hash.update(chunk)).once('end', () => socket.end(hash.digest('hex')));
};

for (const isolation of ['process', 'thread'] as const) {
  test(`pipeTo() of a request's body sends all of it behind what was written, and its end (${isolation})`, async t => {
    const received: Buffer[] = [];
    const port = await tcpServer(t, socket => {
      socket.once('data', chunk => received.push(chunk));
      digests(socket);
    });
    const url = await serve(
      t,
      port,
      `const writer = socket.writable.getWriter();
       await writer.write('first');
       writer.releaseLock();
       const { body } = request;
       const piped = body.pipeTo(socket.writable);
       const during = [body.locked, socket.writable.locked];
       const result = [await outcome(piped), ...during, body.locked, socket.writable.locked];
       const { done } = await body.getReader().read();
       result.push(done, await outcome(socket.writable.getWriter().closed), await new Response(socket.readable).text(), await outcome(socket.closed));
       return new Response(result.join(' '));`,
      isolation,
    );
    const { answer } = post(url, LONG);
    const hash = createHash('sha256').update('first');
    for (let at = 0; at < LONG; at += 65_536) hash.update(Buffer.alloc(65_536, (at >> 16) & 0xff));
    t.is(await answer, `undefined true true false false true undefined ${hash.digest('hex')} undefined`);
    t.is(received[0]?.toString('latin1', 0, 5), 'first');
  });
}

test('pipeTo() from one socket to another moves the bytes and lets both close', async t => {
  const source = await tcpServer(t, socket => void socket.end(Buffer.alloc(LONG, 7)));
  const port = await tcpServer(t, digests);
  const url = await serve(
    t,
    port,
    `const from = connect('127.0.0.1:${source}');
     await from.readable.pipeTo(socket.writable);
     return new Response([await new Response(socket.readable).text(), await outcome(from.closed), await outcome(socket.closed)].join(' '));`,
    'process',
  );
  const digest = createHash('sha256').update(Buffer.alloc(LONG, 7)).digest('hex');
  t.is(await post(url, 0).answer, `${digest} undefined undefined`);
});

test('pipeTo() with options keeps to them', async t => {
  const port = await tcpServer(t, digests);
  const url = await serve(
    t,
    port,
    `await request.body.pipeTo(socket.writable, { preventClose: true });
     const writer = socket.writable.getWriter();
     await writer.write('last');
     await writer.close();
     return new Response(socket.readable);`,
    'process',
  );
  const { answer, digest } = post(url, 200_000);
  await answer;
  const whole = createHash('sha256');
  for (let at = 0; at < 200_000; at += 65_536) {
    whole.update(Buffer.alloc(Math.min(65_536, 200_000 - at), (at >> 16) & 0xff));
  }
  t.is(whole.copy().digest('hex'), digest());
  t.is(await answer, whole.update('last').digest('hex'));
});

test('pipeTo() holds the client back while the server does not read', async t => {
  const stopped = deferred<Socket>();
  const port = await tcpServer(t, socket => stopped.resolve(socket.pause()));
  const url = await serve(t, port, `await request.body.pipeTo(socket.writable); return new Response('');`, 'process');
  const { outgoing, sentBytes } = post(url, ENDLESS);
  await stopped.promise;
  // Until nothing moves any more.
  for (let last = -1; last !== sentBytes(); ) {
    last = sentBytes();
    await new Promise(resolve => setTimeout(resolve, 250));
  }
  t.true(sentBytes() < ENDLESS / 2, `${sentBytes()} bytes were taken`);
  outgoing.destroy();
});

test('pipeTo() rejects when the other end resets the connection, and stops the client', async t => {
  const port = await tcpServer(t, socket => socket.once('data', () => socket.resetAndDestroy()));
  const url = await serve(
    t,
    port,
    `const piped = await outcome(request.body.pipeTo(socket.writable));
     return new Response([piped, await outcome(socket.closed)].join(' | '));`,
    'process',
  );
  t.regex(
    await post(url, ENDLESS).answer,
    /^Error: The connection to .* was lost: .* \| Error: The connection to .* was lost: /,
  );
});

test('pipeTo() rejects when the other end closes the connection before the end', async t => {
  const port = await tcpServer(t, socket => void socket.once('data', () => socket.end()).resume());
  const url = await serve(
    t,
    port,
    `const read = new Response(socket.readable).text();
     const piped = await outcome(request.body.pipeTo(socket.writable));
     return new Response([piped, await outcome(read), await outcome(socket.closed)].join(' | '));`,
    'process',
  );
  t.is(await post(url, ENDLESS).answer, 'TypeError: The socket is closed |  | undefined');
});

test('close() gives up what is being piped', async t => {
  const ended = deferred<boolean>();
  const port = await tcpServer(
    t,
    socket =>
      void socket
        .on('end', () => ended.resolve(true))
        .on('close', () => ended.resolve(true))
        .resume(),
  );
  const url = await serve(
    t,
    port,
    `const piped = outcome(request.body.pipeTo(socket.writable));
     await socket.opened;
     const closed = await outcome(socket.close());
     return new Response([closed, await piped].join(' '));`,
    'process',
  );
  const { answer } = post(url, ENDLESS);
  t.is(await answer, 'undefined TypeError: The socket is closed');
  t.true(await ended.promise);
});

test('a client that leaves in the middle of what is piped ends the connection', async t => {
  const end = deferred<string>();
  const begun = deferred<boolean>();
  const port = await tcpServer(t, socket => {
    socket.on('data', () => begun.resolve(true));
    socket.once('end', () => end.resolve('end'));
    socket.once('close', () => end.resolve('close'));
  });
  const url = await serve(t, port, `await request.body.pipeTo(socket.writable); return new Response('');`, 'process');
  const { outgoing } = post(url, ENDLESS);
  await begun.promise;
  outgoing.destroy();
  t.regex(await end.promise, /end|close/);
});
