/**
 * Increments stateful objects until it is killed. It says on stdout what it is about to do and what was confirmed, by the numbers of the increments: `>7`,
 * `<7`.
 */
import { writeSync } from 'node:fs';
import { EdgeHost } from '../../../../src/index.js';
import { COUNTING, COUNTING_BY_SQL, OBJECTS } from '../counting.js';

const [directory = '', round = '0', how = ''] = process.argv.slice(2);
const host = new EdgeHost({ storage: directory, spareIsolates: 0, warmCells: 0, usage: false });
const fn = await host.load(how === 'sql' ? COUNTING_BY_SQL : COUNTING, { name: 'counters' });
let next = Number(round) * 1_000_000;

async function count(client: number): Promise<never> {
  const object = fn.objects('Counter').getByName(`${client % OBJECTS}`);
  for (;;) {
    const number = next++;
    writeSync(1, `>${number}\n`);
    await object.rpc.inc(number);
    writeSync(1, `<${number}\n`);
  }
}

await Promise.all(Array.from({ length: OBJECTS * 4 }, (_, client) => count(client)));
