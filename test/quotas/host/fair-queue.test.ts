import test from 'ava';
import fc from 'fast-check';
import { FairQueue, type FairQueueOptions } from '../../../src/quotas/host/fair-queue.js';

const OPTIONS = { task: 'read a file', concurrency: 3, perOwner: 2, maxWaiting: 4 };

/** Owners by name, and the tasks in the order in which they begin. */
function script(options: FairQueueOptions = OPTIONS) {
  const queue = new FairQueue(options);
  const owners = new Map<string, object>();
  const begun: string[] = [];
  const owner = (name: string): object => {
    const known = owners.get(name) ?? {};
    owners.set(name, known);
    return known;
  };
  return {
    queue,
    begun,
    enter(task: string, cost = 1, signal?: AbortSignal): Promise<void> | undefined {
      const wait = queue.enter(owner(task[0] ?? ''), cost, signal);
      if (wait === undefined) begun.push(task);
      return wait?.then(() => void begun.push(task));
    },
    async leave(name: string, more?: number): Promise<void> {
      queue.leave(owner(name), more);
      await settled();
    },
  };
}

/** Lets everything go on that was resolved. */
const settled = () => new Promise(resolve => setImmediate(resolve));

test('enter() leaves a place for others when an owner has as many as it may in any case', async t => {
  const { enter, begun, leave } = script({ ...OPTIONS, mostPerOwner: 2 });
  void enter('a1');
  void enter('a2');
  t.not(enter('a3'), undefined);
  t.is(enter('b1'), undefined);
  t.deepEqual(begun, ['a1', 'a2', 'b1']);
  await leave('a');
  t.deepEqual(begun, ['a1', 'a2', 'b1', 'a3']);
});

test('enter() gives one owner all places at once while nobody waits', t => {
  const { queue, enter, begun } = script();
  t.deepEqual([enter('a1'), enter('a2'), enter('a3')], [undefined, undefined, undefined]);
  t.deepEqual(begun, ['a1', 'a2', 'a3']);
  t.is(queue.running, 3);
  t.not(enter('a4'), undefined);
  t.is(queue.running, 3);
});

test('leave() gives the place to the owner that was given least, whoever came first', async t => {
  const { enter, leave, begun } = script({ ...OPTIONS, concurrency: 1, perOwner: 1 });
  for (const task of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) enter(task);
  for (const name of ['a', 'b', 'c', 'a', 'b']) await leave(name);
  t.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('leave() lets one that waits for little in before many that wait for much', async t => {
  const { enter, leave, begun } = script({ ...OPTIONS, concurrency: 1, perOwner: 1 });
  for (const task of ['a1', 'a2', 'a3']) enter(task, 100);
  for (const task of ['b1', 'b2', 'b3']) enter(task, 10);
  for (const name of ['a', 'b', 'b', 'b', 'a']) await leave(name);
  t.deepEqual(begun, ['a1', 'b1', 'b2', 'b3', 'a2', 'a3']);
});

test('leave() counts what a task cost beyond what was known', async t => {
  const { enter, leave, begun } = script({ ...OPTIONS, concurrency: 1, perOwner: 1 });
  for (const task of ['a1', 'b1', 'b2', 'a2']) enter(task);
  await leave('a', 5);
  await leave('b');
  t.deepEqual(begun, ['a1', 'b1', 'b2']);
});

test('enter() keeps a place for others from an owner that has its part', async t => {
  const { enter, leave, begun } = script();
  for (const task of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3']) enter(task);
  await leave('a');
  t.deepEqual(begun.slice(3), ['b1']);
  // a still has two: while it waits behind others its part is used up.
  await leave('b');
  t.deepEqual(begun.slice(4), ['b2']);
  await leave('b');
  t.deepEqual(begun.slice(5), ['b3']);
});

test('enter() lets a newcomer have a free place when all who wait have their part', async t => {
  const { enter, leave, begun } = script({ ...OPTIONS, perOwner: 1 });
  for (const task of ['a1', 'b1', 'c1', 'a2', 'b2']) enter(task);
  await leave('c');
  t.deepEqual(begun, ['a1', 'b1', 'c1']);
  t.is(enter('d1'), undefined);
});

test('enter() does not remember that an owner had much while nobody else wanted anything', async t => {
  const { enter, leave, begun } = script({ ...OPTIONS, concurrency: 1, perOwner: 1 });
  for (let at = 0; at < 100; at++) {
    enter('a0', 50);
    await leave('a');
  }
  begun.length = 0;
  for (const task of ['c1', 'b1', 'a1', 'b2', 'a2']) enter(task);
  for (const name of ['c', 'b', 'a', 'b']) await leave(name);
  t.deepEqual(begun, ['c1', 'b1', 'a1', 'b2', 'a2']);
});

test('enter() throws EDGE_OVERLOADED for one more than may wait, and takes others', t => {
  const { enter } = script();
  for (let at = 0; at < OPTIONS.concurrency + OPTIONS.maxWaiting; at++) t.notThrows(() => enter('a1'));
  t.throws(() => enter('a1'), {
    code: 'EDGE_OVERLOADED',
    message: 'Cannot read a file: 4 such tasks of the account wait already, at most 4 may wait',
  });
  t.notThrows(() => enter('b1'));
});

test('enter() rejects with the reason of the signal, and whoever is behind goes on', async t => {
  const { queue, enter, leave, begun } = script({ ...OPTIONS, concurrency: 1, perOwner: 1 });
  const controller = new AbortController();
  enter('a1');
  const given = enter('a2', 1, controller.signal);
  enter('a3');
  controller.abort(new Error('given up'));
  await t.throwsAsync(async () => given, { message: 'given up' });
  await leave('a');
  t.deepEqual(begun, ['a1', 'a3']);
  await leave('a');
  t.is(queue.running, 0);
  enter('b1');
  await t.throwsAsync(async () => enter('a4', 1, controller.signal), { message: 'given up' });
  t.is(queue.waitingOwners, 0);
});

test('a signal that fires leaves more places to the only one who still waits', async t => {
  const { enter, leave, begun } = script({ ...OPTIONS, perOwner: 1 });
  const controller = new AbortController();
  for (const task of ['a1', 'b1', 'c1', 'a2']) enter(task);
  const given = enter('b2', 1, controller.signal);
  await leave('c');
  t.is(begun.length, 3);
  controller.abort(new Error('given up'));
  await t.throwsAsync(async () => given);
  t.deepEqual(begun.slice(3), ['a2']);
});

test('run() gives the place back when the task fails', async t => {
  const { queue } = script();
  const error = new Error('no');
  t.is(await t.throwsAsync(queue.run({}, 1, () => Promise.reject(error))), error);
  t.is(await queue.run({}, 1, async () => 'done'), 'done');
  t.is(queue.running, 0);
});

type Step =
  | { readonly kind: 'enter'; readonly owner: number; readonly cost: number }
  | { readonly kind: 'leave'; readonly at: number }
  | { readonly kind: 'abort'; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('enter' as const), owner: fc.nat(3), cost: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('leave' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort' as const), at: fc.nat() }) },
);

interface Task {
  readonly owner: number;
  readonly cost: number;
  readonly serial: number;
  readonly controller: AbortController;
}

test('whatever comes, places are used, parts are kept, and owners that wait are given alike', async t => {
  const places = fc
    .integer({ min: 1, max: 4 })
    .chain(concurrency =>
      fc.record({ concurrency: fc.constant(concurrency), perOwner: fc.integer({ min: 1, max: concurrency }) }),
    );
  await fc.assert(
    fc.asyncProperty(places, fc.array(step, { maxLength: 120 }), async (bounds, steps) => {
      const queue = new FairQueue({ ...OPTIONS, ...bounds, maxWaiting: 1000 });
      const owners = Array.from({ length: 4 }, () => ({}));
      const running: Task[] = [];
      const waiting: Task[] = [];
      /** What each pair was given since both wait. */
      const given = new Map<string, [number, number]>();
      const runningOf = (owner: number) => running.filter(task => task.owner === owner).length;
      const isWaiting = (owner: number) => waiting.some(task => task.owner === owner);
      const begin = (task: Task) => {
        const others = waiting.some(({ owner }) => owner !== task.owner);
        const first = waiting.find(({ owner }) => owner === task.owner);
        if (first !== undefined) t.is(first.serial, task.serial, 'in the order of arrival');
        if (others) t.true(runningOf(task.owner) < bounds.perOwner, 'no more than its part while others wait');
        for (const [pair, costs] of given) {
          const place = pair.split(' ').indexOf(String(task.owner));
          if (place >= 0) costs[place] = (costs[place] ?? 0) + task.cost;
        }
        if (waiting.includes(task)) waiting.splice(waiting.indexOf(task), 1);
        running.push(task);
      };
      for (const [serial, next] of steps.entries()) {
        if (next.kind === 'enter') {
          const task = { owner: next.owner, cost: next.cost, serial, controller: new AbortController() };
          const wait = queue.enter(owners[next.owner] ?? {}, next.cost, task.controller.signal);
          if (wait === undefined) begin(task);
          else {
            waiting.push(task);
            wait.then(
              () => begin(task),
              () => {},
            );
          }
        } else if (next.kind === 'leave' && running.length > 0) {
          const [task] = running.splice(next.at % running.length, 1);
          if (task !== undefined) queue.leave(owners[task.owner] ?? {});
        } else if (next.kind === 'abort' && waiting.length > 0) {
          const [task] = waiting.splice(next.at % waiting.length, 1);
          task?.controller.abort();
        }
        await Promise.resolve();
        await Promise.resolve();

        t.is(queue.running, running.length);
        t.true(running.length <= bounds.concurrency, 'no more than there are places');
        const names = [0, 1, 2, 3].filter(isWaiting);
        t.is(queue.waitingOwners, names.length);
        if (running.length < bounds.concurrency) {
          t.true(names.length !== 1, 'nobody waits alone while there is a place');
          for (const name of names) t.true(runningOf(name) >= bounds.perOwner, 'a place is free for others alone');
        }
        for (const a of [0, 1, 2, 3]) {
          for (const b of [0, 1, 2, 3]) {
            if (a >= b) continue;
            const pair = `${a} ${b}`;
            if (!isWaiting(a) || !isWaiting(b)) given.delete(pair);
            else if (!given.has(pair)) given.set(pair, [0, 0]);
            const [costA, costB] = given.get(pair) ?? [0, 0];
            // Start-time fair queueing: two owners that both wait differ by no more than the largest task of each. Who has its part may wait longer.
            if (bounds.perOwner === bounds.concurrency) t.true(Math.abs(costA - costB) <= 40, `${costA} and ${costB}`);
          }
        }
      }
    }),
    { numRuns: 300 },
  );
});
