/** Usage as CSV (RFC 4180), for spreadsheets and billing systems. */

import { INVOCATION_KINDS } from '../quotas/limits.js';
import type { UsageRecord, UsageReport } from './usage-report.js';
import { CALL_KINDS, INVOCATION_OUTCOMES } from './usage-slots.js';

type Cell = string | number;

/** Columns of records, by their names. They are the same for every report, and new ones are added at the end. */
const RECORD_COLUMNS: readonly (readonly [string, (record: UsageRecord) => number])[] = [
  ['invocations', record => record.invocations],
  ['requests', record => record.requests],
  ...INVOCATION_KINDS.filter(kind => kind !== 'fetch').map(kind => column(kind, record => record.kinds[kind])),
  ...INVOCATION_OUTCOMES.map(outcome => column(`outcome_${snake(outcome)}`, record => record.outcomes[outcome])),
  ...INVOCATION_OUTCOMES.map(outcome =>
    column(`requests_${snake(outcome)}`, record => record.requestOutcomes[outcome]),
  ),
  ['cpu_ms', record => record.cpuMs],
  ['wall_ms', record => record.wallMs],
  ['request_bytes', record => record.requestBytes],
  ['response_bytes', record => record.responseBytes],
  ['subrequests', record => record.subrequests],
  ['egress_sent_bytes', record => record.egressSentBytes],
  ['egress_received_bytes', record => record.egressReceivedBytes],
  ...CALL_KINDS.map(kind => column(`calls_${kind}`, record => record.calls[kind])),
  ['cache_hits', record => record.cacheHits],
  ['cache_stale_hits', record => record.cacheStaleHits],
  ['cache_misses', record => record.cacheMisses],
  ['cache_bytes', record => record.cacheBytes],
  ['runs', record => record.runs],
  ['tool_calls', record => record.toolCalls],
  ['tool_ms', record => record.toolMs],
];
const STORAGE_COLUMNS = ['byte_hours', 'object_hours', 'stored_bytes', 'stored_objects'] as const;

/** The first line. */
export const USAGE_CSV_COLUMNS: readonly string[] = [
  'account',
  'from',
  'to',
  'day',
  'function',
  ...RECORD_COLUMNS.map(([name]) => name),
  ...STORAGE_COLUMNS,
];

/**
 * Reports as CSV by RFC 4180: lines end with CRLF, the first one names the columns. Each record of a report is a line, and each entry of its `storage` is a
 * line of its own, where the columns of records are empty: storage belongs to no function. `stored_bytes` and `stored_objects`, the present sums, stand on the
 * last of these lines alone, so that columns can be added up. Text that a spreadsheet would take for a formula begins with an apostrophe.
 *
 * `for await (const line of usageCsv(host.usage({ from, to })))` holds one report at a time.
 */
export async function* usageCsv(
  reports: UsageReport | Iterable<UsageReport> | AsyncIterable<UsageReport>,
): AsyncGenerator<string, void, undefined> {
  yield line(USAGE_CSV_COLUMNS);
  const all = 'account' in reports ? [reports] : reports;
  for await (const report of all) yield* linesOf(report);
}

function* linesOf({ account, from, to, records, storage, stored }: UsageReport): Generator<string> {
  const noRecord = RECORD_COLUMNS.map(() => '');
  const noStorage = STORAGE_COLUMNS.map(() => '');
  for (const record of records) {
    const values = RECORD_COLUMNS.map(([, pick]) => pick(record));
    yield line([account, from, to, record.day ?? '', record.function ?? '', ...values, ...noStorage]);
  }
  for (const [index, { day, byteHours, objectHours }] of storage.entries()) {
    const now: Cell[] = index === storage.length - 1 ? [stored.bytes, stored.objects] : ['', ''];
    yield line([account, from, to, day ?? '', '', ...noRecord, byteHours, objectHours, ...now]);
  }
}

function column(
  name: string,
  pick: (record: UsageRecord) => number,
): readonly [string, (record: UsageRecord) => number] {
  return [name, pick];
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

/** The beginnings of cells that a spreadsheet may take for a formula, or for a separator before one. */
const FORMULA = /^[=+\-@\t\r\n|%]/;

function cellText(cell: Cell): string {
  // Times are exact to the microsecond; what floating point adds beyond is no value.
  if (typeof cell === 'number') return String(Number.isInteger(cell) ? cell : Math.round(cell * 1e6) / 1e6);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
