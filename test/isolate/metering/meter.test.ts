/** An isolate's accounting of its invocations, with values that the test gives: turns here take next to no time. */
import test from 'ava';
import { InvocationMeter } from '../../../src/isolate/metering/meter.js';
import { WatchBlock } from '../../../src/isolate/metering/watch-block.js';
import { HostOpens, type IsolateLimits } from '../../../src/protocol/messages.js';

const LIMITS: IsolateLimits = {
  startupMs: 400,
  memoryBytes: 1024 ** 3,
  cpuOverrunMs: 1000,
  cpuBalanceMs: 1000,
  cpuMs: { fetch: 1000, scheduled: 5000, queue: null, alarm: 2000, tail: 2000 },
};

function rig(limits: Partial<IsolateLimits> = {}, collect: (meter: () => InvocationMeter) => void = () => {}) {
  const watch = new WatchBlock();
  const exceeded: [number, number][] = [];
  const spent: [number, number][] = [];
  const overMemory: number[] = [];
  const meter: InvocationMeter = new InvocationMeter(
    watch,
    {
      onTurnEnd() {},
      onCpuExceeded: (invocation, cpuMs) => exceeded.push([invocation, toTens(cpuMs)]),
      onCpuSpent: (invocation, cpuMs) => spent.push([invocation, toTens(cpuMs)]),
      onMemoryExceeded: invocation => overMemory.push(invocation),
    },
    () => collect(() => meter),
  );
  meter.setLimits({ ...LIMITS, ...limits });
  return {
    watch,
    meter,
    exceeded,
    spent,
    overMemory,
    turn(invocation: number): void {
      meter.begin(invocation);
      meter.end(invocation);
    },
  };
}

/** What is charged here is in tens of milliseconds; a turn of its own adds up to one on a busy machine. */
function toTens(ms: number): number {
  return Math.round(ms / 10) * 10;
}

/** An invocation that has so much done by other threads; answers whether it was paid. */
function run({ meter, turn }: ReturnType<typeof rig>, id: number, cpuMs: number, kind = HostOpens.Fetch): boolean {
  meter.open(id, kind);
  const isPaid = meter.charge(id, cpuMs);
  turn(id);
  meter.close(id);
  return isPaid;
}

test('one of the first invocations may take what the start-up has left, and nothing is lent for it', t => {
  const books = rig({ cpuBalanceMs: 0, cpuColdMs: 400 });
  books.meter.endStartup(100);
  t.true(run(books, 2, 100));
  t.true(run(books, 4, 1290));
  // Ten percent of what the first has left are 90.
  t.true(run(books, 6, 1050));
  t.false(run(books, 8, 1290));
  t.deepEqual(books.exceeded, [[8, 1290]]);
});

test('more than the start-up has left ends the invocation, also while the function is cold', t => {
  const books = rig({ cpuBalanceMs: 0, cpuColdMs: 400 });
  books.meter.endStartup(100);
  t.false(run(books, 2, 1310));
});

test('no invocation but the first hundred may take what the start-up has left', t => {
  const books = rig({ cpuBalanceMs: 0, cpuColdMs: 400 });
  books.meter.endStartup(0);
  for (let id = 2; id < 202; id += 2) t.true(run(books, id, 1000));
  t.false(run(books, 202, 1300));
});

test('of two invocations that are open at once only one takes what the start-up has left', t => {
  const { meter, turn, exceeded } = rig({ cpuBalanceMs: 0, cpuColdMs: 400 });
  meter.endStartup(0);
  meter.open(2, HostOpens.Fetch);
  meter.open(4, HostOpens.Fetch);
  t.true(meter.charge(2, 1200));
  turn(2);
  t.false(meter.charge(4, 1200));
  turn(4);
  t.true(meter.charge(2, 150));
  turn(2);
  t.deepEqual(exceeded, [[4, 1200]]);
});

test('an overrun is forgiven once, and not again and again', t => {
  const books = rig();
  t.true(run(books, 2, 1900));
  t.false(run(books, 4, 1900), 'what was lent is used up');
  t.deepEqual(books.exceeded, [[4, 1900]]);
});

test('a tenth of the time that is left unused is lent again', t => {
  const books = rig();
  t.true(run(books, 2, 1900));
  for (let id = 4; id < 24; id += 2) t.true(run(books, id, 0));
  t.true(run(books, 24, 1900));
  t.deepEqual(books.exceeded, []);
});

test('an isolate that takes the place of one that was ended goes on with its balance', t => {
  const books = rig({ cpuBalanceMs: 0 });
  t.false(run(books, 2, 1100));
  t.true(run(rig({ cpuBalanceMs: 200 }), 2, 1100));
});

for (const [name, kind, most] of [
  ['a request', HostOpens.Fetch, 1000],
  ['a cron trigger', HostOpens.Scheduled, 5000],
  ['an alarm', HostOpens.Alarm, 2000],
] as const) {
  test(`${name} has the limit of its kind`, t => {
    t.true(run(rig({ cpuBalanceMs: 0 }), 2, most - 1, kind));
    t.false(run(rig({ cpuBalanceMs: 0 }), 2, most + 1, kind));
  });
}

test('a kind without a limit is paid whatever it asks for, and lends nothing', t => {
  const books = rig({ cpuBalanceMs: 0 });
  t.true(run(books, 2, 1e9, HostOpens.Queue));
  t.false(run(books, 4, 1100));
});

test('what an invocation could not pay is not done, and ends it with its turn', t => {
  const { meter, turn, exceeded } = rig({ cpuBalanceMs: 0 });
  meter.open(2, HostOpens.Fetch);
  t.true(meter.charge(2, 600));
  t.false(meter.charge(2, 600));
  turn(2);
  t.deepEqual(exceeded, [[2, 1200]]);
  t.true(meter.close(2).readUInt32LE(0) < 700_000, 'it is billed for what was done');
});

test('an invocation that is past its limit when it answers is not answered, and pays for the rest of its turn', t => {
  const { meter, exceeded, spent } = rig({ cpuBalanceMs: 0 });
  meter.open(2, HostOpens.Fetch);
  meter.begin(2);
  meter.settle(2, 900);
  meter.beforeReply(2);
  t.deepEqual(spent, []);
  meter.settle(2, 200);
  meter.beforeReply(2);
  t.is(spent[0]?.[0], 2);
  t.deepEqual(exceeded, []);
  meter.settle(2, 500);
  meter.end(2);
  t.is(spent.length, 1);
  t.is(exceeded[0]?.[0], 2);
  t.true((exceeded[0]?.[1] ?? 0) >= 1600);
  const report = meter.close(2);
  t.true(report.readUInt32LE(0) >= 1_600_000);
  t.is(report[8], 1);
});

test('an invocation that passes its limit behind its answer is told of as one that did', t => {
  const { meter, turn, exceeded, spent } = rig({ cpuBalanceMs: 0 });
  for (const id of [2, 4]) meter.open(id, HostOpens.Fetch);
  meter.begin(2);
  meter.beforeReply(2);
  meter.settle(2, 1200);
  meter.end(2);
  turn(4);
  t.deepEqual(spent, []);
  t.is(exceeded[0]?.[0], 2);
  t.is(meter.close(2)[8], 1);
  t.is(meter.close(4)[8], 0);
});

test('memory is on the bill of the invocation that takes it, in the turn in which it does, before it answers', t => {
  const { meter, watch, turn, overMemory } = rig();
  for (const id of [2, 4]) meter.open(id, HostOpens.Fetch);
  turn(2);
  meter.begin(4);
  meter.hold(LIMITS.memoryBytes);
  meter.beforeReply(4);
  t.deepEqual(overMemory, [4]);
  t.true(watch.isOverMemory);
  t.is(watch.memoryTaker, 4);
  meter.end(4);
  turn(2);
  t.deepEqual(overMemory, [4], 'once');
});

test('memory is on the bill of the invocation that took the most of it at once, when another passes the limit by a little', t => {
  const { meter, watch, turn, overMemory } = rig();
  for (const id of [2, 4]) meter.open(id, HostOpens.Fetch);
  turn(2);
  meter.begin(2);
  meter.hold(LIMITS.memoryBytes - 300 * 1024 * 1024);
  meter.end(2);
  meter.begin(4);
  meter.hold(300 * 1024 * 1024);
  meter.end(4);
  t.deepEqual(overMemory, [2]);
  t.is(watch.memoryTaker, 2);
});

test('what finished work has cost beyond its charge is seen with its result', t => {
  const { meter, turn, exceeded } = rig({ cpuBalanceMs: 0 });
  meter.open(2, HostOpens.Fetch);
  meter.charge(2, 600);
  turn(2);
  meter.settle(2, 500);
  turn(2);
  t.deepEqual(exceeded, [[2, 1100]]);
});

test('invocations that interleave pay for their own', t => {
  const { meter, turn, exceeded } = rig({ cpuBalanceMs: 0 });
  for (const id of [2, 4]) meter.open(id, HostOpens.Fetch);
  for (let n = 0; n < 9; n++) {
    t.true(meter.charge(2, 100));
    turn(2);
    t.true(meter.charge(4, 1));
    turn(4);
  }
  t.deepEqual(exceeded, []);
  t.is(Math.round(meter.close(2).readUInt32LE(0) / 10_000), 90);
  t.is(Math.round(meter.close(4).readUInt32LE(0) / 10_000), 1);
});

test('the global scope pays for other threads out of startupMs', t => {
  const { meter } = rig();
  t.true(meter.charge(0, 399));
  t.false(meter.charge(0, 2));
  t.is(meter.startupChargedMs, 401);
});

test('memory that no heap shows counts to the isolate, and more than its limit has it ended', t => {
  const { meter, turn, watch } = rig();
  meter.open(2, HostOpens.Fetch);
  meter.hold(LIMITS.memoryBytes / 2);
  for (let n = 0; n < 16; n++) turn(2);
  t.false(watch.isOverMemory);
  t.true(watch.memoryBytes > LIMITS.memoryBytes / 2);
  meter.hold(LIMITS.memoryBytes / 2);
  for (let n = 0; n < 16; n++) turn(2);
  t.true(watch.isOverMemory);
  t.true(meter.close(2).readUInt32LE(4) * 1024 >= LIMITS.memoryBytes);
});

test('memory that is given back does not count', t => {
  const { meter, turn, watch } = rig();
  meter.open(2, HostOpens.Fetch);
  meter.hold(LIMITS.memoryBytes * 2);
  meter.hold(-LIMITS.memoryBytes * 2);
  for (let n = 0; n < 16; n++) turn(2);
  t.false(watch.isOverMemory);
});

test('what goes on when its invocation is over has what one start may take, all of it together, until the next invocation', t => {
  const { meter, turn } = rig();
  meter.endStartup();
  meter.open(2, HostOpens.Fetch);
  meter.close(2);
  for (const id of [2, 0, 2]) {
    t.true(meter.mayRun(id));
    t.true(meter.charge(id, 130));
    turn(id);
  }
  t.false(meter.charge(2, 130));
  meter.settle(2, 130);
  t.false(meter.mayRun(2));
  t.false(meter.mayRun(0));
  meter.open(4, HostOpens.Fetch);
  t.true(meter.mayRun(2));
  t.true(meter.mayRun(4));
});

test('what goes on has no more than an invocation may take', t => {
  const { meter } = rig({ cpuMs: { ...LIMITS.cpuMs, fetch: 10 } });
  meter.endStartup();
  t.true(meter.charge(0, 9));
  t.false(meter.charge(0, 9));
});

test('what goes on is paid by the overruns of later invocations', t => {
  const books = rig({ cpuBalanceMs: 100 });
  books.meter.endStartup();
  books.meter.charge(0, 90);
  t.false(run(books, 2, 1050));
});

test('an invocation that used up its CPU time runs no more, also where others may', t => {
  const { meter, turn } = rig({ cpuBalanceMs: 0 });
  meter.endStartup();
  meter.open(2, HostOpens.Fetch);
  t.false(meter.charge(2, 1100));
  turn(2);
  t.true(meter.mayRun(2), 'it is on the books still');
  meter.close(2);
  t.false(meter.mayRun(2));
  t.true(meter.mayRun(4));
});

test('memory that a collection gives back does not count, and whoever made it pays for the collection', t => {
  let collections = 0;
  const { meter, watch, turn } = rig({}, of => {
    collections++;
    of().hold(-LIMITS.memoryBytes);
    work();
  });
  meter.open(2, HostOpens.Fetch);
  meter.hold(LIMITS.memoryBytes);
  for (let at = 0; at < 16; at++) turn(2);
  t.is(collections, 1);
  t.false(watch.isOverMemory);
  t.true(watch.memoryBytes < LIMITS.memoryBytes);
  const usedUs = meter.close(2).readUInt32LE(0);
  t.true(usedUs > 5000, `${usedUs} us`);
});

/** Uses CPU time. @default more than counts as the host realm's own */
function work(microseconds = 20_000): void {
  const began = process.cpuUsage();
  while (process.cpuUsage(began).user < microseconds);
}

test('the isolate is watched from its turn until the loop goes on', t => {
  const { meter, watch } = rig();
  meter.open(2, HostOpens.Fetch);
  t.false(watch.isInTurn);
  meter.begin(2);
  meter.end(2);
  t.true(watch.isInTurn);
  const { sequence } = watch;
  meter.begin(2);
  t.true(watch.isInTurn);
  t.not(watch.sequence, sequence);
  meter.end(2);
  meter.leave();
  t.false(watch.isInTurn);
  meter.leave();
  t.false(watch.isInTurn);
});

test('what runs behind a turn is paid by its invocation, which may end for it', t => {
  const { meter, exceeded } = rig({ cpuOverrunMs: 0, cpuMs: { ...LIMITS.cpuMs, fetch: 2 } });
  meter.open(2, HostOpens.Fetch);
  meter.begin(2);
  meter.end(2);
  work();
  meter.leave();
  t.is(exceeded.length, 1);
  t.true(meter.close(2).readUInt32LE(0) > 2000);
});

test('what runs behind the last turn of an invocation is paid as what goes on without one', t => {
  const { meter, exceeded } = rig({ startupMs: 2 });
  meter.endStartup();
  meter.open(2, HostOpens.Fetch);
  meter.begin(2);
  meter.end(2);
  meter.close(2);
  work();
  meter.leave();
  t.deepEqual(exceeded, []);
  t.false(meter.mayRun(0));
});

test('what runs behind turns for rejected promises is paid, however short each piece is', t => {
  const { meter, exceeded } = rig({ cpuOverrunMs: 0, cpuMs: { ...LIMITS.cpuMs, fetch: 5 } });
  meter.open(2, HostOpens.Fetch);
  for (let piece = 0; piece < 200; piece++) {
    meter.begin(2);
    meter.end(2);
    work(100);
    meter.rejected();
  }
  t.true(exceeded.length > 0);
  t.true(meter.close(2).readUInt32LE(0) > 5000);
});
