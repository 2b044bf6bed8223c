/** An isolate without a thread around it: the test is the host, at the other end of a port. */
import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { Isolate } from '../../src/isolate/isolate.js';
import { WatchBlock } from '../../src/isolate/metering/watch-block.js';
import { platformOps } from '../../src/isolate/ops/platform.js';
import { warmUp } from '../../src/isolate/warm-up.js';
import { REALM_FLAGS } from '../../src/pool/sandbox/cell-flags.js';
import { Channel } from '../../src/protocol/channel.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { HostOpens, type LoadHead } from '../../src/protocol/messages.js';
import { portTransport } from '../../src/protocol/transports/transport.js';

const SOURCE = Buffer.from('export default { fetch() { return new Response("fine"); } };');
const LOAD: LoadHead = {
  name: 'x',
  modules: [{ name: 'main.js', kind: 'esm', bytes: SOURCE.length }],
  env: {},
  bindings: [],
  flags: [],
  limits: {
    startupMs: 1000,
    memoryBytes: 2 ** 40,
    cpuOverrunMs: 0,
    cpuBalanceMs: 0,
    cpuMs: { fetch: null, scheduled: null, queue: null, alarm: null, tail: null },
  },
};

function hostChannel(t: ExecutionContext): { readonly channel: Channel; readonly port: MessageChannel['port2'] } {
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port1.close());
  const owner = { onOpen() {}, onSignal() {}, onClose() {} };
  return { channel: new Channel(portTransport(port1), 'host', owner), port: port2 };
}

/** The head of the answer, or why there is none. */
function answer(exchange: Exchange): Promise<string> {
  return new Promise(resolve => {
    const ignore = (): void => {};
    exchange.listener = {
      onReply: (status, head) => resolve(`${status} ${head}`),
      onFail: resolve,
      onData: ignore,
      onCredit: ignore,
      onSent: ignore,
      onStop: ignore,
    };
  });
}

function load(channel: Channel, head = JSON.stringify(LOAD)): Promise<string> {
  return answer(channel.open(HostOpens.Load, head, true, SOURCE, true));
}

test('an isolate takes one function in its life (R1)', async t => {
  const { channel, port } = hostChannel(t);
  new Isolate(new WatchBlock(), platformOps).connect(portTransport(port), () => {});
  t.regex(await load(channel), /^200 .*"kind":"loaded"/);
  t.is(await load(channel), 'This isolate has its function already');
});

/** A thread as a cell starts it; `after` is code that runs in it once it serves. */
function startThread(t: ExecutionContext, after = ''): { readonly channel: Channel; readonly worker: Worker } {
  const { channel, port } = hostChannel(t);
  const { buffer } = new WatchBlock();
  const entry = new URL('../../src/isolate/worker.bundle.cjs', import.meta.url).href;
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     import(${JSON.stringify(entry)}).then(entry => { entry.default.default(workerData); setImmediate(() => { ${after} }); });`,
    {
      eval: true,
      execArgv: [...REALM_FLAGS],
      workerData: { connection: { port }, watch: buffer },
      transferList: [port],
    },
  );
  worker.on('error', () => {});
  t.teardown(() => worker.terminate());
  return { channel, worker };
}

test('serve() goes on after an error that nobody has caught (R11)', async t => {
  const { channel, worker } = startThread(t);
  const ended = once(worker, 'exit').then(() => 'the thread has ended');
  // An honest host does not send this: parsing it throws where no code catches it.
  channel.open(HostOpens.Load, '{', true, null, true);
  // A message of its own: the rest of the one that it breaks is lost.
  await new Promise(setImmediate);
  t.regex(await Promise.race([answer(channel.open(HostOpens.Warm, '', true, null, true)), ended]), /^200 /);
});

test('serve() hardens its thread (R22)', async t => {
  const { channel, worker } = startThread(
    t,
    `parentPort.once('message', () => parentPort.postMessage(['process' in globalThis, Object.hasOwn(Object.getPrototypeOf(() => {}), 'constructor')]));`,
  );
  await answer(channel.open(HostOpens.Warm, '', true, null, true));
  worker.postMessage('look');
  t.deepEqual(await once(worker, 'message'), [[false, false]]);
});

test('serve() leaves no module of Node open, whoever has require in hand (R4)', async t => {
  const ids = [
    'internal/util',
    'internal/test/binding',
    'fs',
    'node:fs',
    'child_process',
    'worker_threads',
    'net',
    'inspector',
  ];
  ids.push('node:sqlite', 'node:wasi', 'module', 'vm', 'node:process', 'v8');
  const { channel, worker } = startThread(
    t,
    `const tried = ${JSON.stringify(ids)}.filter(id => { try { require(id); return true; } catch { return false; } });
     Promise.allSettled(${JSON.stringify(ids)}.map(id => import(id))).then(all => {
       for (const { status } of all) if (status === 'fulfilled') tried.push('import');
       parentPort.once('message', () => parentPort.postMessage(tried));
     });`,
  );
  await answer(channel.open(HostOpens.Warm, '', true, null, true));
  worker.postMessage('look');
  t.deepEqual(await once(worker, 'message'), [[]]);
});

test('errors of the engine have stacks in an isolate of every release that is known (R4)', async t => {
  const { channel } = startThread(t);
  const source = Buffer.from(
    'let stack; try { null.x; } catch (error) { ({ stack } = error); } throw new Error(stack);',
  );
  const head = JSON.stringify({ ...LOAD, modules: [{ name: 'main.js', kind: 'esm', bytes: source.length }] });
  const loaded = answer(channel.open(HostOpens.Load, head, true, source, true));
  t.regex(await loaded, /reading 'x'\)\\n {4}at main\.js:1:23/);
});

test('warmUp() has its own load and requests answered', async t => {
  t.deepEqual(await warmUp(platformOps), [200, 200, 200]);
});

test('an isolate that warms up loads its function afterwards', async t => {
  const { channel, port } = hostChannel(t);
  const order: string[] = [];
  const warmUpOnce = async (): Promise<void> => {
    await new Promise(setImmediate);
    order.push('warmedUp');
  };
  new Isolate(new WatchBlock(), platformOps).connect(portTransport(port), () => {}, warmUpOnce);
  channel.open(HostOpens.Warm, '', true, null, true);
  t.regex(await load(channel), /^200 .*"kind":"loaded"/);
  t.deepEqual(order, ['warmedUp']);
});

test('an isolate whose warm-up fails loads its function all the same', async t => {
  const { channel, port } = hostChannel(t);
  const warmUpOnce = (): Promise<never> => Promise.reject(new Error('of no account'));
  new Isolate(new WatchBlock(), platformOps).connect(portTransport(port), () => {}, warmUpOnce);
  channel.open(HostOpens.Warm, '', true, null, true);
  t.regex(await load(channel), /^200 .*"kind":"loaded"/);
});

test('what rejects before there is a function, in the warm-up, does not enter the realm', async t => {
  const watch = new WatchBlock();
  const isolate = new Isolate(watch, platformOps);
  const promise = Promise.resolve();
  isolate.unhandledRejection('reason', promise);
  isolate.rejectionHandled(promise);
  await new Promise(setImmediate);
  t.is(watch.sequence, 0, 'turns');
});
