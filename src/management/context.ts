/** The argument of a route's handler. */

import type PQueue from 'p-queue';
import type { DirectoryOf } from '../bindings/binding.js';
import type { BindingRegistry } from '../bindings/registry.js';
import type { Schedule } from './deprecations/deprecation-timeline.js';
import { ApiError } from './http/envelope.js';
import type { PathParams } from './http/path-table.js';
import type { ManagementLimits } from './limits.js';
import type { FamilyHandlers, FunctionPort } from './ports.js';
import type { AuditLog } from './state/audit-log.js';
import type { FunctionStore } from './state/function-store.js';
import type { RecordChange } from './state/records.js';
import type { Stores, ZoneRecord } from './state/stores.js';
import type { Principal, Tokens } from './state/tokens.js';
import type { Schemas } from './validator.js';
import type { CompressionSettings } from './zone-compression.js';
import type { ZoneOwners } from './zone-owners.js';
import type { ZoneSettings } from './zone-settings.js';

/** The parts of one management API, made once. */
export interface ManagementParts {
  readonly stores: Stores;
  readonly tokens: Tokens;
  readonly audit: AuditLog;
  readonly schedule: Schedule;
  readonly functions: FunctionPort;
  readonly functionStore: FunctionStore;
  readonly bindings: BindingRegistry;
  /** The named schemas of the API. */
  readonly schemas: Schemas;
  /** Returns the directory of an account that `FunctionPort.hasAccount` knows. */
  readonly directoryOf: DirectoryOf;
  readonly limits: ManagementLimits;
  readonly zoneOwners: ZoneOwners;
  readonly zoneSettings: ZoneSettings;
  readonly compression: CompressionSettings;
  readonly families: FamilyHandlers;
  readonly uploads: PQueue;
  readonly now: () => Date;
  /** The document for a date, as text. */
  readonly openapi: (at: number) => string;
}

/** The page of a list; other answers have the values of the first one. */
export interface PageValues {
  readonly page: number;
  readonly per_page: number;
}

/** The page of a list by a cursor. */
export interface CursorValues {
  readonly cursor?: string;
}

/** One request, after authentication and the checks of path, query and scope. `Query` are the parameters that the route has besides pages. */
export interface Context<Query = object> {
  readonly request: Request;
  readonly params: PathParams;
  readonly query: PageValues & Query;
  readonly principal: Principal;
  /** The account that the path or its zone belongs to; of the token where the path names none. */
  readonly account: string;
  /** null where the path names no zone. */
  readonly zone: ZoneRecord | null;
  /** The instant that the schedule is read at: now, or the date the request has pinned. */
  readonly at: number;
  readonly services: ManagementParts;
  /** Writes in one durable batch, with the entry of the audit log. Every change goes through here. */
  commit(operations: readonly RecordChange[], account?: string): Promise<void>;
}

/** The queue of uploads: few bodies are in memory at once. @throws ApiError UNAVAILABLE when too many wait */
export function uploadsOf({ services: { uploads, limits } }: Context): PQueue {
  if (uploads.size < limits.uploadsWaiting) return uploads;
  throw new ApiError('UNAVAILABLE', `${uploads.size} uploads are waiting: retry later`, {
    headers: { 'retry-after': '10' },
  });
}

/** A parameter of the path: the router has matched it. */
export function param(context: Context, name: string): string {
  const value = context.params[name];
  if (value === undefined) throw new TypeError(`The route has no parameter ${name}`);
  return value;
}

/** The zone of the path: the pipeline has found it. */
export function zoneOf(context: Context): ZoneRecord {
  if (context.zone === null) throw new TypeError('The route names no zone');
  return context.zone;
}

export function pageQuery(context: Context): { readonly page: number; readonly perPage: number } {
  return { page: context.query.page, perPage: context.query.per_page };
}
