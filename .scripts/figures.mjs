// Writes the figures between <!-- figures --> and <!-- /figures --> in README.md and docs/comparison.md, from one report of the benchmarks:
//
//   npm run bench -- --only dispatch,http,cold-start,memory,peers
//   node .scripts/figures.mjs benchmark-results/report.json
//
// With --check it changes nothing, and fails when the two files do not name the same run.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { table } from './markdown-table.mjs';

const FILES = ['README.md', 'docs/comparison.md'];
const SECTION = /<!-- figures -->[\s\S]*?<!-- \/figures -->/;
const RUN = /^Run of .*$/m;
const PEERS = ['isolated-vm', 'edge-runtime', 'miniflare'];

/** The text of each file's section. */
export function figuresOf(report) {
  const { machine, rows, settings } = report;
  const median = (benchmark, figure) => {
    const row = rows.find(each => each.benchmark === benchmark && each.figure === figure);
    if (row === undefined)
      throw new Error(`The report has no figure "${figure}" of ${benchmark}: run it with that benchmark`);
    return row.median;
  };
  const run = `Run of ${machine.date.slice(0, 10)}, commit ${machine.commit}: Node ${machine.node}, ${machine.cores} cores of ${machine.cpu}; medians of ${settings.rounds} rounds.`;
  const accountMb = median('memory', 'an account with one idle function and a warm spare, PSS of its cell');
  const callUs = median('dispatch', 'one call, p50, 1 in flight');
  const own = [
    'EdgeHost',
    time(callUs),
    rate(median('dispatch', 'calls, 64 in flight')),
    rate(median('http', 'GET')),
    `${time(median('cold-start', 'with a warm spare') * 1000)} (warm spare), ${time(median('cold-start', 'in a new cell') * 1000)} (new process)`,
  ];
  const peers = PEERS.filter(name => rows.some(({ figure }) => figure.startsWith(`${name}: `))).map(name => {
    const of = (figure, format) => {
      const row = rows.find(each => each.benchmark === 'peers' && each.figure === `${name}: ${figure}`);
      return row === undefined ? '' : format(row.median);
    };
    return [
      name,
      of('one call, p50, 1 in flight', time),
      of('calls, 64 in flight', rate),
      of('GET', rate),
      of('cold start', ms => time(ms * 1000)),
    ];
  });
  const columns = ['', 'one call from Node, p50', 'calls a second, 64 at once', 'HTTP requests a second', 'cold start'];
  const bare = rows.find(each => each.benchmark === 'http' && each.figure === 'GET')?.floor;
  const floor =
    bare == null ? '' : ` A bare \`node:http\` server answered ${rate(bare.median)} requests a second in the same run.`;
  return {
    'README.md': `One call takes about ${time(callUs)} from your code to the function and back, and an account with a function takes about ${Math.round(accountMb)} MB\n([figures beside the alternatives](docs/comparison.md)).\n\n${run}`,
    'docs/comparison.md': `${run}${floor}\n\n${table(columns, [own, ...peers])}`,
  };
}

function time(us) {
  return us < 1000 ? `${round(us)} µs` : `${round(us / 1000)} ms`;
}

/** Two digits say all that another run would say too. */
function round(value) {
  return String(Number(value.toPrecision(2)));
}

function rate(perSecond) {
  return String(Number(perSecond.toPrecision(3))).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** @returns whether both files name the same run */
function check(root) {
  const runs = FILES.map(name => RUN.exec(SECTION.exec(readFileSync(join(root, name), 'utf8'))?.[0] ?? '')?.[0]);
  // The sentence about the floor follows the run on its line.
  const named = runs.map(run => run?.replace(/(?<=rounds\.) .*$/, ''));
  if (named[0] !== undefined && named[0] === named[1]) return true;
  console.error(`${FILES.join(' and ')} have figures of different runs: run node .scripts/figures.mjs REPORT`);
  return false;
}

function write(root, report) {
  for (const [name, text] of Object.entries(figuresOf(report))) {
    const file = join(root, name);
    const before = readFileSync(file, 'utf8');
    if (!SECTION.test(before)) throw new Error(`${name} has no section between <!-- figures --> and <!-- /figures -->`);
    writeFileSync(
      file,
      before.replace(SECTION, () => `<!-- figures -->\n\n${text}\n\n<!-- /figures -->`),
    );
    console.log(`${name} written`);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [given, root = fileURLToPath(new URL('..', import.meta.url))] = process.argv.slice(2);
  if (given === '--check') process.exitCode = check(root) ? 0 : 1;
  else if (given === undefined) {
    console.error('Usage: node .scripts/figures.mjs REPORT.json [ROOT], or --check [ROOT]');
    process.exitCode = 2;
  } else write(root, JSON.parse(readFileSync(given, 'utf8')));
}
