import test, { type ExecutionContext } from 'ava';
import { AccountBytes, HostBytes } from '../../../src/quotas/host/host-bytes.js';

interface Rig {
  readonly all: HostBytes;
  readonly account: AccountBytes;
  readonly changes: boolean[];
  readonly stuck: Promise<number>;
  another(limitBytes: number): { readonly account: AccountBytes; readonly changes: boolean[] };
}

function rig(t: ExecutionContext, limitBytes: number, bounds = { heapBytes: 1e9, bufferBytes: 1e9 }): Rig {
  const all = new HostBytes(bounds);
  let onStuck = (_held: number): void => {};
  const stuck = new Promise<number>(resolve => {
    onStuck = resolve;
  });
  const make = (limit: number) => {
    const changes: boolean[] = [];
    const account = new AccountBytes(
      all,
      limit,
      isFull => changes.push(isFull),
      held => onStuck(held),
      20,
    );
    // The timers of an account do not keep a process alive.
    const alive = setInterval(() => {}, 1000);
    t.teardown(() => {
      clearInterval(alive);
      account.close();
    });
    return { account, changes };
  };
  return { all, ...make(limitBytes), stuck, another: make };
}

test('AccountBytes is full at three quarters of its limit, and not one byte below', t => {
  const { account, changes } = rig(t, 1000);
  account.countBuffers(749);
  t.false(account.isFull);
  account.countHeap(1);
  t.true(account.isFull);
  account.countBuffers(-1);
  t.false(account.isFull);
  t.deepEqual(changes, [true, false]);
});

test('AccountBytes is under pressure from half of its limit on, and crowded from one quarter on', t => {
  const { account } = rig(t, 1000);
  account.countBuffers(249);
  t.false(account.isUnderMemoryPressure);
  account.countBuffers(1);
  t.true(account.isUnderMemoryPressure);
  account.countBuffers(249);
  t.false(account.isUnderPressure);
  account.countBuffers(1);
  t.true(account.isUnderPressure);
  t.false(account.isFull);
});

test('AccountBytes tells when what is held does not fall', async t => {
  const { account, stuck } = rig(t, 1000);
  account.countBuffers(1500);
  t.is(await stuck, 1500);
});

test('AccountBytes takes a budget that falls, however slowly, for work that goes on', async t => {
  const { account, stuck, changes } = rig(t, 1000);
  account.countBuffers(1500);
  const falling = setInterval(() => account.countBuffers(-1), 2);
  const slow = await Promise.race([stuck, new Promise(resolve => setTimeout(() => resolve('falls'), 150))]);
  clearInterval(falling);
  t.is(slow, 'falls');
  t.deepEqual(changes, [true]);
});

test('HostBytes makes those full that hold more than their part when all of it is used up', t => {
  const { account, changes, another } = rig(t, 1e6, { heapBytes: 1e9, bufferBytes: 1000 });
  const small = another(1e6);
  small.account.countBuffers(100);
  account.countBuffers(900);
  t.deepEqual(changes, [true]);
  t.deepEqual(small.changes, []);
  small.account.countBuffers(50);
  t.false(small.account.isFull, 'it holds less than its part');
  small.account.countBuffers(-150);
  t.deepEqual(changes, [true, false], 'there is room again');
});

test('HostBytes bounds what is on the heap apart from what is not', t => {
  const { account } = rig(t, 1e6, { heapBytes: 1000, bufferBytes: 1e9 });
  account.countBuffers(5000);
  t.false(account.isFull);
  account.countHeap(1000);
  t.true(account.isFull);
});

test('HostBytes is at zero when everything was given back', t => {
  const { all, account, another } = rig(t, 1000);
  const other = another(1000);
  for (const { countBuffers, countHeap } of [account, other.account].map(each => ({
    countBuffers: (bytes: number) => each.countBuffers(bytes),
    countHeap: (bytes: number) => each.countHeap(bytes),
  }))) {
    countBuffers(2000);
    countHeap(500);
    countBuffers(-2000);
    countHeap(-500);
  }
  t.deepEqual([all.heapBytes, all.bufferBytes, all.holders, all.full.size], [0, 0, 0, 0]);
});
