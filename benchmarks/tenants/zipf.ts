/** Requests for ten thousand accounts, of which few are asked for often: some are there, and some start for each request. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { totalmem } from 'node:os';
import type { EdgeFunction } from '../../src/index.js';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { percentile } from '../measuring/statistics.js';
import { startHost } from '../subjects/host.js';
import { largeFunction } from '../subjects/sources.js';

const ACCOUNTS = 10_000;
const EXPONENT = 1;
const BUDGET_BYTES = 6e9;
/** Visitors that ask one request after the other. */
const VISITORS = 4;
/** Each thinks for a while in between: some 40 requests a second, on a machine that starts three processes a second. */
const THINK_MS = 100;
const MAX_SAMPLES = 1_000_000;

interface Seen {
  readonly warm: number[];
  readonly cold: number[];
  lost: number;
}

export async function zipf(context: BenchmarkContext): Promise<Figure[]> {
  const memoryBytes = Math.min(BUDGET_BYTES, Math.floor(totalmem() / 2));
  const host = startHost(context, { memoryBytes, maxIsolates: ACCOUNTS, spareIsolates: 0, warmCells: 2 });
  const withCell = new Set<string>();
  const onCell = (message: unknown): void => {
    const { account, state } = message as { account?: string; state: string }; // what the channel is documented to carry
    if (account === undefined) return;
    if (state === 'started') withCell.add(account);
    else withCell.delete(account);
  };
  subscribe('edgehost:cell', onCell);
  context.defer(() => unsubscribe('edgehost:cell', onCell));
  const next = zipfNumbers(ACCOUNTS, EXPONENT);
  const functions = new Map<number, Promise<EdgeFunction>>();
  const seen: Seen = { warm: [], cold: [], lost: 0 };
  let mostCells = 0;
  let usedBytes = 0;
  const untilMs = performance.now() + context.seconds * context.rounds * 1000;
  const ask = async (): Promise<void> => {
    const at = next();
    const id = `account-${at}`;
    const isCold = !withCell.has(id);
    const beganMs = performance.now();
    try {
      const loading = functions.get(at) ?? host.account(id).load(largeFunction(20, id));
      functions.set(at, loading);
      const response = await (await loading).fetch('https://example.com/');
      if ((await response.text()) === 'Hello from a function') {
        const times = isCold ? seen.cold : seen.warm;
        if (times.length < MAX_SAMPLES) times.push(performance.now() - beganMs);
      } else seen.lost++;
    } catch (error) {
      seen.lost++;
      context.progress(`lost: ${String(error)}`);
    }
  };
  const visitor = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      await ask();
      await new Promise(resolve => setTimeout(resolve, Math.random() * 2 * THINK_MS));
    }
  };
  const watch = setInterval(() => {
    usedBytes = Math.max(usedBytes, host.health().memory?.usedBytes ?? 0);
    mostCells = Math.max(mostCells, withCell.size);
    const { warm, cold, lost } = seen;
    context.progress(`${warm.length + cold.length} answers, ${cold.length} cold, ${lost} lost, ${withCell.size} cells`);
  }, 5000);
  await Promise.all(Array.from({ length: VISITORS }, visitor));
  clearInterval(watch);
  const { warm, cold, lost } = seen;
  const all = warm.length + cold.length + lost;
  const name = `Zipf over ${ACCOUNTS} accounts (s = ${EXPONENT})`;
  return [
    { name: `${name}: requests that were lost`, unit: 'count', samples: [lost], target: { of: 'value', atMost: 0 } },
    { name: 'answers of accounts with a cell, p50', unit: 'ms', samples: [percentile(warm, 0.5)] },
    {
      name: 'the same, p99',
      unit: 'ms',
      samples: [percentile(warm, 0.99)],
      target: { of: 'value', atMost: 50 },
      note: `${all} requests in ${context.seconds * context.rounds} s, ${functions.size} accounts, at most ${mostCells} cells with ${Math.round(usedBytes / 1e6)} MB of ${Math.round(memoryBytes / 1e6)}`,
    },
    { name: 'share of cold answers', unit: '%', samples: [(100 * cold.length) / Math.max(1, all)] },
    { name: 'cold answers, p50', unit: 'ms', samples: [percentile(cold, 0.5)] },
    { name: 'the same, p99', unit: 'ms', samples: [percentile(cold, 0.99)] },
  ];
}

/** Numbers from 0 on, of which the n-th is as likely as 1 / (n + 1) ** exponent. */
function zipfNumbers(count: number, exponent: number): () => number {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let at = 0; at < count; at++) {
    sum += 1 / (at + 1) ** exponent;
    sums[at] = sum;
  }
  return () => {
    const wanted = Math.random() * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
