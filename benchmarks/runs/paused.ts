/** Runs that are paused: the memory of the application that ten thousand of them take, and how long one takes to continue. */
import { join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AccountSandbox } from '../../src/index.js';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { startHost } from '../subjects/host.js';

const PAUSED = 10_000;
const AT_ONCE = 16;
/** Pauses before the first look at the memory: code is compiled and caches are filled by then. */
const BEFORE = 500;

const CODE = `
const rows = await tools.find({ country: input.country });
const total = rows.reduce((sum, { amount }) => sum + amount, 0);
return tools.remove({ country: input.country, total });
`;

const INPUT = { input: { country: 'NO' } };

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

export async function measurePaused(context: BenchmarkContext): Promise<Figure[]> {
  const { seconds, rounds, progress } = context;
  const host = startHost(context, { storage: join(context.folder, 'paused-runs') });
  const box = host.account('paused').sandbox({
    tools: {
      find: { run: () => [{ amount: 1 }, { amount: 2 }] },
      remove: { run: ({ total }: { readonly total: number }) => total },
    },
    approve: ({ tool }) => (tool === 'remove' ? 'pause' : 'allow'),
  });
  await pause(box, BEFORE);
  const before = await heldMb();
  await pause(box, PAUSED);
  const held = (await heldMb()) - before;
  progress(`${PAUSED} runs are paused, ${held.toFixed(2)} MB more are held`);
  // Only now, as a list of their ids would be held too.
  const ids: string[] = [];
  for await (const { id } of box.paused()) ids.push(id);
  if (ids.length !== BEFORE + PAUSED) throw new Error(`${ids.length} runs are paused, not ${BEFORE + PAUSED}`);
  const mostInRound = Math.floor(PAUSED / rounds);
  const samples = await alternate(context, {
    resume: async () => {
      const times: number[] = [];
      const until = performance.now() + seconds * 1000;
      while (performance.now() < until && times.length < mostInRound) {
        const id = ids.pop() ?? '';
        const startedMs = performance.now();
        const { status, error } = await box.resume(id, { approved: true });
        times.push(performance.now() - startedMs);
        if (status !== 'ok') throw new Error(`A resumed run is ${status}: ${error?.message}`);
      }
      return median(times);
    },
  });
  return [
    {
      name: `${PAUSED} paused runs, held by the application after a collection`,
      unit: 'MB',
      samples: [held],
      target: { of: 'value', atMost: 1 },
    },
    {
      name: '`resume()` of a paused run, p50',
      unit: 'ms',
      samples: samples.resume,
      target: { of: 'value', atMost: 20 },
    },
  ];
}

async function pause(box: AccountSandbox, times: number): Promise<void> {
  let left = times;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, error } = await box.run(CODE, INPUT);
      if (status !== 'paused') throw new Error(`A run that should be paused is ${status}: ${error?.message}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** JavaScript of the application, and its buffers. */
async function heldMb(): Promise<number> {
  // Two collections: the first one lets finalizers run.
  for (let times = 0; times < 2; times++) {
    collect();
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}
