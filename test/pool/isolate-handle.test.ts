/** An isolate that goes away, from the host's end of its connection. */
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { IsolateGone, type IsolateHandle } from '../../src/pool/isolate-handle.js';
import { fakeIsolate, LOAD_HEAD } from './fake-isolate.js';

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
