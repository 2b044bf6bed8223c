/**
 * Calls of a well-behaved function, one after the other, while a function of another account spins: in slices of 250 ms, alternating with
 * slices in which the spinning process is stopped. For comparison, the same with a bare server beside a bare loop.
 */
import { Agent, request } from 'node:http';
import process from 'node:process';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { percentile } from '../measuring/statistics.js';
import { type Call, callTimes } from '../measuring/workload.js';
import { cellPid, startHost } from '../subjects/host.js';
import { TEXT_FUNCTION } from '../subjects/sources.js';
import { startServer } from '../subprocess.js';

const SPINNING_FUNCTION = `export default {
  fetch() {
    for (;;);
  },
};
`;

/** Alone and beside take turns of so long: what else the machine does meets both. */
const SLICE_SECONDS = 0.25;

/** Something that is called, beside something that spins in a process that can be stopped. */
interface Pair {
  readonly call: Call;
  readonly spinner: () => number;
}

export async function besideSpinning(context: BenchmarkContext): Promise<Figure[]> {
  const { rounds, seconds, progress } = context;
  const host = startHost(context, { limits: { cpuMs: 1000 } });
  const good = await host.account('good').load(TEXT_FUNCTION);
  const bad = await host.account('bad').load(SPINNING_FUNCTION);
  let isFinished = false;
  const spinning = (async () => {
    while (!isFinished) await bad.fetch('https://example.com/').catch(() => {});
  })();
  const server = await startServer(context, 'bare');
  const loop = await startServer(context, 'spin');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  context.defer(() => agent.destroy());

  const pairs = {
    function: {
      call: async () => (await good.fetch('https://example.com/')).text(),
      spinner: () => cellPid(host, 'bad'),
    },
    'bare server': { call: () => get(server.url, agent), spinner: () => loop.pid },
  } satisfies Record<string, Pair>;
  for (const { spinner } of Object.values(pairs)) process.kill(spinner(), 'SIGSTOP');
  const figures: Figure[] = [];
  try {
    for (const [name, pair] of Object.entries(pairs)) {
      await callTimes(pair.call, 1);
      const samples = { alone: [] as number[], beside: [] as number[] };
      const medians = { alone: [] as number[], beside: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        const times = await alternating(pair, seconds);
        for (const kind of ['alone', 'beside'] as const) {
          samples[kind].push(percentile(times[kind], 0.99) * 1000);
          medians[kind].push(percentile(times[kind], 0.5) * 1000);
        }
        const [alone = 0, beside = 0] = [samples.alone.at(-1), samples.beside.at(-1)];
        progress(
          `round ${round + 1}/${rounds}, ${name}: p99 ${alone.toFixed(0)} us alone, ${beside.toFixed(0)} us beside`,
        );
      }
      figures.push(
        {
          name: `p99 of a ${name} beside a spinning one`,
          unit: 'us',
          samples: samples.beside,
          floor: { name: 'alone', samples: samples.alone },
          ...(name === 'function' && { target: { of: 'ratio', atMost: 3 } as const }),
        },
        {
          name: `p50 of a ${name} beside a spinning one`,
          unit: 'us',
          samples: medians.beside,
          floor: { name: 'alone', samples: medians.alone },
        },
      );
    }
  } finally {
    isFinished = true;
    process.kill(pairs.function.spinner(), 'SIGCONT');
    process.kill(loop.pid, 'SIGCONT');
    await spinning;
    // Its processes would disturb what is measured next.
    await loop.stop();
    await server.stop();
    await host.close();
  }
  return figures;
}

/** Milliseconds of each call, alone and beside for `seconds` each. */
async function alternating({ call, spinner }: Pair, seconds: number): Promise<{ alone: number[]; beside: number[] }> {
  const times = { alone: [] as number[], beside: [] as number[] };
  for (let slice = 0; slice < seconds / SLICE_SECONDS; slice++) {
    times.alone.push(...(await callTimes(call, SLICE_SECONDS)));
    const pid = spinner();
    process.kill(pid, 'SIGCONT');
    times.beside.push(...(await callTimes(call, SLICE_SECONDS)));
    process.kill(pid, 'SIGSTOP');
  }
  return times;
}

/** One request over a connection that stays. */
function get(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, response => {
      response.resume();
      response.on('end', resolve);
    });
    sent.on('error', reject);
    sent.end();
  });
}
