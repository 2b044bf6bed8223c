/** WebSockets of clients: what a function sends and receives, and how each side closes. */
import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import { ISOLATIONS, nextInvocation, nextLog } from '../../new-host.js';
import { accepting, closed, connect, connected, ECHO, nextMessage, refusal, rigOf } from './servers.js';

for (const isolation of ISOLATIONS) {
  test(`a function echoes text and bytes of every size, isolation ${isolation}`, async t => {
    const { url } = await rigOf(t, ECHO, { host: { isolation } });
    const ws = await connected(t, url);
    for (const text of ['', 'hello', 'ü\ud83d\ude00', 'x'.repeat(40_000), 'é'.repeat(700_000)]) {
      ws.send(text);
      t.is(await nextMessage(ws), text);
    }
    for (const size of [0, 1, 32 * 1024, 70_000, 3_000_000]) {
      const bytes = Buffer.alloc(size, 7);
      ws.send(bytes);
      const [data, isBinary] = await once(ws, 'message');
      t.true(isBinary);
      t.true(bytes.equals(data));
    }
    ws.close(4001, 'done');
    t.deepEqual(await closed(ws), { code: 4001, reason: 'done' });
  });
}

test('many messages keep their order, and each is an event with its microtasks', async t => {
  const { url } = await rigOf(
    t,
    accepting(`let open = 0;
      server.addEventListener('message', async ({ data }) => { open++; await null; await null; server.send(data + ':' + open); open--; });`),
  );
  const ws = await connected(t, url);
  const received: string[] = [];
  ws.on('message', data => received.push(data.toString()));
  for (let n = 0; n < 500; n++) ws.send(`${n}`);
  while (received.length < 500) await once(ws, 'message');
  t.deepEqual(
    received,
    Array.from({ length: 500 }, (_, n) => `${n}:1`),
  );
});

test('a close of the function reaches the client with its code, and comes back', async t => {
  const { host, url } = await rigOf(
    t,
    accepting(`server.addEventListener('close', ({ code, reason, wasClean }) => console.log(JSON.stringify({ code, reason, wasClean, state: server.readyState })));
      server.addEventListener('message', () => server.close(4002, 'bye'));`),
  );
  const log = nextLog(host, 'sockets');
  const over = nextInvocation(host);
  const ws = await connected(t, url);
  ws.send('now');
  t.deepEqual(await closed(ws), { code: 4002, reason: 'bye' });
  t.deepEqual(JSON.parse(await log), { code: 4002, reason: 'bye', wasClean: true, state: 3 });
  const { outcome, status } = await over;
  t.deepEqual({ outcome, status }, { outcome: 'ok', status: 101 });
});

test('a client that is cut off is an error and a close of 1006, and ends the invocation', async t => {
  const { host, url } = await rigOf(
    t,
    accepting(`const seen = [];
      server.onerror = ({ error }) => seen.push(error instanceof Error);
      server.onclose = ({ code, wasClean }) => console.log(JSON.stringify([...seen, code, wasClean]));`),
  );
  const log = nextLog(host, 'sockets');
  const over = nextInvocation(host);
  const ws = await connected(t, url);
  ws.terminate();
  t.deepEqual(JSON.parse(await log), [true, 1006, false]);
  t.is((await over).outcome, 'responseStreamDisconnected');
});

test('waitUntil outlives the client', async t => {
  const { host, url } = await rigOf(
    t,
    accepting(
      `server.addEventListener('close', () => ctx.waitUntil(scheduler.wait(50).then(() => console.log('kept'))));`,
    ),
  );
  const log = nextLog(host, 'sockets');
  (await connected(t, url)).close();
  t.is(await log, 'kept');
});

test('messages that come before accept() wait, and what is sent before the response is sent', async t => {
  const source = `export default { fetch(request, env, ctx) {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept(); server.send('first');
    ctx.waitUntil(scheduler.wait(1));
    return new Response(null, { status: 101, webSocket: client, headers: { 'x-own': 'yes' } });
  } };`;
  const { url } = await rigOf(t, source);
  const ws = connect(t, url);
  const [[response], first] = await Promise.all([once(ws, 'upgrade'), nextMessage(ws)]);
  t.is(response.headers['x-own'], 'yes');
  t.is(first, 'first');
});

test('the function chooses a protocol of those that the client offers', async t => {
  const { url } = await rigOf(
    t,
    `export default { fetch(request) {
      const [client, server] = new WebSocketPair(); server.accept();
      const protocol = request.headers.get('sec-websocket-protocol').split(',')[1].trim();
      return new Response(null, { status: 101, webSocket: client, headers: { 'sec-websocket-protocol': protocol } });
    } };`,
  );
  const ws = connect(t, url, ['one', 'two']);
  await once(ws, 'open');
  t.is(ws.protocol, 'two');
});

test('a function may answer an upgrade with any response', async t => {
  const { url, host } = await rigOf(t, "export default { fetch: () => new Response('no, thanks', { status: 403 }) };");
  t.deepEqual(await refusal(connect(t, url)), { status: 403, text: 'no, thanks' });
  await host.load("export default { fetch() { throw new Error('no') } }", { name: 'throws', routes: ['*/throws'] });
  t.is((await refusal(connect(t, `${url}/throws`))).status, 500);
});

const CODE = 'EDGE_WEBSOCKET_VERSION';

test('what is no handshake is refused before a function is asked', async t => {
  const { host, url } = await rigOf(t, ECHO);
  host.on('invocation', () => t.fail('no invocation was expected'));
  const key = `${'a'.repeat(22)}==`;
  for (const [status, headers] of [
    [426, {}],
    [426, { 'sec-websocket-key': key }],
    [426, { 'sec-websocket-key': key, 'sec-websocket-version': '7' }],
    [426, { 'sec-websocket-key': key, 'sec-websocket-version': '8' }],
    [426, { 'sec-websocket-key': key, 'sec-websocket-version': '13, 8' }],
    [400, { 'sec-websocket-key': 'x', 'sec-websocket-version': '13' }],
    [400, { 'sec-websocket-version': '13' }],
  ] as const) {
    const request = http.get(url.replace('ws:', 'http:'), {
      headers: { accept: 'application/json', connection: 'upgrade', upgrade: 'websocket', ...headers },
    });
    const [response] = await once(request, 'response');
    t.is(response.statusCode, status);
    t.is(response.headers['sec-websocket-version'], status === 426 ? '13' : undefined);
    t.is(response.headers.upgrade, status === 426 ? 'websocket' : undefined);
    response.setEncoding('utf8');
    let text = '';
    for await (const part of response) text += part;
    t.is(text.includes(CODE), status === 426, text);
  }
});

test('a 101 to a request that asks for none is an error', async t => {
  const { url, fn, host } = await rigOf(t, ECHO.replace(/if \(request.*\n/, ''));
  t.is((await fetch(url.replace('ws:', 'http:'))).status, 500);
  const over = nextInvocation(host);
  await t.throwsAsync(fn.fetch('http://x/'), { message: /does not ask for one/ });
  t.is((await over).outcome, 'exception');
});

test('event streams go on beside WebSockets', async t => {
  const { url } = await rigOf(
    t,
    `${ECHO.slice(0, ECHO.indexOf('if (request'))}
      if (request.headers.get('upgrade') === null) {
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        ctx.waitUntil((async () => { for (let n = 0; n < 3; n++) await writer.write(new TextEncoder().encode('data: ' + n + '\\n\\n')); await writer.close(); })());
        return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
      }
      ${ECHO.slice(ECHO.indexOf('const [client'))}`,
  );
  const ws = await connected(t, url);
  const response = await fetch(url.replace('ws:', 'http:'));
  t.is(await response.text(), 'data: 0\n\ndata: 1\n\ndata: 2\n\n');
  ws.send('still');
  t.is(await nextMessage(ws), 'still');
});
