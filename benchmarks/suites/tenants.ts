import type { Benchmark, BenchmarkContext, Figure } from '../benchmark.js';
import { firstAnswers } from '../tenants/first-answers.js';
import { cellsLeft, registered } from '../tenants/idle-accounts.js';
import { soak } from '../tenants/soak.js';
import { zipf } from '../tenants/zipf.js';

const PARTS: Readonly<Record<string, (context: BenchmarkContext) => Promise<Figure[]>>> = {
  'first-answers': firstAnswers,
  'cells-left': cellsLeft,
  registered,
  zipf,
  soak,
};

export const tenants: Benchmark = {
  name: 'tenants',
  isOptional: true,
  programs: Object.keys(PARTS),
  measures:
    'Many accounts on one machine: the first answer of one without a process, what idle ones leave behind, and requests by Zipf for `--rounds` times `--seconds` seconds, alone and beside deployments, kills and bombs.',
  floor: 'none.',
  async run(context) {
    const figures: Figure[] = [];
    for (const name of context.programs) figures.push(...((await PARTS[name]?.(context)) ?? []));
    return figures;
  },
};
