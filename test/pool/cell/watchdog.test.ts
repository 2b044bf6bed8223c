/** The watchdog with blocks that a test writes in place of isolates; it is woken by hand. */
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { clockMs, ownClockDescriptor } from '../../../src/isolate/metering/thread-clock.js';
import { monotonicMs, WatchBlock } from '../../../src/isolate/metering/watch-block.js';
import { ThreadPriority } from '../../../src/pool/cell/thread-priority.js';
import { type KillFinding, Watchdog, type WatchdogOptions } from '../../../src/pool/cell/watchdog.js';
import { listenToFaults } from '../../../src/quotas/guarded.js';

interface Rig {
  readonly watchdog: Watchdog;
  readonly told: string[];
  residentBytes: number | undefined;
  isEnding: boolean;
}

/** Every thread is lowered at once and raised again. */
function rig(): Rig {
  const told: string[] = [];
  const priority = new ThreadPriority({
    get: () => 0,
    set: (thread, to) => {
      if (thread !== 0) told.push(`thread ${thread} at ${to}`);
    },
  });
  const result: Rig = {
    told,
    residentBytes: 0,
    isEnding: false,
    watchdog: new Watchdog({
      cellMemoryBytes: 100,
      residentBytes: () => result.residentBytes,
      isEnding: () => result.isEnding,
      priority,
      onLongTurn: (lease, isRunning) => told.push(`lease ${lease} ${isRunning ? 'long' : 'over'}`),
      onFault: () => told.push('fault'),
    } satisfies WatchdogOptions),
  };
  return result;
}

function turn(block: WatchBlock, agoMs: number, budgetMs: number): void {
  block.beginTurn(2, monotonicMs() - agoMs, budgetMs, 0, 0);
}

test('poll() ends the isolate whose turn has outlasted its budget', t => {
  const { watchdog, told } = rig();
  const block = new WatchBlock();
  watchdog.watch(1, block, ({ reason }) => told.push(reason));
  turn(block, 50, 40);
  watchdog.poll();
  t.deepEqual(told, ['cpu']);
  watchdog.forget(1);
});

test('poll() holds no more against a turn than its thread has used since the turn began', t => {
  const { watchdog, told } = rig();
  const block = new WatchBlock();
  const clock = ownClockDescriptor();
  block.clock = clock;
  watchdog.watch(1, block, ({ reason }) => told.push(reason));
  // For 50 ms the thread has waited for a CPU.
  block.beginTurn(2, monotonicMs() - 50, 40, 0, (clockMs(clock) ?? 0) + 1);
  watchdog.poll();
  t.deepEqual(told, []);
  watchdog.forget(1);
});

test('poll() lowers the thread of a turn that goes on, and raises it when the turn is over', t => {
  const { watchdog, told } = rig();
  const block = new WatchBlock();
  block.thread = 71;
  watchdog.watch(1, block, ({ reason }) => told.push(reason));
  turn(block, 50, 1000);
  watchdog.poll();
  watchdog.poll();
  t.deepEqual(told, ['thread 71 at 10']);
  block.endTurn();
  watchdog.poll();
  t.deepEqual(told, ['thread 71 at 10', 'thread 71 at 0']);
  watchdog.forget(1);
});

test('poll() ends the largest isolate inside a turn when the process has too much memory', t => {
  const it = rig();
  const [small, large, idle] = [new WatchBlock(), new WatchBlock(), new WatchBlock()];
  small.memoryBytes = 10;
  large.memoryBytes = 20;
  idle.memoryBytes = 30;
  for (const [lease, block] of [small, large, idle].entries()) {
    it.watchdog.watch(lease, block, ({ reason, invocation }) =>
      it.told.push(`lease ${lease} ${reason} of ${invocation}`),
    );
  }
  for (const block of [small, large]) turn(block, 0, 1000);
  it.residentBytes = 101;
  it.watchdog.poll();
  t.deepEqual(it.told, ['lease 1 memory of 2']);
  for (const lease of [0, 1, 2]) it.watchdog.forget(lease);
});

test('poll() blames the invocation that the isolate says took the memory, also when its turn is over', t => {
  const { watchdog, told } = rig();
  const block = new WatchBlock();
  watchdog.watch(1, block, ({ reason, invocation }) => told.push(`${reason} of ${invocation}`));
  turn(block, 0, 1000);
  block.giveKillReason(8);
  block.endTurn();
  watchdog.poll();
  t.deepEqual(told, ['memory of 8']);
  watchdog.forget(1);
});

test('poll() ends nobody for the memory of a thread that is on its way out', t => {
  const it = rig();
  const block = new WatchBlock();
  it.watchdog.watch(1, block, ({ reason }) => it.told.push(reason));
  turn(block, 0, 1000);
  it.isEnding = true;
  it.residentBytes = 1e9;
  it.watchdog.poll();
  it.residentBytes = 2e9;
  it.watchdog.poll();
  t.deepEqual(it.told, []);
  it.watchdog.forget(1);
});

/** A block that says when the watchdog has begun to wait for its next turn. */
class NotingBlock extends WatchBlock {
  readonly asleep: Promise<void>;
  #onSleep = (): void => {};

  constructor() {
    super();
    this.asleep = new Promise(resolve => {
      this.#onSleep = resolve;
    });
  }

  override sleep(sequence: number, onWake: () => void): boolean {
    const isAsleep = super.sleep(sequence, onWake);
    if (isAsleep) this.#onSleep();
    return isAsleep;
  }
}

test('a watchdog that sleeps because there were no turns is woken by one, and ends the isolate whose turn goes on', async t => {
  const { watchdog } = rig();
  const [quiet, spinning] = [new NotingBlock(), new NotingBlock()];
  const findings: KillFinding[] = [];
  const ended = new Promise<void>(resolve => {
    watchdog.watch(1, quiet, finding => findings.push(finding));
    watchdog.watch(2, spinning, finding => {
      findings.push(finding);
      resolve();
    });
  });
  await Promise.all([quiet.asleep, spinning.asleep]);
  turn(spinning, 0, 5);
  await ended;
  t.deepEqual(
    findings.map(({ reason }) => reason),
    ['cpu'],
  );
  watchdog.forget(1);
  watchdog.forget(2);
});

test('a turn in another thread wakes a watchdog that sleeps', async t => {
  const { watchdog } = rig();
  const block = new NotingBlock();
  const ended = new Promise<KillFinding>(resolve => watchdog.watch(1, block, resolve));
  await block.asleep;
  const thread = new Worker(
    `import { workerData } from 'node:worker_threads';
     const { monotonicMs, WatchBlock } = await import(workerData.module);
     new WatchBlock(workerData.buffer).beginTurn(2, monotonicMs(), 5, 0, 0);`,
    {
      eval: true,
      workerData: {
        buffer: block.buffer,
        module: new URL('../../../src/isolate/metering/watch-block.js', import.meta.url).href,
      },
    },
  );
  t.is((await ended).reason, 'cpu');
  watchdog.forget(1);
  await thread.terminate();
});

test('a watchdog that sleeps watches an isolate that comes', async t => {
  const { watchdog } = rig();
  const [first, second] = [new NotingBlock(), new WatchBlock()];
  watchdog.watch(1, first, () => t.fail());
  await first.asleep;
  const ended = new Promise<KillFinding>(resolve => watchdog.watch(2, second, resolve));
  turn(second, 0, 5);
  t.is((await ended).invocation, 2);
  watchdog.forget(1);
  watchdog.forget(2);
});

test('sleep() of a block says no when a turn has begun since it was looked at', async t => {
  const block = new WatchBlock();
  const { sequence } = block;
  turn(block, 0, 5);
  const woken = new Promise<void>(resolve => t.false(block.sleep(sequence, resolve)));
  await woken;
  t.true(block.sleep(block.sequence, () => {}));
  block.wake();
});

test('a watchdog that fails says so, since no limit would end an isolate any more', async t => {
  const { watchdog, told } = rig();
  const block = new WatchBlock();
  Object.defineProperty(block, 'isOverMemory', {
    get() {
      throw new Error('unreadable');
    },
  });
  const faults: string[] = [];
  const stop = listenToFaults(({ message }) => faults.push(message));
  t.teardown(stop);
  watchdog.watch(1, block, () => t.fail());
  while (!told.includes('fault')) await new Promise(resolve => setTimeout(resolve, 5));
  t.regex(faults.join(), /unreadable/);
  watchdog.forget(1);
});

test('where the system does not tell the resident memory, turns are watched all the same', t => {
  const made = rig();
  made.residentBytes = undefined;
  const block = new WatchBlock();
  made.watchdog.watch(1, block, ({ reason }) => made.told.push(reason));
  turn(block, 50, 40);
  made.watchdog.poll();
  t.deepEqual(made.told, ['cpu']);
  made.watchdog.forget(1);
});
