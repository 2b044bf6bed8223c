/** What a function has sent, closed, aborted, logged or called before its event ends leaves, whatever becomes of the event. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction } from '../../../src/index.js';
import { connect, serveSockets } from '../ingress/websocket/servers.js';
import { ISOLATIONS, newHost } from '../new-host.js';

const LAST = `import { StatefulObject } from 'edgehost:workers';
const pair = () => Object.values(new WebSocketPair());
const answer = client => new Response(null, { status: 101, webSocket: client });
export class Room extends StatefulObject {
  fetch() { const [client, server] = pair(); this.ctx.acceptWebSocket(server); return answer(client); }
  webSocketMessage(ws, text) {
    if (text === 'log') console.log('logged in a message');
    else if (text === 'throw') { ws.send('before a throw'); throw new Error('thrown'); }
    else if (text === 'close') { ws.send('before a close'); ws.close(4001, 'by the room'); }
    else if (text === 'close and throw') { ws.close(4002, 'thrown'); throw new Error('thrown'); }
    else if (text === 'write and abort') { this.ctx.storage.put('a', 1); ws.send('must not leave'); ws.close(4006); this.ctx.abort(new Error('aborted')); }
    else if (text === 'abort') { ws.send('before an abort'); this.ctx.abort(new Error('aborted')); }
    else ws.send('echo ' + text);
  }
  webSocketClose(ws, code) { for (const other of this.ctx.getWebSockets()) if (other !== ws) other.send('left ' + code); console.log('closed ' + code); }
  say() { for (const ws of this.ctx.getWebSockets()) { ws.send('from a call'); } throw new Error('thrown'); }
  async alarm() { console.log('logged in an alarm'); throw new Error('thrown'); }
  arm() { this.ctx.storage.setAlarm(Date.now()); }
  late() { setTimeout(() => { for (const ws of this.ctx.getWebSockets()) ws.send('from a timer'); console.log('logged in a timer'); throw new Error('thrown'); }, 10); }
}
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/room') return env.ROOM.getByName('a').fetch(request);
    if (pathname === '/say') { await env.ROOM.getByName('a').say().catch(() => {}); return new Response(); }
    if (pathname === '/late') { await env.ROOM.getByName('a').late(); return new Response(); }
    if (pathname === '/log') { console.log('logged at the end'); return new Response(); }
    if (pathname === '/throw') { console.log('logged before a throw'); throw new Error('thrown'); }
    if (pathname === '/abort') {
      const controller = new AbortController();
      await fetch(searchParams.get('to'), { signal: controller.signal });
      controller.abort();
      return new Response();
    }
    if (pathname === '/queue') {
      const kind = searchParams.get('kind');
      await env.QUEUE.send(kind);
      return new Response();
    }
    const [client, server] = pair();
    server.accept();
    if (pathname === '/greet') { server.send('hello'); server.close(4003, 'at once'); }
    if (pathname === '/socket') server.addEventListener('message', ({ data }) => {
      if (data === 'throw') { server.send('before a throw'); throw new Error('thrown'); }
      if (data === 'close') { server.send('before a close'); server.close(4004, 'in a message'); }
    });
    if (pathname === '/socket') server.addEventListener('close', ({ code }) => { console.log('closed ' + code); });
    return answer(client);
  },
  queue(batch) {
    for (const message of batch.messages) {
      console.log('got ' + message.body + ' ' + message.attempts);
      if (message.body === 'ack and throw') { message.ack(); throw new Error('thrown'); }
      if (message.body === 'retry' && message.attempts === 1) message.retry();
    }
  },
};`;

interface Last {
  readonly fn: EdgeFunction;
  readonly logs: string[];
  readonly url: string;
  ask(path: string): Promise<void>;
}

async function load(t: ExecutionContext, isolation: (typeof ISOLATIONS)[number]): Promise<Last> {
  const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
  const fn = await host.load(LAST, {
    name: 'last',
    routes: ['*/*'],
    objects: { ROOM: 'Room' },
    queues: { QUEUE: 'words' },
    consumers: [{ queue: 'words', maxBatchTimeoutSeconds: 0, retryDelaySeconds: 0 }],
  });
  const logs: string[] = [];
  host.on('log', ({ message }) => logs.push(message));
  const url = await serveSockets(t, host);
  return {
    fn,
    logs,
    url,
    ask: async path => {
      await fn.fetch(`http://x${path}`).then(
        response => response.arrayBuffer(),
        () => {},
      );
    },
  };
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 500 && !isSo(); tries++) await sleep(20);
  return isSo();
}

/** What a client gets: texts, and the close. */
function heardBy(socket: ReturnType<typeof connect>): string[] {
  const heard: string[] = [];
  socket.on('message', data => heard.push(String(data)));
  socket.on('close', (code, reason) => heard.push(`${code} ${reason}`));
  return heard;
}

for (const isolation of ISOLATIONS) {
  test(`what is logged right before a request ends or fails arrives (${isolation})`, async t => {
    const { logs, ask } = await load(t, isolation);
    for (let i = 0; i < 20; i++) {
      await ask('/log');
      await ask('/throw');
    }
    t.true(await until(() => logs.filter(line => line === 'logged at the end').length === 20));
    t.is(logs.filter(line => line === 'logged before a throw').length, 20);
  });

  test(`abort() of a fetch right before the handler returns reaches the origin (${isolation})`, async t => {
    let asked = 0;
    let gone = 0;
    const origin = http.createServer((request, response) => {
      asked++;
      response.write('a part');
      request.on('close', () => gone++);
    });
    origin.listen(0, '127.0.0.1');
    await once(origin, 'listening');
    t.teardown(() => {
      origin.closeAllConnections();
      origin.close();
    });
    const { ask } = await load(t, isolation);
    const { port } = origin.address() as AddressInfo; // it listens
    await ask(`/abort?to=http://127.0.0.1:${port}/`);
    t.is(asked, 1);
    t.true(await until(() => gone === 1));
  });

  const rooms: readonly (readonly [said: string, heard: readonly string[]])[] = [
    ['echo', ['echo echo']],
    ['throw', ['before a throw']],
    ['close', ['before a close', '4001 by the room']],
    ['close and throw', ['4002 thrown']],
    ['abort', ['before an abort']],
  ];
  for (const [said, expected] of rooms) {
    test(`webSocketMessage(): what was sent and closed leaves: ${said} (${isolation})`, async t => {
      const { url } = await load(t, isolation);
      const socket = connect(t, `${url}/room`);
      const heard = heardBy(socket);
      await once(socket, 'open');
      socket.send(said);
      await until(() => heard.length >= expected.length);
      t.deepEqual(heard.slice(0, expected.length), expected);
    });
  }

  test(`webSocketMessage(): what waits for a write does not leave when the object is reset (${isolation})`, async t => {
    const { url } = await load(t, isolation);
    const socket = connect(t, `${url}/room`);
    const heard = heardBy(socket);
    await once(socket, 'open');
    socket.send('write and abort');
    socket.send('echo');
    t.true(await until(() => heard.length > 0));
    t.deepEqual(heard, ['echo echo']);
  });

  test(`webSocketClose() and calls that throw: what they send and log leaves (${isolation})`, async t => {
    const { url, ask, logs, fn } = await load(t, isolation);
    const [stays, leaves] = [connect(t, `${url}/room`), connect(t, `${url}/room`)];
    const heard = heardBy(stays);
    await Promise.all([once(stays, 'open'), once(leaves, 'open')]);
    leaves.close(4000);
    t.true(await until(() => heard.includes('left 4000') && logs.includes('closed 4000')), heard.join());
    await ask('/say');
    t.true(await until(() => heard.includes('from a call')), heard.join());
    await ask('/late');
    t.true(await until(() => heard.includes('from a timer') && logs.includes('logged in a timer')), heard.join());
    stays.send('log');
    t.true(await until(() => logs.includes('logged in a message')));
    const room = fn.objects('Room').getByName('a');
    await room.rpc.arm?.();
    t.true(await until(() => logs.includes('logged in an alarm')));
  });

  test(`WebSockets of requests: what was sent and closed leaves (${isolation})`, async t => {
    const { url, logs } = await load(t, isolation);
    const greeted = heardBy(connect(t, `${url}/greet`));
    t.true(await until(() => greeted.length === 2));
    t.deepEqual(greeted, ['hello', '4003 at once']);
    const cases = [
      ['throw', ['before a throw']],
      ['close', ['before a close', '4004 in a message']],
    ] as const;
    for (const [said, expected] of cases) {
      const socket = connect(t, `${url}/socket`);
      const heard = heardBy(socket);
      await once(socket, 'open');
      socket.send(said);
      await until(() => heard.length >= expected.length);
      t.deepEqual(heard, [...expected]);
      if (said !== 'throw') continue;
      socket.close(4005);
      t.true(await until(() => logs.includes('closed 4005')), logs.join());
    }
  });

  test(`ack() and retry() right before a batch ends or fails count (${isolation})`, async t => {
    const { ask, logs } = await load(t, isolation);
    await ask('/queue?kind=retry');
    t.true(await until(() => logs.includes('got retry 2')), logs.join());
    await ask('/queue?kind=ack and throw');
    t.true(await until(() => logs.includes('got ack and throw 1')), logs.join());
    await sleep(1000);
    t.false(logs.includes('got ack and throw 2'), logs.join());
  });
}

test('what a tail logs and calls right before it ends or fails leaves', async t => {
  const host = newHost(t);
  const logs: string[] = [];
  host.on('log', ({ function: name, message }) => {
    if (name === 'watcher') logs.push(message);
  });
  await host.load(
    `export default { tail(items) { console.log('saw ' + items[0].logs[0].message); throw new Error('thrown'); } };`,
    { name: 'watcher' },
  );
  const fn = await host.load(`export default { fetch() { console.log('a word'); return new Response(''); } };`, {
    name: 'watched',
    tails: ['watcher'],
  });
  await fn.fetch('http://x/');
  t.true(await until(() => logs.some(line => line.startsWith('saw '))));
});
