import test from 'ava';
import { IdleMemory } from '../../src/isolate/metering/idle-memory.js';

const MEBIBYTE = 1024 * 1024;

/** An isolate whose heap shrinks to `least` when it is collected. `look` is what the timer calls. */
function newIsolate() {
  const state = { sequence: 0, used: 6 * MEBIBYTE, physical: 12 * MEBIBYTE, least: 7 * MEBIBYTE };
  const seen = { collected: 0, told: 0 };
  let look = (): void => {};
  new IdleMemory({
    sequence: () => state.sequence,
    collect: () => {
      seen.collected++;
      state.physical = state.least;
    },
    onCollected: () => {
      seen.told++;
    },
    every: (_ms, listener) => {
      look = listener;
    },
    heap: () => ({ used_heap_size: state.used, total_physical_size: state.physical }),
  });
  return { state, seen, look: () => look() };
}

test('IdleMemory collects once when no turn has gone by since the last look', t => {
  const { seen, look } = newIsolate();
  look();
  t.is(seen.collected, 0);
  look();
  look();
  look();
  t.deepEqual(seen, { collected: 1, told: 1 });
});

test('IdleMemory does not collect when turns go by', t => {
  const { state, seen, look } = newIsolate();
  for (let at = 0; at < 5; at++) {
    look();
    state.sequence += 2;
  }
  t.is(seen.collected, 0);
});

test('IdleMemory does not collect while a turn is running', t => {
  const { state, seen, look } = newIsolate();
  state.sequence = 3;
  look();
  look();
  t.is(seen.collected, 0);
});

/** Looks of a minute. */
const MINUTE = 12;

test('IdleMemory collects again when the heap has grown by a mebibyte', t => {
  const { state, seen, look } = newIsolate();
  look();
  look();
  state.sequence += 2;
  state.physical = state.least + MEBIBYTE;
  for (let at = 0; at < MINUTE; at++) look();
  t.is(seen.collected, 2);
});

test('IdleMemory does not collect twice within a minute', t => {
  const { state, seen, look } = newIsolate();
  look();
  look();
  state.sequence += 2;
  state.physical = state.least + MEBIBYTE;
  for (let at = 0; at < MINUTE - 1; at++) look();
  t.is(seen.collected, 1);
});

test('IdleMemory leaves a heap alone that has grown by less', t => {
  const { state, seen, look } = newIsolate();
  look();
  look();
  state.sequence += 2;
  state.physical = state.least + MEBIBYTE - 1;
  for (let at = 0; at < MINUTE; at++) look();
  t.is(seen.collected, 1);
});

test('IdleMemory leaves a large heap alone, whose collection a request would wait for', t => {
  const { state, seen, look } = newIsolate();
  state.used = 32 * MEBIBYTE + 1;
  look();
  look();
  t.is(seen.collected, 0);
});
