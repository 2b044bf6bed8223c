import test from 'ava';
import { lazyCounters, type SharedCounters } from '../../src/quotas/requests/shared-counters.js';

class FakeCounters implements SharedCounters {
  readonly aheadMs = 7;
  count = 0;
  isClosed = false;

  async increment(): Promise<number> {
    this.count += 1;
    return this.count;
  }

  async decrement(): Promise<void> {
    this.count -= 1;
  }

  async ready(): Promise<void> {}

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

test('lazyCounters() opens with the first count, once, and closes what it has opened', async t => {
  const counters = new FakeCounters();
  let opens = 0;
  const lazy = lazyCounters(
    async () => {
      opens += 1;
      return counters;
    },
    () => t.fail(),
  );
  t.is(lazy.aheadMs, 0);
  t.is(opens, 0);
  t.deepEqual(await Promise.all([lazy.increment('a', 1), lazy.increment('a', 1)]), [1, 2]);
  await lazy.decrement('a', 1);
  t.is(counters.count, 1);
  t.is(lazy.aheadMs, 7);
  t.is(opens, 1);
  await lazy.close();
  t.true(counters.isClosed);
});

test('lazyCounters() says once that they cannot be opened, and every count rejects', async t => {
  const reason = new TypeError('no such package');
  const errors: unknown[] = [];
  let opens = 0;
  const lazy = lazyCounters(
    () => {
      opens += 1;
      return Promise.reject(reason);
    },
    error => errors.push(error),
  );
  await lazy.ready();
  await t.throwsAsync(lazy.increment('a', 1), { is: reason });
  await t.throwsAsync(lazy.increment('a', 1), { is: reason });
  t.deepEqual([errors, opens], [[reason], 1]);
  await lazy.close();
});

test('lazyCounters() opens nothing to be closed', async t => {
  const lazy = lazyCounters(
    () => {
      t.fail();
      return Promise.reject(new Error());
    },
    () => t.fail(),
  );
  await lazy.close();
  t.pass();
});
