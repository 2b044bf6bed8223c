import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { objectStorageOwner } from '../../../src/bindings/objects/store/object-storage-owner.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryFolder } from '../queue/temporary-folder.js';
import { idOf, openObjects } from './open-objects.js';

const ROUNDS = Number(process.env.EDGEHOST_KILLS ?? 3);
const OBJECTS = 8;

/** The last numbers of an object. */
interface Said {
  begun: number;
  acknowledged: number;
}

test('a write of an object is there whole, with its alarm, or not at all, when the process is killed at any point', async t => {
  t.timeout(600_000);
  const directory = temporaryFolder(t);
  const said = Array.from({ length: OBJECTS }, (): Said => ({ begun: 0, acknowledged: 0 }));
  let acknowledged = 0;
  for (let round = 0; round < ROUNDS; round++) {
    acknowledged += await runAndKill(directory, round, said);
    // The last time after a repair, which counts everything again.
    if (round === ROUNDS - 1) await Storage.repair(directory);
    const { storage, store } = await openObjects(directory);
    for (const [object, { begun, acknowledged: least }] of said.entries()) {
      const ref = { account: 'acme', functionName: 'chat', className: 'Room', id: idOf(object) };
      const { user } = await store.open(ref, OWN_WORK);
      const values = await store.get({ ref, user }, ['a', 'b'], OWN_WORK);
      const [a, b] = values.map(value => Number(value ?? 0));
      t.is(a, b);
      t.true(a !== undefined && a >= least && a <= begun, `${a} is not from ${least} to ${begun}`);
      t.is((await store.getAlarm({ ref, user }, OWN_WORK)) ?? 0, a ?? -1);
      said[object] = { begun: a ?? 0, acknowledged: a ?? 0 };
    }
    const counted = await objectStorageOwner.count?.(storage.context, 'acme');
    t.deepEqual(await storage.context.sums.read('acme'), counted ?? { bytes: 0, objects: 0 });
    // Each has one place in the index of alarms.
    await store.alarms.serve('test', { account: 'acme', functionName: 'chat' });
    const due = await store.alarms.claim('test', 100);
    t.is(due.length, said.filter(({ acknowledged: number }) => number > 0).length);
    await store.alarms.left('test');
    await storage.close();
  }
  t.true(acknowledged > 20, `${acknowledged} acknowledged`);
});

async function runAndKill(directory: string, round: number, said: Said[]): Promise<number> {
  const program = fileURLToPath(new URL('./programs/crash-objects.js', import.meta.url));
  const child = spawn(process.execPath, [program, directory, `${round}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise(resolve => child.once('exit', resolve));
  const killAfter = 30 + Math.floor(Math.random() * 300);
  let acknowledged = 0;
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, object, number] = line.split(' ');
    const one = said[Number(object)];
    if (one === undefined) continue;
    if (word === '>') one.begun = Number(number);
    else {
      one.acknowledged = Math.max(one.acknowledged, Number(number));
      acknowledged++;
    }
    if (++lines === killAfter) child.kill('SIGKILL');
  }
  await exited;
  return acknowledged;
}
