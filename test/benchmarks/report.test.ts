import test from 'ava';
import type { Figure } from '../../benchmarks/benchmark.js';
import { createReport, isReached, toMarkdown, withUnit } from '../../benchmarks/report.js';

const MACHINE = {
  cpu: 'A CPU',
  cores: 2,
  memoryGiB: 8,
  kernel: 'Linux 6.0',
  node: '20.19.0',
  commit: 'abc',
  date: '2026-01-01T00:00:00.000Z',
  fileSystem: 'ext4',
};
const SETTINGS = { rounds: 2, seconds: 1 };

const reportOf = (...figures: readonly Figure[]) =>
  createReport(MACHINE, SETTINGS, [
    { name: 'things', measures: 'Things a second.', floor: 'bare things.', figures, load: 0.25 },
  ]);

const FIGURE: Figure = {
  name: 'GET',
  unit: 'requests/s',
  samples: [40_000, 50_000],
  floor: { name: 'bare', samples: [80_000, 100_000] },
  target: { of: 'ratio', atLeast: 0.45 },
};

test('isReached() compares the value or the ratio, as the target says', t => {
  t.true(isReached({ of: 'value', atMost: 110 }, 110, null));
  t.false(isReached({ of: 'value', atMost: 110 }, 110.1, null));
  t.true(isReached({ of: 'ratio', atLeast: 0.45 }, 1, 0.45));
  t.false(isReached({ of: 'ratio', atLeast: 0.45 }, 1, 0.44));
});

test('isReached() takes a small value whatever its ratio where the target says so', t => {
  const target = { of: 'ratio', atMost: 3, orValueAtMost: 10 } as const;
  t.true(isReached(target, 50, 3));
  t.true(isReached(target, 10, 20));
  t.false(isReached(target, 10.1, 3.1));
});

test('isReached() is null when there is nothing to compare', t => {
  t.is(isReached({ of: 'ratio', atLeast: 1 }, 5, null), null);
  t.is(isReached({ of: 'value', atLeast: 1 }, Number.NaN, null), null);
});

test('createReport() gives each figure its median, ratio and verdict', t => {
  const [row] = reportOf(FIGURE).rows;
  t.like(row, { benchmark: 'things', figure: 'GET', median: 45_000, ratio: 0.5, isReached: true });
  t.deepEqual(row?.floor, { name: 'bare', median: 90_000, samples: [80_000, 100_000] });
});

test('createReport() leaves out what a figure does not have', t => {
  const [row] = reportOf({ name: 'load', unit: 'ms', samples: [1] }).rows;
  t.like(row, { floor: null, ratio: null, target: null, isReached: null, note: null });
});

test('createReport() survives JSON', t => {
  const report = reportOf(FIGURE);
  t.deepEqual(JSON.parse(JSON.stringify(report)), report);
});

test('toMarkdown() tells machine, settings and rows', t => {
  const text = toMarkdown(reportOf(FIGURE));
  t.regex(text, /2026-01-01T00:00:00\.000Z, commit abc/);
  t.regex(text, /Node 20\.19\.0, Linux 6\.0/);
  t.regex(text, /A CPU, 2 cores, 8 GiB/);
  t.regex(text, /2 alternating rounds of 1 s/);
  t.true(
    text.includes('| GET | 45,000 requests/s (22 %) | 90,000 requests/s, bare | 0.50 | at least ratio 0.45 | yes |'),
  );
});

test('toMarkdown() tells of a target that is a ratio or a value', t => {
  const target = { of: 'ratio', atMost: 3, orValueAtMost: 10 } as const;
  t.regex(toMarkdown(reportOf({ ...FIGURE, unit: 'ms', target })), /at most ratio 3 or 10 ms \| yes \|/);
});

test('toMarkdown() marks a target that was not reached', t => {
  t.regex(
    toMarkdown(reportOf({ ...FIGURE, target: { of: 'value', atLeast: 60_000 } })),
    /60,000 requests\/s \| \*\*no\*\* \|/,
  );
});

test('toMarkdown() says why there are no figures', t => {
  const report = createReport(MACHINE, SETTINGS, [
    { name: 'things', measures: 'Things.', floor: 'none.', figures: [], load: 0, error: 'no server' },
  ]);
  t.regex(toMarkdown(report), /Not measured: no server/);
});

test('withUnit() shows three digits', t => {
  t.is(withUnit(123_456, 'calls/s'), '123,000 calls/s');
  t.is(withUnit(0.012345, 'ms'), '0.0123 ms');
  t.is(withUnit(99.96, 'us'), '100 us');
});
