/** What many runs leave: memory, threads and descriptors of the process that has made them, and of the application. */
import { readdirSync } from 'node:fs';
import process from 'node:process';
import type { Figure } from '../benchmark.js';
import { residentNow } from '../measuring/process-memory.js';

const IN_A_ROW = 1000;

const FIGURES = ['resident', 'threads', 'descriptors'] as const;
type Usage = Readonly<Record<(typeof FIGURES)[number], number>>;

/** @param cell the process of the account */
export async function measureRow(run: () => Promise<unknown>, cell: () => number): Promise<Figure[]> {
  const repeat = async (): Promise<void> => {
    for (let i = 0; i < IN_A_ROW; i++) await run();
  };
  await repeat();
  const processes = { 'the process of the account': cell(), 'the application': process.pid };
  const before = Object.values(processes).map(usageOf);
  await repeat();
  return Object.entries(processes).flatMap(([name, pid], at) => {
    const after = usageOf(pid);
    return FIGURES.map(figure => ({
      name: `${figure} of ${name} after ${IN_A_ROW} more runs`,
      unit: 'x' as const,
      samples: [after[figure] / (before[at]?.[figure] ?? Number.NaN)],
      target: { of: 'value' as const, atMost: 1.2 },
    }));
  });
}

function usageOf(pid: number): Usage {
  return {
    resident: residentNow(pid),
    threads: readdirSync(`/proc/${pid}/task`).length,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}
