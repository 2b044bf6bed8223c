// Runs the same benchmarks in two built checkouts alternately, before after after before ..., so that a drift of the machine affects both,
// and prints each value's medians, the median of the ratios of neighbouring runs, and how far those ratios lie apart.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const PROGRAM = 'dist/benchmarks/main.js';
const HELP = `Compares the benchmarks of two checkouts, each of which has been built, on this machine, in one sitting.

node .scripts/compare-benchmarks.mjs --before DIR --after DIR [options]

  --before DIR     the checkout to compare with
  --after DIR      the checkout that is compared
  --only NAMES     benchmarks, by name, with commas between (default dispatch,http,buckets,accounting)
  --programs NAMES some programs of benchmarks that have several, as of npm run bench
  --pairs N        how often each checkout is run: before after, after before, ... (default 4)
  --rounds N       rounds of each run, as of npm run bench (default 3)
  --seconds N      seconds of each subject in a round, as of npm run bench (default 1)
  --storage DIR    folder whose disk the buckets are measured on, as of npm run bench
  --json FILE      writes the comparison as JSON, too
  -h, --help

The table goes to standard output, everything else to standard error. The column "floor" is what the same comparison says of the floor,
which is the same in both checkouts: a change that is not larger than that is none. Exit status: 0 when all was measured, 1 when a
benchmark could not be, in either checkout, 2 for a wrong option.
`;

function options() {
  const { values } = parseArgs({
    options: {
      before: { type: 'string' },
      after: { type: 'string' },
      only: { type: 'string', default: 'dispatch,http,buckets,accounting' },
      programs: { type: 'string' },
      pairs: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '1' },
      storage: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const pairs = Number(values.pairs);
  if (!Number.isInteger(pairs) || pairs < 1 || pairs > 100) {
    throw new RangeError(`Option --pairs is ${JSON.stringify(values.pairs)}, expected a whole number from 1 to 100`);
  }
  const checkouts = { before: checkout('--before', values.before), after: checkout('--after', values.after) };
  // The rest is checked by the benchmarks themselves.
  const args = ['--only', values.only, '--rounds', values.rounds, '--seconds', values.seconds];
  if (values.programs !== undefined) args.push('--programs', values.programs);
  if (values.storage !== undefined) args.push('--storage', resolve(values.storage));
  return { checkouts, pairs, args, json: values.json };
}

function checkout(option, folder) {
  if (folder === undefined) throw new TypeError(`Option ${option} is missing, expected the folder of a checkout`);
  const path = resolve(folder);
  if (existsSync(join(path, PROGRAM))) return path;
  throw new TypeError(`Option ${option} is ${JSON.stringify(folder)}, which has no ${PROGRAM}: build it first`);
}

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exit(1);
  });
}

/** The report of one run, and what could not be measured. */
async function run(folder, args) {
  const out = mkdtempSync(join(tmpdir(), 'edgehost-compare-'));
  try {
    const child = spawn(process.execPath, [join(folder, PROGRAM), ...args, '--out', out], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    running.add(child);
    const [code, signal] = await new Promise((settle, reject) => {
      child.once('error', reject);
      child.once('exit', (...how) => settle(how));
    });
    running.delete(child);
    if (code === 2) throw new WrongOptionError(`${folder} does not take these options: ${args.join(' ')}`);
    // What has been measured is written after each benchmark, also by a run that ended early.
    const path = join(out, 'report.json');
    const report = existsSync(path)
      ? JSON.parse(readFileSync(path, 'utf8'))
      : { machine: {}, benchmarks: [], rows: [] };
    const troubles = report.benchmarks
      .filter(({ error }) => error !== undefined)
      .map(({ name, error }) => `${name}: ${error}`);
    if (code !== 0 && troubles.length === 0) troubles.push(`it ended with ${signal ?? `exit status ${code}`}`);
    return { report, troubles };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

class WrongOptionError extends Error {}

async function measure({ checkouts, pairs, args }) {
  const reports = { before: [], after: [] };
  const troubles = [];
  for (let pair = 0; pair < pairs; pair++) {
    for (const side of pair % 2 === 0 ? ['before', 'after'] : ['after', 'before']) {
      process.stderr.write(`== pair ${pair + 1}/${pairs}, ${side}, load average ${loadavg()[0].toFixed(1)}\n`);
      const result = await run(checkouts[side], args);
      reports[side].push(result.report);
      troubles.push(...result.troubles.map(text => `${side}, pair ${pair + 1}: ${text}`));
    }
  }
  return { reports, troubles };
}

/** One row for each value that both checkouts have measured, in at least one pair. */
function compare({ before, after }) {
  const found = new Map();
  for (const [pair, report] of before.entries()) {
    for (const row of report.rows) {
      const other = after[pair].rows.find(
        ({ benchmark, figure }) => benchmark === row.benchmark && figure === row.figure,
      );
      if (other === undefined || !isNumber(row.median) || !isNumber(other.median)) continue;
      const name = `${row.benchmark}: ${row.figure}`;
      if (!found.has(name)) found.set(name, { name, unit: row.unit, before: [], after: [], floor: [] });
      const kept = found.get(name);
      kept.before.push(row.median);
      kept.after.push(other.median);
      const floors = [row.floor?.median, other.floor?.median];
      if (floors.every(isNumber)) kept.floor.push(floors[1] / floors[0]);
    }
  }
  return [...found.values()].map(({ name, unit, before, after, floor }) => {
    const ratios = after.map((value, pair) => value / before[pair]);
    const ratio = median(ratios);
    return {
      name,
      unit,
      before: { median: median(before), samples: before },
      after: { median: median(after), samples: after },
      ratio,
      lowestRatio: Math.min(...ratios),
      highestRatio: Math.max(...ratios),
      floorRatio: floor.length === 0 ? null : median(floor),
      // More a second is better, more of anything else is worse.
      isWorse: unit.endsWith('/s') ? ratio < 1 : ratio > 1,
    };
  });
}

/** A median of nothing is null in JSON. */
function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function toMarkdown(rows, { before, after }) {
  const about = report => `${report?.machine.commit ?? 'unknown'}, Node ${report?.machine.node ?? 'unknown'}`;
  return [
    `Before: ${about(before[0])}. After: ${about(after[0])}. ${before.length} pairs of runs; ratios are after / before.`,
    '',
    '| figure | before | after | ratio | lowest to highest | change | floor |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(row => {
      const change = `${((row.ratio - 1) * 100).toFixed(1)} %${row.ratio === 1 || !isNumber(row.ratio) ? '' : row.isWorse ? ', worse' : ', better'}`;
      const range = `${row.lowestRatio.toFixed(3)} to ${row.highestRatio.toFixed(3)}`;
      const floor = row.floorRatio === null ? '' : row.floorRatio.toFixed(3);
      const values = [row.before, row.after].map(side => `${Number(side.median.toPrecision(4))} ${row.unit}`);
      return `| ${[row.name, ...values, row.ratio.toFixed(3), range, change, floor].join(' | ')} |`;
    }),
    '',
  ].join('\n');
}

async function main(chosen) {
  const { reports, troubles } = await measure(chosen);
  const rows = compare(reports);
  process.stdout.write(toMarkdown(rows, reports));
  if (chosen.json !== undefined)
    writeFileSync(chosen.json, `${JSON.stringify({ rows, reports, troubles }, undefined, 2)}\n`);
  for (const trouble of troubles) process.stderr.write(`Not measured: ${trouble}\n`);
  if (troubles.length > 0) process.exitCode = 1;
}

try {
  const chosen = options();
  if (chosen === undefined) process.stdout.write(HELP);
  else await main(chosen);
} catch (error) {
  const isWrongOption = error instanceof WrongOptionError || error instanceof TypeError || error instanceof RangeError;
  process.stderr.write(`${isWrongOption ? error.message : error.stack}\n`);
  process.exitCode = isWrongOption ? 2 : 1;
}
