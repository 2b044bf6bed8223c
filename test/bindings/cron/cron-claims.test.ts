/** The claims of cron triggers: one of all who ask for a time gets it, also over restarts. */
import test, { type ExecutionContext } from 'ava';
import { type CronWish, StoredCronClaims } from '../../../src/bindings/cron/cron-claims.js';
import { cronKeys, cronStorage } from '../../../src/bindings/cron/cron-records.js';
import { Storage } from '../../../src/storage/storage.js';

const FN = { account: 'acme', function: 'nightly' } as const;
const CRON = '* * * * *';
const MINUTE = 60_000;
const NOW = 1_800_000_000_000;

interface Clock {
  nowMs: number;
}

async function open(t: ExecutionContext, clock: Clock): Promise<{ storage: Storage; claims: StoredCronClaims }> {
  const now = (): number => clock.nowMs;
  const storage = await Storage.open(':memory:', { owners: [cronStorage(now)], now });
  t.teardown(() => storage.close());
  const claims = new StoredCronClaims(storage.context, now);
  clocks.set(claims, clock);
  return { storage, claims };
}

const clocks = new WeakMap<StoredCronClaims, Clock>();

function track(claims: StoredCronClaims, target: { account: string; function: string }, crons: readonly string[]) {
  return claims.track(target, crons, clocks.get(claims)?.nowMs ?? NOW);
}

const wish = (dueMs: number, more: Partial<CronWish> = {}): CronWish => ({
  ...FN,
  cron: CRON,
  dueMs,
  isExclusive: false,
  isMissed: false,
  ...more,
});

test('claim() gives a time to one of many who ask at once', async t => {
  const { claims } = await open(t, { nowMs: NOW });
  await track(claims, FN, [CRON]);
  const owners = Array.from({ length: 20 }, (_, index) => `process-${index}`);
  const given = await Promise.all(owners.map(owner => claims.claim(owner, [wish(NOW + MINUTE)])));
  t.is(given.flat().filter(({ kind }) => kind === 'run').length, 1);
  t.is(given.flat().filter(({ kind }) => kind === 'taken').length, 19);
});

test('claim() refuses a time before the last, and says which that was', async t => {
  const { claims } = await open(t, { nowMs: NOW });
  await track(claims, FN, [CRON]);
  t.deepEqual(await claims.claim('a', [wish(NOW + 2 * MINUTE)]), [{ kind: 'run', previousMs: NOW }]);
  t.deepEqual(await claims.claim('b', [wish(NOW + MINUTE)]), [{ kind: 'taken', previousMs: NOW + 2 * MINUTE }]);
  t.deepEqual(await claims.claim('b', [wish(NOW + 3 * MINUTE)]), [{ kind: 'run', previousMs: NOW + 2 * MINUTE }]);
});

test('claim() of missed times uses them up', async t => {
  const { claims } = await open(t, { nowMs: NOW });
  await track(claims, FN, [CRON]);
  t.deepEqual(await claims.claim('a', [wish(NOW + 5 * MINUTE, { isMissed: true })]), [
    { kind: 'missed', previousMs: NOW },
  ]);
  t.like(await claims.claim('b', [wish(NOW + 5 * MINUTE)]), [{ kind: 'taken' }]);
});

test('claim() of an exclusive run waits for the end of the one before, in any process', async t => {
  const { claims } = await open(t, { nowMs: NOW });
  await track(claims, FN, [CRON]);
  const next = (minutes: number, owner: string) =>
    claims.claim(owner, [wish(NOW + minutes * MINUTE, { isExclusive: true })]);
  t.like(await next(1, 'a'), [{ kind: 'run' }]);
  t.like(await next(2, 'b'), [{ kind: 'busy' }]);
  t.like(await next(2, 'a'), [{ kind: 'taken' }]);
  await claims.finished('a', { ...FN, cron: CRON });
  t.like(await next(3, 'b'), [{ kind: 'run' }]);
  await claims.left('b');
  t.like(await next(4, 'a'), [{ kind: 'run' }]);
});

test('track() knows the last time of a trigger that stays, and begins anew for one that comes back', async t => {
  const clock = { nowMs: NOW };
  const { claims } = await open(t, clock);
  t.deepEqual(await track(claims, FN, [CRON, '0 4 * * *']), [undefined, undefined]);
  await claims.claim('a', [wish(NOW + MINUTE)]);
  clock.nowMs = NOW + 90_000;
  t.deepEqual(await track(claims, FN, [CRON]), [NOW + MINUTE]);
  t.deepEqual(await track(claims, FN, []), []);
  // Another process that is late with it.
  t.like(await claims.claim('b', [wish(NOW + MINUTE)]), [{ kind: 'taken' }]);
  clock.nowMs = NOW + 3 * MINUTE;
  t.deepEqual(await track(claims, FN, [CRON, '0 4 * * *']), [undefined, undefined]);
  t.deepEqual(await claims.claim('a', [wish(NOW + 4 * MINUTE)]), [{ kind: 'run', previousMs: NOW + 3 * MINUTE }]);
});

test('a time that was claimed while the clock was wrong does not keep the trigger from running', async t => {
  const clock = { nowMs: NOW };
  const { claims } = await open(t, clock);
  await track(claims, FN, [CRON]);
  await claims.claim('a', [wish(NOW + 365 * 86_400_000)]);
  t.like(await claims.claim('a', [wish(NOW + MINUTE)]), [{ kind: 'run' }]);
  t.like(await claims.claim('a', [wish(NOW + MINUTE)]), [{ kind: 'taken' }]);
});

test('records of triggers that are gone are removed, at once or by a sweep, and all with the account', async t => {
  const clock = { nowMs: NOW };
  const { storage, claims } = await open(t, clock);
  const { records } = storage.context;
  const has = async (cron: string) =>
    (await records.get(cronKeys.trigger(FN.account, FN.function, cron))) !== undefined;
  await track(claims, FN, [CRON, '0 4 * * *']);
  await claims.claim('a', [wish(NOW)]);
  await claims.claim('a', [wish(NOW + MINUTE)]);
  await track(claims, FN, []);
  t.false(await has('0 4 * * *'), 'never claimed');
  t.true(await has(CRON), 'claimed just now');
  const sweep = cronStorage(() => clock.nowMs).jobs?.[0];
  await sweep?.run(storage.context);
  t.true(await has(CRON));
  clock.nowMs += 20 * MINUTE;
  await sweep?.run(storage.context);
  t.false(await has(CRON));

  await track(claims, FN, [CRON]);
  await track(claims, { account: 'acme2', function: 'nightly' }, [CRON]);
  await storage.removeAccount('acme', { error: new Error('gone') as never, deleteData: true, beside: async () => {} });
  t.false(await has(CRON));
  t.not(await records.get(cronKeys.trigger('acme2', 'nightly', CRON)), undefined);
});
