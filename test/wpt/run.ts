/**
 * Runs the web-platform-tests of a checkout, each in an isolate of its own, and compares with test/guest/wpt/expectations.json.
 *
 *   npm run wpt -- --wpt <checkout> [--engine isolate|node|both] [--update] [--jobs N] [--verbose] [path ...]
 *
 * `path`: files or folders of the checkout; default all that are known to matter. `--update` writes the expectations: reasons
 * that stand there are kept, new ones start with "to be explained". A regression makes the exit code 1. `--engine node` runs
 * the same tests in plain Node, with its own interfaces, and compares with nothing; `both` puts the two side by side and lists
 * what passes in Node alone.
 */
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readExpectations, regressions, toExpectation, withoutFailuresOf, writeExpectations } from './expectations.js';
import { readTest, type TestFile } from './meta.js';
import { runInNode } from './node-engine.js';
import { startOrigin } from './origin-server.js';
import { buildProgram, buildScripts, type RunResult } from './program.js';
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
    engine: { type: 'string', default: 'isolate' },
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
const { engine } = options;
if (engine !== 'isolate' && engine !== 'node' && engine !== 'both')
  throw new RangeError(`Option --engine is "${engine}", expected isolate, node or both`);
const checkout = resolve(options.wpt);
const { origin, close: closeOrigin } = await startOrigin(checkout);
// From dist/test/wpt to the file in the source tree.
const expectationsFile = new URL('../../../test/guest/wpt/expectations.json', import.meta.url);
const expectations = readExpectations(expectationsFile);

/** Its parsers and tables are of other versions of the standards elsewhere: what fails in plain Node there is not the functions' doing. */
const isRecordedNode = process.versions.node.startsWith(`${expectations.node}.`);

interface Job {
  readonly path: string;
  readonly variant: string;
}

const jobs: Job[] = [];
for (const path of (positionals.length > 0 ? positionals : FOLDERS).flatMap(find).sort()) {
  if (isSkipped(path)) continue;
  for (const variant of readTest(checkout, path).variants) jobs.push({ path, variant });
}

/** Of a folder: subtests that pass in isolates, and in plain Node, of those that one of them knows. */
interface Totals {
  isolate: number;
  node: number;
  known: number;
}

const worse: string[] = [];
const better: string[] = [];
const inNodeAlone: string[] = [];
const totals = new Map<string, Totals>();
let next = 0;
await Promise.all(Array.from({ length: Number(options.jobs) }, work));
closeOrigin();

printTable();
for (const line of inNodeAlone) console.log(`Node alone: ${line}`);
if (engine === 'node') process.exit();
if (options.update) writeExpectations(expectationsFile, expectations);
else {
  for (const line of better) console.log(`better: ${line}`);
  for (const line of worse) console.log(`REGRESSION ${line}`);
  if (worse.length > 0) process.exitCode = 1;
}

/** Markdown, as in docs/conformance.md. */
function printTable(): void {
  const line = (first: string, ...cells: readonly string[]): void =>
    console.log(`| ${first.padEnd(42)} | ${cells.map(cell => cell.padStart(10)).join(' | ')} |`);
  const row = (name: string, { isolate, node, known }: Totals): void => {
    const of = (passed: number, all: number): string => `${((100 * passed) / all).toFixed(1)} %`;
    if (engine === 'both') line(name, `${known}`, `${isolate}`, `${node}`, of(isolate, node));
    else line(name, `${known}`, `${isolate + node}`, of(isolate + node, known));
  };
  const heads = engine === 'both' ? ['known', 'functions', 'plain Node', 'of Node'] : ['known', 'passed', ''];
  line('directory', ...heads);
  console.log(`| ${'-'.repeat(42)} | ${heads.map(() => `${'-'.repeat(9)}:`).join(' | ')} |`);
  const all: Totals = { isolate: 0, node: 0, known: 0 };
  for (const [name, folders] of Object.entries(ROWS)) {
    const sum: Totals = { isolate: 0, node: 0, known: 0 };
    for (const folder of folders) add(sum, totals.get(folder));
    if (sum.known > 0) row(name, sum);
    add(all, sum);
  }
  row('total', all);
  console.log(`${jobs.length} runs of tests, Node ${process.version}`);
}

function add(sum: Totals, more: Totals | undefined): void {
  if (more === undefined) return;
  sum.isolate += more.isolate;
  sum.node += more.node;
  sum.known += more.known;
}

async function work(): Promise<void> {
  for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
    const { path, variant } = job;
    const test = readTest(checkout, path);
    const key = path + variant;
    const isolate = engine === 'node' ? undefined : await runInIsolate(test, variant);
    const node = engine === 'isolate' ? undefined : await runTestInNode(test, variant);
    const counts = [isolate, node].map(result =>
      result === undefined || result instanceof Error ? [] : result.subtests,
    );
    const [ours = [], theirs = []] = counts.map(subtests => subtests.filter(({ status }) => status === 0));
    const folder = FOLDERS.find(candidate => path.startsWith(`${candidate}/`)) ?? path;
    const total = totals.get(folder) ?? { isolate: 0, node: 0, known: 0 };
    add(total, { isolate: ours.length, node: theirs.length, known: Math.max(...counts.map(({ length }) => length)) });
    totals.set(folder, total);
    if (isolate !== undefined) {
      compareWithExpectation(key, isolate, node ?? (isRecordedNode ? undefined : await runTestInNode(test, variant)));
    } else if (options.verbose && node !== undefined) report(key, toExpectation(key, node, { reasons: {}, files: {} }));
    if (engine !== 'both') continue;
    const passed = new Set(ours.map(({ name }) => name));
    const { failed, broken } = expectations.files[key] ?? {};
    for (const { name } of theirs) {
      if (!passed.has(name)) inNodeAlone.push(`${key}: "${name}": ${failed?.[name] ?? broken}`);
    }
  }
}

function compareWithExpectation(key: string, result: RunResult | Error, node?: RunResult | Error): void {
  const known = expectations.files[key];
  const now = toExpectation(key, result, expectations);
  if (options.verbose) report(key, now);
  worse.push(...regressions(key, node === undefined || isRecordedNode ? now : withoutFailuresOf(node, now), known));
  if (known !== undefined && now.passed > known.passed)
    better.push(`${key}: ${now.passed} pass, ${known.passed} before`);
  expectations.files[key] = now;
}

function runTestInNode(test: TestFile, variant: string): Promise<RunResult | Error> {
  return settled(runInNode(buildScripts(checkout, origin, test, variant), timeoutOf(test)));
}

/** Runs a test, and again with a declaration for each name that it assigns to undeclared. */
async function runInIsolate(test: TestFile, variant: string): Promise<RunResult | Error> {
  const declared: string[] = [];
  for (;;) {
    const source = buildProgram(checkout, origin, test, variant, declared);
    const result = await settled(runProgram(source, timeoutOf(test)));
    const found = undeclaredNames(result).filter(name => !declared.includes(name) && isAssigned(name, source));
    if (found.length === 0) return result;
    declared.push(...found);
  }
}

function settled(run: Promise<RunResult>): Promise<RunResult | Error> {
  return run.catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
}

function timeoutOf({ isLong }: TestFile): number {
  return isLong ? LONG_TIMEOUT_MS : TIMEOUT_MS;
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
