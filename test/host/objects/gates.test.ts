/** The output gate: no message of an object leaves before what it has written is on disk, and none does when that has failed. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { FunctionRpc } from '../../../src/host/rpc/application-rpc.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { portOf } from '../../servers.js';
import { connected, nextMessage, serveSockets } from '../ingress/websocket/servers.js';
import { ISOLATIONS, newHost, textOf } from '../new-host.js';
import { MARK, Valve } from './valve.js';

const OBJECTS = `import { StatefulObject, RpcTarget } from 'edgehost:workers';
import { connect } from 'edgehost:sockets';
class Target extends RpcTarget {
  constructor(object) { super(); this.object = object; }
  late() { this.object.write(); return 'late'; }
}
export class A extends StatefulObject {
  write() { this.ctx.storage.put('key', '${MARK}').catch(() => {}); }
  answer() { this.write(); return 'answer'; }
  thrown() { this.write(); throw new RangeError('thrown'); }
  target() { return new Target(this); }
  async call() { this.write(); await this.env.S.getByName('s').note(); return 'called'; }
  async ask() { this.write(); return (await fetch('http://seen/fetch')).text(); }
  async upload() {
    const body = new ReadableStream({ type: 'bytes', pull: controller => {
      if (this.step++ === 0) controller.enqueue(new TextEncoder().encode('a'));
      else { this.write(); controller.enqueue(new TextEncoder().encode('b')); controller.close(); }
    } });
    this.step = 0;
    return (await fetch('http://seen/upload', { method: 'POST', body, duplex: 'half' })).text();
  }
  async wait() { await new Promise(resolve => { globalThis.go = resolve; }); this.write(); await this.env.S.getByName('s').note(); return 'went on'; }
  async dial(port) { this.write(); const socket = connect('127.0.0.1:' + port); await socket.writable.getWriter().write(new TextEncoder().encode('dialed')); await socket.closed; return 'closed'; }
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/socket') {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener('message', () => { this.write(); server.send('sent'); });
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === '/whole') { this.write(); return new Response('whole'); }
    let step = 0;
    return new Response(new ReadableStream({ pull: controller => {
      if (step++ === 0) controller.enqueue(new TextEncoder().encode('a'));
      else { this.write(); controller.enqueue(new TextEncoder().encode('b')); controller.close(); }
    } }, { highWaterMark: 0 }));
  }
}
export class B extends StatefulObject { poke() { globalThis.go(); } ping() {} }
export class S extends StatefulObject { async note() { await fetch('http://seen/note'); } }
export default { async fetch(request, env) {
  const a = env.A.getByName(new URL(request.url).searchParams.get('object'));
  if (new URL(request.url).pathname !== '/target') return a.fetch(request);
  const target = await a.target();
  return new Response(await target.late());
} };`;

const valve = new Valve();

/** One object, and what is around it. */
interface World {
  readonly rpc: FunctionRpc;
  fetch(path: string): Promise<Response>;
  poke(): Promise<unknown>;
  readonly url: string;
  readonly port: number;
}

async function opened(t: ExecutionContext) {
  const seen: string[] = [];
  const dialed = createServer(socket =>
    socket
      .on('error', () => {})
      .on('data', data => {
        seen.push(data.toString());
        socket.end();
      }),
  ).listen(0, '127.0.0.1');
  await once(dialed, 'listening');
  t.teardown(() => dialed.close());
  const host = newHost(t, {
    backend: 'inline',
    egress: { allow: ['127.0.0.0/8'], sockets: true },
    outbound: async request => {
      const name = new URL(request.url).pathname.slice(1);
      let text = '';
      try {
        for await (const chunk of request.body ?? []) {
          text += Buffer.from(chunk).toString();
          if (text.includes('b')) seen.push(`${name} ${text}`);
        }
      } catch {
        return new Response('failed');
      }
      if (request.body === null) seen.push(name);
      return new Response('asked');
    },
  });
  const fn = await host.load(OBJECTS, { name: 'gates', routes: ['*/*'], objects: { A: 'A', B: 'B', S: 'S' } });
  const b = fn.objects('B').getByName('b').rpc;
  const url = await serveSockets(t, host);
  const worldOf = (object: string): World => ({
    rpc: fn.objects('A').getByName(object).rpc,
    fetch: path => fn.fetch(`http://x${path}?object=${object}`),
    poke: async () => b.poke(),
    url: `${url}/socket?object=${object}`,
    port: portOf(dialed),
  });
  // Other calls of the isolate have their turns: what could leave has left.
  const rounds = async (): Promise<void> => {
    for (let round = 0; round < 3; round++) await b.ping();
  };
  return { host, fn, seen, worldOf, rounds };
}

type Act = (t: ExecutionContext, world: World) => Promise<unknown>;

/** Each resolves with what has come, and rejects when nothing did. */
const MESSAGES: Readonly<Record<string, { readonly act: Act; readonly comes: unknown }>> = {
  'the answer of a method': { act: (_, { rpc }) => Promise.resolve(rpc.answer()), comes: 'answer' },
  'an error that a method throws': {
    act: (_, { rpc }) =>
      Promise.resolve(rpc.thrown()).catch(error =>
        errorCode(error) === 'EDGE_HANDLER_THREW' ? 'thrown' : Promise.reject(error),
      ),
    comes: 'thrown',
  },
  'a response': { act: async (_, { fetch }) => wholeOf(await fetch('/whole')), comes: 'whole' },
  'a chunk of a response': { act: async (_, { fetch }) => wholeOf(await fetch('/stream')), comes: 'ab' },
  'the answer of a call of a result': { act: async (_, { fetch }) => wholeOf(await fetch('/target')), comes: 'late' },
  'a call of another object': { act: (_, { rpc }) => Promise.resolve(rpc.call()), comes: 'called' },
  'a request': { act: (_, { rpc }) => Promise.resolve(rpc.ask()), comes: 'asked' },
  'a chunk of a request': {
    act: async (_, { rpc }) => {
      const text = await rpc.upload();
      return text === 'failed' ? Promise.reject(new Error('failed')) : text;
    },
    comes: 'asked',
  },
  'a call of code that goes on in a turn of another object': {
    act: async (_, { rpc, poke }) => {
      const waiting = Promise.resolve(rpc.wait());
      waiting.catch(() => {});
      await poke();
      return waiting;
    },
    comes: 'went on',
  },
  'a connection': { act: (_, { rpc, port }) => Promise.resolve(rpc.dial(port)), comes: 'closed' },
  'a message of a WebSocket': {
    act: async (t, { url }) => {
      const ws = await connected(t, url);
      ws.send('go');
      return Promise.race([nextMessage(ws), once(ws, 'close').then(() => Promise.reject(new Error('closed')))]);
    },
    comes: 'sent',
  },
};

async function wholeOf(response: Response): Promise<string> {
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.text();
}

test.serial('what an object sends leaves when what was written before it is on disk', async t => {
  const { seen, worldOf, rounds } = await opened(t);
  for (const [at, [what, { act, comes }]] of Object.entries(MESSAGES).entries()) {
    valve.close();
    let came: unknown;
    const acting = act(t, worldOf(`${at}`)).then(value => {
      came = value;
    });
    await valve.arrival();
    await rounds();
    t.deepEqual([came, seen], [undefined, []], what);
    valve.release();
    await acting;
    t.is(came, comes, what);
    seen.length = 0;
  }
});

test.serial('what an object sends never leaves when what was written before it was not stored', async t => {
  const { seen, worldOf, rounds } = await opened(t);
  for (const [at, [what, { act }]] of Object.entries(MESSAGES).entries()) {
    const world = worldOf(`${at}`);
    valve.close();
    const acting = t.throwsAsync(act(t, world), undefined, what);
    await valve.arrival();
    valve.fail();
    await acting;
    await rounds();
    t.deepEqual(seen, [], what);
    // The next instance knows nothing of it.
    t.is(await world.rpc.answer(), 'answer', what);
  }
});

test.serial(
  'an answer behind a write that has failed does not leave, though the isolate has not heard of the failure',
  async t => {
    const { rpc } = (await opened(t)).worldOf('a');
    valve.close();
    const answers = [rpc.answer(), rpc.answer(), rpc.answer()].map(answer =>
      Promise.resolve(answer).then(
        () => 'left',
        error => errorCode(error),
      ),
    );
    await valve.arrival();
    valve.fail();
    t.deepEqual(await Promise.all(answers), ['EDGE_OBJECT_RESET', 'EDGE_OBJECT_RESET', 'EDGE_OBJECT_RESET']);
  },
);

test.serial('the gate is kept where the storage is in another process', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const host = newHost(t, { backend: 'process', storage: directory, limits: { storageBytes: 400 } });
  const fn = await host.load(OBJECTS.replace(`'${MARK}'`, `'x'.repeat(1000)`), { name: 'gates' });
  const object = fn.objects('A').getByName('a').rpc;
  t.is(errorCode(await t.throwsAsync(Promise.resolve(object.answer()))), 'EDGE_OBJECT_RESET');
});

test.serial('an answer that waits is given up with its client, its time and its isolate', async t => {
  const { host, fn, worldOf } = await opened(t);
  const outcomes: string[] = [];
  host.on('invocation', ({ outcome, object }) => {
    if (object !== undefined) outcomes.push(outcome);
  });
  const object = fn.objects('A').getByName('a');
  t.is(await worldOf('b').rpc.answer(), 'answer');
  valve.close();
  const late = t.throwsAsync(object.fetch('http://x/whole', { timeoutMs: 50 }), { code: 'EDGE_TIMEOUT' });
  const client = new AbortController();
  const left = t.throwsAsync(object.fetch('http://x/whole', { signal: client.signal }), { any: true });
  await valve.arrival();
  await late;
  client.abort();
  await left;
  const lost = Promise.resolve(worldOf('c').rpc.answer()).then(() => 'left', errorCode);
  await valve.arrival();
  for (const { pid } of host.health().cells) if (pid !== undefined) process.kill(pid, 'SIGKILL');
  t.true(['EDGE_CELL_LOST', 'EDGE_ISOLATE_LOST'].includes(`${await lost}`), `${await lost}`);
  valve.release();
  while ((await Promise.resolve(worldOf('c').rpc.answer()).catch(errorCode)) !== 'answer');
  t.true(outcomes.includes('canceled') || outcomes.includes('responseStreamDisconnected'), `${outcomes}`);
});

const WAITING = `import { StatefulObject, RpcTarget } from 'edgehost:workers';
class Target extends RpcTarget {
  constructor(object) { super(); this.object = object; }
  async inc() { return this.object.inc(); }
  seen(what) { this.object.seen.push(what); return this.object.seen.length; }
}
export class Counter extends StatefulObject {
  seen = [];
  target() { return new Target(this); }
  listener() { return what => { this.seen.push(what); }; }
  async inc() { const n = ((await this.ctx.storage.get('n')) ?? 0) + 1; this.ctx.storage.put('n', n); return n; }
  async wait() {
    const { storage } = this.ctx;
    this.seen.push('begins');
    await this.ctx.blockConcurrencyWhile(async () => { this.seen.push('closed'); await scheduler.wait(200); this.seen.push('opens'); });
    return this.seen;
  }
  async store() {
    this.seen.push('asks');
    // Each is a round trip to the host: calls that have come would be delivered between them.
    for (let n = 0; n < 50; n++) await this.ctx.storage.get('none' + n, { noCache: true });
    this.seen.push('has');
    return this.seen;
  }
}
export default { async fetch(request, env) {
  const stub = env.COUNTER.getByName('a');
  const target = await stub.target();
  const listener = await stub.listener();
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => n % 2 === 0 ? target.inc() : stub.inc()));
  const waiting = stub.wait();
  const late = [target.seen('target'), listener('listener'), stub.target().seen('pipelined')];
  const seen = await waiting;
  await Promise.all(late);
  const storing = stub.store();
  const more = [target.seen('target'), listener('listener'), target.seen('target')];
  const stored = await storing;
  await Promise.all(more);
  return Response.json({ answers, seen, stored, last: await target.seen('last') });
} };`;

for (const isolation of ISOLATIONS) {
  test.serial(
    `the input gate: calls of what an object has handed out wait while it waits for its storage (${isolation})`,
    async t => {
      const host = newHost(t, { isolation });
      const fn = await host.load(WAITING, { name: 'waiting', objects: { COUNTER: 'Counter' } });
      const { answers, seen, stored, last } = JSON.parse(await textOf(fn.fetch('http://x/')));
      // None has read what another one was about to overwrite.
      t.deepEqual(
        [...answers].sort((a, b) => a - b),
        Array.from({ length: 40 }, (_, at) => at + 1),
      );
      t.deepEqual(seen.slice(0, 3), ['begins', 'closed', 'opens']);
      const asks = stored.indexOf('asks');
      t.deepEqual(stored.slice(asks, asks + 2), ['asks', 'has']);
      // Each came in the end, and once.
      t.is(last, 12);
    },
  );
}

const ROOM = `import { StatefulObject } from 'edgehost:workers';
export class Room extends StatefulObject {
  write() { this.ctx.storage.put('key', '${MARK}'); }
  fetch(request) {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(ws, message) { this.write(); ws.send(message); }
}
export default { fetch: (request, env) => env.ROOM.getByName('a').fetch(request) };`;

test.serial('a message of a WebSocket does not wait for writes that follow it', async t => {
  const host = newHost(t, { backend: 'inline' });
  const fn = await host.load(ROOM, { name: 'rooms', routes: ['*/*'], objects: { ROOM: 'Room' } });
  const socket = await connected(t, await serveSockets(t, host));
  valve.close();
  socket.send('sent');
  const came = nextMessage(socket);
  await valve.arrival();
  const following = Promise.resolve(fn.objects('Room').getByName('a').rpc.write());
  // Only the write of the message is let through. The other one waits behind it.
  await new Promise(resolve => setTimeout(resolve, 100));
  valve.releaseFirst();
  await valve.arrival();
  t.is(await came, 'sent');
  valve.release();
  await following;
});
