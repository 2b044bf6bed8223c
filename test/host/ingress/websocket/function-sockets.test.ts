/** WebSockets between the application and a function, by fetch(), and between two functions, by a service binding. */
import { once } from 'node:events';
import test from 'ava';
import type { FunctionSocket, UpgradedResponse } from '../../../../src/index.js';
import { ISOLATIONS, newHost, nextInvocation } from '../../new-host.js';
import { accepting, connected, ECHO, nextMessage, serveSockets } from './servers.js';

const UPGRADE = { headers: { Upgrade: 'websocket' } };

/** What comes of a socket from here on. */
function seen(socket: FunctionSocket): unknown[] {
  const events: unknown[] = [];
  socket.addEventListener('message', event => events.push(event instanceof MessageEvent ? event.data : undefined));
  socket.addEventListener('close', event => {
    if ('code' in event) events.push(event.code);
  });
  return events;
}

for (const isolation of ISOLATIONS) {
  test(`fetch() of the application gives the socket of the function, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(ECHO);
    const over = nextInvocation(host);
    const answer = (await fn.fetch('http://x/', UPGRADE)) as UpgradedResponse; // what a 101 is
    t.is(answer.status, 101);
    const { webSocket } = answer;
    const events = seen(webSocket);
    webSocket.accept();
    webSocket.send('text');
    await once(webSocket, 'message');
    webSocket.send(Buffer.alloc(200_000, 1));
    await once(webSocket, 'message');
    webSocket.close(4000, 'done');
    await once(webSocket, 'close');
    t.is(events[0], 'text');
    t.is((events[1] as ArrayBuffer).byteLength, 200_000);
    t.throws(() => webSocket.send('late'), { message: /close\(\) was called/ });
    t.is((await over).outcome, 'ok');
  });
}

test('a close of the function reaches the application, and its failure does', async t => {
  const host = newHost(t);
  const fn = await host.load(
    accepting(
      "server.onmessage = ({ data }) => { if (data === 'close') server.close(4009, 'by me'); else for (;;); };",
    ),
    { limits: { cpuMs: 100 } },
  );
  for (const [word, code] of [
    ['close', 4009],
    ['spin', 1006],
  ] as const) {
    const { webSocket } = (await fn.fetch('http://x/', UPGRADE)) as UpgradedResponse; // what a 101 is
    const events = seen(webSocket);
    webSocket.accept();
    webSocket.send(word);
    await once(webSocket, 'close');
    t.deepEqual(events, [code]);
  }
});

test('a WebSocket passes a service binding', async t => {
  const host = newHost(t);
  await host.load(ECHO, { name: 'echo' });
  await host.load('export default { fetch: (request, env) => env.ECHO.fetch(request) };', {
    name: 'front',
    services: { ECHO: 'echo' },
    routes: ['*/*'],
  });
  const ws = await connected(t, await serveSockets(t, host));
  for (const text of ['by two', 'x'.repeat(300_000)]) {
    ws.send(text);
    t.is(await nextMessage(ws), text);
  }
  const ends = [
    nextInvocation(host, event => event.function === 'echo'),
    nextInvocation(host, event => event.function === 'front'),
  ];
  ws.close();
  await Promise.all(ends);
  t.pass();
});

test('a message that is longer than the host holds for the account closes the socket of the application', async t => {
  const host = newHost(t, { hostBytes: 4 * 1024 * 1024 });
  const fn = await host.load(
    accepting("server.onmessage = ({ data }) => server.send(data === 'long' ? new Uint8Array(2 << 20) : data);"),
  );
  for (const [word, expected] of [
    ['long', 1006],
    ['short', 'short'],
  ] as const) {
    const { webSocket } = (await fn.fetch('http://x/', UPGRADE)) as UpgradedResponse; // what a 101 is
    const events = seen(webSocket);
    webSocket.accept();
    webSocket.send(word);
    await Promise.race([once(webSocket, 'close'), once(webSocket, 'message')]);
    t.deepEqual(events, [expected]);
    webSocket.close();
  }
});
