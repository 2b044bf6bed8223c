/**
 * Runs the web-platform-tests of a checkout, each in an isolate of its own, and compares with test/guest/wpt/expectations.json.
 *
 *   npm run wpt -- --wpt <checkout> [--update] [--jobs N] [--verbose] [path ...]
 *
 * `path`: files or folders of the checkout; default all that are known to matter. `--update` writes the expectations: reasons
 * that stand there are kept, new ones start with "to be explained". A regression makes the exit code 1.
 */
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readExpectations, regressions, toExpectation, writeExpectations } from './expectations.js';
import { readTest, type TestFile } from './meta.js';
import { buildProgram, type RunResult } from './program.js';
import { runProgram } from './run-test.js';

/** The rows of the table in docs/conformance.md, by the folders that they are made of. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  'fetch/api': ['fetch/api'],
  'data URLs, content types': ['fetch/data-urls', 'fetch/content-type'],
  'FormData, FileAPI': ['xhr/formdata', 'FileAPI'],
  url: ['url'],
  urlpattern: ['urlpattern'],
  encoding: ['encoding'],
  streams: ['streams'],
  compression: ['compression'],
  'dom/abort, dom/events': ['dom/abort', 'dom/events'],
  'html/webappapis': ['html/webappapis'],
  webidl: ['webidl'],
  WebCryptoAPI: ['WebCryptoAPI'],
  'hr-time, performance, user-timing, console': ['hr-time', 'performance-timeline', 'user-timing', 'console'],
};
const FOLDERS = Object.values(ROWS).flat();
const TIMEOUT_MS = 20_000;
const LONG_TIMEOUT_MS = 120_000;

const { values: options, positionals } = parseArgs({
  options: {
    wpt: { type: 'string' },
    update: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
  },
  allowPositionals: true,
});
if (options.wpt === undefined || statSync(options.wpt, { throwIfNoEntry: false }) === undefined) {
  console.log('Skipped: no web-platform-tests. Give a checkout: npm run wpt -- --wpt <checkout>');
  process.exit(0);
}
const checkout = resolve(options.wpt);
// From dist/test/wpt to the file in the source tree.
const expectationsFile = new URL('../../../test/guest/wpt/expectations.json', import.meta.url);
const expectations = readExpectations(expectationsFile);

interface Job {
  readonly path: string;
  readonly variant: string;
}

const jobs: Job[] = [];
for (const path of (positionals.length > 0 ? positionals : FOLDERS).flatMap(find).sort()) {
  if (isSkipped(path)) continue;
  for (const variant of readTest(checkout, path).variants) jobs.push({ path, variant });
}

const worse: string[] = [];
const better: string[] = [];
const totals = new Map<string, { passed: number; known: number }>();
let next = 0;
await Promise.all(Array.from({ length: Number(options.jobs) }, work));

printTable();
if (options.update) writeExpectations(expectationsFile, expectations);
else {
  for (const line of better) console.log(`better: ${line}`);
  for (const line of worse) console.log(`REGRESSION ${line}`);
  if (worse.length > 0) process.exitCode = 1;
}

/** Markdown, as in docs/conformance.md. */
function printTable(): void {
  const line = (name: string, passed: number, known: number): void => {
    const share = known === 0 ? '' : `${((100 * passed) / known).toFixed(1)} %`;
    console.log(
      `| ${name.padEnd(42)} | ${`${passed}`.padStart(6)} | ${`${known}`.padStart(6)} | ${share.padStart(7)} |`,
    );
  };
  console.log(
    `| ${'directory'.padEnd(42)} | passed |  known |         |\n| ${'-'.repeat(42)} | -----: | -----: | ------: |`,
  );
  let [allPassed, allKnown] = [0, 0];
  for (const [name, folders] of Object.entries(ROWS)) {
    const counts = folders.map(folder => totals.get(folder) ?? { passed: 0, known: 0 });
    const passed = counts.reduce((total, count) => total + count.passed, 0);
    const known = counts.reduce((total, count) => total + count.known, 0);
    if (known > 0) line(name, passed, known);
    allPassed += passed;
    allKnown += known;
  }
  line('total', allPassed, allKnown);
  console.log(`${jobs.length} runs of tests, Node ${process.version}`);
}

async function work(): Promise<void> {
  for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
    const { path, variant } = job;
    const test = readTest(checkout, path);
    const key = path + variant;
    const known = expectations.files[key];
    const result = await runTest(test, variant);
    const now = toExpectation(key, result, expectations);
    const failures = Object.keys(now.failed ?? {}).length;
    count(path, now.passed, now.passed + failures);
    if (options.verbose) report(key, now);
    worse.push(...regressions(key, now, known));
    if (known !== undefined && now.passed > known.passed)
      better.push(`${key}: ${now.passed} pass, ${known.passed} before`);
    expectations.files[key] = now;
  }
}

/** Runs a test, and again with a declaration for each name that it assigns to undeclared. */
async function runTest(test: TestFile, variant: string): Promise<RunResult | Error> {
  const declared: string[] = [];
  for (;;) {
    const source = buildProgram(checkout, test, variant, declared);
    const result = await runProgram(checkout, source, test.isLong ? LONG_TIMEOUT_MS : TIMEOUT_MS).catch(
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    const found = undeclaredNames(result).filter(name => !declared.includes(name) && isAssigned(name, source));
    if (found.length === 0) return result;
    declared.push(...found);
  }
}

/** Names that the program, or a subtest, has failed for the want of. */
function undeclaredNames(result: RunResult | Error): string[] {
  const messages =
    result instanceof Error ? [result.message] : [result.message, ...result.subtests.map(({ message }) => message)];
  const names = messages.map(message => /(?:^|[ "])([A-Za-z_$][\w$]*) is not defined(?:"|$)/.exec(message ?? '')?.[1]);
  return [...new Set(names)].filter(name => name !== undefined);
}

function isAssigned(name: string, source: string): boolean {
  return new RegExp(`(?<![\\w.$])${name.replaceAll('$', '\\$')}\\s*(?:=[^=>]|in\\b|of\\b)`).test(source);
}

function report(key: string, { passed, failed, broken }: (typeof expectations.files)[string]): void {
  console.log(`${key}: ${passed} pass`);
  if (broken !== undefined) console.log(`  broken: ${broken}`);
  for (const [name, reason] of Object.entries(failed ?? {})) console.log(`  ${name}\n      ${reason}`);
}

function count(path: string, passed: number, known: number): void {
  const folder = FOLDERS.find(candidate => path.startsWith(`${candidate}/`)) ?? path;
  const total = totals.get(folder) ?? { passed: 0, known: 0 };
  totals.set(folder, { passed: total.passed + passed, known: total.known + known });
}

/** The tests at a path of the checkout. */
function find(path: string): string[] {
  const stat = statSync(join(checkout, path), { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (stat.isFile()) return [path];
  return readdirSync(join(checkout, path), { withFileTypes: true }).flatMap(entry => {
    const inside = `${path}/${entry.name}`;
    if (entry.isDirectory()) return ['resources', 'support', 'tools'].includes(entry.name) ? [] : find(inside);
    return entry.name.endsWith('.any.js') ? [inside] : [];
  });
}

function isSkipped(path: string): boolean {
  return Object.keys(expectations.skipped).some(skipped =>
    skipped.endsWith('/') ? path.startsWith(skipped) : path === skipped,
  );
}
