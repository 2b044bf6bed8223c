/** Users of cells: where their numbers come from, and that no two cells have the same. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { IDS_PER_CLAIM, rootRange, subordinateRange, UserIds } from '../../../src/pool/sandbox/user-ids.js';

/** Ranges of tests are somewhere else each, so that nothing else has claimed them. */
let base = 3_000_000_000 + (process.pid % 100_000) * 10_000;
function range(claims: number): { first: number; count: number; outside: number } {
  base += 100_000;
  return { first: 70_000, count: claims * IDS_PER_CLAIM, outside: base };
}

const ALL = '         0          0 4294967295\n';

test('rootRange() is far above accounts and subordinate ranges where all numbers are there', t => {
  t.deepEqual(rootRange(ALL, ALL), { first: 2_100_000_000, count: 4_194_304, outside: 2_100_000_000 });
});

test('rootRange() is one that a container has, and says what it is called outside', t => {
  const container = '0 231072 65536\n';
  t.deepEqual(rootRange(container, container), { first: 40_000, count: 20_224, outside: 271_072 });
});

test('rootRange() is undefined where users or groups are not mapped', t => {
  t.is(rootRange('0 1000 1\n', '0 1000 1\n'), undefined);
  t.is(rootRange(ALL, '0 1000 1\n'), undefined);
  t.is(rootRange('', ''), undefined);
  t.is(rootRange('garbage\n\n', 'garbage'), undefined);
});

test('subordinateRange() is what is mapped besides root', t => {
  const map = '         0       1001          1\n         1     100000      65535\n';
  t.deepEqual(subordinateRange(map, map), { first: 1, count: 65_535, outside: 100_000 });
  t.deepEqual(subordinateRange(map, '0 1001 1\n1 100000 300\n'), { first: 1, count: 300, outside: 100_000 });
  t.is(subordinateRange(map, '0 1001 1\n'), undefined);
  t.is(subordinateRange('0 1001 1\n1 100000 255\n', map), undefined);
});

test('take() gives each number once until it is given back, and then those first that were not used for longest', async t => {
  const ids = new UserIds(range(1), false);
  await ids.reserve();
  const taken = Array.from({ length: IDS_PER_CLAIM }, () => ids.take());
  t.is(new Set(taken).size, IDS_PER_CLAIM);
  t.deepEqual([Math.min(...taken), Math.max(...taken)], [70_000, 70_000 + IDS_PER_CLAIM - 1]);
  t.throws(() => ids.take(), { code: 'EDGE_CELL_START', message: /all of 70000 to 70255 are in use/ });
  const [, second = 0, , fourth = 0] = taken;
  ids.give(fourth);
  ids.give(second);
  t.is(ids.take(), fourth);
  t.is(ids.take(), second);
});

test('take() never gives root, nor nobody', async t => {
  const { outside } = range(1);
  const ids = new UserIds({ first: 65_500, count: IDS_PER_CLAIM, outside }, false);
  await ids.reserve();
  const taken = Array.from({ length: ids.free }, () => ids.take());
  t.is(taken.length, IDS_PER_CLAIM - 1);
  t.false(taken.includes(65_534));
  const low = new UserIds({ first: 0, count: IDS_PER_CLAIM, outside: range(1).outside }, false);
  await low.reserve();
  t.is(low.free, IDS_PER_CLAIM - 1);
});

test('reserve() claims more when few are left, and not what others have claimed', async t => {
  const shared = range(3);
  const one = new UserIds(shared, false, () => 0);
  const two = new UserIds(shared, false, () => 0);
  await one.reserve();
  await two.reserve();
  const all = new Set<number>();
  for (const ids of [one, two]) for (; ids.free > 0; ) all.add(ids.take());
  t.is(all.size, 2 * IDS_PER_CLAIM);
  await one.reserve();
  for (; one.free > 0; ) all.add(one.take());
  t.is(all.size, 3 * IDS_PER_CLAIM);
  await two.reserve();
  t.is(two.free, 0);
});

test('reserve() does not claim what another process has, until that has ended', async t => {
  const shared = range(1);
  const program = fileURLToPath(new URL('./claims-ids.js', import.meta.url));
  const other = fork(program, [JSON.stringify(shared)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [free] = await once(other, 'message');
  t.is(free, IDS_PER_CLAIM);
  const meanwhile = new UserIds(shared, false);
  await meanwhile.reserve();
  t.is(meanwhile.free, 0);
  other.kill('SIGKILL');
  await once(other, 'exit');
  const afterwards = new UserIds(shared, false);
  await afterwards.reserve();
  t.is(afterwards.free, IDS_PER_CLAIM);
});
