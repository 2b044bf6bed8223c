/** The name of an object in events that come while there is no instance of it. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { contentsOf, newAlarm, parseAlarmRecord } from '../../../src/bindings/objects/store/object-head.js';
import { connect, serveSockets } from '../ingress/websocket/servers.js';
import { ISOLATIONS, newHost, nextLog } from '../new-host.js';

const NAMED = `import { StatefulObject } from 'edgehost:workers';
let made = 0;
export class Named extends StatefulObject {
  constructor(ctx, env) { super(ctx, env); made++; }
  arm(ms) { return this.ctx.storage.setAlarm(Date.now() + ms); }
  alarm({ retryCount }) {
    if (retryCount === 0) { this.ctx.storage.put('first', this.ctx.id.name ?? null); throw new Error('again'); }
    console.log(JSON.stringify([this.ctx.id.name]));
  }
  first() { return this.ctx.storage.get('first'); }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(ws) { ws.send(JSON.stringify([this.ctx.id.name, made])); }
}
export default { fetch: (request, env) => env.NAMED.getByName('lobby').fetch(request) };`;

for (const isolation of ISOLATIONS) {
  test(`ctx.id.name is there in alarm() when the alarm makes the instance, and when it runs again (${isolation})`, async t => {
    const host = newHost(t, { isolation, objectIdleMs: 50 });
    const fn = await host.load(NAMED, { name: 'named', objects: { NAMED: 'Named' } });
    const object = fn.objects('Named').getByName('lobby');
    const logged = new Promise<string>(resolve => {
      host.on('log', ({ message }) => {
        if (message.startsWith('[')) resolve(message);
      });
    });
    await object.rpc.arm?.(400);
    t.is(await logged, '["lobby"]');
    t.is(await object.rpc.first?.(), 'lobby');
  });

  test(`ctx.id.name is there in webSocketMessage() when the message makes the instance (${isolation})`, async t => {
    const host = newHost(t, { isolation, objectIdleMs: 50 });
    await host.load(NAMED, { name: 'named', routes: ['*/*'], objects: { NAMED: 'Named' } });
    const socket = connect(t, await serveSockets(t, host));
    await once(socket, 'open');
    await sleep(500);
    socket.send('a word');
    const [message] = await once(socket, 'message');
    // The isolate is another one.
    t.is(String(message), '["lobby",1]');
  });
}

test('an alarm of an object that was called by its id has no name, and older records have none', async t => {
  const host = newHost(t, { objectIdleMs: 50 });
  const fn = await host.load(NAMED, { name: 'named', objects: { NAMED: 'Named' } });
  const objects = fn.objects('Named');
  const logged = nextLog(host, 'named');
  await objects.get(objects.newUniqueId()).rpc.arm?.(0);
  const message = await logged;
  t.true(message === '[null]' || message.includes('again'), message);
  t.is(parseAlarmRecord(Buffer.from('[5,6,1,2,0]')).name, undefined);
});

test('the name of an alarm may have 1,000 characters that JSON escapes', async t => {
  const host = newHost(t, { objectIdleMs: 50 });
  const fn = await host.load(NAMED, { name: 'named', objects: { NAMED: 'Named' } });
  const name = '\u0001'.repeat(1000);
  const logged = new Promise<string>(resolve => {
    host.on('log', ({ message }) => {
      if (message.startsWith('[')) resolve(message);
    });
  });
  await fn.objects('Named').getByName(name).rpc.arm?.(0);
  t.is(await logged, JSON.stringify([name]));
});

test('contentsOf() counts the name of an alarm, which is in two records', t => {
  const head = { valuesId: 'v', bytes: 10, keys: 1, sqlPages: 0 };
  t.is(contentsOf({ ...head, alarm: newAlarm(1, undefined) }).bytes, 10);
  t.is(contentsOf({ ...head, alarm: newAlarm(1, 'é') }).bytes, 14);
});
