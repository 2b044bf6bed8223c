import test from 'ava';
import { EdgeError } from '../../../src/quotas/errors.js';
import { AccountSum, type StorageBounds } from '../../../src/storage/accounts/account-sum.js';

const BOUNDS: StorageBounds = { storageBytes: 100, storageObjects: 3, plan: 'standard' };
const SUBJECT = () => 'put "a" into bucket "files"';

async function sumOf(bytes = 0, objects = 0): Promise<AccountSum> {
  const sum = new AccountSum('key', async () => ({ bytes, objects }));
  await sum.ready();
  return sum;
}

test('change() counts what others have reserved, and gives it back when they fail', async t => {
  const sum = await sumOf();
  const first = sum.change({ bytes: 60, objects: 1 }, BOUNDS, SUBJECT);
  const error = t.throws(() => sum.change({ bytes: 41, objects: 1 }, BOUNDS, SUBJECT), { code: 'EDGE_STORAGE_QUOTA' });
  t.is(
    error?.message,
    'Cannot put "a" into bucket "files": what the account stores is 101 bytes, limit storageBytes is 100 bytes (plan standard, option limits.storageBytes)',
  );
  t.deepEqual(sum.stored, { bytes: 0, objects: 0 });
  first.failed();
  sum.change({ bytes: 100, objects: 1 }, BOUNDS, SUBJECT).done();
  t.deepEqual(sum.stored, { bytes: 100, objects: 1 });
});

test('change() allows what removes or stays the same, also past the bound, and frees it when it is written', async t => {
  const sum = await sumOf(500, 9);
  const removal = sum.change({ bytes: -450, objects: -8 }, BOUNDS, SUBJECT);
  t.throws(() => sum.change({ bytes: 1, objects: 0 }, BOUNDS, SUBJECT), { code: 'EDGE_STORAGE_QUOTA' });
  t.is(sum.change({ bytes: 0, objects: 0 }, BOUNDS, SUBJECT).operation, undefined);
  removal.done();
  t.notThrows(() => sum.change({ bytes: 50, objects: 2 }, BOUNDS, SUBJECT));
  t.throws(() => sum.change({ bytes: 0, objects: 1 }, BOUNDS, SUBJECT), {
    message: /number of objects .* is 4, limit/,
  });
});

test('reserveBody() lends the room of the value that is replaced to one body at a time', async t => {
  const sum = await sumOf(90, 1);
  const replaced = { key: 'a', bytes: 90 };
  const first = sum.reserveBody(replaced, BOUNDS, SUBJECT);
  first.add(95);
  const second = sum.reserveBody(replaced, BOUNDS, SUBJECT);
  second.add(5);
  t.throws(() => second.add(1), { code: 'EDGE_STORAGE_QUOTA' });
  second.release();
  second.release();
  first.add(5);
  t.throws(() => first.add(1), { code: 'EDGE_STORAGE_QUOTA' });
  first.release();
  const third = sum.reserveBody(replaced, BOUNDS, SUBJECT);
  t.notThrows(() => third.add(100));
});

test('ready() reads the sum again after an uncertain commit, when the commits beside it are over', async t => {
  let reads = 0;
  const sum = new AccountSum('key', async () => ({ bytes: ++reads * 10, objects: reads }));
  await sum.ready();
  const [lost, other] = [sum.change({ bytes: 5, objects: 1 }), sum.change({ bytes: 5, objects: 1 })];
  lost.failed(true);
  const ready = sum.ready();
  await Promise.resolve();
  t.is(reads, 1);
  other.done();
  await ready;
  t.deepEqual([reads, sum.stored], [2, { bytes: 20, objects: 2 }]);
  t.is(sum.ready(), undefined);
});

test('ready() reads again after a reading that failed', async t => {
  let isBroken = true;
  const sum = new AccountSum('key', async () => {
    if (isBroken) throw new Error('broken');
    return { bytes: 1, objects: 1 };
  });
  await t.throwsAsync(async () => sum.ready(), { message: 'broken' });
  isBroken = false;
  await sum.ready();
  t.deepEqual(sum.stored, { bytes: 1, objects: 1 });
});

test('end() refuses every write, and waits for the commits under way', async t => {
  const sum = await sumOf();
  const body = sum.reserveBody({ key: 'a', bytes: 0 }, BOUNDS, SUBJECT);
  const change = sum.change({ bytes: 1, objects: 1 });
  let isFinished = false;
  const ended = sum.end(new EdgeError('EDGE_CLOSED', 'over')).then(() => {
    isFinished = true;
  });
  await t.throwsAsync(async () => sum.ready(), { code: 'EDGE_CLOSED' });
  t.throws(() => sum.change({ bytes: -1, objects: 0 }), { code: 'EDGE_CLOSED' });
  t.throws(() => body.add(1), { code: 'EDGE_CLOSED' });
  t.false(isFinished);
  change.done();
  await ended;
  t.true(isFinished);
});
