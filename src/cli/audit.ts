/** `edgehost audit`: arguments in, a report and an exit code out. */

import { readFile } from 'node:fs/promises';
import { parseDay, type ScheduleOverrides } from '../management/deprecations/deprecation-timeline.js';
import { DEPRECATIONS, type DeprecationId, isDeprecationId } from '../management/deprecations/deprecations.js';
import { messageOf } from '../quotas/errors.js';
import { auditPaths } from './deprecation-check/paths.js';
import { type AuditReport, jsonReport, lineReport, tableReport } from './deprecation-check/report.js';
import type { Arguments, Syntax } from './terminal/arguments.js';
import { CommandError, command } from './terminal/command.js';

const SYNTAX = {
  name: 'audit',
  paths: '<path>...',
  count: { min: 1, max: Number.POSITIVE_INFINITY },
  about: 'Lists the calls of the management API that are gone or will be, with dates and what to do instead.',
  sections: [
    [
      'A path is one of',
      `HAR file     requests recorded by a browser or a proxy
access log   Common or Combined Log Format, lines of JSON, or lines with "GET /path"
source code  a file or a directory, without node_modules, vendor, dist, build and hidden folders`,
    ],
    [
      'Exit codes',
      `0  nothing found that --fail-on names
1  found
2  the arguments or a file cannot be used`,
    ],
  ],
  options: {
    'as-of': {
      kind: 'text',
      value: 'DATE',
      text: 'the date by which routes are counted as removed (YYYY-MM-DD), default today',
    },
    json: { kind: 'flag', text: 'the report as JSON' },
    'fail-on': {
      kind: 'choice',
      value: 'WHAT',
      choices: ['gone', 'any', 'none'],
      text: 'gone (default): exit with 1 when a call is gone; any: also when one will be; none: never',
    },
    'base-path': {
      kind: 'text',
      value: 'PATH',
      text: 'the prefix of /zones, /accounts, ... in the URLs, default any of /client, /api, /v<n>',
    },
    host: { kind: 'list', value: 'HOST', text: 'only requests to this host; may be repeated' },
    ignore: {
      kind: 'list',
      value: 'ID',
      text: 'leave out a row of the schedule, such as organizations; may be repeated',
    },
    schedule: {
      kind: 'text',
      value: 'FILE',
      text: 'JSON with other dates: {"endOfLife": {"rate-limits": "2025-06-30"}}',
    },
  },
  examples: ['edgehost audit src', 'edgehost audit --as-of 2025-01-15 --json access.log'],
} as const satisfies Syntax;

export const AUDIT = command(SYNTAX, async ({ values, paths }, io) => {
  const report = await reportOf(values, paths, io.now()).catch((error: unknown) => {
    throw new CommandError(2, messageOf(error), { cause: error });
  });
  io.out(values.json ? `${jsonReport(report)}\n` : io.isTerminal ? tableReport(report) : lineReport(report));
  const failOn = values['fail-on'] ?? 'gone';
  const found = failOn === 'none' ? 0 : failOn === 'any' ? report.gone + report.ending : report.gone;
  return found > 0 ? 1 : 0;
});

type Values = Arguments<(typeof SYNTAX)['options']>['values'];

async function reportOf(values: Values, paths: readonly string[], now: Date): Promise<AuditReport> {
  return auditPaths(paths, {
    asOf: values['as-of'] === undefined ? now : new Date(parseDay(values['as-of'], '--as-of')),
    ...(values['base-path'] === undefined ? {} : { basePath: values['base-path'].replace(/\/$/, '') }),
    ...(values.host.length === 0 ? {} : { hosts: values.host }),
    ...(values.ignore.length === 0 ? {} : { ignore: values.ignore.map(checkId) }),
    ...(values.schedule === undefined ? {} : { schedule: await readSchedule(values.schedule) }),
  });
}

function checkId(id: string): DeprecationId {
  if (!isDeprecationId(id)) {
    throw new RangeError(
      `--ignore: there is no row ${JSON.stringify(id)}; rows: ${DEPRECATIONS.map(row => row.id).join(', ')}`,
    );
  }
  return id;
}

async function readSchedule(file: string): Promise<ScheduleOverrides> {
  const parsed: unknown = JSON.parse(await readFile(file, 'utf8'));
  if (!isOverrides(parsed))
    throw new RangeError(`--schedule: ${file} must be an object with endOfLife, deprecatedSince, acceleratorSegment`);
  return parsed;
}

/** Ids and dates are checked by the schedule itself. */
function isOverrides(value: unknown): value is ScheduleOverrides {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(([name, part]) =>
    name === 'acceleratorSegment'
      ? typeof part === 'string'
      : (name === 'endOfLife' || name === 'deprecatedSince') &&
        typeof part === 'object' &&
        part !== null &&
        Object.values(part).every(date => typeof date === 'string'),
  );
}
