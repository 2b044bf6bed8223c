import test from 'ava';
import { type Clock, SteadyAsker } from '../../../benchmarks/measuring/steady-asker.js';

/** A clock that stands still between steps. */
class SteppedClock implements Clock {
  nowMs = 0;
  isStopped = false;
  #act = (): void => {};

  now(): number {
    return this.nowMs;
  }

  every(_ms: number, act: () => void): () => void {
    this.#act = act;
    return () => {
      this.isStopped = true;
    };
  }

  step(ms: number): void {
    this.nowMs += ms;
    this.#act();
  }
}

test('SteadyAsker asks one after the other, in turn', async t => {
  const order: string[] = [];
  const ask = (name: string) => async () => {
    order.push(name);
    return 'fine';
  };
  const clock = new SteppedClock();
  const asker = new SteadyAsker([ask('a'), ask('b')], 10, clock);
  for (let at = 0; at < 3; at++) {
    clock.step(10);
    await asker.answered();
  }
  t.is(order.join(''), 'aba');
  t.deepEqual(asker.timesMs, [0, 0, 0]);
});

test('SteadyAsker asks all that was due while it could not run, late from when each was due', async t => {
  const clock = new SteppedClock();
  const asker = new SteadyAsker([async () => 'fine'], 10, clock);
  clock.step(35);
  await asker.answered();
  t.deepEqual(asker.timesMs, [25, 15, 5]);
});

test('SteadyAsker keeps what came in place of an answer', async t => {
  const clock = new SteppedClock();
  const asker = new SteadyAsker([async () => 'EDGE_CPU_LIMIT'], 10, clock);
  clock.step(10);
  await asker.answered();
  t.deepEqual(asker.timesMs, []);
  t.deepEqual(asker.reasons, ['EDGE_CPU_LIMIT']);
});

test('SteadyAsker tells how long those without an answer wait, and asks no more when it is stopped', async t => {
  const clock = new SteppedClock();
  let answer = (_: string): void => {};
  const asker = new SteadyAsker([() => new Promise(resolve => (answer = resolve))], 10, clock);
  clock.step(12);
  asker.stop();
  clock.nowMs += 30;
  t.deepEqual(asker.waitingMs(), [32]);
  answer('fine');
  await asker.answered();
  t.deepEqual(asker.waitingMs(), []);
  t.true(clock.isStopped);
});
