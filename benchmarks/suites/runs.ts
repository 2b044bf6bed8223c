import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { AccountSandbox } from '../../src/index.js';
import type { Benchmark } from '../benchmark.js';
import { residentNow } from '../measuring/process-memory.js';
import { alternate } from '../measuring/rounds.js';
import { median, percentile } from '../measuring/statistics.js';
import { callsPerSecond, callTimes, timed } from '../measuring/workload.js';
import { cellPid, startHost } from '../subjects/host.js';

const AT_ONCE = 16;
const CALLS = 500;
const IN_A_ROW = 1000;

/** Twenty lines, as a model writes them. */
const CODE = `
const { rows, threshold } = input;
const byCountry = new Map();
for (const row of rows) {
  const list = byCountry.get(row.country) ?? [];
  list.push(row);
  byCountry.set(row.country, list);
}
const report = [];
for (const [country, list] of byCountry) {
  const total = list.reduce((sum, { amount }) => sum + amount, 0);
  if (total < threshold) continue;
  const names = list.map(({ name }) => name.trim().toLowerCase()).sort();
  report.push({ country, total, average: total / list.length, names });
}
report.sort((a, b) => b.total - a.total);
const url = new URL('https://example.com/report');
url.searchParams.set('countries', report.map(({ country }) => country).join(','));
console.log('countries', report.length);
return { report, url: url.href };
`;

const INPUT = {
  threshold: 100,
  rows: Array.from({ length: 40 }, (_, i) => ({
    name: ` Name ${i}`,
    country: ['NO', 'DE', 'FR'][i % 3],
    amount: i * 3,
  })),
};

const CALLING = `
for (let i = 0; i < 50; i++) await tools.add({ a: i, b: 1 });
const began = performance.now();
for (let i = 0; i < ${CALLS}; i++) await tools.add({ a: i, b: 1 });
return ((performance.now() - began) * 1000) / ${CALLS};
`;

/** The same calls by a function, of a callback. */
const FUNCTION = `export default { async fetch(request, env) {
  const tools = env.TOOLS;
  const measure = async () => { ${CALLING} };
  return new Response(String(await measure()));
} }`;

const add = ({ a, b }: { readonly a: number; readonly b: number }): number => a + b;

export const runs: Benchmark = {
  name: 'runs',
  measures: `Runs of 20 lines, each in a realm of its own in a warm process: one at a time, and ${AT_ONCE} at once. A call of a tool within a run. The first run of an account. What ${IN_A_ROW} runs in a row leave.`,
  floor:
    'For a call of a tool, a call of a callback by a function. For the first run, the load of a function and its first answer.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { warmCells: 2 });
    const account = host.account('warm');
    const box = account.sandbox();
    const calls = { calls: 10 * CALLS, cpuMs: 60_000 };
    const caller = account.sandbox({ name: 'calls', limits: calls, tools: { add: { run: add } } });
    const limits = { internalSubrequests: 10 * CALLS, cpuMs: 60_000 };
    const fn = await account.load(FUNCTION, { name: 'floor', limits, bindings: { TOOLS: { add } } });
    const run = (of: AccountSandbox = box): Promise<unknown> => checked(of.run(CODE, { input: INPUT }));
    for (let i = 0; i < 20; i++) await run();

    let serial = 0;
    /** The time until the first answer of an account that takes a process which is up. */
    const first = async (work: (id: string) => Promise<unknown>): Promise<number> => {
      // Two processes are up, the second of which is not needed here.
      while (host.health().warmCells.length < 2) await delay(20);
      await delay(300);
      const id = `first-${serial++}`;
      const took = await timed(() => work(id));
      await host.removeAccount(id);
      return took;
    };
    const times: number[] = [];
    const samples = await alternate(context, {
      'run, p50': async () => {
        const measured = await callTimes(run, seconds);
        times.push(percentile(measured, 0.99));
        return median(measured);
      },
      'runs at once': () => callsPerSecond(run, AT_ONCE, seconds),
      'call of a tool': async () => Number(await checked(caller.run(CALLING))),
      'call of a callback': async () => Number(await (await fn.fetch('http://localhost/')).text()),
      'first run': () => first(id => run(host.account(id).sandbox())),
      'first answer': () =>
        first(async id => {
          const loaded = await host.account(id).load('export default { fetch: () => new Response("fine") }');
          await (await loaded.fetch('http://localhost/')).text();
        }),
    });
    for (let i = 0; i < IN_A_ROW; i++) await run();
    const pid = cellPid(host, 'warm');
    const before = usageOf(pid);
    for (let i = 0; i < IN_A_ROW; i++) await run();
    const after = usageOf(pid);
    return [
      { name: 'run of 20 lines, p50', unit: 'ms', samples: samples['run, p50'], target: { of: 'value', atMost: 3 } },
      { name: 'run of 20 lines, p99', unit: 'ms', samples: times, target: { of: 'value', atMost: 15 } },
      {
        name: `runs, ${AT_ONCE} at once`,
        unit: 'calls/s',
        samples: samples['runs at once'],
        target: { of: 'value', atLeast: 200 },
      },
      {
        name: 'call of a tool, mean',
        unit: 'us',
        samples: samples['call of a tool'],
        floor: { name: 'callback', samples: samples['call of a callback'] },
        target: { of: 'ratio', atMost: 1.2, orValueAtMost: 150 },
      },
      {
        name: 'first run of an account, warm process',
        unit: 'ms',
        samples: samples['first run'],
        floor: { name: 'load and answer of a function', samples: samples['first answer'] },
        target: { of: 'value', atMost: 15 },
      },
      ...(['resident', 'threads', 'descriptors'] as const).map(name => ({
        name: `${name} of the process after ${IN_A_ROW} more runs`,
        unit: 'x' as const,
        samples: [after[name] / before[name]],
        target: { of: 'value' as const, atMost: 1.2 },
      })),
    ];
  },
};

async function checked(running: ReturnType<AccountSandbox['run']>): Promise<unknown> {
  const { status, value, error } = await running;
  if (status !== 'ok') throw new Error(`A run is ${status}: ${error?.message}`);
  return value;
}

function usageOf(pid: number): { readonly resident: number; readonly threads: number; readonly descriptors: number } {
  return {
    resident: residentNow(pid),
    threads: readdirSync(`/proc/${pid}/task`).length,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}
