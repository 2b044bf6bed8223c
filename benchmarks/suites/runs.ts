import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { median, percentile } from '../measuring/statistics.js';
import { callsPerSecond, callTimes, medianMicroseconds, timed } from '../measuring/workload.js';
import { measureRow } from '../runs/in-a-row.js';
import { measurePaused } from '../runs/paused.js';
import { RUN_CODE, RUN_INPUT } from '../runs/run-text.js';
import { toolCallTimes } from '../runs/tool-calls.js';
import { cellPid, startHost } from '../subjects/host.js';

const AT_ONCE = 16;
const FUNCTION = 'export default { fetch: () => new Response("fine") }';

export const runs: Benchmark = {
  name: 'runs',
  measures: `Runs of 20 lines, each in a realm of its own in a warm process: one at a time, and ${AT_ONCE} at once. A call of a tool within a run. The first run of an account. 10,000 paused runs. What 1,000 runs in a row leave. Functions beside runs.`,
  floor:
    'For a call of a tool, a call of a callback by a function. For the first run, the load of a function and its first answer. For functions, an account without a sandbox.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { warmCells: 2 });
    const account = host.account('warm');
    const box = account.sandbox();
    const run = async (of = box): Promise<unknown> => {
      const { status, value, error } = await of.run(RUN_CODE, { input: RUN_INPUT });
      if (status !== 'ok') throw new Error(`A run is ${status}: ${error?.message}`);
      return value;
    };
    for (let i = 0; i < 20; i++) await run();
    const { tool, callback } = await toolCallTimes(account);
    const beside = await account.load(FUNCTION, { name: 'beside' });
    const alone = await host.account('alone').load(FUNCTION, { name: 'beside' });

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
      'call of a tool': tool,
      'call of a callback': callback,
      'first run': () => first(id => run(host.account(id).sandbox())),
      'first answer': () =>
        first(async id => {
          const loaded = await host.account(id).load(FUNCTION);
          await (await loaded.fetch('http://localhost/')).text();
        }),
      'function beside runs': () => medianMicroseconds(() => answer(beside), seconds),
      'function alone': () => medianMicroseconds(() => answer(alone), seconds),
    });
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
        name: 'call of a tool, p50',
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
      {
        name: 'call of a function whose account has runs, p50',
        unit: 'us',
        samples: samples['function beside runs'],
        floor: { name: 'an account without a sandbox', samples: samples['function alone'] },
        target: { of: 'ratio', atMost: 1.05 },
      },
      ...(await measureRow(run, () => cellPid(host, 'warm'))),
      ...(await measurePaused(context)),
    ];
  },
};

async function answer(fn: { fetch(url: string): Promise<Response> }): Promise<string> {
  return await (await fn.fetch('http://localhost/')).text();
}
