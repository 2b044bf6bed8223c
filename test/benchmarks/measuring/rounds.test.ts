import test from 'ava';
import { alternate } from '../../../benchmarks/measuring/rounds.js';

const quiet = { progress: () => {} };

test('alternate() measures each subject once a round, in turning order', async t => {
  const order: string[] = [];
  const subject = (name: string) => async (round: number) => {
    order.push(name);
    return round;
  };
  const samples = await alternate({ rounds: 3, ...quiet }, { a: subject('a'), b: subject('b') });
  t.is(order.join(''), 'abbaab');
  t.deepEqual(samples, { a: [0, 1, 2], b: [0, 1, 2] });
});

test('alternate() tells of each sample', async t => {
  const lines: string[] = [];
  await alternate({ rounds: 1, progress: text => lines.push(text) }, { a: async () => 1.23456 });
  t.deepEqual(lines, ['round 1/1, a: 1.235']);
});

test('alternate() rejects when a subject does', async t => {
  const failing = async () => Promise.reject(new Error('broken'));
  await t.throwsAsync(alternate({ rounds: 2, ...quiet }, { failing }), { message: 'broken' });
});
