/** Runs one benchmark in a process of its own, so that none inherits another's heap or compiled code. Started by main.ts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { BenchmarkContext } from './benchmark.js';
import { BENCHMARKS } from './benchmarks.js';

const [name = '', rounds = '', seconds = '', storage = ''] = process.argv.slice(2);
const benchmark = BENCHMARKS.find(known => known.name === name);
if (benchmark === undefined) throw new Error(`There is no benchmark "${name}"`);

const folder = await mkdtemp(join(storage, 'edgehost-bench-'));
const closers: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
const context: BenchmarkContext = {
  rounds: Number(rounds),
  seconds: Number(seconds),
  folder,
  progress: text => process.stderr.write(`  ${name}: ${text}\n`),
  defer: close => closers.push(close),
};
try {
  process.send?.({ figures: await benchmark.run(context) });
} catch (error) {
  process.send?.({ figures: [], error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
} finally {
  for (const close of closers.reverse()) await close();
  process.disconnect?.();
}
