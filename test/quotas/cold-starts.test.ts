import test from 'ava';
import { ColdStarts } from '../../src/quotas/cold-starts.js';

const MINUTE = 60_000;

test('begins() gives each isolate more time whose predecessor ended in peace', t => {
  const coldStarts = new ColdStarts();
  for (let n = 0; n < 5; n++) {
    t.true(coldStarts.begins(n));
    coldStarts.endedInPeace();
  }
});

test('begins() gives isolates that replace lost ones more time at growing intervals alone', t => {
  const coldStarts = new ColdStarts();
  const given: number[] = [];
  for (let second = 0; second < 24 * 3600; second++) if (coldStarts.begins(second * 1000)) given.push(second / 60);
  // The first isolate, its replacement one second later; from then on minutes that double, up to an hour.
  t.deepEqual(
    given.slice(0, 9).map(minutes => Math.floor(minutes)),
    [0, 0, 1, 3, 7, 15, 31, 63, 123],
  );
  t.is(given.length, 8 + 22);
});

test('begins() begins with the shortest interval again after a hundred invocations in a row within the limit', t => {
  const coldStarts = new ColdStarts();
  coldStarts.begins(0);
  t.true(coldStarts.begins(1));
  t.true(coldStarts.begins(1 + MINUTE));
  for (let n = 0; n < 99; n++) coldStarts.finished(true);
  coldStarts.finished(false);
  t.false(coldStarts.begins(1 + 2 * MINUTE));
  for (let n = 0; n < 100; n++) coldStarts.finished(true);
  t.true(coldStarts.begins(1 + 3 * MINUTE));
  t.true(coldStarts.begins(1 + 4 * MINUTE));
});
