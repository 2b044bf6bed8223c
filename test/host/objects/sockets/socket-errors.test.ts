/** Sleeping WebSockets that are used wrongly, or whose object, client or realm misbehaves. */
import test from 'ava';
import { closed, connected, nextMessage } from '../../ingress/websocket/servers.js';
import { ISOLATIONS, nextInvocation, nextLog } from '../../new-host.js';
import { sleepRig } from './sleeping.js';

const HEAD = "import { StatefulObject } from 'edgehost:workers';";
const FRONT = 'export default { fetch: (request, env) => env.ROOM.getByName("a").fetch(request) };';

const WRONG = `${HEAD}
const told = f => { try { f(); return 'no error'; } catch (error) { return error.name + ': ' + error.message; } };
export class Room extends StatefulObject {
  async fetch(request) {
    const { ctx } = this;
    const [client, server] = Object.values(new WebSocketPair());
    const [accepted] = Object.values(new WebSocketPair());
    accepted.accept();
    const out = [
      told(() => ctx.acceptWebSocket({})),
      told(() => ctx.acceptWebSocket(accepted)),
      told(() => ctx.acceptWebSocket(server, Array.from({ length: 11 }, (_, n) => 't' + n))),
      told(() => ctx.acceptWebSocket(server, ['x'.repeat(257)])),
      told(() => ctx.getTags(accepted)),
      told(() => ctx.setWebSocketAutoResponse({ request: 'a', response: 'b' })),
      told(() => new WebSocketRequestResponsePair('x'.repeat(2049), '')),
      told(() => ctx.setHibernatableWebSocketEventTimeout(604_800_001)),
      told(() => server.serializeAttachment('x'.repeat(20_000))),
      told(() => server.serializeAttachment('x'.repeat(16_384 - 10))),
      told(() => server.serializeAttachment(() => {})),
    ];
    server.serializeAttachment('x'.repeat(16_384 - 11));
    server.serializeAttachment(new Map([['at', new Date(5)]]));
    ctx.acceptWebSocket(server, ['a', 'a']);
    ctx.setHibernatableWebSocketEventTimeout(100);
    out.push(told(() => ctx.acceptWebSocket(server)), told(() => ctx.acceptWebSocket(client)), told(() => client.accept()));
    out.push(ctx.getTags(server).join(), ctx.getHibernatableWebSocketEventTimeout(), server.deserializeAttachment().get('at').getTime(), ctx.getWebSockets('a')[0] === server);
    return Response.json(out);
  }
  webSocketClose(ws, code) { console.log('close ' + code + ' ' + this.ctx.getWebSockets().length); }
}
${FRONT}`;

test('what is no socket, no tag, no pair is refused; one that nobody is answered with is closed', async t => {
  const { host, fn } = await sleepRig(t, { source: WRONG });
  const log = nextLog(host, 'rooms');
  t.deepEqual(await (await fn.fetch('https://x/')).json(), [
    'TypeError: acceptWebSocket() takes a WebSocket of a WebSocketPair',
    'TypeError: acceptWebSocket() takes a WebSocket of a WebSocketPair that was not accepted, and not returned in a Response',
    'RangeError: a WebSocket has at most 10 tags, given 11',
    'RangeError: a WebSocket tag has at most 256 characters, given 257',
    'TypeError: getTags() takes a WebSocket that this object has accepted by acceptWebSocket()',
    'TypeError: setWebSocketAutoResponse() takes a WebSocketRequestResponsePair',
    'RangeError: Request cannot be larger than 2048 bytes. A request of size 2049 was provided.',
    'RangeError: The timeout of events is at most 604800000 milliseconds, given 604800001',
    "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes. 'attachment' was 20011 bytes.",
    "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes. 'attachment' was 16385 bytes.",
    'DataCloneError: A function cannot be stored',
    'TypeError: acceptWebSocket() takes a WebSocket of a WebSocketPair that was not accepted, and not returned in a Response',
    'TypeError: acceptWebSocket() takes a WebSocket of a WebSocketPair that was not accepted, and not returned in a Response',
    "TypeError: Can't accept() this WebSocket: its other end sleeps. Return it in a Response",
    'a',
    100,
    5,
    true,
  ]);
  t.is(await log, 'close 1006 0');
});

const SLOW = `${HEAD}
export class Room extends StatefulObject {
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.setHibernatableWebSocketEventTimeout(1000);
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  async webSocketMessage(ws, message) {
    if (message === 'late') await scheduler.wait(1500);
    if (message === 'patient') this.ctx.setHibernatableWebSocketEventTimeout(60_000);
    if (message === 'spin') for (;;);
    ws.send(message);
  }
  webSocketError(ws, error) { console.log('error ' + error.message + ' ' + this.ctx.getWebSockets().length); }
}
${FRONT}`;

test('an event that takes too long fails alone, one over its CPU time resets the object; a message that is too long closes the socket', async t => {
  const { host, url } = await sleepRig(t, {
    source: SLOW,
    load: { limits: { cpuMs: 100, webSocketMessageBytes: 1024 } },
  });
  const ann = await connected(t, `${url}/`);
  const late = nextInvocation(host, ({ method }) => method === 'WEBSOCKET');
  ann.send('late');
  t.is(await nextMessage(ann), 'late');
  t.is((await late).error?.code, 'EDGE_TIMEOUT');
  // What is lent to a cold isolate and the machine's other work come on top of the limit: the time of the event must be well beyond that.
  ann.send('patient');
  t.is(await nextMessage(ann), 'patient');
  const spent = nextInvocation(host, ({ outcome }) => outcome === 'exceededCpu');
  ann.send('spin');
  t.is((await spent).method, 'WEBSOCKET');
  ann.send('two');
  t.is(await nextMessage(ann), 'two');
  const log = nextLog(host, 'rooms');
  const end = closed(ann);
  ann.send('x'.repeat(2000));
  t.is((await end).code, 1009);
  t.is(await log, 'error Max payload size exceeded 0');
});

const EVIL = `${HEAD}
const evil = () => { throw new Error('evil'); };
const define = Object.defineProperty;
for (const target of [Map.prototype, Set.prototype, Array.prototype, Promise.prototype, String.prototype, Uint8Array.prototype]) {
  const keys = Reflect.ownKeys(target);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === 'constructor' || key === 'then' || key === 'catch' || typeof key === 'symbol') continue;
    try { define(target, key, { value: evil, configurable: true }); } catch {}
  }
}
Object.prototype.s = 1;
Object.prototype.w = 1;
Object.prototype.t = ['evil'];
export class Room extends StatefulObject {
  fetch() {
    const pair = new WebSocketPair();
    this.ctx.acceptWebSocket(pair[1], ['x']);
    pair[1].serializeAttachment({ n: 1 });
    return new Response(null, { status: 101, webSocket: pair[0] });
  }
  webSocketMessage(ws, message) {
    const tags = this.ctx.getTags(ws);
    const list = this.ctx.getWebSockets('x');
    ws.send(message + ' ' + tags.length + tags[0] + list.length + ws.deserializeAttachment().n + (list[0] === ws));
    let depth = 0;
    for (let at = ws; at; at = Object.getPrototypeOf(at)) { if (at.constructor.constructor !== Function) throw new Error('another realm'); depth++; }
    if (message === 'abort') this.ctx.abort();
  }
}
${FRONT}`;

for (const isolation of ISOLATIONS) {
  test(`an object that breaks its realm keeps its own sockets (${isolation})`, async t => {
    const { url } = await sleepRig(t, { source: EVIL, host: { isolation } });
    const ann = await connected(t, `${url}/`);
    ann.send('a');
    t.is(await nextMessage(ann), 'a 1x11true');
    ann.send('abort');
    t.is(await nextMessage(ann), 'abort 1x11true');
    ann.send('b');
    t.is(await nextMessage(ann), 'b 1x11true');
  });
}
