/** `host.metrics()`: what a host does, as metrics of Prometheus. Accounts and functions are no labels, unless the application names accounts. */

import { NAME } from '../../config-schema/function-shapes.js';
import { INVOCATION_KINDS } from '../../quotas/limits.js';
import { checkOptions } from '../../quotas/schema/check-options.js';
import { list, objectOf, type Schema } from '../../quotas/schema/schema.js';
import { CALL_KINDS, INVOCATION_OUTCOMES, invocationSlot, type UsageSlots } from '../../usage/usage-slots.js';
import { type UsageValues, usageValues } from '../../usage/usage-values.js';
import type { SystemBudget } from '../cells/host-budgets.js';
import { type FunctionStats, type Histogram, MIN_MS } from '../invocation/function-stats.js';
import { type HistogramSample, histogramText, metricText, type Sample } from './prometheus.js';

export interface MetricsOptions {
  /** Accounts with series of their own, by the label `account`. Up to 100: each is some ten series. @default none */
  readonly accounts?: readonly string[];
}

/** The bound of the series that accounts make. */
const MAX_ACCOUNTS = 100;

export const METRICS_OPTIONS: Schema<MetricsOptions> = objectOf<MetricsOptions>({
  'accounts?': list(NAME, { maxItems: MAX_ACCOUNTS, uniqueItems: true }),
});

/** The state of a host at the moment. */
export interface HostState {
  readonly accounts: number;
  readonly functions: number;
  readonly isolates: number;
  readonly cells: readonly { readonly residentBytes?: number | undefined; readonly cpuMs?: number | undefined }[];
  readonly memory: { readonly usedBytes: number; readonly limitBytes: number } | undefined;
  readonly descriptors: SystemBudget | undefined;
  readonly tasks: SystemBudget | undefined;
  readonly isStorageOpen: boolean;
  readonly isClosed: boolean;
  readonly stats: FunctionStats;
  /** The usage that is not written yet; undefined when usage is not kept. */
  readonly usage: { readonly rows: number; readonly failures: number; sums(account?: string): UsageSlots } | undefined;
}

/** Upper bounds of the histograms of time: powers of two above a microsecond, from 64 us to 4.7 hours. */
const DOUBLINGS = [6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 26, 28, 30, 34];

type Row = readonly [name: string, help: string, pick: (values: UsageValues) => number];

/** Counters of the usage of all accounts, and of each account that is named. */
const SUMS: readonly Row[] = [
  ['cpu_seconds_total', 'CPU time of invocations.', values => values.cpuMs / 1000],
  [
    'wall_seconds_total',
    'Time from the event to the end of everything, of invocations.',
    values => values.wallMs / 1000,
  ],
  ['request_bytes_total', 'Bytes of request bodies.', values => values.requestBytes],
  ['response_bytes_total', 'Bytes of response bodies.', values => values.responseBytes],
  ['subrequests_total', 'Subrequests of functions.', values => values.subrequests],
  ['egress_sent_bytes_total', 'Bytes of bodies that fetch sent to the network.', values => values.egressSentBytes],
  [
    'egress_received_bytes_total',
    'Bytes of bodies that fetch received from the network.',
    values => values.egressReceivedBytes,
  ],
  [
    'cache_hits_total',
    'Requests that the cache in front of functions has answered, stale answers included.',
    values => values.cacheHits,
  ],
  [
    'cache_stale_hits_total',
    'Requests that the cache in front has answered with what had expired.',
    values => values.cacheStaleHits,
  ],
  ['cache_misses_total', 'Requests that went past the cache in front.', values => values.cacheMisses],
  ['cache_bytes_total', 'Bytes of bodies that the cache in front has answered with.', values => values.cacheBytes],
  ['runs_total', 'Runs of sandboxes.', values => values.runs],
  ['tool_calls_total', 'Calls of tools by runs.', values => values.toolCalls],
  ['tool_seconds_total', 'Time of these calls.', values => values.toolMs / 1000],
];

/** @throws TypeError or RangeError for options that are not valid */
export function metricsText(state: HostState, options: MetricsOptions = {}): string {
  checkOptions('metrics()', options, METRICS_OPTIONS);
  const { cells, usage, stats } = state;
  const parts = [
    gauge('edgehost_accounts', 'Accounts of the host.', state.accounts),
    gauge('edgehost_functions', 'Functions that are loaded.', state.functions),
    gauge('edgehost_isolates', 'Isolates alive or being started, warm spares not counted.', state.isolates),
    gauge('edgehost_cells', 'Processes of accounts; with isolation thread their pools of threads.', cells.length),
    gauge(
      'edgehost_cells_resident_bytes',
      'Memory of the processes of all accounts, as the kernel counts it.',
      cells.reduce((sum, cell) => sum + (cell.residentBytes ?? 0), 0),
    ),
    ...budgetTexts(state),
    gauge('edgehost_storage_open', '1 while the storage is open.', Number(state.isStorageOpen)),
    gauge('edgehost_closed', '1 when the host is closed or closing.', Number(state.isClosed)),
  ];
  const { cpuMs, wallMs } = stats.times;
  parts.push(
    histogramText('edgehost_invocation_cpu_seconds', 'CPU time of an invocation.', histogramOf(cpuMs)),
    histogramText(
      'edgehost_invocation_duration_seconds',
      'Time of an invocation from its event to the end of everything.',
      histogramOf(wallMs),
    ),
  );
  if (usage !== undefined) parts.push(...usageTexts(usage, options.accounts ?? []));
  return parts.join('');
}

function budgetTexts({ memory, descriptors, tasks }: HostState): string[] {
  const texts: string[] = [];
  if (memory !== undefined) {
    texts.push(
      gauge('edgehost_memory_used_bytes', 'Memory that the processes of all accounts use.', memory.usedBytes),
      gauge('edgehost_memory_limit_bytes', 'Memory that they may use (option memoryBytes).', memory.limitBytes),
    );
  }
  if (descriptors !== undefined) texts.push(...systemTexts('descriptors', 'Descriptors', descriptors));
  if (tasks !== undefined) texts.push(...systemTexts('tasks', 'Processes and threads', tasks));
  return texts;
}

function systemTexts(name: string, what: string, { used, limit, reserved }: SystemBudget): string[] {
  return [
    gauge(
      `edgehost_${name}_used`,
      `${what} that count to the limit of the system, those of the application included.`,
      used,
    ),
    gauge(`edgehost_${name}_limit`, `${what} that the system allows.`, limit),
    gauge(`edgehost_${name}_reserved`, `${what} that accounts leave to the application.`, reserved),
  ];
}

function usageTexts(usage: NonNullable<HostState['usage']>, accounts: readonly string[]): string[] {
  const slots = usage.sums();
  const values = usageValues(slots);
  const invocations = INVOCATION_KINDS.flatMap(kind =>
    INVOCATION_OUTCOMES.map(outcome => ({
      labels: { kind, outcome },
      value: slots[invocationSlot(kind, outcome)] ?? 0,
    })),
  );
  const calls = CALL_KINDS.map(service => ({ labels: { service }, value: values.calls[service] }));
  const texts = [
    counter('edgehost_invocations_total', 'Invocations that are over.', invocations),
    ...SUMS.map(([name, help, pick]) => counter(`edgehost_${name}`, help, [{ value: pick(values) }])),
    counter('edgehost_service_calls_total', 'Calls of services by functions.', calls),
    gauge(
      'edgehost_usage_rows',
      'Rows of usage in memory: functions that were active, or that could not be written.',
      usage.rows,
    ),
    gauge(
      'edgehost_usage_write_failures',
      'Writes of usage that have failed since the last one that has not.',
      usage.failures,
    ),
  ];
  if (accounts.length === 0) return texts;
  const named = accounts.map(account => ({ account, slots: usage.sums(account) }));
  const byOutcome = named.flatMap(({ account, slots: own }) => {
    const { outcomes } = usageValues(own);
    return INVOCATION_OUTCOMES.map(outcome => ({ labels: { account, outcome }, value: outcomes[outcome] }));
  });
  texts.push(
    counter(
      'edgehost_account_invocations_total',
      'Invocations that are over, of accounts that were asked for.',
      byOutcome,
    ),
  );
  for (const [name, help, pick] of SUMS) {
    const samples = named.map(({ account, slots: own }) => ({ labels: { account }, value: pick(usageValues(own)) }));
    texts.push(counter(`edgehost_account_${name}`, `${help.slice(0, -1)}, of accounts that were asked for.`, samples));
  }
  return texts;
}

function histogramOf(histogram: Histogram): HistogramSample {
  const buckets = DOUBLINGS.map(doublings => ({
    upTo: (MIN_MS * 2 ** doublings) / 1000,
    count: histogram.countUpTo(doublings),
  }));
  return { buckets, sum: histogram.sum / 1000, count: histogram.count };
}

function gauge(name: string, help: string, value: number): string {
  return metricText(name, 'gauge', help, [{ value }]);
}

function counter(name: string, help: string, samples: readonly Sample[]): string {
  return metricText(name, 'counter', help, samples);
}
