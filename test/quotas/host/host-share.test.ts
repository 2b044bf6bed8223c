import test from 'ava';
import { HostBudget, type HostShare, type HostShareLimits } from '../../../src/quotas/host/host-share.js';

const LIMITS: HostShareLimits = { hostBytes: 1e6, openInvocations: 3, openDescriptors: 2 };

function shareOf(limits: Partial<HostShareLimits> = {}, onStuck: (reason: string) => void = () => {}): HostShare {
  const budget = new HostBudget({ heapBytes: 1e9, bufferBytes: 1e9 });
  return budget.share('acme', { ...LIMITS, ...limits }, onStuck);
}

test('HostShare takes as many invocations as its bound, and not one more', t => {
  const share = shareOf();
  for (let n = 0; n < 3; n++) {
    t.notThrows(() => share.checkInvocation());
    share.beginInvocation();
  }
  t.false(share.takesInvocation);
  t.throws(() => share.checkInvocation(), {
    code: 'EDGE_OVERLOADED',
    message: /account "acme": 3 are open.* openInvocations is 3/,
  });
  share.endInvocation();
  t.notThrows(() => share.checkInvocation());
});

test('HostShare takes no invocation while half of its bytes are held', t => {
  const share = shareOf();
  share.bytes.countBuffers(500_000);
  t.throws(() => share.checkInvocation(), {
    code: 'EDGE_OVERLOADED',
    message: /holds 500000 bytes.* hostBytes is 1000000/,
  });
  share.bytes.countBuffers(-1);
  t.notThrows(() => share.checkInvocation());
});

test('HostShare opens as many descriptors as its bound, and not one more', t => {
  const share = shareOf();
  share.openDescriptor();
  share.openDescriptor();
  t.throws(() => share.openDescriptor(), {
    code: 'EDGE_OVERLOADED',
    message: /2 are open, option openDescriptors is 2/,
  });
  share.closeDescriptor();
  t.notThrows(() => share.openDescriptor());
  t.is(share.openDescriptors, 2);
});

test('HostShare.whenOpen() calls each listener once, when bytes were given back', t => {
  const share = shareOf();
  share.bytes.countBuffers(1e6);
  t.false(share.isOpen);
  let calls = 0;
  share.whenOpen(() => calls++);
  share.bytes.countBuffers(-1e6);
  share.bytes.countBuffers(1e6);
  share.bytes.countBuffers(-1e6);
  t.is(calls, 1);
});

test('HostShare.turn() has nothing to wait for while only bytes are used up', t => {
  const share = shareOf();
  share.bytes.countBuffers(2e6);
  t.is(share.turn(), undefined);
  share.close();
});

test('HostShare.turn() waits for a debt of time, and ends with its signal or with the account', async t => {
  const share = shareOf();
  const other = shareOf();
  other.charge(0.1);
  share.charge(10_000);
  t.true(share.isInDebt);
  const controller = new AbortController();
  const aborted = share.turn(controller.signal);
  t.truthy(aborted);
  controller.abort();
  await aborted;
  const closed = share.turn();
  share.close();
  await closed;
  other.close();
  t.pass();
});

test('HostShare tells why an account that holds what does not fall has to end', async t => {
  // The timers of an account do not keep a process alive.
  const alive = setInterval(() => {}, 1000);
  const reason = await new Promise<string>(resolve => {
    shareOf({}, resolve).bytes.countHeap(1_500_000);
  });
  clearInterval(alive);
  t.regex(reason, /1500000 bytes .*option hostBytes is 1000000/);
});

/** Resolves with whether the event loop has gone on before the promise of `begin` resolved. */
async function waitsForRound(begin: () => Promise<void> | undefined): Promise<boolean> {
  let isNextRound = false;
  setImmediate(() => {
    isNextRound = true;
  });
  await begin();
  return isNextRound;
}

test('HostShare.moved() lets the event loop go on after each 256 KiB', async t => {
  const share = shareOf();
  for (let n = 0; n < 2; n++) {
    for (let piece = 0; piece < 3; piece++) t.is(share.moved(64 * 1024), undefined);
    t.true(await waitsForRound(() => share.moved(64 * 1024)));
  }
});

test('HostShare.moved() counts the bodies of all invocations of an account together, and goes on with one of them at a time', async t => {
  const share = shareOf();
  share.moved(200 * 1024);
  const order: string[] = [];
  const body = async (name: string): Promise<void> => {
    for (let piece = 0; piece < 3; piece++) {
      await share.moved(300 * 1024);
      order.push(`${name} ${piece}`);
    }
  };
  const bodies = Promise.all([body('a'), body('b')]);
  await Promise.resolve();
  t.deepEqual(order, []);
  await bodies;
  t.deepEqual(order, ['a 0', 'b 0', 'a 1', 'b 1', 'a 2', 'b 2']);
});

test('HostShare.moved() keeps no other account waiting', t => {
  const budget = new HostBudget({ heapBytes: 1e9, bufferBytes: 1e9 });
  const [busy, other] = [budget.share('busy', LIMITS, () => {}), budget.share('other', LIMITS, () => {})];
  t.not(busy.moved(1e6), undefined);
  t.is(other.moved(1000), undefined);
});
