/** `edgehost audit`: arguments in, a report and an exit code out. */

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { parseDay, type ScheduleOverrides } from '../management/deprecations/deprecation-timeline.js';
import { DEPRECATIONS, type DeprecationId, isDeprecationId } from '../management/deprecations/deprecations.js';
import type { CommandIo, ExitCode } from './command.js';
import { auditPaths } from './deprecation-check/paths.js';
import { jsonReport, lineReport, tableReport } from './deprecation-check/report.js';

export const AUDIT_HELP = `Usage: edgehost audit [options] <path>...

Lists the calls of the management API that are gone or will be, with dates and what to do instead.

A path is one of
  a HAR file        requests recorded by a browser or a proxy
  an access log     Common or Combined Log Format, lines of JSON, or lines with "GET /path"
  source code       a file or a directory, without node_modules, vendor, dist, build and hidden folders

Options
  --as-of DATE      the date that decides what is gone (YYYY-MM-DD), default today
  --json            the report as JSON
  --fail-on WHAT    gone (default): exit with 1 when a call is gone; any: also when one will be; none: never
  --base-path PATH  what stands before /zones, /accounts, ... in the URLs, default any of /client, /api, /v<n>
  --host HOST       only requests to this host; may be repeated
  --ignore ID       leave out a row of the schedule, such as organizations; may be repeated
  --schedule FILE   JSON with other dates: {"endOfLife": {"rate-limits": "2025-06-30"}}
  -h, --help        this text

Exit codes
  0  nothing found that --fail-on names
  1  found
  2  the arguments or a file cannot be used

Examples
  edgehost audit src
  edgehost audit --as-of 2025-01-15 --json access.log
`;

const FAIL_ON = ['gone', 'any', 'none'] as const;

/** @returns the exit code */
export async function runAudit(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  try {
    const { values, positionals } = parse(args);
    if (values.help) {
      io.out(AUDIT_HELP);
      return 0;
    }
    if (positionals.length === 0) throw new RangeError('a path is needed');
    const failOn = FAIL_ON.find(choice => choice === (values['fail-on'] ?? 'gone'));
    if (failOn === undefined)
      throw new RangeError(`--fail-on must be one of ${FAIL_ON.join(', ')}, got ${values['fail-on']}`);
    const asOf = values['as-of'] === undefined ? io.now() : new Date(parseDay(values['as-of'], '--as-of'));
    const report = await auditPaths(positionals, {
      asOf,
      ...(values['base-path'] === undefined ? {} : { basePath: values['base-path'].replace(/\/$/, '') }),
      ...(values.host === undefined ? {} : { hosts: values.host }),
      ...(values.ignore === undefined ? {} : { ignore: values.ignore.map(checkId) }),
      ...(values.schedule === undefined ? {} : { schedule: await readSchedule(values.schedule) }),
    });
    io.out(values.json ? `${jsonReport(report)}\n` : io.isTerminal ? tableReport(report) : lineReport(report));
    const found = failOn === 'none' ? 0 : failOn === 'any' ? report.gone + report.ending : report.gone;
    return found > 0 ? 1 : 0;
  } catch (error) {
    io.err(`edgehost audit: ${error instanceof Error ? error.message : String(error)}\nTry edgehost audit --help\n`);
    return 2;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'as-of': { type: 'string' },
      json: { type: 'boolean' },
      'fail-on': { type: 'string' },
      'base-path': { type: 'string' },
      host: { type: 'string', multiple: true },
      ignore: { type: 'string', multiple: true },
      schedule: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
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
