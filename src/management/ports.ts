/** The interface of the host to the management API; the host implements these few methods. */

import type { ClientOf } from '../bindings/binding.js';
import type { EgressRules } from '../bindings/egress/rules/egress-rules.js';
import type { SqlBounds } from '../bindings/sql/engine.js';
import type { WrittenConsumer } from '../config-schema/consumer-shapes.js';
import type { CronOptions } from '../config-schema/cron-trigger.js';
import type { ModuleKind } from '../protocol/messages.js';
import type { AccountWork } from '../quotas/host/call-work.js';
import type { LimitOverrides } from '../quotas/limit-overrides.js';
import type { InvocationKind, Plan, ZonePlan } from '../quotas/limits.js';
import type { RouteMode } from '../quotas/requests/admission.js';
import type { StorageBounds } from '../storage/accounts/account-sum.js';
import type { UsageBy } from '../usage/usage-query.js';
import type { UsageReport } from '../usage/usage-report.js';
import type { FamilyId } from './deprecations/deprecations.js';
import type { PathParams } from './http/path-table.js';

export type UsageModel = Plan;
export type ModuleType = ModuleKind;

export interface FunctionModule {
  /** Unique in the deployment, as it was uploaded: `index.js`, `lib/a.js`. */
  readonly name: string;
  readonly type: ModuleType;
  readonly content: Uint8Array;
}

/** All that is needed to run one version of one function. Maps, because names such as `constructor` are valid. */
export interface FunctionDeployment {
  readonly account: string;
  readonly name: string;
  /** Id of the version, a UUID made by the management API. */
  readonly version: string;
  /** Name of the main module; with a classic script the only one. */
  readonly main: string;
  readonly modules: readonly FunctionModule[];
  readonly compatibilityDate: string | null;
  readonly compatibilityFlags: readonly string[];
  /** Text, or what JSON can hold. */
  readonly vars: ReadonlyMap<string, unknown>;
  readonly secrets: ReadonlyMap<string, string>;
  readonly bindings: readonly DeployedBinding[];
  readonly limits: { readonly cpuMs?: number };
  /** null: the usage model of the account's plan. */
  readonly usageModel: UsageModel | null;
  /** The names of its tail functions. */
  readonly tails: readonly string[];
  /** Undefined: the hosts of its account. */
  readonly egress: Pick<EgressRules, 'hosts'> | undefined;
  readonly triggers: FunctionTriggers;
}

/** A binding to a service of the host. */
export interface DeployedBinding {
  readonly name: string;
  /** The option of load() that it belongs to, by its row of the registry. */
  readonly option: string;
  readonly config: unknown;
}

export interface FunctionTriggers {
  readonly routes: readonly { readonly pattern: string; readonly mode: RouteMode }[];
  /** Cron expressions of five fields, UTC; as an object where there is more to say of one. */
  readonly crons: readonly (string | CronOptions)[];
  /** The queues that it consumes; absent: those that it has. */
  readonly consumers?: readonly WrittenConsumer[];
}

/** How a scheduled handler has ended. */
export interface ScheduledOutcome {
  /** null: it has succeeded. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly noRetry: boolean;
}

export interface Quota {
  readonly id: string;
  readonly used: number;
  /** null: none. */
  readonly limit: number | null;
  readonly unit: string;
  /** When `used` falls back to zero; null: it does not by itself. */
  readonly resetsOn: Date | null;
}

export interface AccountUsage {
  readonly plan: string;
  readonly quotas: readonly Quota[];
}

/** Which usage is asked for: days as YYYY-MM-DD, `to` not among them. */
export interface UsageRange {
  readonly from?: string;
  readonly to?: string;
  readonly by?: UsageBy;
}

/** Counts since the version began to serve, or since the start of the host. */
export interface FunctionCounts {
  readonly requests: number;
  readonly errors: number;
  readonly cpuMs: number;
  readonly subrequests: number;
}

/**
 * The functions of the host. Errors that a caller of the API can correct are `EdgeError`s (see quotas/errors.ts) or carry such a code:
 * EDGE_SCRIPT_*, EDGE_STARTUP_LIMIT, EDGE_CONFIG_INVALID, EDGE_LIMIT_EXCEEDED, EDGE_NOT_SUPPORTED, EDGE_OVERLOADED; every other error is
 * answered as an internal one, without its text.
 */
export interface FunctionPort extends AccountPort {
  hasAccount(account: string): Promise<boolean>;
  /** Parses the script and runs its global scope under the limits of its account, without letting it serve. */
  validate(deployment: FunctionDeployment): Promise<{ readonly startupTimeMs: number }>;
  /**
   * Activates the version in place of the one that served under the name before, configuration and triggers included. When it rejects, the previous version
   * continues to serve. One that was activated before (`isStored`) gets no more than its account may have by now; else asking for more is EDGE_LIMIT_EXCEEDED.
   */
  activate(
    deployment: FunctionDeployment,
    options?: { readonly isStored?: boolean },
  ): Promise<{ readonly startupTimeMs: number }>;
  /** Replaces routes and cron triggers without touching the isolates. When it rejects, those from before hold. */
  setTriggers(account: string, name: string, triggers: FunctionTriggers): Promise<void>;
  /** Runs the scheduled handler of the function to its end. `scheduledTime` null: now. Rejects with EDGE_CONFIG_INVALID when the function does not serve. */
  runScheduled(
    account: string,
    name: string,
    event: { readonly cron: string; readonly scheduledTime: Date | null },
  ): Promise<ScheduledOutcome>;
  /** Ends the function; no error when it does not serve. */
  remove(account: string, name: string): Promise<void>;
  /** Watches an account. @throws TypeError or RangeError for a filter that is not valid, EdgeError EDGE_OVERLOADED for too many */
  tail(account: string, filter: RequestedTailFilter): TailPort;
  /** A client of the account, by its own bounds. */
  readonly clientOf: ClientOf;
  /** The limits of its databases. Absent: anything. */
  sqlBounds?(account: string): SqlBounds;
  accountUsage(account: string): Promise<AccountUsage>;
  functionUsage(account: string, name: string): Promise<FunctionCounts>;
  /**
   * The account's usage by day or function. Reading it is charged to the account unless the owner of the host asks. Rejects with TypeError or RangeError for a
   * range that is not valid.
   */
  usageReport(account: string, range: UsageRange, asker: { readonly isOwner: boolean }): Promise<UsageReport>;
  /** The accounts that have usage in the range or something stored, those that are removed among them. Rejects likewise. */
  usageAccounts(range: UsageRange): Promise<readonly string[]>;
}

/** The invocations that a tail is to get, as the request has it. An absent field passes all of them. */
export interface RequestedTailFilter {
  readonly functions?: readonly string[];
  readonly kinds?: readonly InvocationKind[];
  readonly outcomes?: readonly string[];
  readonly methods?: readonly string[];
  readonly statuses?: readonly number[];
  readonly search?: string;
  readonly sample?: number;
}

/** Invocations of an account as they end, as JSON values, until it is closed or the account is gone. */
export interface TailPort {
  next(): Promise<IteratorResult<object, undefined>>;
  /** The number of invocations that were not read in time. */
  readonly dropped: number;
  close(): void;
}

export interface AccountSummary {
  readonly id: string;
  readonly plan: Plan;
  readonly zonePlan: ZonePlan;
  /** The names of its functions. */
  readonly functions: readonly string[];
  /** undefined: any names. */
  readonly zones: readonly string[] | undefined;
}

/** The changes of an account. Values that are given take the place of those before. */
export interface AccountChanges {
  readonly plan?: Plan;
  readonly zonePlan?: ZonePlan;
  readonly limits?: LimitOverrides;
  readonly caps?: LimitOverrides;
  readonly zones?: readonly string[];
}

/** The accounts of the host. Rejects with the errors of {@link FunctionPort}, and with TypeError and RangeError for invalid arguments. */
export interface AccountPort {
  listAccounts(): readonly AccountSummary[];
  accountStorage(account: string): Promise<{ readonly bytes: number; readonly objects: number }>;
  /** The most that the account may store; undefined for an account that is not there. */
  storageBounds(account: string): StorageBounds | undefined;
  /** The plan of its zones; undefined for an account that is not there. */
  zonePlan(account: string): ZonePlan | undefined;
  /** A request about the account is charged to this work; undefined for an account that is not there. */
  work(account: string): AccountWork | undefined;
  updateAccount(account: string, changes: AccountChanges): Promise<void>;
  /** Resolves when the account is gone; its data is deleted in the background. */
  removeAccount(account: string, deleteData: boolean): Promise<void>;
}

export interface FamilyContext {
  readonly account: string;
  readonly zone: { readonly id: string; readonly name: string } | null;
  /** Path pattern of the route, `/zones/{zone_id}/rate_limits/{rate_limit_id}`; renamed segments have their new name. */
  readonly route: string;
  readonly params: PathParams;
  readonly tokenName: string;
  /** The date that the schedule is read at. */
  readonly date: Date;
}

/**
 * Answers the routes of one family. It is called before the end of life only, for tokens with `families:read` (GET) or
 * `families:edit`; the request has the path below the base path, its whole body, and no Authorization header.
 */
export type FamilyHandler = (request: Request, context: FamilyContext) => Promise<Response>;

export type FamilyHandlers = Readonly<Partial<Record<FamilyId, FamilyHandler>>>;
