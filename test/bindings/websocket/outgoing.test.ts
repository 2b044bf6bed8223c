/** WebSockets that functions open: under the policy of outgoing requests, counted, and handed on. */
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { WebSocketServer } from 'ws';
import { UpgradedResponse } from '../../../src/host/ingress/websocket/function-socket.js';
import {
  closed,
  connect,
  connected,
  ECHO,
  nextMessage,
  refusal,
  rigOf,
  serveSockets,
} from '../../host/ingress/websocket/servers.js';
import { ISOLATIONS, newHost, nextInvocation } from '../../host/new-host.js';

const LOCAL = { egress: { allow: ['127.0.0.1'] } } as const;

/** A server that echoes; answers its port. */
async function echoServer(
  t: ExecutionContext,
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' }),
): Promise<number> {
  server.on('connection', ws => ws.on('error', () => {}).on('message', (data, binary) => ws.send(data, { binary })));
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on TCP');
  return address.port;
}

const handler = (body: string): string => `export default { async fetch(request, env, ctx) { ${body} } };`;
const WAIT = `const next = (ws, type = 'message') => new Promise(resolve => ws.addEventListener(type, resolve, { once: true }));`;

for (const isolation of ISOLATIONS) {
  test(`new WebSocket() connects, sends, receives and closes, isolation ${isolation}`, async t => {
    const port = await echoServer(t);
    const host = newHost(t, { isolation, ...LOCAL });
    const fn = await host.load(
      handler(`${WAIT}
        const ws = new WebSocket('ws://127.0.0.1:${port}/path');
        const states = [ws.readyState];
        await next(ws, 'open');
        states.push(ws.readyState, ws.url);
        ws.binaryType = 'arraybuffer';
        ws.send('hello');
        states.push((await next(ws)).data);
        ws.send(new Uint8Array(200000).fill(3));
        states.push((await next(ws)).data.byteLength);
        ws.close(4000, 'done');
        const { code, reason, wasClean } = await next(ws, 'close');
        return Response.json([...states, code, reason, wasClean, ws.readyState]);`),
    );
    const over = nextInvocation(host);
    const answer = await (await fn.fetch('http://x/')).json();
    t.deepEqual(answer, [0, 1, `ws://127.0.0.1:${port}/path`, 'hello', 200_000, 4000, 'done', true, 3]);
    t.is((await over).subrequests, 1);
  });
}

for (const isolation of ISOLATIONS) {
  test(`what the open event of new WebSocket() sends and closes leaves at once, isolation ${isolation}`, async t => {
    const port = await echoServer(t);
    const fn = await newHost(t, { isolation, ...LOCAL }).load(
      handler(`${WAIT}
        const byHandler = new WebSocket('ws://127.0.0.1:${port}/');
        byHandler.binaryType = 'arraybuffer';
        byHandler.onopen = () => { byHandler.send('a'); byHandler.send(new Blob([new Uint8Array([7]), 'b'])); };
        const seen = [(await next(byHandler)).data, [...new Uint8Array((await next(byHandler)).data)]];
        byHandler.accept();
        byHandler.send('after');
        seen.push((await next(byHandler)).data);
        const byListener = new WebSocket('ws://127.0.0.1:${port}/');
        byListener.addEventListener('open', () => byListener.close(4001, 'enough'));
        const { code, reason } = await next(byListener, 'close');
        return Response.json([...seen, code, reason]);`),
    );
    t.deepEqual(await (await fn.fetch('http://x/')).json(), ['a', [7, 98], 'after', 4001, 'enough']);
  });
}

test('send() sends the bytes of a Blob in their order, and accept() may be called twice', async t => {
  const { fn } = await rigOf(
    t,
    `import { StatefulObject } from 'edgehost:workers';
    export class Room extends StatefulObject {
      fetch() {
        const [client, server] = Object.values(new WebSocketPair());
        this.ctx.acceptWebSocket(server);
        try { server.accept(); } catch ({ message }) { server.send(message); }
        return new Response(null, { status: 101, webSocket: client });
      }
      webSocketMessage(socket, message) { socket.send(new Blob([message, '!'])); }
    }
    export default { fetch(request, env) {
      if (new URL(request.url).pathname === '/room') return env.ROOM.getByName('a').fetch(request);
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.accept();
      server.addEventListener('message', ({ data }) => { server.send(new Blob([data, '!'])); server.send('after'); });
      return new Response(null, { status: 101, webSocket: client });
    } };`,
    { load: { objects: { ROOM: 'Room' } } },
  );
  for (const [path, first] of [
    ['/', undefined],
    ['/room', "Can't accept() WebSocket after enabling hibernation."],
  ] as const) {
    const { webSocket } = (await fn.fetch(`http://x${path}`, {
      headers: { Upgrade: 'websocket' },
    })) as UpgradedResponse;
    const got: unknown[] = [];
    const isDone = new Promise<void>(resolve => {
      webSocket.addEventListener('message', event => {
        const { data } = event as MessageEvent; // the only event of this name
        got.push(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString()); // or bytes
        if (got.length === 2) resolve();
      });
    });
    webSocket.accept();
    webSocket.send('blob');
    await isDone;
    t.deepEqual(got, first === undefined ? ['blob!', 'after'] : [first, 'blob!']);
    webSocket.close();
  }
});

test('fetch() with Upgrade gives the socket of the answer, to be accepted or returned as it is', async t => {
  const port = await echoServer(t);
  const source = handler(`
    const answer = await fetch('http://127.0.0.1:${port}/', { headers: { Upgrade: 'websocket' } });
    if (new URL(request.url).pathname === '/proxy') return answer;
    const { webSocket } = answer;
    webSocket.accept();
    webSocket.send('by fetch');
    const { data } = await new Promise(resolve => webSocket.addEventListener('message', resolve));
    webSocket.close();
    return Response.json([answer.status, data]);`);
  const { fn, url } = await rigOf(t, source, { host: LOCAL });
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [101, 'by fetch']);
  const ws = await connected(t, `${url}/proxy`);
  for (const text of ['through', 'x'.repeat(300_000), 'again']) {
    ws.send(text);
    t.is(await nextMessage(ws), text);
  }
  ws.close(4003, 'enough');
  t.deepEqual(await closed(ws), { code: 4003, reason: 'enough' });
});

test('headers with names that all objects have reach the server of a socket, and nothing else does', async t => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const heads: (readonly string[])[] = [];
  server.on('connection', (_ws, { rawHeaders }) => heads.push(rawHeaders.map(text => text.toLowerCase())));
  const port = await echoServer(t, server);
  const host = newHost(t, LOCAL);
  const fn = await host.load(
    handler(`
      const headers = new Headers([['Upgrade', 'websocket'], ['__proto__', 'a'], ['constructor', 'b'], ['hasownproperty', 'c']]);
      const { webSocket } = await fetch('http://127.0.0.1:${port}/', { headers });
      webSocket.accept();
      webSocket.close();
      return new Response('opened');`),
  );
  t.is(await (await fn.fetch('http://x/')).text(), 'opened');
  const [head = []] = heads;
  for (const [name, value] of [
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['hasownproperty', 'c'],
  ] as const)
    t.is(head[head.indexOf(name) + 1], value, head.join());
});

test('a server that answers with anything else gives a response without a socket', async t => {
  const { url, host } = await rigOf(t, handler("return new Response('no', { status: 403 })"), { host: LOCAL });
  const fn = await host.load(
    handler(`const answer = await fetch('${url.replace('ws:', 'http:')}/', { headers: { Upgrade: 'websocket' } });
      return Response.json([answer.status, answer.webSocket, await answer.text()]);`),
    { name: 'caller' },
  );
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [403, null, 'no']);
});

test('an open socket holds no connection, and each counts as a subrequest', async t => {
  const port = await echoServer(t);
  const host = newHost(t, LOCAL);
  const fn = await host.load(
    handler(`const all = [];
      for (let n = 0; n < 8; n++) {
        const ws = new WebSocket('ws://127.0.0.1:${port}/');
        await new Promise(resolve => ws.addEventListener('open', resolve));
        all.push(ws);
      }
      return new Response(String(all.filter(ws => ws.readyState === 1).length));`),
  );
  const over = nextInvocation(host);
  t.is(await (await fn.fetch('http://x/')).text(), '8');
  t.is((await over).subrequests, 8);
});

test('the address policy, outbound and the number of sockets hold for WebSockets', async t => {
  const port = await echoServer(t);
  const source = handler(`try {
      for (let n = 0; n < 3; n++) await fetch('http://127.0.0.1:${port}/', { headers: { Upgrade: 'websocket' } });
      return new Response('open');
    } catch (error) { return new Response(error.code); }`);
  const attempt = async (options: Parameters<typeof newHost>[1]): Promise<string> =>
    (await (await newHost(t, options).load(source)).fetch('http://x/')).text();
  t.is(await attempt(LOCAL), 'open');
  t.is(await attempt({}), 'EDGE_EGRESS_DENIED');
  t.is(await attempt({ ...LOCAL, outbound: () => undefined }), 'EDGE_EGRESS_DENIED');
  t.is(await attempt({ egress: { allow: ['127.0.0.1'], socketsPerAccount: 2 } }), 'EDGE_EGRESS_FAILED');
});

test('a socket that cannot be opened is an error and a close of 1006', async t => {
  const host = newHost(t, LOCAL);
  const fn = await host.load(
    handler(`const ws = new WebSocket('ws://127.0.0.1:1/');
      const seen = [];
      ws.onerror = ({ message }) => seen.push(message.length > 0);
      return new Promise(resolve => { ws.onclose = ({ code, wasClean }) => resolve(Response.json([...seen, code, wasClean])); });`),
  );
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [true, 1006, false]);
});

test('a function that has accepted a socket of a server hands it to no client', async t => {
  const port = await echoServer(t);
  const { url } = await rigOf(
    t,
    handler(`const { webSocket } = await fetch('http://127.0.0.1:${port}/', { headers: { Upgrade: 'websocket' } });
      webSocket.accept();
      try { return new Response(null, { status: 101, webSocket }); } catch (error) { return new Response(error.message, { status: 418 }); }`),
    { host: LOCAL },
  );
  t.is((await refusal(connect(t, url))).status, 500);
});

test('with services in a process of their own sockets are opened there', async t => {
  const port = await echoServer(t);
  const source = handler(`
    if (request.headers.get('upgrade') !== null) return fetch('http://127.0.0.1:${port}/', request);
    const ws = new WebSocket('ws://127.0.0.1:${port}/');
    await new Promise(resolve => ws.addEventListener('open', resolve));
    ws.send('there');
    const { data } = await new Promise(resolve => ws.addEventListener('message', resolve));
    ws.close();
    return new Response(data);`);
  const { mkdtemp, rm } = await import('node:fs/promises');
  const { tmpdir } = await import('node:os');
  const { join } = await import('node:path');
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  const host = newHost(t, { ...LOCAL, storage, backend: 'process' });
  const fn = await host.load(source, { name: 'sockets', routes: ['*/*'] });
  t.is(await (await fn.fetch('http://x/')).text(), 'there');
  const ws = await connected(t, await serveSockets(t, host));
  for (const text of ['across', 'x'.repeat(300_000)]) {
    ws.send(text);
    t.is(await nextMessage(ws), text);
  }
  await host.load(ECHO, { name: 'echo', routes: [{ pattern: 'echo.example.com/*', customDomain: true }] });
  // More of them than an invocation has connections: an open WebSocket holds none.
  const many = handler(`${WAIT}
    const sockets = [];
    for (let n = 0; n < 8; n++) {
      const { webSocket } = await (n % 2 ? env.ECHO.fetch('http://x/', { headers: { Upgrade: 'websocket' } })
        : fetch('https://echo.example.com/', { headers: { Upgrade: 'websocket' } }));
      webSocket.accept();
      sockets.push(webSocket);
    }
    const answers = [];
    for (const ws of sockets) {
      ws.send(\`\${answers.length}\`);
      answers.push((await next(ws)).data);
    }
    for (const ws of sockets) ws.close();
    return new Response(answers.join(''));`);
  const caller = await host.load(many, { name: 'caller', services: { ECHO: 'echo' } });
  t.is(await (await caller.fetch('http://x/')).text(), '01234567');
});

/** A function that a custom domain leads to, and one that connects to it. */
async function localPair(t: ExecutionContext, options: Parameters<typeof newHost>[1], echo = ECHO) {
  const host = newHost(t, options);
  await host.load(echo, { name: 'echo', routes: [{ pattern: 'echo.example.com/*', customDomain: true }] });
  const source = handler(`${WAIT}
    if (request.headers.get('upgrade') !== null) return fetch('https://echo.example.com/', request);
    const ws = new WebSocket('wss://echo.example.com/');
    ws.binaryType = 'arraybuffer';
    await next(ws, 'open');
    ws.send('hello');
    const first = (await next(ws)).data;
    ws.send(new Uint8Array(200000));
    const second = (await next(ws)).data.byteLength;
    ws.close(4000, 'done');
    const { code, reason } = await next(ws, 'close');
    return Response.json([first, second, code, reason]);`);
  const fn = await host.load(source, { name: 'sockets', routes: ['front.example.com/*'] });
  return { host, fn };
}

for (const isolation of ISOLATIONS) {
  test(`a WebSocket to a custom domain of this host is one of its function, isolation ${isolation}`, async t => {
    const { host, fn } = await localPair(t, { isolation });
    const over = nextInvocation(host, event => event.function === 'echo');
    t.deepEqual(await (await fn.fetch('http://x/')).json(), ['hello', 200_000, 4000, '']);
    t.is((await over).status, 101);
    const ws = await connected(t, await serveSockets(t, host), { headers: { host: 'front.example.com' } });
    ws.send('through two');
    t.is(await nextMessage(ws), 'through two');
    const ends = ['echo', 'sockets'].map(name => nextInvocation(host, event => event.function === name));
    ws.terminate();
    await Promise.all(ends);
  });
}

test('sockets outlast unload(), and end with the account: of clients, of the application and to servers', async t => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const port = await echoServer(t, server);
  const host = newHost(t, LOCAL);
  const source = handler(`${WAIT}
    const [client, socket] = Object.values(new WebSocketPair());
    socket.accept();
    const out = new WebSocket('ws://127.0.0.1:${port}/');
    out.onmessage = ({ data }) => socket.send(data);
    await next(out, 'open');
    socket.onmessage = ({ data }) => out.send(data);
    return new Response(null, { status: 101, webSocket: client });`);
  const fn = await host.account('gone').load(source, { name: 'relay', routes: ['*/*'] });
  const ws = await connected(t, await serveSockets(t, host));
  const response = await fn.fetch('http://x/', { headers: { upgrade: 'websocket' } });
  if (!(response instanceof UpgradedResponse)) return t.fail();
  const { webSocket } = response;
  webSocket.accept();
  const ofServer = [...server.clients];
  t.is(ofServer.length, 2);
  fn.unload();
  ws.send('still there');
  t.is(await nextMessage(ws), 'still there');
  const ofApplication = new Promise(resolve => webSocket.addEventListener('close', resolve));
  const ends = Promise.all([closed(ws), ofApplication, ...ofServer.map(closed)]);
  await host.removeAccount('gone');
  t.is((await ends)[0].code, 1001);
});
