/** `npm run bench`: runs benchmarks one after the other and writes the report. Exits with 1 when one could not be measured. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { BENCHMARKS } from './benchmarks.js';
import { describeMachine } from './measuring/machine.js';
import { type BenchmarkOptions, chooseBenchmarks, helpText, parseOptions } from './options.js';
import { type BenchmarkResult, createReport, toMarkdown } from './report.js';
import { runBenchmark } from './run-benchmark.js';

async function main(options: BenchmarkOptions): Promise<void> {
  const chosen = chooseBenchmarks(BENCHMARKS, options);
  const settings = { rounds: options.rounds, seconds: options.seconds };
  const machine = describeMachine(options.storage);
  mkdirSync(options.out, { recursive: true });
  const results: BenchmarkResult[] = [];
  for (const [at, benchmark] of chosen.entries()) {
    process.stderr.write(`[${at + 1}/${chosen.length}] ${benchmark.name}\n`);
    const result = await runBenchmark(benchmark, options);
    if (result.error !== undefined) process.stderr.write(`  ${benchmark.name} failed: ${result.error}\n`);
    results.push(result);
    // After each, so that what has been measured is there when a later one is interrupted.
    const report = createReport(machine, settings, results);
    writeFileSync(join(options.out, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`);
    writeFileSync(join(options.out, 'report.md'), toMarkdown(report));
  }
  const report = createReport(machine, settings, results);
  process.stdout.write(options.json ? `${JSON.stringify(report, undefined, 2)}\n` : toMarkdown(report));
  process.stderr.write(`Written to ${join(options.out, 'report.md')} and report.json\n`);
  if (results.some(result => result.error !== undefined)) process.exitCode = 1;
}

let options: BenchmarkOptions | undefined;
try {
  options = parseOptions(process.argv.slice(2), BENCHMARKS);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
if (options === undefined) process.stdout.write(helpText(BENCHMARKS));
else await main(options);
