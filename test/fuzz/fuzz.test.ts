import test from 'ava';
import { fuzz } from './fuzz.js';

test('fuzz() finds no object of the host realm in some thousands of hostile calls', async t => {
  const seed = Date.now() & 0x7fff_ffff;
  t.log(`seed ${seed}`);
  const { calls, batches, ended } = await fuzz({ seconds: 8, seed });
  t.log(`${calls} calls, ${ended} of ${batches} batches ended early`);
  t.true(calls > 500);
});
