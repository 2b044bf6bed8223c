/** Objects that count while the host, their cell or the backend process are killed. EDGEHOST_KILLS: how often. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { newHost } from '../new-host.js';
import { COUNTING, COUNTING_BY_SQL, checkCounted, count, OBJECTS, type Said } from './counting.js';

const ROUNDS = Number(process.env.EDGEHOST_KILLS ?? 2);

const SOURCES = { methods: COUNTING, sql: COUNTING_BY_SQL };

async function newDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const counting = test.macro(async (t, how: keyof typeof SOURCES) => {
  t.timeout(3_600_000);
  const directory = await newDirectory(t);
  const said: Said = { begun: new Set(), confirmed: new Set() };
  for (let round = 0; round < ROUNDS; round++) await runAndKill(directory, round, how, said);
  const host = newHost(t, { storage: directory, backend: 'inline' });
  await checkCounted(t, await host.load(SOURCES[how], { name: 'counters' }), said, how === 'methods');
});

test.serial(
  'no confirmed increment is lost and none is applied twice when the host is killed at any point',
  counting,
  'methods',
);
test.serial('the same for what SQL has written together with keys and values', counting, 'sql');

/** Kills it some time after it has confirmed some increments. */
async function runAndKill(directory: string, round: number, how: string, { begun, confirmed }: Said): Promise<void> {
  const program = fileURLToPath(new URL('./programs/count.js', import.meta.url));
  const child = spawn(process.execPath, [program, directory, `${round}`, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise(resolve => child.once('exit', resolve));
  let left = 10 + Math.random() * 40;
  for await (const line of createInterface({ input: child.stdout })) {
    const number = Number(line.slice(1));
    if (line.startsWith('>')) begun.add(number);
    else {
      confirmed.add(number);
      if (--left < 0) setTimeout(() => child.kill('SIGKILL'), Math.random() * 50);
    }
  }
  await exited;
}

/** It may have ended a moment ago. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

const VICTIMS: Readonly<Record<string, (host: EdgeHost) => readonly (number | undefined)[]>> = {
  'the cell': host => host.health().cells.map(({ pid }) => pid),
  'the backend process': host => [host.health().backend?.pid],
};

for (const [victim, pidsOf] of Object.entries(VICTIMS)) {
  test.serial(
    `no confirmed increment is lost and none is applied twice when ${victim} is killed at any point`,
    async t => {
      t.timeout(3_600_000);
      const isInBackend = victim === 'the backend process';
      const host = newHost(t, { storage: await newDirectory(t), backend: isInBackend ? 'process' : 'inline' });
      const fn = await host.load(COUNTING, { name: 'counters' });
      const said: Said = { begun: new Set(), confirmed: new Set() };
      let isOver = false;
      let last = 0;
      const clients = Array.from({ length: OBJECTS * 4 }, (_, client) =>
        count(
          fn,
          client,
          () => ++last,
          said,
          () => isOver,
        ),
      );
      for (let round = 0; round < ROUNDS; round++) {
        const before = said.confirmed.size;
        while (said.confirmed.size < before + 10) await new Promise(resolve => setTimeout(resolve, 5));
        await new Promise(resolve => setTimeout(resolve, Math.random() * 50));
        for (const pid of pidsOf(host)) if (pid !== undefined) kill(pid);
      }
      const enough = said.confirmed.size + 10;
      while (said.confirmed.size < enough) await new Promise(resolve => setTimeout(resolve, 5));
      isOver = true;
      await Promise.all(clients);
      await checkCounted(t, fn, said);
    },
  );
}
