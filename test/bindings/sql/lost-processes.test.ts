/** A process of the engine that ends at any moment: what it ran fails with a code that says so, and what was acknowledged is there. */
import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';
import test from 'ava';
import { newHost } from '../../host/new-host.js';

const linuxTest = process.platform === 'linux' ? test : test.skip;
const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c';

linuxTest(
  'writes that were confirmed are there after kills, and what was under way says that it may be or not',
  async t => {
    const host = newHost(t, { isolation: 'thread' });
    const database = host.sql('main');
    await database.exec('CREATE TABLE a (n INTEGER PRIMARY KEY)');
    const confirmed = new Set<number>();
    const codes = new Set<unknown>();
    let n = 0;
    let isOver = false;
    const write = async (): Promise<void> => {
      while (!isOver) {
        const value = n++;
        try {
          await database.prepare('INSERT INTO a VALUES (?)').bind(value).run();
          confirmed.add(value);
        } catch (error) {
          codes.add(Reflect.get(error as object, 'code'));
        }
      }
    };
    const writers = Array.from({ length: 8 }, write);
    for (let kills = 0; kills < 6; kills++) {
      const before = confirmed.size;
      while (confirmed.size < before + 20) await new Promise(resolve => setImmediate(resolve));
      for (const id of await engines()) kill(id);
    }
    isOver = true;
    await Promise.all(writers);
    const rows = new Set((await database.prepare('SELECT n FROM a').raw<[number]>()).map(([value]) => value));
    t.deepEqual(
      [...confirmed].filter(value => !rows.has(value)),
      [],
      'no confirmed row is lost',
    );
    t.deepEqual(
      [...codes].filter(code => code !== 30007),
      [],
    );
    t.deepEqual(await database.prepare('PRAGMA quick_check').raw(), [['ok']]);
  },
);

linuxTest('reads are run again in another process, and fail when that is lost, too', async t => {
  const host = newHost(t, { isolation: 'thread' });
  const database = host.sql('main');
  await database.exec('CREATE TABLE a (n)');
  const ended = t.throwsAsync(database.prepare(ENDLESS).all(), { code: 30007 });
  const before = new Set(await engines());
  let kills = 0;
  const isDone = ended.then(() => true);
  while (!(await Promise.race([isDone, new Promise<false>(resolve => setTimeout(resolve, 20, false))]))) {
    for (const id of await engines()) {
      if (kill(id) && !before.has(id)) kills++;
    }
  }
  t.true(kills >= 2);
  t.is(await database.prepare('SELECT 1 AS n').first('n'), 1);
});

/** Whether it was there. */
function kill(id: number): boolean {
  try {
    return process.kill(id, 'SIGKILL');
  } catch {
    return false;
  }
}

/** The processes of the engine that this one has started. */
async function engines(): Promise<number[]> {
  const found: number[] = [];
  for (const id of await readdir('/proc')) {
    if (!/^\d+$/.test(id)) continue;
    const [stat, line] = await Promise.all(
      ['stat', 'cmdline'].map(file => readFile(`/proc/${id}/${file}`, 'utf8').catch(() => '')),
    );
    const parent = stat?.split(') ')[1]?.split(' ')[1];
    if (parent === String(process.pid) && line?.includes('sqlite/engine/main')) found.push(Number(id));
  }
  return found;
}
