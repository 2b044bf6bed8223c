import test from 'ava';
import { AccountLog } from '../../../src/backend/server/account-log.js';

function openLog(records = new Map<string, unknown>()): AccountLog {
  return new AccountLog({
    get: async key => records.get(key),
    put: async (key, value) => void records.set(key, value),
  });
}

const quiet = (): void => {};

test('who connects again is told what it has missed: of an account its removal, and the options that it has had since', async t => {
  const records = new Map<string, unknown>();
  const log = openLog(records);
  const told: unknown[] = [];
  const add = (change: Parameters<AccountLog['add']>[0]) => log.add(change, numbered => told.push(numbered));
  await add({ account: 'a', update: { plan: 'free' } });
  await add({ account: 'a', isRemoved: true });
  await add({ account: 'b', isRemoved: true });
  await add({ account: 'a', update: { plan: 'free', zones: ['a.example'] } });
  await add({ account: 'a', update: { plan: 'unbound', limits: { requestsPerDay: Infinity } } });
  t.deepEqual(told.at(-1), {
    number: 5,
    change: { account: 'a', update: { plan: 'unbound', limits: { requestsPerDay: Infinity } } },
  });
  const expected = [
    { number: 2, change: { account: 'a', isRemoved: true } },
    { number: 3, change: { account: 'b', isRemoved: true } },
    {
      number: 5,
      change: {
        account: 'a',
        update: { plan: 'unbound', zones: ['a.example'], limits: { requestsPerDay: Infinity } },
      },
    },
  ];
  for (const each of [log, openLog(records)]) {
    t.deepEqual(await each.since(0, quiet), { changes: expected, last: 5, isPartial: false } as never);
    t.deepEqual(await each.since(3, quiet), { changes: expected.slice(2), last: 5, isPartial: false } as never);
    t.deepEqual(await each.since(undefined, quiet), { changes: [], last: 5, isPartial: false });
  }
});

test('of many changes the last ones are kept, and who has missed more is told so', async t => {
  const log = openLog();
  for (let at = 0; at < 1100; at++) await log.add({ account: `a${at}`, isRemoved: true }, quiet);
  const { changes, last, isPartial } = await log.since(5, quiet);
  t.is(last, 1100);
  t.true(isPartial);
  t.true(changes.length >= 900 && changes.length <= 1000);
  t.is(changes.at(-1)?.number, 1100);
  t.false((await log.since((changes[0]?.number ?? 0) - 1, quiet)).isPartial);
  // Options of any size have a bound together.
  const zones = Array.from({ length: 10_000 }, (_, at) => `zone-${at}.example`);
  for (let at = 0; at < 10; at++) await log.add({ account: `b${at}`, update: { zones } }, quiet);
  const kept = await log.since(0, quiet);
  t.true(JSON.stringify(kept).length < 1_100_000);
  t.is(kept.changes.at(-1)?.number, 1110);
});

test('a change that cannot be written is none', async t => {
  let fails = true;
  const log = new AccountLog({
    get: async () => undefined,
    put: async () => {
      if (fails) throw new Error('The disk is full');
    },
  });
  const told: number[] = [];
  await t.throwsAsync(log.add({ account: 'a', isRemoved: true }, ({ number }) => told.push(number)));
  fails = false;
  await log.add({ account: 'b', isRemoved: true }, ({ number }) => told.push(number));
  t.deepEqual(told, [1]);
  t.is((await log.since(0, quiet)).changes.length, 1);
});
