/** Calls of an isolate are answered in the order in which they come, whichever of their invocations the application has announced. */
import test from 'ava';
import type { BoundFunction } from '../../../../src/backend/server/cells/bound-function.js';
import { type CallsOwner, CellCalls } from '../../../../src/backend/server/cells/cell-calls.js';
import type { BindingDefinition } from '../../../../src/bindings/binding.js';
import type { Service } from '../../../../src/bindings/service.js';
import { Channel } from '../../../../src/protocol/channel.js';
import type { Exchange } from '../../../../src/protocol/exchange.js';
import { SignalKind } from '../../../../src/protocol/messages.js';
import { loopback } from '../../../../src/protocol/transports/loopback.js';
import { resolveLimits } from '../../../../src/quotas/resolve-limits.js';

const SERVICE = 9;

function opened() {
  const answered: string[] = [];
  const asked: number[] = [];
  const finished: string[] = [];
  const service: Service = async ({ method }) => {
    answered.push(method);
    return { head: method };
  };
  // What the calls of an isolate use of a binding and of a function.
  const definition = { id: SERVICE, name: 'test', subrequest: 'kv', methods: {} } as unknown as BindingDefinition;
  const bound = {
    key: 1,
    services: new Map([[SERVICE, { definition, services: new Map([['B', service]]) }]]),
    limits: resolveLimits({ plan: 'free' }),
    connectionSlotRelease: 'body',
    share: undefined,
    originOf: () => undefined,
  } as unknown as BoundFunction;
  const owner: CallsOwner = {
    asks: (_, invocation) => void asked.push(invocation),
    charged() {},
    totals: (_, { id }, { calls }) => void finished.push(`${id}: ${JSON.stringify(calls)}`),
    tracer: () => {
      throw new Error('Nothing is traced');
    },
    splice: () => {
      throw new Error('There is no splice');
    },
    closed() {},
  };
  const [near, far] = loopback();
  const calls = new CellCalls(3, far, () => 0, bound, owner);
  const cell = new Channel(near, 'isolate', { onOpen() {}, onSignal() {}, onClose() {} });
  const call = (invocation: number, method: string): Exchange =>
    cell.open(SERVICE, `${invocation}\n${method}\nB\n{}`, true, null, true);
  return { calls, cell, call, answered, asked, finished };
}

async function rounds(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise(resolve => setImmediate(resolve));
}

test('a call waits behind those before it, though its own invocation is known', async t => {
  const { calls, call, answered, asked } = opened();
  calls.begun(1, false);
  call(1, 'a');
  call(2, 'b');
  call(1, 'c');
  call(3, 'd');
  call(2, 'e');
  await rounds();
  t.deepEqual([answered, asked], [['a'], [2, 3]]);
  calls.begun(3, false);
  await rounds();
  t.deepEqual(answered, ['a']);
  calls.begun(2, false);
  await rounds();
  t.deepEqual(answered, ['a', 'b', 'c', 'd', 'e']);
  call(1, 'f');
  await rounds();
  t.is(answered.at(-1), 'f');
});

test('calls behind one of an invocation that is not open are answered, and it fails', async t => {
  const { calls, call, answered } = opened();
  calls.begun(1, false);
  const failed = call(2, 'a');
  call(1, 'b');
  await rounds();
  t.deepEqual(answered, []);
  calls.unknown(2);
  await rounds();
  t.deepEqual(answered, ['b']);
  t.true(failed.isFinished);
});

test('an invocation whose calls wait is not over before they were answered', async t => {
  const { calls, cell, call, answered, finished } = opened();
  calls.begun(1, false);
  call(2, 'a');
  call(1, 'b');
  await rounds();
  cell.signal(1, SignalKind.Done, '');
  await rounds();
  calls.over(1, false);
  t.deepEqual([answered, finished], [[], []]);
  calls.begun(2, false);
  await rounds();
  t.deepEqual(answered, ['a', 'b']);
  t.is(finished.length, 1);
  t.true(finished[0]?.startsWith('1: '));
});

test('calls that wait are dropped with their connection, and their invocations are over when the application says so', async t => {
  const { calls, cell, call, answered, finished } = opened();
  calls.begun(1, false);
  call(2, 'a');
  call(1, 'b');
  await rounds();
  cell.close();
  await rounds();
  calls.over(1, false);
  t.is(finished.length, 1);
  t.deepEqual(answered, []);
  t.true(calls.isOver);
});
