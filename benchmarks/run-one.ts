/** Runs one benchmark in a process of its own, so that none inherits another's heap or compiled code. Started by main.ts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { BenchmarkContext } from './benchmark.js';
import { BENCHMARKS } from './benchmarks.js';

const [name = '', rounds = '', seconds = '', storage = '', programs = ''] = process.argv.slice(2);
const benchmark = BENCHMARKS.find(known => known.name === name);
if (benchmark === undefined) throw new Error(`There is no benchmark "${name}"`);

const folder = await mkdtemp(join(storage, 'edgehost-bench-'));
const closers: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
const context: BenchmarkContext = {
  rounds: Number(rounds),
  seconds: Number(seconds),
  programs: programs.split(','),
  folder,
  progress: text => process.stderr.write(`  ${name}: ${text}\n`),
  defer: close => closers.push(close),
};
// The harness was ended: nothing that was started here may outlive it.
process.once('disconnect', () => void cleanUp().finally(() => process.exit()));
try {
  process.send?.({ figures: await benchmark.run(context) });
} catch (error) {
  process.send?.({ figures: [], error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
} finally {
  await cleanUp();
  process.disconnect?.();
}

async function cleanUp(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}
