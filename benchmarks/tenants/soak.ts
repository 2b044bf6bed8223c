/**
 * Requests by Zipf, while functions are deployed, processes are killed and other accounts run bombs: what the good accounts lose, and whether the
 * memory of the application grows by more than its accounts.
 */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EdgeHost } from '../../src/index.js';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { CPU_BOMBS, MEMORY_BOMBS } from '../containment/bombs.js';
import { residentNow } from '../measuring/process-memory.js';
import { FUNCTION_NAME, functionOf, ZipfLoad } from './zipf-load.js';

const DEPLOY_EVERY_MS = 4000;
const KILL_EVERY_MS = 10_000;
const BOMB_EVERY_MS = 20_000;
const BOMBERS = 4;
/** The sooner one is ended, the more of the machine is left for the others. */
const BOMB_CPU_MS = 2000;
/** The memory is read so many times in a run. */
const READINGS = 12;

export async function soak(context: BenchmarkContext): Promise<Figure[]> {
  const load = new ZipfLoad(context);
  const { host } = load;
  const counts = { deployments: 0, kills: 0, bombs: 0, bombsThatAnswered: 0 };
  const readings: { readonly heldMb: number; readonly residentMb: number; readonly accounts: number }[] = [];
  const collect = collector();
  const underWay = new Set<Promise<unknown>>();
  /** What fails is an error of the run. */
  const every = (ms: number, work: () => Promise<unknown>): NodeJS.Timeout =>
    setInterval(() => {
      const running = work().finally(() => underWay.delete(running));
      underWay.add(running);
    }, ms);
  const timers = [
    every(DEPLOY_EVERY_MS, async () => {
      const account = load.draw(false);
      if (account === undefined) return;
      await host.account(account).load(functionOf(account), { name: FUNCTION_NAME });
      counts.deployments++;
    }),
    every(KILL_EVERY_MS, async () => {
      const account = load.draw(true);
      const pid = host.health().cells.find(cell => cell.account === account)?.pid;
      if (account === undefined || pid === undefined) return;
      if (kill(pid)) counts.kills++;
    }),
    every(BOMB_EVERY_MS, async () => {
      const nth = counts.bombs++;
      if (await answers(host, `bomber-${nth % BOMBERS}`, nth)) counts.bombsThatAnswered++;
    }),
    every((context.seconds * context.rounds * 1000) / READINGS, async () => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      const residentMb = residentNow(process.pid);
      readings.push({ heldMb: (heapUsed + external) / 1e6, residentMb, accounts: load.asked });
      context.progress(`memory: ${JSON.stringify(readings.at(-1))}`);
    }),
  ];
  await load.run();
  for (const timer of timers) clearInterval(timer);
  await Promise.all(underWay);
  const note = `${load.answers} answers of ${load.asked} accounts, ${load.cold.length} of them cold, in ${context.seconds * context.rounds} s; ${JSON.stringify(counts)}`;
  return [
    {
      name: 'requests of good accounts that were lost beside deployments, kills and bombs',
      unit: 'count',
      samples: [load.lost],
      target: { of: 'value', atMost: 0 },
      note,
    },
    {
      name: 'live memory of the application, in the last two thirds of the run, for each account that came in them',
      unit: 'MB',
      samples: [perAccount(readings)],
      target: { of: 'value', atMost: 0.03 },
      note: `MB live, MB resident, accounts: ${readings.map(({ heldMb, residentMb, accounts }) => `${heldMb.toFixed(0)}, ${residentMb.toFixed(0)}, ${accounts}`).join('; ')}`,
    },
  ];
}

/** Whether the function with the bomb has answered, which it must not. */
async function answers(host: EdgeHost, account: string, nth: number): Promise<boolean> {
  const bombs = [...MEMORY_BOMBS, ...CPU_BOMBS];
  const [, body = ''] = bombs[nth % bombs.length] ?? [];
  try {
    const fn = await host
      .account(account, { limits: { cpuMs: BOMB_CPU_MS } })
      .load(`export default { async fetch() { ${body} } };`, { name: 'bomb' });
    return (await fn.fetch('https://bomb.example/')).ok;
  } catch {
    return false;
  }
}

/** False for one that has just ended by itself. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

function perAccount(readings: readonly { readonly heldMb: number; readonly accounts: number }[]): number {
  const first = readings[Math.floor(readings.length / 3)];
  const last = readings.at(-1);
  if (first === undefined || last === undefined)
    throw new Error('The run was too short for two readings of the memory');
  return (last.heldMb - first.heldMb) / Math.max(1, last.accounts - first.accounts);
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}
