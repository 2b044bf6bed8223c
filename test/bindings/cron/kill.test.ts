/** Claims over kills: a time that was given to a process that is killed is not given again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const PROGRAM = fileURLToPath(new URL('./programs/claim-minutes.js', import.meta.url));
const KILLS = 5;

/** The minutes that it was given, from `first` on, until it is killed after so many. */
async function claimUntilKilled(directory: string, first: number, lines: number): Promise<number[]> {
  const child = spawn(process.execPath, [PROGRAM, directory, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const given: number[] = [];
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [minute, kind] = line.split(' ');
    if (kind === 'run') given.push(Number(minute));
    if (++count === lines) child.kill('SIGKILL');
  }
  await closed;
  return given;
}

test('no time is given twice when the process that was given it is killed', async t => {
  t.timeout(120_000);
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-cron-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const all: number[] = [];
  let first = 1000;
  for (let kill = 0; kill < KILLS; kill++) {
    const given = await claimUntilKilled(directory, first, 20 + kill * 7);
    t.true(given.length > 0);
    all.push(...given);
    // The next one begins some minutes before the last that was given.
    first = Math.max(first, (given.at(-1) ?? first) - 10);
  }
  t.is(new Set(all).size, all.length);
});
