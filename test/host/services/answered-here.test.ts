/** Calls that the services hand on to the application: as many as come at once do not hold its other accounts up. */
import test from 'ava';
import { AnsweredHere } from '../../../src/host/services/answered-here.js';
import type { RemoteFunction } from '../../../src/host/services/remote-function.js';
import { Channel } from '../../../src/protocol/channel.js';
import { loopback } from '../../../src/protocol/loopback.js';
import type { HostShare } from '../../../src/quotas/host/host-share.js';
import { ServicesAsk } from '../../../src/services/control.js';

const NOTHING = { onOpen() {}, onSignal() {}, onClose() {} };
const CALLS = 3;

test('a call waits for the turn of its account, and charges what it takes', async t => {
  let called = 0;
  let charged = 0;
  const waiting: (() => void)[] = [];
  // What AnsweredHere uses of a function and of a share.
  const fn = {
    record: { account: 'acme', function: 'caller' },
    services: new Map([[9, { services: new Map([['B', async () => ({ head: ++called })]]) }]]),
    checkUrl() {},
  } as unknown as RemoteFunction;
  const share = {
    turn: () => new Promise<void>(resolve => waiting.push(resolve)),
    charge: () => charged++,
    bytes: { countHeap() {} },
  } as unknown as HostShare;
  const here = new AnsweredHere({
    function: () => fn,
    caller: () => undefined,
    share: () => share,
    localSend: () => undefined,
    countRedirect: async () => {},
    countEgress: () => {},
  });
  const [near, far] = loopback();
  new Channel(far, 'host', {
    ...NOTHING,
    onOpen: (exchange, kind, head, body, isComplete) =>
      void here.answer(exchange, kind, head, body, isComplete, () => 0),
  });
  const channel = new Channel(near, 'isolate', NOTHING);
  const answers: Promise<string>[] = [];
  for (let call = 0; call < CALLS; call++) {
    const exchange = channel.open(ServicesAsk.Call, '1\n0\n2\n9\ncall\nB\n[]\n{}', true, null, true);
    answers.push(
      new Promise(resolve => {
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
      }),
    );
  }
  while (waiting.length < CALLS) await new Promise(resolve => setImmediate(resolve));
  t.is(called, 0);
  waiting.shift()?.();
  t.is(await answers[0], '1');
  t.deepEqual([called, charged], [1, 1]);
  for (const go of waiting) go();
  t.deepEqual(await Promise.all(answers), ['1', '2', '3']);
});
