/**
 * Writes to objects until it is killed: each write sets both keys of an object to its number, and its alarm to when that is due. It says on stdout what it
 * is about to write and what was acknowledged: `> object number`, `< object number`.
 */
import { writeSync } from 'node:fs';
import { OWN_WORK } from '../../../../src/quotas/host/call-work.js';
import { idOf, openObjects } from '../open-objects.js';

const [directory = '', round = '0'] = process.argv.slice(2);
const { store } = await openObjects(directory);
const OBJECTS = 8;

async function write(object: number): Promise<never> {
  const ref = { account: 'acme', functionName: 'chat', className: 'Room', id: idOf(object) };
  const { user } = await store.open(ref, OWN_WORK);
  const { signal } = new AbortController();
  const options = { bounds: undefined, work: { ...OWN_WORK, owner: {} }, signal };
  const writing = new Set<Promise<void>>();
  for (let turn = 0; ; turn++) {
    const number = Number(round) * 1_000_000 + turn + 1;
    const value = Buffer.from(`${number}`.padEnd(20 + ((turn * 131) % 3000)));
    const entries = new Map([
      ['a', value],
      ['b', value],
    ]);
    // Written at once and whole: what was acknowledged must be known after the kill.
    writeSync(1, `> ${object} ${number}\n`);
    const change = async () => ({ isClearing: turn % 7 === 0, entries, alarm: number });
    const written = store.write({ ref, user }, turn, change, options).then(() => {
      writeSync(1, `< ${object} ${number}\n`);
      writing.delete(written);
    });
    writing.add(written);
    if (writing.size === 3) await Promise.race(writing);
  }
}

await Promise.all(Array.from({ length: OBJECTS }, (_, object) => write(object)));
