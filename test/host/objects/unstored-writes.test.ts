/** Each call on the way of a write to the disk fails in turn: no answer and no message leaves as if the write had been stored. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ObjectSql } from '../../../src/bindings/objects/store/object-sql.js';
import { ObjectStore } from '../../../src/bindings/objects/store/object-store.js';
import type { EdgeFunction, EdgeHost } from '../../../src/index.js';
import { EdgeError, errorCode } from '../../../src/quotas/errors.js';
import { RecordStore } from '../../../src/storage/records/record-store.js';
import { connected, nextMessage, serveSockets } from '../ingress/websocket/servers.js';
import { ISOLATIONS, newHost, nextInvocation } from '../new-host.js';

/** Ways to write, as bodies of functions of the storage. Each changes what state() answers. */
const WRITES: Readonly<Record<string, string>> = {
  'put()': `s.put('new', 1)`,
  'delete()': `s.delete('old')`,
  'kv.put()': `s.kv.put('new', 1)`,
  'sql.exec()': `s.sql.exec('CREATE TABLE t (x)')`,
  'setAlarm()': `s.setAlarm(Date.now() + 1e9)`,
  'deleteAlarm()': `s.deleteAlarm()`,
  'deleteAll()': `s.deleteAll()`,
  'transaction()': `return s.transaction(async txn => { await txn.put('new', 1); })`,
  'transactionSync()': `s.transactionSync(() => { s.kv.put('new', 1); s.sql.exec('CREATE TABLE t (x)'); })`,
  'put() and sync()': `s.put('new', 1); return s.sync().catch(() => {})`,
  // More than one message of the isolate holds.
  'put() of 1.2 MB': `for (let i = 0; i < 12; i++) s.put('new' + i, new Uint8Array(100_000))`,
  'put() behind an unconfirmed one': `s.put('other', 1, { allowUnconfirmed: true }); s.put('new', 1)`,
};

const SOURCE = `import { StatefulObject } from 'edgehost:workers';
const WRITES = { ${Object.entries(WRITES)
  .map(([name, body]) => `${JSON.stringify(name)}: async s => { ${body}; }`)
  .join(',\n')} };
export class O extends StatefulObject {
  write(how) { return WRITES[how](this.ctx.storage); }
  prepare() { this.ctx.storage.put('old', 1); this.ctx.storage.setAlarm(9e12); }
  drop() { this.ctx.abort(); }
  alarm() {}
  async state() {
    const { storage } = this.ctx;
    const tables = storage.sql.exec('SELECT count(*) AS n FROM sqlite_schema').one().n;
    return [...(await storage.list()).keys(), await storage.getAlarm(), tables].join();
  }
  async call(how) { await this.write(how); return 'stored'; }
  async fail(how) { await this.write(how); throw new RangeError('stored'); }
  async webSocketMessage(socket, how) { await this.write(how); socket.send('stored'); }
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const how = searchParams.get('how');
    if (pathname === '/whole') { await this.write(how); return new Response('stored'); }
    if (pathname === '/stream') {
      await this.write(how);
      return new Response(new ReadableStream({ start(controller) { controller.enqueue(new TextEncoder().encode('stored')); controller.close(); } }));
    }
    const [client, server] = Object.values(new WebSocketPair());
    if (pathname === '/sleeping') this.ctx.acceptWebSocket(server);
    else {
      server.accept();
      server.addEventListener('message', async ({ data }) => { await this.write(data); server.send('stored'); });
    }
    return new Response(null, { status: 101, webSocket: client });
  }
}
export default { fetch: (request, env) => env.O.getByName(new URL(request.url).searchParams.get('object')).fetch(request) };`;

/** One object, and how to reach it. */
interface World {
  readonly host: EdgeHost;
  readonly fn: EdgeFunction;
  readonly url: string;
  readonly object: string;
}

/** Each is ready when it resolves, and answers 'stored' when that has left. */
type Ask = (t: ExecutionContext, world: World) => Promise<(how: string) => Promise<string>>;

const fetching =
  (path: string): Ask =>
  async (_t, { fn, object }) =>
  async how => {
    const answer = await fn.fetch(`http://x/${path}?object=${object}&how=${encodeURIComponent(how)}`);
    return (await answer.text()) === 'stored' ? 'stored' : `${answer.status}`;
  };

const sending =
  (path: string): Ask =>
  async (t, { host, url, object }) => {
    const socket = await connected(t, `${url}/${path}?object=${object}`);
    return async how => {
      const message = nextMessage(socket);
      const lost = once(socket, 'close').then(() => 'closed');
      const over = nextInvocation(host, ({ method }) => method === 'WEBSOCKET');
      socket.send(how);
      // One that sleeps stays open when its object was reset: what has left comes before the pong.
      const silent = over.then(async () => {
        const pong = once(socket, 'pong');
        socket.ping();
        await pong;
        return 'silent';
      });
      return `${await Promise.race([message, lost, silent])}`;
    };
  };

const calling =
  (method: 'call' | 'fail'): Ask =>
  async (_t, { fn, object }) => {
    const { rpc } = fn.objects('O').getByName(object);
    return how =>
      Promise.resolve(rpc[method]?.(how)).then(String, error =>
        error instanceof Error && error.message.includes('RangeError: stored') ? 'stored' : `${errorCode(error)}`,
      );
  };

const ASKS: Readonly<Record<string, Ask>> = {
  'the answer of a method': calling('call'),
  'an error of a method': calling('fail'),
  'a response': fetching('whole'),
  'a streamed response': fetching('stream'),
  'a message of an accepted WebSocket': sending('accepted'),
  'a message of a sleeping WebSocket': sending('sleeping'),
};

/** An accepted WebSocket may stay open, and silent, when a handler of it has failed. */
const QUIET_MS = 1000;

function after(ms: number): Promise<string> {
  return new Promise(resolve => setTimeout(() => resolve('silent'), ms));
}

/** Makes one call of the write path fail while `isOn`. */
class Fault {
  isOn = false;

  /** @param isLate the call does what it does, and then fails: as a write whose fsync has failed */
  constructor(prototype: object, method: string, isLate = false) {
    const real: unknown = Reflect.get(prototype, method);
    if (typeof real !== 'function') throw new TypeError(`No method ${method}`);
    const isOn = (): boolean => this.isOn;
    Reflect.set(prototype, method, async function (this: unknown, ...args: unknown[]) {
      if (!isOn()) return Reflect.apply(real, this, args);
      if (isLate) await Reflect.apply(real, this, args);
      throw new EdgeError('EDGE_STORAGE_FULL', 'No space is left');
    });
  }
}

interface TestedFault {
  readonly fault: Fault;
  /** Writes by SQL alone meet it. */
  readonly ofSql?: true;
  /** What was written may be found later. */
  readonly isLate?: true;
  /** Where the isolate is makes a difference: nothing of the write has come to the host. */
  readonly isForBoth?: true;
}

const FAULTS: Readonly<Record<string, TestedFault>> = {
  'the object cannot be opened': { fault: new Fault(ObjectStore.prototype, 'open'), isForBoth: true },
  'the write is refused': { fault: new Fault(ObjectStore.prototype, 'write') },
  'the storage cannot be recovered': { fault: new Fault(RecordStore.prototype, 'awaitRecovery') },
  'the commit fails': { fault: new Fault(RecordStore.prototype, 'commit') },
  'the sync fails': { fault: new Fault(RecordStore.prototype, 'commit', true), isLate: true },
  'the transaction of SQL cannot be committed': { fault: new Fault(ObjectSql.prototype, 'commit'), ofSql: true },
};

async function opened(t: ExecutionContext, options: Parameters<typeof newHost>[1]) {
  const host = newHost(t, options);
  const fn = await host.load(SOURCE, { name: 'f', routes: ['*/*'], objects: { O: 'O' } });
  const url = await serveSockets(t, host);
  let last = 0;
  /** An object that has something to delete, without a live instance. */
  const newWorld = async (): Promise<World> => {
    const object = `o${++last}`;
    const { rpc } = fn.objects('O').getByName(object);
    await rpc.prepare?.();
    await t.throwsAsync(Promise.resolve(rpc.drop?.()));
    return { host, fn, url, object };
  };
  return { host, newWorld };
}

const stateOf = ({ fn, object }: World): Promise<unknown> =>
  Promise.resolve(fn.objects('O').getByName(object).rpc.state?.());

/** As soon as there are services again. */
async function nextStateOf(world: World): Promise<unknown> {
  for (;;) {
    const state = await stateOf(world).catch(() => undefined);
    if (state !== undefined) return state;
    await after(20);
  }
}

const BEFORE = 'old,9000000000000,0';

/** Every way to write is tried with one answer, and every answer with some of them. */
const SOME_WRITES: readonly string[] = ['put()', 'sql.exec()', 'transaction()'];
const COMBINATIONS = Object.entries(ASKS).flatMap(([answer, ask], at) =>
  Object.keys(WRITES)
    .filter(how => at === 0 || SOME_WRITES.includes(how))
    .map(how => ({ what: `${answer}, ${how}`, ask, how })),
);

for (const isolation of ISOLATIONS) {
  for (const [what, { fault, ofSql = false, isLate = false, isForBoth = false }] of Object.entries(FAULTS)) {
    if (isolation === 'thread' && !isForBoth) continue;
    test.serial(`no answer of an object leaves as if its write were stored when ${what} (${isolation})`, async t => {
      t.timeout(600_000);
      const { newWorld } = await opened(t, { backend: 'inline', isolation });
      for (const { what: combination, ask, how } of COMBINATIONS) {
        if (ofSql && WRITES[how]?.includes('sql') !== true) continue;
        const world = await newWorld();
        const asked = await ask(t, world);
        fault.isOn = true;
        const came = await Promise.race([asked(how).catch(errorCode), after(QUIET_MS)]);
        fault.isOn = false;
        t.not(came, 'stored', combination);
        if (!isLate && came !== 'silent') t.is(await stateOf(world), BEFORE, combination);
      }
    });
  }

  test.serial(`what an object answers behind each kind of write leaves when it is stored (${isolation})`, async t => {
    t.timeout(600_000);
    const { newWorld } = await opened(t, { backend: 'inline', isolation });
    for (const { what, ask, how } of COMBINATIONS) {
      const world = await newWorld();
      t.is(await (await ask(t, world))(how), 'stored', what);
      t.not(await stateOf(world), BEFORE, what);
    }
  });
}

/** The backend process is stopped, so that the call is on its way when it is killed: opening the object, or writing. */
for (const isOpen of [false, true]) {
  const call = isOpen ? 'it is written to' : 'it is opened';
  test.serial(`no answer of an object leaves when the backend process is killed while ${call}`, async t => {
    t.timeout(600_000);
    const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
    t.teardown(() => rm(storage, { recursive: true, force: true }));
    const { host, newWorld } = await opened(t, { backend: 'process', storage });
    const asks = Object.entries(ASKS);
    for (const [at, how] of [
      'put()',
      'kv.put()',
      'sql.exec()',
      'setAlarm()',
      'deleteAll()',
      'transaction()',
    ].entries()) {
      const [answer = '', ask = calling('call')] = asks[at % asks.length] ?? [];
      const world = await newWorld();
      const asked = await ask(t, world);
      if (isOpen) await stateOf(world);
      const pid = host.health().backend?.pid ?? 0;
      process.kill(pid, 'SIGSTOP');
      const asking = asked(how);
      t.is(await Promise.race([asking.then(() => 'left'), after(100)]), 'silent', `${answer}, ${how}`);
      process.kill(pid, 'SIGKILL');
      const came = await asking.catch(errorCode);
      // What had not left its isolate is asked of the next process.
      t.is((await nextStateOf(world)) !== BEFORE, came === 'stored', `${answer}, ${how}: ${came}`);
    }
  });
}
