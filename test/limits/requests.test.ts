/** Size limits of requests, at the bound and one past it, at both ways in. */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHostOptions } from '../../src/index.js';
import { LIMITS, ZONE_PLANS } from '../../src/quotas/limits.js';
import { handler, newHost } from '../host/new-host.js';
import { bytesOf, overBoth, type ProtocolClient } from '../host/protocols.js';
import { listen, portOf } from '../servers.js';

const ANSWER = handler(
  `let bytes = 0; if (request.body) for await (const chunk of request.body) bytes += chunk.length; return new Response(String(bytes))`,
);
const { urlBytes, headersBytes, headerBytes } = LIMITS;

/** The status by the listener and the code by fetch(); 200 and an empty text when it was served. */
async function both(
  t: ExecutionContext,
  { listen, fetch }: ProtocolClient,
  request: RequestOf,
  options: EdgeHostOptions = {},
) {
  const host = newHost(t, options);
  const fn = await host.load(ANSWER);
  const { url, init } = request(await listen(t, host.listener({ function: fn })));
  const { status } = await fetch(url, init);
  const code = await fn.fetch(url, init).then(
    async response => (await response.text()).slice(0, 0),
    (error: { code: string }) => error.code,
  );
  return { status, code };
}

type RequestOf = (origin: string) => {
  readonly url: string;
  readonly init: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> };
};

for (const over of [0, 1]) {
  const served = { status: 200, code: '' };
  const title = over === 0 ? 'serves' : 'refuses';

  overBoth(`each endpoint ${title} a URL of ${urlBytes.values.free} + ${over} bytes`, async (t, client) => {
    const result = await both(t, client, origin => ({
      url: `${origin}/${'x'.repeat(urlBytes.values.free - origin.length - 1 + over)}`,
      init: {},
    }));
    t.deepEqual(result, over === 0 ? served : { status: 414, code: 'EDGE_URL_TOO_LONG' });
  });

  overBoth(`each endpoint ${title} a header of ${headerBytes.values.free} + ${over} bytes`, async (t, client) => {
    const result = await both(t, client, origin => ({
      url: origin,
      init: { headers: { 'x-long': 'v'.repeat(headerBytes.values.free - 6 + over) } },
    }));
    t.deepEqual(result, over === 0 ? served : { status: 431, code: 'EDGE_HEADERS_TOO_LARGE' });
  });

  test(`fetch() ${title} headers of ${headersBytes.values.free} + ${over} bytes together`, async t => {
    const fn = await newHost(t).load(ANSWER);
    const half = headersBytes.values.free / 2;
    const headers = { 'x-a': 'v'.repeat(half - 3), 'x-b': 'v'.repeat(half - 3 - 4), 'x-c': 'v'.repeat(1 + over) };
    if (over === 0) t.is((await fn.fetch('http://x/', { headers })).status, 200);
    else await t.throwsAsync(fn.fetch('http://x/', { headers }), { code: 'EDGE_HEADERS_TOO_LARGE' });
  });

  for (const method of ['POST', 'PUT', 'PATCH']) {
    overBoth(`each endpoint ${title} a ${method} body of the limit + ${over} bytes`, async (t, client) => {
      const result = await both(
        t,
        client,
        origin => ({ url: origin, init: { method, body: 'x'.repeat(1000 + over) } }),
        {
          limits: { bodyBytes: 1000 },
        },
      );
      t.deepEqual(result, over === 0 ? served : { status: 413, code: 'EDGE_BODY_TOO_LARGE' });
    });
  }
}

/** The status line of a request whose head is sent as it stands here. */
async function statusOf(port: number, lines: readonly string[]): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return String(answer).slice(0, 'HTTP/1.1 200'.length);
}

// Counted to the byte, on a head as it stands here.
for (const over of [0, 1]) {
  test(`the listener ${over === 0 ? 'serves' : 'refuses'} headers of ${headersBytes.values.free} + ${over} bytes together`, async t => {
    const host = newHost(t);
    const fn = await host.load(ANSWER);
    const warnings: Error[] = [];
    host.on('warning', error => warnings.push(error));
    const origin = await listen(t, host.listener({ function: fn }));
    // Host, the names and the values; colons, spaces and line ends do not count.
    const left = headersBytes.values.free - 'Hostx'.length - 'x-ax-bx-c'.length + over;
    const share = Math.floor(left / 3);
    const lines = [
      'GET / HTTP/1.1',
      'Host: x',
      `x-a: ${'v'.repeat(share)}`,
      `x-b: ${'v'.repeat(share)}`,
      `x-c: ${'v'.repeat(left - 2 * share)}`,
    ];
    t.is(await statusOf(Number(new URL(origin).port), lines), over === 0 ? 'HTTP/1.1 200' : 'HTTP/1.1 431');
    t.deepEqual(warnings, []);
  });
}

// With HTTP/2 a server resets what is beyond its own bounds, and nothing has to be checked.
test('a server whose own bound for heads is below the limits answers 431 by itself, of which the host warns once', async t => {
  const host = newHost(t);
  const fn = await host.load(ANSWER);
  const warnings: Error[] = [];
  host.on('warning', error => warnings.push(error));
  const server = http.createServer(host.listener({ function: fn })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = portOf(server);
  for (let n = 0; n < 2; n++) t.is(await statusOf(port, ['GET / HTTP/1.1', 'Host: x']), 'HTTP/1.1 200');
  t.is(await statusOf(port, ['GET / HTTP/1.1', 'Host: x', `x-a: ${'v'.repeat(http.maxHeaderSize)}`]), 'HTTP/1.1 431');
  t.is(warnings.length, 1);
  t.regex(
    warnings[0]?.message ?? '',
    /answers 431 to heads of more than 16384 bytes .*limits urlBytes and headersBytes allow 49152 .*maxHeaderSize: 50176/,
  );
});

for (const [most, maxHeadersCount] of [
  [1000, undefined],
  [10, 10],
  [100, 100],
] as const) {
  test(`a request with more than ${most} headers is refused, not served without some of them, with maxHeadersCount ${maxHeadersCount}`, async t => {
    const host = newHost(t);
    const fn = await host.load(handler('return new Response(request.headers.get("x-last"))'));
    const server = http.createServer({ maxHeaderSize: 128 * 1024 }, host.listener({ function: fn }));
    if (maxHeadersCount !== undefined) server.maxHeadersCount = maxHeadersCount;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const head = (count: number): string[] => [
      'GET / HTTP/1.1',
      'Host: x',
      ...Array.from({ length: count - 2 }, (_, n) => `x-${n}: v`),
      'x-last: v',
    ];
    t.is(await statusOf(portOf(server), head(most)), 'HTTP/1.1 200');
    for (const more of [1, 2, 50, 1000]) t.is(await statusOf(portOf(server), head(most + more)), 'HTTP/1.1 431');
  });
}

for (const zonePlan of ZONE_PLANS) {
  overBoth(
    `a Content-Length one past the limit is answered with 413 before any of the body on zone plan ${zonePlan}`,
    async (t, { listen, open }) => {
      const host = newHost(t, { zonePlan });
      const fn = await host.load(ANSWER);
      const origin = await listen(t, host.listener({ function: fn }));
      const headers = { 'content-length': String(LIMITS.bodyBytes.values[zonePlan] + 1) };
      const { answer, leave } = open(origin, { method: 'POST', headers });
      t.is((await answer).status, 413);
      t.regex(String(await bytesOf(await answer)), /Request entity too large/);
      leave();
    },
  );
}

test('a body of the largest length that the zone plan free allows is served as a stream', async t => {
  const host = newHost(t);
  const fn = await host.load(ANSWER);
  const piece = new Uint8Array(1024 * 1024);
  let left = LIMITS.bodyBytes.values.free / piece.length;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(piece);
      else controller.close();
    },
  });
  const response = await fn.fetch(new Request('http://x/', { method: 'POST', body, duplex: 'half' }));
  t.is(await response.text(), String(LIMITS.bodyBytes.values.free));
});
