import test from 'ava';
import { fuzz } from './fuzz.js';

test('fuzz() finds no object of the host realm in some thousands of hostile calls', async t => {
  const seed = Date.now() & 0x7fff_ffff;
  t.log(`seed ${seed}`);
  const { calls, batches, ended, targets, targetsCalled } = await fuzz({ seconds: 8, seed });
  t.log(`${calls} calls, ${targetsCalled} of ${targets} in turn, ${ended} of ${batches} batches ended early`);
  t.true(calls > 0);
  t.true(targets > 800);
});
