/**
 * A host with 20 good accounts, which are asked in turn at a steady rate, and one that offends. Messages request slices with and without
 * the offender; it answers a {@link SliceReport} for each. Arguments: the folder of the storage, the URLs of the egress targets.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { type EdgeFunction, EdgeHost } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { cpuMsOf, mainThreadClock } from '../measuring/process-cpu.js';
import { type Ask, SteadyAsker } from '../measuring/steady-asker.js';
import { cellOf, loadOffender, Offence, type Offender, startOffender, untilQuiet } from '../neighbours/offender.js';
import { PROGRAMS } from '../neighbours/programs.js';
import type { SliceReport } from '../neighbours/slice.js';
import { answerMessages } from './answer-messages.js';

const GOOD_ACCOUNTS = 20;
const ASK_EVERY_MS = 5;
/** Good requests that have no answer by then are counted as lost. */
const ANSWERED_WITHIN_MS = 5000;

const COMPUTES = `export default {
  fetch() {
    let sum = 0;
    for (let at = 0; at < 20_000; at++) sum = (sum * 31 + at) % 1000003;
    return new Response(sum < 0 ? 'wrong' : 'fine');
  },
};
`;
const STORES = `export default {
  async fetch(_request, env) {
    await env.FILES.put('key', 'x');
    const object = await env.FILES.get('key');
    return new Response((await object.text()) === 'x' ? 'fine' : 'wrong');
  },
};
`;

const QUERIES = `export default {
  async fetch(_request, env) {
    await env.SQL.prepare('INSERT OR REPLACE INTO t VALUES (1, ?)').bind('x').run();
    return new Response((await env.SQL.prepare('SELECT v FROM t').first('v')) === 'x' ? 'fine' : 'wrong');
  },
};
`;
/** One account is asked: its calls wait for each other. */
const QUERY_EVERY_MS = 20;

const [storage = '', SINK = '', SOURCE = '', CODED = ''] = process.argv.slice(2);
const targets = { SINK, SOURCE, CODED };
const host = new EdgeHost({ storage, warmCells: 0, egress: { allow: ['127.0.0.0/8'] } });
const good: { readonly computes: EdgeFunction[]; readonly stores: EdgeFunction[] } = { computes: [], stores: [] };
for (let at = 0; at < GOOD_ACCOUNTS; at++) {
  const account = host.account(`good-${at}`);
  if (at % 2 === 0) good.computes.push(await account.load(COMPUTES));
  else good.stores.push(await account.load(STORES, { buckets: { FILES: 'files' } }));
}

const queries: EdgeFunction[] = [];

/** The good account that uses its database, from the first program on that it is asked beside. */
async function loadQueries(): Promise<void> {
  if (queries.length > 0) return;
  const account = host.account('good-sql');
  await account.sql('main').exec('CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)');
  queries.push(await account.load(QUERIES, { sql: { SQL: 'main' } }));
}

/** The answer, or the code of the error in its place. */
function ask(fn: EdgeFunction): Ask {
  return () =>
    fn.fetch('http://good/').then(
      async response => (await response.text()).slice(0, 100),
      (error: unknown) => errorCode(error) ?? String(error),
    );
}

function cpuMsOfCell(pid: number | undefined): number {
  try {
    return pid === undefined ? 0 : cpuMsOf(pid);
  } catch {
    return 0; // It has ended.
  }
}

async function playSlice(seconds: number, offender: Offender | undefined): Promise<SliceReport> {
  if (offender !== undefined) await startOffender(offender);
  await untilQuiet();
  const stalls = monitorEventLoopDelay({ resolution: 1 });
  const cell = offender === undefined ? undefined : cellOf(host, offender.account);
  const cellBeforeMs = cpuMsOfCell(cell);
  const before = mainThreadClock(process.pid);
  const startedMs = performance.now();
  stalls.enable();
  const offence = offender === undefined ? undefined : new Offence(host, offender);
  const calls = new SteadyAsker(good.computes.map(ask), 2 * ASK_EVERY_MS);
  const puts = new SteadyAsker(good.stores.map(ask), 2 * ASK_EVERY_MS);
  const sql = isBesideSql ? new SteadyAsker(queries.map(ask), QUERY_EVERY_MS) : undefined;
  const askers = [calls, puts, ...(sql === undefined ? [] : [sql])];
  await pause(seconds * 1000);
  for (const asker of askers) asker.stop();
  // The offender goes on until all have their answers: its end would hasten them.
  const late = pause(ANSWERED_WITHIN_MS, undefined, { ref: false });
  await Promise.race([Promise.all(askers.map(asker => asker.answered())), late]);
  const tookMs = performance.now() - startedMs;
  stalls.disable();
  const after = mainThreadClock(process.pid);
  const isCellSame = offender === undefined || cellOf(host, offender.account) === cell;
  const cellMs = cpuMsOfCell(cell) - cellBeforeMs;
  const waiting = new Map(askers.map(asker => [asker, asker.waitingMs()]));
  const times = (asker: SteadyAsker): number[] => [...asker.timesMs, ...(waiting.get(asker) ?? [])];
  await offence?.end();
  return {
    callsMs: times(calls),
    putsMs: times(puts),
    queriesMs: sql === undefined ? [] : times(sql),
    lost: askers.reduce((lost, asker) => lost + asker.reasons.length + (waiting.get(asker)?.length ?? 0), 0),
    reasons: [...new Set(askers.flatMap(asker => asker.reasons))],
    tookMs,
    mainMs: after.usedMs - before.usedMs,
    mainWaitedMs: after.waitedMs - before.waitedMs,
    stallMs: stalls.max / 1e6,
    cellMs: isCellSame ? cellMs : null,
    billedMs: offence?.billedMs ?? 0,
    outcomes: offence?.outcomes ?? {},
  };
}

let offender: Offender | undefined;
let isBesideSql = false;

answerMessages(
  {
    /** An offender with this program on this plan, in place of the one before. */
    offender: async (name, plan) => {
      for (const fn of offender?.functions ?? []) fn.unload();
      isBesideSql = PROGRAMS.some(program => program.name === name && program.isBesideSql === true);
      if (isBesideSql) await loadQueries();
      offender = await loadOffender(host, String(name), plan === 'free' ? 'free' : 'standard', targets);
    },
    alone: seconds => playSlice(Number(seconds), undefined),
    beside: seconds => playSlice(Number(seconds), offender),
  },
  () => host.close({ drainMs: 0 }),
);
