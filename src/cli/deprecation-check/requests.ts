/** Which requests are, or will be, answered differently by the schedule of the management API. */

import {
  endsRoutes,
  isFinished,
  Schedule,
  type ScheduledRow,
  type ScheduleOverrides,
} from '../../management/deprecations/deprecation-timeline.js';
import type { DeprecationId, Method } from '../../management/deprecations/deprecations.js';
import { PathTable, splitPath } from '../../management/http/path-table.js';
import { isObject } from '../../quotas/schema/describe.js';

export interface AuditOptions {
  /** The date that decides between gone and ending. @default now */
  readonly asOf?: Date;
  readonly schedule?: ScheduleOverrides;
  /** Path in front of every route. @default any of `client`, `api` and `v1`, `v2`, ... in a row */
  readonly basePath?: string;
  /** Only requests to these hosts. @default all */
  readonly hosts?: readonly string[];
  /** Rows of the schedule that are not reported. */
  readonly ignore?: readonly DeprecationId[];
}

/** One request as a recording shows it; the more is known, the more is found. */
export interface AuditedRequest {
  readonly method: string;
  /** Absolute, or a path. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parsed JSON. */
  readonly body?: unknown;
  readonly responseBody?: unknown;
  readonly file?: string;
  readonly line?: number;
}

export interface AuditFinding {
  /** Row of the schedule. */
  readonly id: DeprecationId;
  readonly state: 'gone' | 'ending';
  /** `YYYY-MM-DD`. */
  readonly endOfLife: string;
  /** `*` where the source code does not show it. */
  readonly method: Method | '*';
  /** The path as it was found. */
  readonly path: string;
  /** Pattern of the route; null for a finding that is not about one. */
  readonly route: string | null;
  readonly summary: string;
  /** The replacement; null where the specification names none. */
  readonly instead: string | null;
  readonly file: string | null;
  /** Counts from 1. */
  readonly line: number | null;
}

interface Entry {
  readonly method: Method;
  readonly row: ScheduledRow;
}

/** Path segments that a base path is made of, when none is given. */
const BASE_SEGMENT = /^(client|api|v\d+)$/;
const MAX_BASE_SEGMENTS = 3;

/** Answers for one schedule and one date. */
export class Auditor {
  readonly schedule: Schedule;
  readonly #at: number;
  readonly #basePath: string | null;
  readonly #hosts: ReadonlySet<string> | null;
  readonly #ignored: ReadonlySet<string>;
  readonly #routes = new PathTable<Entry>();

  constructor(options: AuditOptions = {}) {
    this.schedule = new Schedule(options.schedule);
    this.#at = (options.asOf ?? new Date()).getTime();
    this.#basePath = options.basePath ?? null;
    this.#hosts = options.hosts === undefined ? null : new Set(options.hosts.map(host => host.toLowerCase()));
    this.#ignored = new Set(options.ignore ?? []);
    for (const row of this.schedule.rows) {
      for (const { methods, path } of row.routes) {
        for (const method of methods) this.#routes.add(path, { method, row });
      }
    }
  }

  audit(request: AuditedRequest): AuditFinding[] {
    const url = parseUrl(request.url);
    if (url === null) return [];
    if (this.#hosts !== null && url.host !== '' && !this.#hosts.has(url.host)) return [];
    const method = request.method.toUpperCase() === 'HEAD' ? 'GET' : request.method.toUpperCase();
    const findings: AuditFinding[] = [];
    const report = (row: ScheduledRow | undefined, route: string | null): void => {
      if (row === undefined || this.#ignored.has(row.id)) return;
      findings.push(
        this.finding(row, { method: methodOf(method), path: url.path, route, file: request.file, line: request.line }),
      );
    };
    for (const { pattern, value } of this.#match(url.path)) {
      if (value.method !== method) continue;
      if (endsRoutes(value.row) || changesWhatIsSeen(value.row, request)) report(value.row, pattern);
    }
    if (hasBothFramings(request.headers ?? {})) report(this.schedule.find('double-framing'), null);
    const notification = this.schedule.find('notification-email');
    if (isObject(request.body) && Object.hasOwn(request.body, 'notification_email')) report(notification, null);
    return findings;
  }

  /** A finding of a row; undefined places are null. */
  finding(
    row: ScheduledRow,
    found: Pick<AuditFinding, 'method' | 'path' | 'route'> & {
      readonly file?: string | undefined;
      readonly line?: number | undefined;
    },
  ): AuditFinding {
    return {
      id: row.id,
      state: isFinished(row, this.#at) ? 'gone' : 'ending',
      endOfLife: row.endOfLife,
      method: found.method,
      path: found.path,
      route: found.route,
      summary: row.summary,
      instead: row.replacement?.text ?? null,
      file: found.file ?? null,
      line: found.line ?? null,
    };
  }

  isIgnored(row: ScheduledRow): boolean {
    return this.#ignored.has(row.id);
  }

  #match(path: string): readonly { readonly pattern: string; readonly value: Entry }[] {
    if (this.#basePath !== null) {
      if (!path.startsWith(`${this.#basePath}/`)) return [];
      return this.#routes.find(splitPath(withoutSlash(path.slice(this.#basePath.length))));
    }
    const segments = splitPath(withoutSlash(path));
    for (let from = 0; from <= MAX_BASE_SEGMENTS; from += 1) {
      const matches = this.#routes.find(segments.slice(from));
      if (matches.length > 0) return matches;
      const next = segments[from];
      if (next === undefined || !BASE_SEGMENT.test(next)) break;
    }
    return [];
  }
}

/**
 * The calls among the requests that are or will be gone, or answered differently, in their order.
 * @throws RangeError an override of the schedule that names no row or no date
 */
export async function auditRequests(
  requests: Iterable<AuditedRequest> | AsyncIterable<AuditedRequest>,
  options: AuditOptions = {},
): Promise<AuditFinding[]> {
  const auditor = new Auditor(options);
  const findings: AuditFinding[] = [];
  for await (const request of requests) findings.push(...auditor.audit(request));
  return findings;
}

/** For rows that do not end a route: whether this request or its response contains what they change. */
function changesWhatIsSeen({ change }: ScheduledRow, { body, responseBody }: AuditedRequest): boolean {
  switch (change.kind) {
    case 'data-fields-refused':
      return (
        isObject(body) &&
        isObject(body.data) &&
        (body.type ?? change.recordType) === change.recordType &&
        hasAny(body.data, change.fields)
      );
    case 'error-chain-gone':
      return (
        isObject(responseBody) &&
        Array.isArray(responseBody.errors) &&
        responseBody.errors.some(error => isObject(error) && 'error_chain' in error)
      );
    default:
      // Fields that leave answers: whether the caller reads them, a recording does not show.
      return false;
  }
}

function hasBothFramings(headers: Readonly<Record<string, string>>): boolean {
  const names = new Set(Object.keys(headers).map(name => name.toLowerCase()));
  return names.has('transfer-encoding') && names.has('content-length');
}

function parseUrl(text: string): { readonly host: string; readonly path: string } | null {
  try {
    // The base only serves paths; its host is not reported.
    const url = new URL(text, 'http://path.invalid');
    return { host: url.host === 'path.invalid' ? '' : url.host, path: decodeURI(url.pathname) };
  } catch {
    return null;
  }
}

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export function methodOf(text: string): Method | '*' {
  return METHODS.find(method => method === text.toUpperCase()) ?? '*';
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function hasAny(object: object, fields: readonly string[]): boolean {
  return fields.some(field => Object.hasOwn(object, field));
}
