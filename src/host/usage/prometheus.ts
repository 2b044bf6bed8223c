/** The text format of Prometheus (exposition format 0.0.4): metrics with their help, type, labels and values. */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** The type that Prometheus reads it by. Counters never fall while the process lives. */
export type MetricType = 'counter' | 'gauge';

export interface HistogramSample {
  /** Counts of values that are at most `upTo`, each with those before. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
  readonly sum: number;
  readonly count: number;
}

/** One metric with its samples. */
export function metricText(name: string, type: MetricType, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(({ labels = {}, value }) => `${name}${labelText(labels)} ${numberText(value)}\n`);
  return head(name, type, help) + lines.join('');
}

export function histogramText(name: string, help: string, { buckets, sum, count }: HistogramSample): string {
  const lines = buckets.map(
    ({ upTo, count: value }) => `${name}_bucket{le="${numberText(upTo)}"} ${numberText(value)}\n`,
  );
  return `${head(name, 'histogram', help)}${lines.join('')}${name}_bucket{le="+Inf"} ${numberText(count)}\n${name}_sum ${numberText(sum)}\n${name}_count ${numberText(count)}\n`;
}

function head(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
}

function labelText(labels: Labels): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return '';
  return `{${entries.map(([name, value]) => `${name}="${escapedLabel(value)}"`).join(',')}}`;
}

/** A value ends at its quote and a sample at its line: both could be written by the owner of the name. */
export function escapedLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
