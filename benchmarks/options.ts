/** The command line. */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import type { Benchmark } from './benchmark.js';

export interface BenchmarkOptions {
  /** Names of benchmarks; undefined: all but the optional ones. */
  readonly only: readonly string[] | undefined;
  /** Programs of the benchmarks that have some; undefined: all of them. */
  readonly programs: readonly string[] | undefined;
  readonly rounds: number;
  readonly seconds: number;
  readonly peers: boolean;
  /** Folder for report.md and report.json. */
  readonly out: string;
  readonly json: boolean;
  /** Folder whose disk the buckets are measured on. */
  readonly storage: string;
  /** Folder for CPU profiles of the benchmark processes. */
  readonly profile: string | undefined;
}

/** What the command line has to know of a benchmark. */
type Choice = Pick<Benchmark, 'name' | 'isOptional' | 'programs'>;

/** undefined when help is requested. @throws TypeError for an unknown option, RangeError for a number out of bounds */
export function parseOptions(args: readonly string[], benchmarks: readonly Choice[]): BenchmarkOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      programs: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      peers: { type: 'boolean', default: false },
      out: { type: 'string', default: 'benchmark-results' },
      json: { type: 'boolean', default: false },
      storage: { type: 'string', default: tmpdir() },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const only = chosenNames(
    '--only',
    values.only,
    benchmarks.map(({ name }) => name),
  );
  const chosen = chooseBenchmarks(benchmarks, { only, peers: values.peers });
  const programs = chosenNames(
    '--programs',
    values.programs,
    chosen.flatMap(benchmark => benchmark.programs ?? []),
  );
  return {
    only,
    programs,
    rounds: figure('--rounds', values.rounds, { min: 1, max: 1000, isWhole: true }),
    seconds: figure('--seconds', values.seconds, { min: 0.1, max: 600, isWhole: false }),
    peers: values.peers,
    out: values.out,
    json: values.json,
    storage: values.storage,
    profile: values.profile,
  };
}

/** @throws TypeError for a name that is not known */
function chosenNames(option: string, text: string | undefined, known: readonly string[]): string[] | undefined {
  const names = text?.split(',').map(name => name.trim());
  for (const name of names ?? []) {
    if (!known.includes(name)) throw new TypeError(`${option} names "${name}", expected some of ${known.join(',')}`);
  }
  return names;
}

/** Those that are named, or all that are not optional; `--peers` adds the peers to either. */
export function chooseBenchmarks<B extends Choice>(
  benchmarks: readonly B[],
  { only, peers }: Pick<BenchmarkOptions, 'only' | 'peers'>,
): B[] {
  return benchmarks.filter(
    ({ name, isOptional }) => (only?.includes(name) ?? isOptional !== true) || (peers && name === 'peers'),
  );
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
}

function figure(option: string, text: string, { min, max, isWhole }: Bounds): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max && (!isWhole || Number.isInteger(value))) return value;
  throw new RangeError(
    `Option ${option} is ${JSON.stringify(text)}, expected a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`,
  );
}

export function helpText(benchmarks: readonly Pick<Benchmark, 'name' | 'measures' | 'programs'>[]): string {
  const width = Math.max(...benchmarks.map(({ name }) => name.length));
  const list = benchmarks.flatMap(({ name, measures, programs }) => [
    `  ${name.padEnd(width)}  ${measures}`,
    ...(programs === undefined ? [] : [`  ${' '.repeat(width)}  Programs: ${programs.join(',')}`]),
  ]);
  return `Measures EdgeHost on this machine, against floors measured in the same run.

npm run bench -- [options]

  --only NAMES     some benchmarks, by name, with commas between
  --programs NAMES some programs of benchmarks that have several, see below (default all of them)
  --rounds N       alternating rounds of subject and floor (default 5)
  --seconds N      how long one subject is measured in a round (default 2)
  --peers          measures miniflare, isolated-vm and edge-runtime too, installed with npm into a temporary folder
  --out DIR        folder for report.md and report.json (default benchmark-results)
  --json           prints the JSON report instead of the Markdown one
  --storage DIR    folder whose disk the buckets are measured on (default the system's temporary folder)
  --profile DIR    writes CPU profiles of the host side of each benchmark
  -h, --help

Benchmarks:
${list.join('\n')}
`;
}
