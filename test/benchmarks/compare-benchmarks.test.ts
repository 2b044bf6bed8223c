/** The script that compares two checkouts, with checkouts whose benchmarks report the values that the test has written for them. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

const SCRIPT = fileURLToPath(new URL('../../../.scripts/compare-benchmarks.mjs', import.meta.url));

/** Takes the next report of its list, and writes down that it ran. */
const SCRIPTED_BENCHMARK = `
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
const args = process.argv.slice(2);
const name = basename(process.cwd());
appendFileSync('../runs', name + '\\n');
const run = readFileSync('../runs', 'utf8').split('\\n').filter(line => line === name).length;
const { report, status } = JSON.parse(readFileSync('runs.json', 'utf8'))[run - 1];
writeFileSync('args', args.slice(0, -2).join(' '));
if (report !== null) writeFileSync(join(args.at(-1), 'report.json'), JSON.stringify(report));
process.exitCode = status;
`;

interface Run {
  readonly report: unknown;
  readonly status: number;
}

function report(...rows: readonly [figure: string, unit: string, median: number | null, floor?: number][]): Run {
  return {
    status: 0,
    report: {
      machine: { commit: 'abc', node: '20.19.0' },
      benchmarks: [{ name: 'things' }],
      rows: rows.map(([figure, unit, median, floor]) => ({
        benchmark: 'things',
        figure,
        unit,
        median,
        floor: floor === undefined ? null : { name: 'bare', median: floor },
      })),
    },
  };
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Which checkout ran, in their order. */
  readonly runs: string[];
  readonly folder: string;
}

function compare(
  t: ExecutionContext,
  before: readonly Run[],
  after: readonly Run[],
  ...args: readonly string[]
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-compared-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, runs] of Object.entries({ before, after })) {
    mkdirSync(join(folder, name, 'dist/benchmarks'), { recursive: true });
    writeFileSync(join(folder, name, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, name, 'dist/benchmarks/main.js'), SCRIPTED_BENCHMARK);
    writeFileSync(join(folder, name, 'runs.json'), JSON.stringify(runs));
  }
  writeFileSync(join(folder, 'runs'), '');
  const sides = ['--before', join(folder, 'before'), '--after', join(folder, 'after')];
  return new Promise(resolve => {
    const child = execFile(process.execPath, [SCRIPT, ...sides, ...args], (_error, stdout, stderr) => {
      const runs = readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n');
      resolve({ code: child.exitCode ?? -1, stdout, stderr, runs, folder });
    });
  });
}

test('compare-benchmarks runs the checkouts by turns and tells the median of the pairs', async t => {
  const runs = (...medians: readonly number[]): Run[] =>
    medians.map(median => report(['calls', 'calls/s', median, 1000], ['time of a call', 'us', median, 50]));
  const { code, stdout, runs: order } = await compare(t, runs(100, 200, 100), runs(90, 198, 110), '--pairs', '3');
  t.is(code, 0);
  t.deepEqual(order, ['before', 'after', 'after', 'before', 'before', 'after']);
  const row = '100 calls/s | 110 calls/s | 0.990 | 0.900 to 1.100 | -1.0 %, worse | 1.000 |';
  t.true(stdout.includes(`| things: calls | ${row}`), stdout);
  t.regex(stdout, /time of a call \| 100 us \| 110 us \| 0.990 .* -1.0 %, better/);
});

test('compare-benchmarks hands the options on, and writes the comparison as JSON', async t => {
  const runs = [report(['calls', 'calls/s', 100])];
  const json = join(tmpdir(), `edgehost-compared-${process.pid}.json`);
  t.teardown(() => rmSync(json, { force: true }));
  const given = ['--only', 'http,cpu', '--rounds', '7', '--seconds', '0.5'];
  const { code, folder } = await compare(t, runs, runs, '--pairs', '1', ...given, '--json', json);
  t.is(code, 0);
  t.is(readFileSync(join(folder, 'after/args'), 'utf8'), given.join(' '));
  t.like(JSON.parse(readFileSync(json, 'utf8')), { rows: [{ name: 'things: calls', ratio: 1, floorRatio: null }] });
});

test('compare-benchmarks leaves out what one side has not, and says what could not be measured', async t => {
  const failed = {
    status: 1,
    report: { machine: {}, benchmarks: [{ name: 'things', error: 'no server' }], rows: [] },
  };
  const row = report(['calls', 'calls/s', 100], ['only before', 'us', 1], ['without a median', 'us', null]);
  const { code, stdout, stderr } = await compare(
    t,
    [row, row],
    [report(['calls', 'calls/s', 105], ['without a median', 'us', 3]), failed],
    '--pairs',
    '2',
  );
  t.is(code, 1);
  t.regex(stdout, /calls \| 100 calls\/s \| 105 calls\/s \| 1.050/);
  t.notRegex(stdout, /only before|without a median/);
  t.regex(stderr, /Not measured: after, pair 2: things: no server/);
});

test('compare-benchmarks says when a run ended without a report', async t => {
  const { code, stderr } = await compare(t, [report()], [{ report: null, status: 3 }], '--pairs', '1');
  t.is(code, 1);
  t.regex(stderr, /Not measured: after, pair 1: it ended with exit status 3/);
});

test('compare-benchmarks ends with 2 for what a checkout does not understand', async t => {
  const { code, stderr, runs } = await compare(t, [{ report: null, status: 2 }], [], '--only', 'htp');
  t.is(code, 2);
  t.regex(stderr, /before does not take these options: --only htp/);
  t.deepEqual(runs, ['before']);
});

for (const [args, message] of [
  [['--pairs', '0'], /Option --pairs is "0", expected a whole number from 1 to 100/],
  [['--after', '/nowhere'], /Option --after is "\/nowhere", which has no dist\/benchmarks\/main.js: build it first/],
  [['--speed'], /Unknown option '--speed'/],
] as const) {
  test(`compare-benchmarks ends with 2 for ${args.join(' ')}`, async t => {
    const { code, stderr } = await compare(t, [], [], ...args);
    t.is(code, 2);
    t.regex(stderr, message);
  });
}
