/** What was acknowledged is there after a kill, and the database is intact. EDGEHOST_KILLS is the number of kills. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { temporaryDirectory } from '../bucket/stores.js';

const PROGRAM = fileURLToPath(new URL('programs/write-until-killed.js', import.meta.url));
const KILLS = Number(process.env.EDGEHOST_KILLS ?? 3);

test(`rows that were acknowledged survive ${KILLS} kills`, async t => {
  t.timeout(600_000);
  const directory = await temporaryDirectory(t);
  let next = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = spawn(process.execPath, [PROGRAM, directory, String(next)], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => child.kill('SIGKILL'));
    const acknowledged = await killAfter(child, 5 + ((kill * 7) % 20));
    const host = new EdgeHost({ storage: directory, spareIsolates: 0, warmCells: 0 });
    const database = host.sql('main');
    const last = await database.prepare('SELECT max(n) AS n, count(*) AS c FROM a').first<{ n: number; c: number }>();
    t.true((last?.n ?? -1) >= acknowledged, `${last?.n} of ${acknowledged}`);
    t.is(last?.c, (last?.n ?? 0) + 1, 'no row is missing in between');
    t.deepEqual(await database.prepare('PRAGMA quick_check').raw(), [['ok']]);
    next = (last?.n ?? -1) + 1;
    await host.close();
  }
});

/** @returns the last number that was printed */
async function killAfter(child: ChildProcess, lines: number): Promise<number> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (text.split('\n').length > lines) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return Number(text.split('\n').at(-2) ?? -1);
}
