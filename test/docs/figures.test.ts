import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from './markdown.js';

const run = promisify(execFile);
const SCRIPT = join(ROOT, '.scripts/figures.mjs');
const EMPTY = '# Title\n\n<!-- figures -->\n<!-- /figures -->\n\nThe end.\n';

function folder(t: ExecutionContext): string {
  const root = mkdtempSync(join(tmpdir(), 'edgehost-figures-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'docs'));
  writeFileSync(join(root, 'README.md'), EMPTY);
  writeFileSync(join(root, 'docs/comparison.md'), EMPTY);
  return root;
}

function reportOf(date: string): string {
  const row = (benchmark: string, figure: string, median: number) => ({ benchmark, figure, median });
  const rows = [
    row('dispatch', 'one call, p50, 1 in flight', 41.234),
    row('dispatch', 'calls, 64 in flight', 123_456),
    { ...row('http', 'GET', 22_712), floor: { name: 'bare node:http', median: 40_111 } },
    row('cold-start', 'with a warm spare', 4.61),
    row('cold-start', 'in a new cell', 188.8),
    row('memory', 'an account with one idle function and a warm spare, PSS of its cell', 37.6),
    row('peers', 'miniflare: one call, p50, 1 in flight', 1312),
  ];
  const machine = { date, commit: 'abc1234', node: 'v20.20.2', cores: 2, cpu: 'A processor' };
  return JSON.stringify({ machine, settings: { rounds: 5, seconds: 2 }, rows });
}

test('README.md and docs/comparison.md have figures of the same run', async t => {
  await t.notThrowsAsync(run(process.execPath, [SCRIPT, '--check']));
});

test('figures.mjs writes the figures of one report into both files, with its date and machine', async t => {
  const root = folder(t);
  const report = join(root, 'report.json');
  await t.throwsAsync(run(process.execPath, [SCRIPT, '--check', root]));
  writeFileSync(report, reportOf('2024-05-06T07:08:09.000Z'));
  await run(process.execPath, [SCRIPT, report, root]);
  await t.notThrowsAsync(run(process.execPath, [SCRIPT, '--check', root]));
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const comparison = readFileSync(join(root, 'docs/comparison.md'), 'utf8');
  const named = 'Run of 2024-05-06, commit abc1234: Node v20.20.2, 2 cores of A processor; medians of 5 rounds.';
  for (const text of [readme, comparison]) t.true(text.includes(named) && text.endsWith('\n\nThe end.\n'), text);
  t.regex(readme, /about 41 µs .* about 38 MB/);
  t.regex(
    comparison,
    /\| EdgeHost +\| 41 µs +\| 123,000 +\| 22,700 +\| 4.6 ms \(warm spare\), 190 ms \(new process\) \|/,
  );
  t.regex(comparison, /\| miniflare +\| 1.3 ms +\|/);
  t.true(comparison.includes('answered 40,100 requests a second in the same run'));

  writeFileSync(join(root, 'README.md'), readme.replace('2024-05-06', '2024-05-07'));
  const error = await t.throwsAsync(run(process.execPath, [SCRIPT, '--check', root]));
  t.regex(String(error), /figures of different runs/);
});

test('figures.mjs refuses a report without one of the figures', async t => {
  const root = folder(t);
  const report = join(root, 'report.json');
  writeFileSync(report, reportOf('2024-05-06T07:08:09.000Z').replace('"memory"', '"other"'));
  const error = await t.throwsAsync(run(process.execPath, [SCRIPT, report, root]));
  t.regex(String(error), /has no figure "an account .*" of memory/);
  t.is(readFileSync(join(root, 'README.md'), 'utf8'), EMPTY);
});
