/** Requests for ten thousand accounts, of which few are asked for often: some are there, and some start for each request. */
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { percentile } from '../measuring/statistics.js';
import { ACCOUNTS, EXPONENT, ZipfLoad } from './zipf-load.js';

export async function zipf(context: BenchmarkContext): Promise<Figure[]> {
  const load = new ZipfLoad(context);
  await load.run();
  const { warm, cold, lost, asked, mostCells, usedBytes, memoryBytes } = load;
  const all = load.answers + lost;
  const name = `Zipf over ${ACCOUNTS} accounts (s = ${EXPONENT})`;
  return [
    { name: `${name}: requests that were lost`, unit: 'count', samples: [lost], target: { of: 'value', atMost: 0 } },
    {
      name: 'warm answers (the function has answered in the cell before), p50',
      unit: 'ms',
      samples: [percentile(warm, 0.5)],
    },
    {
      name: 'the same, p99',
      unit: 'ms',
      samples: [percentile(warm, 0.99)],
      target: { of: 'value', atMost: 50 },
      note: `${all} requests in ${context.seconds * context.rounds} s, ${asked} accounts, at most ${mostCells} cells with ${Math.round(usedBytes / 1e6)} MB of ${Math.round(memoryBytes / 1e6)}`,
    },
    { name: 'share of cold answers', unit: '%', samples: [(100 * cold.length) / Math.max(1, all)] },
    { name: 'cold answers, p50', unit: 'ms', samples: [percentile(cold, 0.5)] },
    { name: 'the same, p99', unit: 'ms', samples: [percentile(cold, 0.99)] },
  ];
}
