/** `npm run fuzz -- --seconds 60 --seed 1`: fuzzes the guest realm, and prints the seed by which a run can be repeated. */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: `${Date.now() & 0x7fff_ffff}` },
  },
});
const seconds = Number(values.seconds);
const seed = Number(values.seed);
if (!(seconds > 0) || !Number.isInteger(seed)) {
  throw new RangeError(
    `--seconds is ${values.seconds} and --seed ${values.seed}, expected a positive number and an integer`,
  );
}
console.log(`fuzzing for ${seconds} s, seed ${seed}`);
const { targets, targetsCalled, batches, calls, ended } = await fuzz({ seconds, seed });
console.log(
  `${calls} calls in ${batches} batches, ${targetsCalled} of ${targets} functions and getters in turn and the rest by chance; ` +
    `${ended} batches ended by a limit or a broken realm; no object of the host was found`,
);
