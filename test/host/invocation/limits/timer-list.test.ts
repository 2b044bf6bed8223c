/** Deadlines by a clock of the test: the 30 seconds of waitUntil and the 15 minutes of invocations without a client, to the millisecond. */
import test from 'ava';
import { type DeadlineClock, TimerList } from '../../../../src/host/invocation/limits/timer-list.js';
import { resolveLimits } from '../../../../src/quotas/resolve-limits.js';

/** A clock that the test advances, and that calls back in between. */
class TestClock implements DeadlineClock {
  timers = 0;
  #nowMs = 1000;
  #timer: { readonly dueMs: number; readonly callback: () => void } | undefined;

  readonly now = (): number => this.#nowMs;

  readonly schedule = (callback: () => void, delayMs: number): (() => void) => {
    this.timers++;
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timer = timer;
    return () => {
      if (this.#timer === timer) this.#timer = undefined;
    };
  };

  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const timer = this.#timer;
      if (timer === undefined || timer.dueMs > endMs) break;
      this.#nowMs = timer.dueMs;
      this.#timer = undefined;
      timer.callback();
    }
    this.#nowMs = endMs;
  }
}

function rig() {
  const clock = new TestClock();
  const past: string[] = [];
  return { clock, past, deadlines: new TimerList<string>(item => past.push(item), clock) };
}

const limits = resolveLimits({ plan: 'standard' });
for (const [name, ms] of [
  ['waitUntil', limits.waitUntilMs],
  ['scheduled', limits.wallMs.scheduled],
  ['queue', limits.wallMs.queue],
  ['alarm', limits.wallMs.alarm],
] as const) {
  test(`a deadline of ${name} is met after ${ms} ms, and not one before`, t => {
    const { clock, past, deadlines } = rig();
    deadlines.add('it', ms);
    clock.advance(ms - 1);
    t.deepEqual(past, []);
    clock.advance(1);
    t.deepEqual(past, ['it']);
  });
}

test('add() of an earlier deadline is met in its time, whatever is waited for', t => {
  const { clock, past, deadlines } = rig();
  deadlines.add('late', 900_000);
  clock.advance(100);
  deadlines.add('soon', 50);
  clock.advance(49);
  t.deepEqual(past, []);
  clock.advance(1);
  t.deepEqual(past, ['soon']);
  clock.advance(900_000 - 150);
  t.deepEqual(past, ['soon', 'late']);
});

for (const canceled of ['a', 'b', 'c']) {
  test(`cancel() takes one away wherever it stands: ${canceled}`, t => {
    const { clock, past, deadlines } = rig();
    const all = new Map(['a', 'b', 'c'].map(item => [item, deadlines.add(item, 1000)]));
    const deadline = all.get(canceled);
    if (deadline !== undefined) deadlines.cancel(deadline);
    clock.advance(10_000);
    t.deepEqual(
      past.sort(),
      ['a', 'b', 'c'].filter(item => item !== canceled),
    );
  });
}

test('cancel() a second time changes nothing', t => {
  const { clock, past, deadlines } = rig();
  deadlines.add('a', 1000);
  const twice = deadlines.add('b', 1000);
  deadlines.add('c', 1000);
  deadlines.cancel(twice);
  deadlines.cancel(twice);
  clock.advance(10_000);
  t.deepEqual(past.sort(), ['a', 'c']);
});

test('cancel() works from what is told of another', t => {
  const clock = new TestClock();
  const past: string[] = [];
  const deadlines: TimerList<string> = new TimerList(item => {
    past.push(item);
    deadlines.cancel(item === 'a' ? b : a);
  }, clock);
  const a = deadlines.add('a', 1000);
  const b = deadlines.add('b', 1000);
  clock.advance(10_000);
  t.is(past.length, 1);
});

test('a million items that come and go take a handful of timers', t => {
  const { clock, deadlines } = rig();
  for (let n = 0; n < 1_000_000; n++) {
    deadlines.cancel(deadlines.add(`${n}`, 30_000));
    if (n % 1000 === 0) clock.advance(100);
  }
  t.true(clock.timers <= 5, `${clock.timers} timers`);
});

test('items whose deadlines are close together are looked at together', t => {
  const { clock, past, deadlines } = rig();
  for (let n = 0; n < 1000; n++) deadlines.add(`${n}`, 1000 + n / 100);
  clock.advance(1020);
  t.is(past.length, 1000);
  t.true(clock.timers <= 3, `${clock.timers} timers`);
});

test('an item may be given its next deadline when one is past', t => {
  const clock = new TestClock();
  const past: number[] = [];
  const deadlines: TimerList<string> = new TimerList(item => {
    past.push(clock.now());
    if (past.length < 3) deadlines.add(item, 100);
  }, clock);
  deadlines.add('it', 100);
  clock.advance(1000);
  t.deepEqual(past, [1100, 1200, 1300]);
});
