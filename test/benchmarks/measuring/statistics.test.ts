import test from 'ava';
import { median, medianRatio, percentile, spread } from '../../../benchmarks/measuring/statistics.js';

test('median() is the middle one when the samples are odd in number', t => {
  t.is(median([9, 1, 5]), 5);
});

test('median() is the mean of the middle two when the samples are even in number', t => {
  t.is(median([10, 1, 4, 2]), 3);
});

test('median() sorts by value, not by text', t => {
  t.is(median([100, 9, 20]), 20);
});

test('median() is NaN when there are no samples', t => {
  t.is(median([]), Number.NaN);
});

test('median() leaves its samples as they are', t => {
  const samples = [3, 1, 2];
  median(samples);
  t.deepEqual(samples, [3, 1, 2]);
});

test('percentile() gives the lowest and the highest at its ends', t => {
  const samples = [4, 8, 15, 16, 23, 42];
  t.is(percentile(samples, 0), 4);
  t.is(percentile(samples, 1), 42);
});

test('percentile() interpolates between samples', t => {
  t.is(percentile([0, 10], 0.75), 7.5);
});

test('spread() is the range over the median', t => {
  t.is(spread([8, 10, 13]), 0.5);
});

test('spread() is 0 when all samples are the same', t => {
  t.is(spread([0, 0]), 0);
  t.is(spread([7]), 0);
});

test('medianRatio() compares round by round', t => {
  // The second round was slow for both; its ratio counts like the others.
  t.is(medianRatio([50, 5, 60], [100, 10, 100]), 0.5);
});

test('medianRatio() throws RangeError when the rounds differ in number', t => {
  t.throws(() => medianRatio([1, 2], [1]), { instanceOf: RangeError, message: /2 rounds with 1/ });
});
