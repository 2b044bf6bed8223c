import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

interface Measured {
  readonly name: string;
  readonly isShared: boolean;
  readonly counted: number;
  readonly taken: number;
}

const PROGRAM = fileURLToPath(new URL('./programs/decoded-heap.js', import.meta.url));
/** What else the heap gets meanwhile. */
const NOISE_BYTES = 300_000;

test('heapBytesOfValue() is between half and twice what decoded values of generated shapes take of the heap', async t => {
  t.timeout(240_000);
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROGRAM]);
  const all = stdout
    .trim()
    .split('\n')
    .map((line): Measured => JSON.parse(line)); // of the program
  t.true(all.length > 80, `${all.length}`);
  for (const { name, isShared, counted, taken } of all) {
    t.true(counted >= taken / 2 - NOISE_BYTES, `${name}: counted ${counted}, takes ${taken}`);
    // What V8 keeps once for several values is counted for each.
    if (!isShared) t.true(counted <= taken * 2 + NOISE_BYTES, `${name}: counted ${counted}, takes ${taken}`);
  }
});
