/** The one place where the schedule shows in requests and answers: refused requests, fields removed from answers, and announcements. */

import { isObject } from '../../quotas/schema/describe.js';
import { isDnsCause } from '../http/codes.js';
import { ApiError, type ErrorItem, errorItem } from '../http/envelope.js';
import { fillPath, type PathParams } from '../http/path-table.js';
import { endsRoutes, isFinished, type ScheduledRow } from './deprecation-timeline.js';

/** The parts of a request that the schedule uses. */
export interface ScheduledRequest {
  /** The rows that concern the route. */
  readonly rows: readonly ScheduledRow[];
  readonly params: PathParams;
  readonly at: number;
  /** Before the paths of links. */
  readonly basePath: string;
}

/** @throws ApiError GONE, naming the replacement, once the route's end of life is reached */
export function refuseGone(request: ScheduledRequest): void {
  const row = request.rows.find(candidate => endsRoutes(candidate) && isFinished(candidate, request.at));
  if (row === undefined) return;
  const link = replacementPath(row, request);
  const replacement = row.replacement === null ? 'nothing replaces it' : `use instead: ${row.replacement.text}`;
  const place = link === null || row.replacement?.text.includes(link) ? '' : ` (${link})`;
  throw new ApiError('GONE', `Since ${row.endOfLife} the route is gone: ${row.summary}; ${replacement}${place}`);
}

/**
 * Headers that announce: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) for a route that ends, and for every row `Link` to its entry and to what takes over.
 */
export function announce(request: ScheduledRequest, headers: Headers): void {
  const ending = request.rows.filter(endsRoutes).sort((a, b) => a.endsAt - b.endsAt)[0];
  if (ending !== undefined) {
    headers.set('deprecation', `@${Math.floor(ending.deprecatedAt / 1000)}`);
    headers.set('sunset', new Date(ending.endsAt).toUTCString());
  }
  for (const row of request.rows) {
    if (!endsRoutes(row) && isFinished(row, request.at)) continue;
    headers.append('link', `<${request.basePath}/deprecations/${row.id}>; rel="deprecation"; type="application/json"`);
    const link = replacementPath(row, request);
    if (link !== null && endsRoutes(row)) headers.append('link', `<${link}>; rel="successor-version"`);
  }
}

/** Entries of `messages`: what will change in the answers of the route, and when. */
export function announcements({ rows, at }: ScheduledRequest): ErrorItem[] {
  return rows
    .filter(row => !isFinished(row, at))
    .map(row =>
      errorItem('CHANGE_AHEAD', `From ${new Date(row.endsAt).toISOString().slice(0, 10)} on: ${row.summary}`),
    );
}

/** The result as it is on the date of the request. */
export function shapeResult({ rows, at }: ScheduledRequest, result: unknown): unknown {
  return rows.filter(row => isFinished(row, at)).reduce(leaveOut, result);
}

/**
 * The errors as they are on the date of the request: where `error_chain` has not been dropped yet, the root cause of a
 * DNS validation error stands in the chain of a general one: what a record may not be, and what does not fit the schema of one.
 */
export function shapeErrors({ rows, at }: ScheduledRequest, error: ApiError): readonly ErrorItem[] {
  const chained = rows.some(row => row.change.kind === 'error-chain-gone' && !isFinished(row, at));
  if (!chained || !(isDnsCause(error.code) || error.code === 'BODY_INVALID')) return error.errors;
  return [{ ...errorItem('DNS_VALIDATION', 'DNS Validation Error'), error_chain: error.errors }];
}

function leaveOut(result: unknown, row: ScheduledRow): unknown {
  const { change } = row;
  if (change.kind !== 'fields-gone' && change.kind !== 'data-fields-refused') return result;
  if (Array.isArray(result)) return result.map(item => leaveOut(item, row));
  if (!isObject(result)) return result;
  if (change.kind === 'fields-gone') return omit(result, change.fields);
  if (result.type !== change.recordType || !isObject(result.data)) return result;
  return { ...result, data: omit(result.data, change.fields) };
}

function omit(object: Readonly<Record<string, unknown>>, fields: readonly string[]): unknown {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.includes(name)));
}

/** A path with the parameters of the request; where a segment was renamed, the same path with the new one. */
function replacementPath(row: ScheduledRow, { params, basePath }: ScheduledRequest): string | null {
  const path = row.replacement?.path;
  if (path === undefined) return null;
  const rest = row.change.kind === 'segment-renamed' && params.path !== undefined ? '/{path...}' : '';
  return `${basePath}${fillPath(`${path}${rest}`, params)}`;
}
