/** The report: which target was reached, as Markdown for people and JSON for programs. */
import type { Figure, Target } from './benchmark.js';
import type { Machine } from './measuring/machine.js';
import { median, medianRatio, spread } from './measuring/statistics.js';

/** What became of one benchmark. */
export interface BenchmarkResult {
  readonly name: string;
  readonly measures: string;
  readonly floor: string;
  readonly figures: readonly Figure[];
  /** Processes that wanted to run, averaged over the minute before its end. */
  readonly load: number;
  /** The reason why all or some values are missing. */
  readonly error?: string;
}

export interface RunSettings {
  readonly rounds: number;
  readonly seconds: number;
}

export interface ReportRow {
  readonly benchmark: string;
  readonly figure: string;
  readonly unit: Figure['unit'];
  readonly median: number;
  readonly spread: number;
  readonly samples: readonly number[];
  readonly floor: { readonly name: string; readonly median: number; readonly samples: readonly number[] } | null;
  /** The median of the rounds' ratios to the floor. */
  readonly ratio: number | null;
  readonly target: Target | null;
  readonly isReached: boolean | null;
  readonly note: string | null;
}

export interface Report {
  readonly machine: Machine;
  readonly settings: RunSettings;
  readonly benchmarks: readonly Omit<BenchmarkResult, 'figures'>[];
  readonly rows: readonly ReportRow[];
}

export function createReport(machine: Machine, settings: RunSettings, results: readonly BenchmarkResult[]): Report {
  return {
    machine,
    settings,
    benchmarks: results.map(({ figures: _, ...about }) => about),
    rows: results.flatMap(result => result.figures.map(figure => rowOf(result.name, figure))),
  };
}

function rowOf(benchmark: string, figure: Figure): ReportRow {
  const { name, unit, samples, floor, target, note } = figure;
  const middle = median(samples);
  const ratio = floor === undefined ? null : medianRatio(samples, floor.samples);
  return {
    benchmark,
    figure: name,
    unit,
    median: middle,
    spread: spread(samples),
    samples,
    floor: floor === undefined ? null : { ...floor, median: median(floor.samples) },
    ratio,
    target: target ?? null,
    isReached: target === undefined ? null : isReached(target, middle, ratio),
    note: note ?? null,
  };
}

/** null when there is nothing to compare: a target for a ratio without a floor. */
export function isReached(target: Target, value: number, ratio: number | null): boolean | null {
  const found = target.of === 'value' ? value : ratio;
  if (found === null || Number.isNaN(found)) return null;
  if ('atLeast' in target) return found >= target.atLeast;
  return found <= target.atMost || (target.orValueAtMost !== undefined && value <= target.orValueAtMost);
}

export function toMarkdown({ machine, settings, benchmarks, rows }: Report): string {
  const lines = [
    '# Benchmarks',
    '',
    `- ${machine.date}, commit ${machine.commit}`,
    `- Node ${machine.node}, ${machine.kernel}`,
    `- ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB of memory; storage on ${machine.fileSystem}`,
    `- ${settings.rounds} alternating rounds of ${settings.seconds} s; medians, in brackets the spread (highest - lowest) / median; the ratio is the median of the rounds' ratios`,
    '',
  ];
  for (const { name, measures, floor, load, error } of benchmarks) {
    lines.push(`## ${name}`, '', `${measures} Floor: ${floor} Load average at its end: ${load.toFixed(1)}.`, '');
    const own = rows.filter(row => row.benchmark === name);
    if (own.length > 0) {
      lines.push('| figure | median | floor | ratio | target | reached |', '|---|---|---|---|---|---|');
      lines.push(...own.map(markdownRow), '');
    }
    const notes = own.filter(row => row.note !== null);
    for (const { figure, note } of notes) lines.push(`- ${figure}: ${note}`);
    if (notes.length > 0) lines.push('');
    if (error !== undefined) lines.push(`Not measured: ${error}`, '');
  }
  return lines.join('\n');
}

function markdownRow(row: ReportRow): string {
  const value = `${withUnit(row.median, row.unit)} (${percent(row.spread)})`;
  const floor = row.floor === null ? '' : `${withUnit(row.floor.median, row.unit)}, ${row.floor.name}`;
  const ratio = row.ratio === null ? '' : row.ratio.toFixed(2);
  const target = row.target === null ? '' : targetText(row.target, row.unit);
  const reached = row.isReached === null ? '' : row.isReached ? 'yes' : '**no**';
  return `| ${[row.figure, value, floor, ratio, target, reached].join(' | ')} |`;
}

function targetText(target: Target, unit: Figure['unit']): string {
  const show = (value: number): string => (target.of === 'ratio' ? `ratio ${value}` : withUnit(value, unit));
  if ('atLeast' in target) return `at least ${show(target.atLeast)}`;
  const { atMost, orValueAtMost } = target;
  const either = orValueAtMost === undefined ? '' : ` or ${withUnit(orValueAtMost, unit)}`;
  return `at most ${show(atMost)}${either}`;
}

export function withUnit(value: number, unit: Figure['unit']): string {
  return `${readable(value)} ${unit}`;
}

/** Three digits are what such a measurement is worth. */
function readable(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(Number(value.toPrecision(3))).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
