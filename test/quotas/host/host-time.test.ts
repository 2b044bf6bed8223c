import test from 'ava';
import { AccountTime, HostTime } from '../../../src/quotas/host/host-time.js';

interface Clock {
  ms: number;
}

function rig() {
  const clock: Clock = { ms: 1000 };
  const all = new HostTime(() => clock.ms);
  const make = () => {
    const changes: boolean[] = [];
    const account = new AccountTime(all, isInDebt => changes.push(isInDebt));
    return { account, changes };
  };
  return { clock, all, make };
}

const nextRound = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 2));

/** Timers pay debts, by the clock of the test. */
async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !condition(); round++) await nextRound();
}

test('AccountTime that is alone owes nothing, whatever it uses', t => {
  const { make } = rig();
  const { account, changes } = make();
  for (let n = 0; n < 100; n++) account.charge(50);
  t.deepEqual(changes, []);
  t.is(account.spentMs, 5000);
});

test('AccountTime owes what is beyond its share while another is at work, until a sixth of the time has paid for it', async t => {
  const { clock, make } = rig();
  const busy = make();
  const other = make();
  other.account.charge(0.1);
  busy.account.charge(10);
  t.deepEqual(busy.changes, [true]);
  t.deepEqual(other.changes, []);
  // Two of the ten were there from the beginning: eight are owed, and a sixth of forty-eight pays them.
  clock.ms += 47;
  other.account.charge(0.1);
  await nextRound();
  t.true(busy.account.isInDebt);
  clock.ms += 1.1;
  await until(() => !busy.account.isInDebt);
  t.deepEqual(busy.changes, [true, false]);
});

test('AccountTime owes nothing any more when the others have stopped', async t => {
  const { clock, make } = rig();
  const busy = make();
  const other = make();
  other.account.charge(0.1);
  busy.account.charge(1000);
  t.true(busy.account.isInDebt);
  clock.ms += 150;
  await until(() => !busy.account.isInDebt);
  t.false(busy.account.isInDebt);
});

test('HostTime pays debtors alike: each earns less when there are more of them', t => {
  const { all, make } = rig();
  make().account.charge(0.1);
  const debtors = Array.from({ length: 8 }, make);
  t.is(all.rate, 1 / 6);
  for (const { account } of debtors) account.charge(10);
  t.is(all.rate, 3 / 32);
  for (const { account } of debtors) account.close();
  t.is(all.rate, 1 / 6);
});
