/** The schedule of deprecations resolved for one host: dates as instants, overrides applied, questions answered. */

import {
  ACCELERATOR_SEGMENT,
  DEPRECATIONS,
  type Deprecation,
  type DeprecationId,
  isDeprecationId,
  type Method,
} from './deprecations.js';

/** The dates that the owner of a host may change, because schedules slip. All dates are `YYYY-MM-DD`, UTC. */
export interface ScheduleOverrides {
  /** Another end of life, by id of the row. */
  readonly endOfLife?: Readonly<Partial<Record<DeprecationId, string>>>;
  /**
   * When the deprecation was announced, the date of the header `Deprecation` (RFC 9745).
   * @default the end of life, the only date that the specification states
   */
  readonly deprecatedSince?: Readonly<Partial<Record<DeprecationId, string>>>;
  /**
   * Path segment of the legacy accelerator resource below `/organizations/{organization_identifier}/`.
   * @default 'accelerators'
   */
  readonly acceleratorSegment?: string;
}

/** A row with its instants, in milliseconds since the epoch. */
export interface ScheduledRow extends Omit<Deprecation, 'id'> {
  readonly id: DeprecationId;
  /** From here on the new behaviour holds. */
  readonly endsAt: number;
  /** Never later than `endsAt`. */
  readonly deprecatedAt: number;
}

const DAY_MS = 86_400_000;

export class Schedule {
  /** In the order of the table. */
  readonly rows: readonly ScheduledRow[];
  readonly #byId: ReadonlyMap<string, ScheduledRow>;
  readonly #byRoute = new Map<string, ScheduledRow[]>();

  /** @throws RangeError an unknown id, an invalid date, or a segment that cannot be part of a path */
  constructor(overrides: ScheduleOverrides = {}) {
    for (const id of [...Object.keys(overrides.endOfLife ?? {}), ...Object.keys(overrides.deprecatedSince ?? {})]) {
      if (!isDeprecationId(id)) {
        throw new RangeError(
          `Schedule has no row ${JSON.stringify(id)}; rows: ${DEPRECATIONS.map(r => r.id).join(', ')}`,
        );
      }
    }
    this.rows = DEPRECATIONS.map(row => schedule(row, row.id, overrides));
    this.#byId = new Map(this.rows.map(row => [row.id, row]));
    for (const row of this.rows) {
      for (const route of row.routes) {
        for (const method of route.methods) {
          const key = `${method} ${route.path}`;
          this.#byRoute.set(key, [...(this.#byRoute.get(key) ?? []), row]);
        }
      }
    }
  }

  find(id: string): ScheduledRow | undefined {
    return this.#byId.get(id);
  }

  /** The rows that concern a route, given by its method and path pattern. */
  rowsOf(method: Method, path: string): readonly ScheduledRow[] {
    return this.#byRoute.get(`${method} ${path}`) ?? [];
  }

  /** Whether the new behaviour of the row holds at an instant. */
  isFinished(id: DeprecationId, at: number): boolean {
    const row = this.#byId.get(id);
    return row !== undefined && isFinished(row, at);
  }
}

export function isFinished(row: ScheduledRow, at: number): boolean {
  return at >= row.endsAt;
}

/** Whether the routes of the row end, in contrast to what they carry. */
export function endsRoutes(row: ScheduledRow): boolean {
  return row.change.kind === 'routes-gone' || row.change.kind === 'segment-renamed';
}

/** `YYYY-MM-DD` as the first millisecond of the day, UTC. @throws RangeError */
export function parseDay(text: string, what: string): number {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse takes the 30th of February for the 1st of March.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text) {
    throw new RangeError(`${what} must be a date YYYY-MM-DD, got ${JSON.stringify(text)}`);
  }
  return time;
}

function schedule(row: Deprecation, id: DeprecationId, overrides: ScheduleOverrides): ScheduledRow {
  const endOfLife = overrides.endOfLife?.[id] ?? row.endOfLife;
  const since = overrides.deprecatedSince?.[id] ?? endOfLife;
  const endsAt = parseDay(endOfLife, `endOfLife of ${id}`) + (row.throughLastDay ? DAY_MS : 0);
  const deprecatedAt = parseDay(since, `deprecatedSince of ${id}`);
  if (deprecatedAt > endsAt) {
    throw new RangeError(`deprecatedSince of ${id} is ${since}, after its endOfLife ${endOfLife}`);
  }
  return { ...row, id, endOfLife, endsAt, deprecatedAt, routes: renamed(row.routes, overrides.acceleratorSegment) };
}

function renamed(routes: Deprecation['routes'], segment: string | undefined): Deprecation['routes'] {
  if (segment === undefined) return routes;
  if (!/^[\w-]+$/.test(segment)) {
    throw new RangeError(
      `acceleratorSegment must be one path segment of letters, digits, _ and -, got ${JSON.stringify(segment)}`,
    );
  }
  return routes.map(route => ({ ...route, path: route.path.replace(`/${ACCELERATOR_SEGMENT}`, `/${segment}`) }));
}
