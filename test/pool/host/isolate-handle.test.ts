/** An isolate that goes away, from the host's end of its connection. */
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { IsolateHandle } from '../../../src/pool/host/isolate-handle.js';
import { IsolateGone } from '../../../src/pool/host/isolate-loss.js';
import { Channel } from '../../../src/protocol/channel.js';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { HostOpens, SignalKind } from '../../../src/protocol/messages.js';
import { loopback } from '../../../src/protocol/transports/loopback.js';
import { fakeIsolate, IGNORES_ALL, LOAD_HEAD } from './fake-isolate.js';

/** Timers of this process: waiting for a reason is one. */
function timers(): number {
  return process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
}

async function goneWith(t: ExecutionContext, handle: IsolateHandle): Promise<string> {
  const error = await t.throwsAsync(handle.load(LOAD_HEAD, Buffer.alloc(0)), { instanceOf: IsolateGone });
  return error === undefined ? '' : `${error.reason}: ${error.message}`;
}

test('load() rejects with the reason as soon as the cell gives it, after the connection has closed', async t => {
  const { handle, disconnect } = fakeIsolate();
  const before = timers();
  const gone = goneWith(t, handle);
  disconnect();
  t.is(timers(), before + 1);
  handle.leaseEnded('memory', 'out of memory');
  // Nothing waits for the time that the cell would have had.
  t.is(timers(), before);
  t.is(await gone, 'memory: out of memory');
});

test('load() rejects with a reason that came before the connection closed', async t => {
  const { handle, disconnect } = fakeIsolate();
  const gone = goneWith(t, handle);
  handle.leaseEnded('startup', 'too long');
  disconnect();
  t.is(await gone, 'startup: too long');
});

test('load() of an isolate that is gone rejects', async t => {
  const { handle } = fakeIsolate();
  handle.leaseEnded('exit', 'exit code 1');
  t.is(await goneWith(t, handle), 'exit: exit code 1');
});

test('an invocation hears of the reason as soon as the cell gives it, once', t => {
  const { handle, begin, disconnect } = fakeIsolate();
  const before = timers();
  const lost: string[] = [];
  begin({ onLost: (reason, detail) => void lost.push(`${reason}: ${detail}`) });
  disconnect();
  t.deepEqual(lost, []);
  handle.leaseEnded('memory', 'out of memory');
  handle.leaseEnded('exit', 'again');
  t.deepEqual(lost, ['memory: out of memory']);
  t.is(timers(), before);
});

test('leaseEnded() for a turn of none lets invocations begin anew, which have used nothing up', t => {
  const { handle, begin } = fakeIsolate();
  const lost: string[] = [];
  begin({ onLost: reason => void lost.push(reason) });
  begin({ onLost: reason => void lost.push(reason) });
  handle.leaseEnded('startup', 'too long');
  t.deepEqual(lost, ['bystander', 'bystander']);
});

test('leaseEnded() for a turn of none blames the only invocation that is open', t => {
  const { handle, begin } = fakeIsolate();
  const lost: string[] = [];
  begin({ onLost: reason => void lost.push(reason) });
  handle.leaseEnded('startup', 'too long');
  t.deepEqual(lost, ['cpu']);
});

/** An invocation that is over in the isolate, while the rest of its answer is on its way from the backend process. */
function spliced(onDone: () => void): { readonly handle: IsolateHandle; readonly exchange: Exchange } {
  const { handle, send } = fakeIsolate();
  handle.splices.line = { isConnected: true, open: () => undefined };
  const exchange = handle.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, { ...IGNORES_ALL, onDone });
  const { id } = exchange;
  send(writer => {
    writer.reply(id, 200, '', true, null, false);
    writer.signal(id, SignalKind.SpliceTo, '');
    writer.end(id);
    writer.signal(id, SignalKind.Done, Buffer.alloc(8));
  });
  return { handle, exchange };
}

test('an invocation is over when all of its answer has come from the services', async t => {
  let done = 0;
  const { handle, exchange } = spliced(() => done++);
  const [services, own] = loopback();
  new Channel(own, 'isolate', {
    onOpen: opened => handle.splices.arrived(exchange.id, opened),
    onSignal() {},
    onClose() {},
  });
  t.is(done, 0);
  const rest = new Channel(services, 'host', { onOpen() {}, onSignal() {}, onClose() {} }).open(
    1,
    '',
    true,
    null,
    false,
  );
  rest.sendBuffered(Buffer.from('the rest'));
  while (done === 0) await new Promise(resolve => setImmediate(resolve));
  t.is(exchange.read(100)?.toString(), 'the rest');
  t.is(exchange.incoming, 'ended');
  t.is(handle.inFlight, 0);
});

test('a client that leaves while the rest of its answer is on its way from the backend process does not end the isolate', t => {
  let done = 0;
  const { handle, exchange } = spliced(() => done++);
  exchange.fail('The client disconnected');
  t.is(done, 1);
  t.true(handle.isUsable);
  t.is(handle.inFlight, 0);
});

test('splices.lose() fails an answer whose rest has not come from the services', t => {
  let done = 0;
  const { handle, exchange } = spliced(() => done++);
  handle.splices.lose();
  t.is(exchange.incoming, 'failed');
  t.is(done, 1);
  t.true(handle.isUsable);
});
