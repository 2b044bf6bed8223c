/** Runs a benchmark in its own process and hears its result. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Figure } from './benchmark.js';
import type { BenchmarkOptions } from './options.js';
import type { BenchmarkResult } from './report.js';

export async function runBenchmark(benchmark: Benchmark, options: BenchmarkOptions): Promise<BenchmarkResult> {
  const { name, measures, floor } = benchmark;
  const program = fileURLToPath(new URL('./run-one.js', import.meta.url));
  const programs = (benchmark.programs ?? []).filter(known => options.programs?.includes(known) ?? true);
  const args = [name, String(options.rounds), String(options.seconds), options.storage, programs.join(',')];
  const child = fork(program, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`],
  });
  let result: Outcome = { figures: [], error: 'its process ended without a result' };
  child.on('message', (message: Outcome) => {
    result = message;
  });
  await once(child, 'exit');
  return { name, measures, floor, load: loadavg()[0] ?? 0, ...result };
}

/** What run-one.ts sends: it is this harness's own. */
interface Outcome {
  readonly figures: readonly Figure[];
  readonly error?: string;
}
