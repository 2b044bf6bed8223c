/** Findings as a table for people, as lines for tools, as JSON for programs. */

import type { AuditFinding } from './requests.js';

/** The inputs and the findings of one run. */
export interface AuditReport {
  /** `YYYY-MM-DD`. */
  readonly asOf: string;
  readonly findings: readonly CountedFinding[];
  readonly gone: number;
  readonly ending: number;
  readonly files: number;
  readonly requests: number;
}

/** Calls of a recording are many of a kind: the first is shown. */
export interface CountedFinding extends AuditFinding {
  readonly count: number;
}

export function jsonReport(report: AuditReport): string {
  return JSON.stringify(report, null, 2);
}

export function tableReport(report: AuditReport): string {
  const rows = report.findings.map(finding => [
    finding.state,
    finding.endOfLife,
    call(finding),
    place(finding),
    finding.instead ?? 'nothing stated',
  ]);
  return `${table(['STATE', 'DATE', 'CALL', 'WHERE', 'INSTEAD'], rows)}${summary(report)}`;
}

/** `file:line: ...`, as compilers write, so that editors and CI can link. */
export function lineReport(report: AuditReport): string {
  const lines = report.findings.map(finding => {
    const when = finding.state === 'gone' ? `gone since ${finding.endOfLife}` : `ends on ${finding.endOfLife}`;
    return `${place(finding)}: ${call(finding)} ${when}; instead: ${finding.instead ?? 'nothing stated'}\n`;
  });
  return `${lines.join('')}${summary(report)}`;
}

function call({ method, path, count, id, route }: CountedFinding): string {
  const times = count > 1 ? ` (${count} times)` : '';
  return `${route === null ? `${id} in ` : ''}${method === '*' ? '' : `${method} `}${path}${times}`;
}

function place({ file, line }: AuditFinding): string {
  return `${file ?? '-'}${line === null ? '' : `:${line}`}`;
}

function summary({ asOf, gone, ending, files, requests }: AuditReport): string {
  const seen = requests > 0 ? `${requests} requests` : `${files} files`;
  return `${seen} as of ${asOf}: ${gone} gone, ${ending} ending\n`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)));
  return all
    .map(
      row =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
