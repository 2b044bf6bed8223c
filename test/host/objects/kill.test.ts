/** Objects that count while their host is killed: no confirmed increment is lost, and none is applied twice. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { newHost } from '../new-host.js';
import { COUNTING, COUNTING_BY_SQL, OBJECTS } from './counting.js';

const ROUNDS = Number(process.env.EDGEHOST_KILLS ?? 2);

const SOURCES = { methods: COUNTING, sql: COUNTING_BY_SQL };

const counting = test.macro(async (t, how: keyof typeof SOURCES) => {
  t.timeout(600_000);
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const begun = new Set<number>();
  const confirmed = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) await runAndKill(directory, round, how, begun, confirmed);
  const host = newHost(t, { storage: directory, services: 'inline' });
  const fn = await host.load(SOURCES[how], { name: 'counters' });
  const counted = new Set<number>();
  for (let at = 0; at < OBJECTS; at++) {
    const { n, counted: own } = await fn.objects('Counter').getByName(`${at}`).rpc.all();
    t.is(n, own.length, 'the count and what was counted were written together');
    for (const [number, times] of own) {
      t.is(times, 1, `increment ${number} was applied once`);
      t.true(begun.has(number));
      counted.add(number);
    }
  }
  t.deepEqual(
    [...confirmed].filter(number => !counted.has(number)),
    [],
  );
  t.true(confirmed.size > 20, `${confirmed.size} confirmed`);
  t.log(`${confirmed.size} confirmed, ${counted.size} counted after ${ROUNDS} kills`);
});

test(
  'no confirmed increment is lost and none is applied twice when the host is killed at any point',
  counting,
  'methods',
);
test('the same for what SQL has written together with keys and values', counting, 'sql');

/** Kills it some time after its first increment was confirmed. */
async function runAndKill(
  directory: string,
  round: number,
  how: string,
  begun: Set<number>,
  confirmed: Set<number>,
): Promise<void> {
  const program = fileURLToPath(new URL('./programs/count.js', import.meta.url));
  const child = spawn(process.execPath, [program, directory, `${round}`, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise(resolve => child.once('exit', resolve));
  let isCounting = false;
  for await (const line of createInterface({ input: child.stdout })) {
    const number = Number(line.slice(1));
    if (line.startsWith('>')) begun.add(number);
    else {
      confirmed.add(number);
      if (!isCounting) setTimeout(() => child.kill('SIGKILL'), 50 + Math.random() * 300);
      isCounting = true;
    }
  }
  await exited;
}
