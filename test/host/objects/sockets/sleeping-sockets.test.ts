/** WebSockets that an object has accepted to sleep: what it receives, what it sends, and what outlasts the instance. */
import { once } from 'node:events';
import test from 'ava';
import type { FunctionSocket } from '../../../../src/index.js';
import { until } from '../../../backend/spawn/with-backend.js';
import { closed, connect, connected, nextMessage } from '../../ingress/websocket/servers.js';
import { ISOLATIONS, nextLog } from '../../new-host.js';
import { ROOM, sleepRig } from './sleeping.js';

for (const isolation of ISOLATIONS) {
  test(`messages, tags, attachments and closes reach the object (${isolation})`, async t => {
    const { host, url } = await sleepRig(t, { host: { isolation } });
    const ann = await connected(t, `${url}/a?name=ann&tag=x&tag=y`);
    const bob = await connected(t, `${url}/a?name=bob&tag=y`);
    ann.send('echo ü\ud83d\ude00');
    t.is(await nextMessage(ann), 'ü\ud83d\ude00');
    ann.send('tags');
    t.is(await nextMessage(ann), '["x","y"]');
    for (const count of [1, 2]) {
      ann.send('count');
      t.is(await nextMessage(ann), `{"name":"ann","count":${count}}`);
    }
    const both = [nextMessage(ann), nextMessage(bob)];
    bob.send('all y');
    t.deepEqual(await Promise.all(both), ['to ann', 'to bob']);
    bob.send('put value');
    t.is(await nextMessage(bob), 'value');
    // The object detaches the buffer of each.
    for (const size of [0, 0, 1, 100_000, 3_000_000]) {
      const bytes = Buffer.alloc(size, 7);
      ann.send(bytes);
      const [data, isBinary] = await once(ann, 'message');
      t.true(isBinary);
      t.true(bytes.equals(data));
    }
    const log = nextLog(host, 'rooms');
    bob.close(4003, 'gone');
    await closed(bob);
    t.deepEqual(JSON.parse(await log), ['close', 'bob', 4003, 'gone', true, 3, 1]);
    const end = closed(ann);
    ann.send('close');
    t.deepEqual(await end, { code: 4001, reason: 'asked' });
  });
}

/** The number of the object in its isolate, what it has found when it was made, what is open, its name. */
async function who(ws: Parameters<typeof nextMessage>[0]): Promise<readonly [number, number, number, string]> {
  ws.send('who');
  return JSON.parse(await nextMessage(ws));
}

for (const isolation of ISOLATIONS) {
  test(`sockets outlast the isolate, an object that is aborted, and a new version (${isolation})`, async t => {
    const { host, fn, url } = await sleepRig(t, { host: { isolation, objectIdleMs: 300, idleMs: 300 } });
    const ann = await connected(t, `${url}/a?name=ann&tag=x`);
    const bob = await connected(t, `${url}/a?name=bob`);
    ann.send('auto ping pong');
    t.deepEqual(await who(ann), [1, 0, 2, '/a']);
    await until(() => host.health().isolates === 0);
    // Answered while there is nobody.
    ann.send('ping');
    t.is(await nextMessage(ann), 'pong');
    t.is(host.health().isolates, 0);
    ann.send('count');
    t.is(await nextMessage(ann), '{"name":"ann","count":1}');
    ann.send('when');
    t.true(Math.abs(Number(await nextMessage(ann)) - Date.now()) < 60_000);
    ann.send('tags');
    t.is(await nextMessage(ann), '["x"]');
    bob.send('abort');
    const [, ...found] = await who(bob);
    t.deepEqual(found, [2, 2, '/a']);
    bob.send('throw');
    t.deepEqual((await who(bob)).slice(1), [2, 2, '/a']);
    await host.load(ROOM.replace("'to '", "'TO '"), { name: 'rooms', routes: ['*/*'], objects: { ROOM: 'Room' } });
    const both = [nextMessage(ann), nextMessage(bob)];
    ann.send('all');
    t.deepEqual(await Promise.all(both), ['TO ann', 'TO bob']);
    const ends = [closed(ann), closed(bob)];
    fn.unload();
    t.deepEqual(await Promise.all(ends), Array(2).fill({ code: 1001, reason: 'EDGE_FUNCTION_UNLOADED' }));
  });
}

test('an event of a socket is an invocation, and the one that has accepted it is over', async t => {
  const { host, url } = await sleepRig(t);
  const events: string[] = [];
  host.on('invocation', ({ kind, method, outcome, status, object }) => {
    events.push([kind, method, outcome, status, object?.className].join(' '));
  });
  const ann = await connected(t, `${url}/a?name=ann&hello`);
  await until(() => events.length === 2);
  t.deepEqual(events.splice(0).sort(), ['fetch GET ok 101 ', 'fetch GET ok 101 Room']);
  t.is(host.health().accounts, 1);
  ann.send('echo 1');
  await nextMessage(ann);
  ann.send('throw');
  await until(() => events.length === 2);
  t.deepEqual(events, ['fetch WEBSOCKET ok 200 Room', 'fetch WEBSOCKET exception  Room']);
});

test('messages keep their order, and a client that is cut off is a close of 1006', async t => {
  const { host, url } = await sleepRig(t);
  const ann = await connected(t, `${url}/a?name=ann`);
  const got: string[] = [];
  ann.on('message', data => got.push(String(data)));
  for (let n = 0; n < 2000; n++) ann.send(`echo ${n}`);
  await until(() => got.length === 2000);
  t.deepEqual(
    got,
    Array.from({ length: 2000 }, (_, n) => `${n}`),
  );
  const log = nextLog(host, 'rooms');
  ann.terminate();
  const why = 'WebSocket disconnected without sending Close frame.';
  t.deepEqual(JSON.parse(await log), ['close', 'ann', 1006, why, false, 3, 0]);
});

test('the application, and a function that accepts what an object answers, are clients like any other', async t => {
  const { host, fn, url } = await sleepRig(t);
  const headers = { upgrade: 'websocket' };
  const { webSocket } = (await fn
    .objects('Room')
    .getByName('a')
    .fetch('https://x/?name=app&hello', { headers })) as never as {
    readonly webSocket: FunctionSocket;
  };
  const got: unknown[] = [];
  webSocket.addEventListener('message', event => got.push((event as MessageEvent).data));
  webSocket.accept();
  webSocket.send('echo hi');
  await until(() => got.length === 2);
  t.deepEqual(got, ['hello', 'hi']);
  const caller = await host.load(
    `export default { async fetch(request, env) {
      const { webSocket } = await env.ROOM.getByName('a').fetch('https://x/?name=fn&hello', { headers: { upgrade: 'websocket' } });
      const got = [];
      const over = new Promise(resolve => webSocket.addEventListener('close', ({ code }) => resolve(code)));
      webSocket.addEventListener('message', ({ data }) => { got.push(data); if (got.length === 2) webSocket.send('close'); });
      webSocket.accept();
      webSocket.send('all');
      return Response.json([await over, got]);
    } };`,
    { name: 'caller', objects: { ROOM: { class: 'Room', function: 'rooms' } } },
  );
  t.deepEqual(await (await caller.fetch('https://x/')).json(), [4001, ['hello', 'to fn']]);
  await until(() => got.length === 3);
  t.is(got[2], 'to app');
  // Through two functions: each passes it on.
  await host.load('export default { fetch: (request, env) => env.ROOMS.fetch(request) };', {
    name: 'front',
    services: { ROOMS: 'rooms' },
    routes: ['front.test/*'],
  });
  const ann = await connected(t, `${url}/a?name=ann`, { headers: { host: 'front.test' } });
  ann.send('echo through');
  t.is(await nextMessage(ann), 'through');
  const over = new Promise(resolve => webSocket.addEventListener('close', resolve));
  webSocket.close(4005, 'enough');
  t.is(((await over) as { readonly code: number }).code, 4005);
});

for (const isolation of ISOLATIONS) {
  test(`a WebSocket is accepted while other events of the object write (${isolation})`, async t => {
    const source = `import { StatefulObject } from 'edgehost:workers';
    export class Room extends StatefulObject {
      fetch() {
        const [client, server] = Object.values(new WebSocketPair());
        this.ctx.acceptWebSocket(server);
        server.send('hello');
        return new Response(null, { status: 101, webSocket: client });
      }
      write(value) { this.ctx.storage.put('value', value); }
    }
    export default { fetch: (request, env) => env.ROOM.getByName('a').fetch(request) };`;
    const { fn, url } = await sleepRig(t, { host: { isolation }, source });
    const { rpc } = fn.objects('Room').getByName('a');
    let isOver = false;
    const writing = async (): Promise<void> => {
      for (let value = 0; !isOver; value++) {
        await rpc.write?.(value);
        await new Promise(resolve => setTimeout(resolve, 5));
      }
    };
    const writer = writing();
    for (let round = 0; round < 10; round++) {
      const greetings = Array.from({ length: 4 }, async () => {
        const socket = connect(t, url);
        const greeting = await Promise.race([
          nextMessage(socket),
          once(socket, 'unexpected-response').then(([, { statusCode }]) => `refused with ${statusCode}`),
        ]);
        socket.terminate();
        return greeting;
      });
      t.deepEqual(await Promise.all(greetings), ['hello', 'hello', 'hello', 'hello']);
    }
    isOver = true;
    await writer;
  });
}
