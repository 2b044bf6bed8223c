/** Calls that the backend process hands on to the application: as many as come at once do not hold its other accounts up. */
import test from 'ava';
import { BackendOpens } from '../../../src/backend/wire/messages.js';
import { AnsweredHere } from '../../../src/host/backend/answered-here.js';
import type { RemoteFunction } from '../../../src/host/backend/remote-function.js';
import { Channel } from '../../../src/protocol/channel.js';
import { loopback } from '../../../src/protocol/transports/loopback.js';
import type { HostShare } from '../../../src/quotas/host/host-share.js';

const NOTHING = { onOpen() {}, onSignal() {}, onClose() {} };
const CALLS = 3;

test('calls wait for the turns of their account in their order, and charge what they take', async t => {
  let called = 0;
  let charged = 0;
  let isInDebt = true;
  const waiting: (() => void)[] = [];
  // What AnsweredHere uses of a function and of a share.
  const fn = {
    record: { account: 'acme', function: 'caller' },
    services: new Map([[9, { services: new Map([['B', async () => ({ head: ++called })]]) }]]),
    checkUrl() {},
  } as unknown as RemoteFunction;
  const share = {
    turn: () => (isInDebt ? new Promise<void>(resolve => waiting.push(resolve)) : undefined),
    charge: () => charged++,
    bytes: { countHeap() {} },
  } as unknown as HostShare;
  const here = new AnsweredHere({
    functions: { get: () => fn },
    reports: { caller: () => undefined, countRedirect: async () => {}, countEgress: () => {}, beginSpan: () => 0 },
    share: () => share,
    localSend: () => undefined,
  });
  const [near, far] = loopback();
  new Channel(far, 'host', {
    ...NOTHING,
    onOpen: (exchange, kind, head, body, isComplete) => void here.answer(exchange, kind, head, body, isComplete),
  });
  const channel = new Channel(near, 'isolate', NOTHING);
  const call = (): Promise<string> => {
    const exchange = channel.open(BackendOpens.Call, '1\n0\n2\n9\ncall\nB\n[]\n{}', true, null, true);
    return new Promise(resolve => {
      const ignore = (): void => {};
      const onReply = (_status: number, head: string): void => resolve(head);
      exchange.listener = {
        onReply,
        onData: ignore,
        onCredit: ignore,
        onSent: ignore,
        onStop: ignore,
        onFail: resolve,
      };
    });
  };
  const answers = Array.from({ length: CALLS }, call);
  const rounds = async (): Promise<void> => {
    for (let round = 0; round < 5; round++) await new Promise(resolve => setImmediate(resolve));
  };
  await rounds();
  t.deepEqual([called, waiting.length], [0, 1]);
  waiting.shift()?.();
  t.is(await answers[0], '1');
  await rounds();
  // The first was charged before the second has asked.
  t.deepEqual([called, charged, waiting.length], [1, 1, 1]);
  // There is no debt any more when the last one comes: it waits behind the others all the same.
  isInDebt = false;
  const last = call();
  await rounds();
  t.is(called, 1);
  waiting.shift()?.();
  t.deepEqual(await Promise.all([...answers, last]), ['1', '2', '3', '4']);
  t.is(await call(), '5');
});
