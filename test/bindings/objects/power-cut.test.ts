/** What a cut of the power leaves of the log: all up to the last sync, then a part of what followed, or rubbish in the page that was being written. */
import { randomBytes } from 'node:crypto';
import { cp, open as openFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { objectStorageOwner } from '../../../src/bindings/objects/store/object-storage-owner.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { temporaryFolder } from '../queue/temporary-folder.js';
import { idOf, type OpenObjects, openObjects } from './open-objects.js';

const CUTS = Number(process.env.EDGEHOST_KILLS ?? 12);
const OBJECTS = 4;
const ROUNDS = 40;
const PAGE = 4096;

/** When the writes of a round were confirmed. */
interface Confirmed {
  readonly log: string;
  readonly bytes: number;
}

test('a torn log loses nothing that was confirmed, and no write is there by half', async t => {
  t.timeout(600_000);
  const directory = temporaryFolder(t);
  const running = await openObjects(directory);
  t.teardown(() => running.storage.close());
  const confirmed = await write(running, directory);
  for (let cut = 0; cut < CUTS; cut++) {
    const round = Math.floor(Math.random() * (ROUNDS - 1));
    const [before, after] = [confirmed[round], confirmed[round + 1]];
    if (before === undefined || after === undefined) throw new RangeError('No such round');
    const copy = `${temporaryFolder(t)}/copy`;
    await cp(directory, copy, { recursive: true });
    await tear(copy, before, after, (['short', 'rubbish', 'zeros'] as const)[cut % 3] ?? 'short');
    await check(t, copy, round + 1);
    await rm(copy, { recursive: true });
  }
});

function refOf(object: number) {
  return { account: 'acme', functionName: 'chat', className: 'Room', id: idOf(object) };
}

/** Each round writes all objects at once. @returns the log behind each */
async function write({ store }: OpenObjects, directory: string): Promise<readonly Confirmed[]> {
  const { signal } = new AbortController();
  const options = { bounds: undefined, work: OWN_WORK, signal };
  const users: number[] = [];
  for (let object = 0; object < OBJECTS; object++) users.push((await store.open(refOf(object), OWN_WORK)).user);
  const confirmed: Confirmed[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const number = round + 1;
    const value = Buffer.from(`${number}`.padEnd(10 + ((round * 977) % 9000)));
    const entries = new Map([
      ['a', value],
      ['b', value],
    ]);
    const change = async () => ({ isClearing: false, entries, alarm: number });
    await Promise.all(users.map((user, object) => store.write({ ref: refOf(object), user }, round, change, options)));
    confirmed.push(await logOf(directory));
  }
  return confirmed;
}

async function logOf(directory: string): Promise<Confirmed> {
  const logs = (await readdir(join(directory, 'level'))).filter(name => name.endsWith('.log')).sort();
  const log = join('level', logs.at(-1) ?? '');
  return { log, bytes: (await stat(join(directory, log))).size };
}

/** Cuts the log somewhere behind what was confirmed. */
async function tear(
  copy: string,
  before: Confirmed,
  after: Confirmed,
  tail: 'short' | 'rubbish' | 'zeros',
): Promise<void> {
  if (before.log !== after.log) throw new RangeError('The log is another one: fewer rounds are to be written');
  const at = before.bytes + Math.floor(Math.random() * (after.bytes - before.bytes));
  const file = await openFile(join(copy, before.log), 'r+');
  await file.truncate(at);
  const rest = PAGE - (at % PAGE);
  if (tail !== 'short') await file.write(tail === 'zeros' ? Buffer.alloc(rest) : randomBytes(rest), 0, rest, at);
  await file.close();
}

async function check(t: ExecutionContext, copy: string, least: number): Promise<void> {
  const { storage, store } = await openObjects(copy);
  try {
    for (let object = 0; object < OBJECTS; object++) {
      const ref = refOf(object);
      const { user } = await store.open(ref, OWN_WORK);
      const [a, b] = (await store.get({ ref, user }, ['a', 'b'], OWN_WORK)).map(value => Number(value ?? 0));
      t.is(a, b);
      t.true(a === least || a === least + 1, `${a} is not ${least} or the one after it`);
      t.is(await store.getAlarm({ ref, user }, OWN_WORK), a ?? -1);
    }
    const counted = await objectStorageOwner.count?.(storage.context, 'acme');
    t.deepEqual(await storage.context.sums.read('acme'), counted ?? { bytes: 0, objects: 0 });
  } finally {
    await storage.close();
  }
}
