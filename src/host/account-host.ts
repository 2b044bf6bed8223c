/** The parts of a host that its accounts use. */

import type { HostBindings } from '../backend/host-bindings.js';
import type { FunctionContext } from '../bindings/binding.js';
import type { GivenBodies } from '../bindings/bodies/given-bodies.js';
import type { LocalSend } from '../bindings/egress/transport.js';
import type { CallOrigin } from '../bindings/service.js';
import type { IsolateCache } from '../pool/host/isolate-cache.js';
import type { IsolateGate } from '../pool/host/isolate-gate.js';
import type { SandboxOption } from '../pool/sandbox/sandbox.js';
import type { ConnectionSlotRelease } from '../quotas/connection-limiter.js';
import type { CallWork } from '../quotas/host/call-work.js';
import type { HostShare } from '../quotas/host/host-share.js';
import type { Admission } from '../quotas/requests/admission.js';
import type { StoredSum } from '../storage/accounts/account-sum.js';
import type { FunctionUsage } from '../usage/function-usage.js';
import type { UsageQuery } from '../usage/usage-query.js';
import type { UsageReport } from '../usage/usage-report.js';
import type { AccountLimits } from './account-limits.js';
import type { HostBackend } from './backend/host-backend.js';
import type { AlarmScheduler } from './events/alarm-scheduler.js';
import type { CronScheduler } from './events/cron-scheduler.js';
import type { QueueDispatcher } from './events/queues/queue-dispatcher.js';
import type { EgressEvent, InvocationEvent, LogEvent } from './events.js';
import type { Router } from './ingress/router.js';
import type { FunctionRunner, InvocationTarget } from './invocation/function-runner.js';
import type { FunctionStats } from './invocation/function-stats.js';
import type { AccountLoaders } from './loaders/account-loaders.js';
import type { LoadingFunction } from './loaders/loader-calls.js';
import type { ObjectRules } from './objects/object-runner.js';
import type { AccountOptions, AccountUpdate } from './options/options.js';
import type { RunNetwork } from './runs/run-network.js';
import type { AccountTails } from './tails/account-tails.js';
import type { InvocationTrace } from './telemetry/trace.js';

export interface AccountHost {
  readonly connectionSlotRelease: ConnectionSlotRelease;
  readonly admission: Admission;
  /** The account's share of the host. */
  readonly share: HostShare;
  readonly idleHttpMs: number;
  /** The option of the host, for processes besides cells. */
  readonly sandbox: SandboxOption;
  /** Gives the application bodies as streams. */
  readonly bodies: GivenBodies;
  readonly now: () => number;
  readonly cache: IsolateCache;
  /** The places of isolates, including other accounts' isolates. */
  readonly gate: IsolateGate;
  readonly router: Router<FunctionRunner>;
  readonly bindings: HostBindings;
  /** The services of outgoing requests for runs. */
  readonly runNetwork: RunNetwork;
  /** The connection to the backend process. Undefined with `backend: 'inline'`. */
  readonly remote: HostBackend | undefined;
  readonly crons: CronScheduler;
  /** The consumers of queues, including other accounts' consumers. */
  readonly queueDispatcher: QueueDispatcher;
  /** Resolves when it is known which names the management API has given to accounts. */
  namesKnown(): Promise<void>;
  /** The function of this host that answers when a function of the account fetches the URL; undefined where the network does. */
  localSend(account: string, url: URL, origin: CallOrigin | undefined): LocalSend | undefined;
  /** Makes what functions of the account call others by. */
  callFunction(account: string): NonNullable<FunctionContext['callFunction']>;
  /** Makes what functions of the account call stateful objects by. */
  callObject(account: string): NonNullable<FunctionContext['callObject']>;
  /** Makes what stateful objects of a function reach their sleeping WebSockets by. */
  objectSockets(account: string, functionName: string): NonNullable<FunctionContext['objectSockets']>;
  /** Makes what a function calls its own entrypoints by. */
  callOwn(self: () => InvocationTarget): NonNullable<FunctionContext['callOwn']>;
  /** Makes what a function loads code by. */
  callLoader(caller: LoadingFunction): NonNullable<FunctionContext['callLoader']>;
  readonly objects: ObjectRules;
  /** Runs the alarms of stateful objects. */
  readonly alarms: AlarmScheduler;
  /** The key that secrets in the storage are sealed with. */
  secretsKey(): Promise<Uint8Array>;
  /** Runs `task` while no other process on the storage runs one of this name. */
  alone<T>(name: string, task: () => Promise<T>): Promise<T>;
  /** The bytes and objects that the account has stored. */
  stored(): Promise<StoredSum>;
  /** The limits of an account with these options. */
  limitsOf(options: AccountOptions): AccountLimits;
  /**
   * Gives the account these zones in place of those that it had. `routes` are the patterns of its functions.
   * @throws as `host.account()` does, and EDGE_NAME_DENIED for a route outside of them; nothing has changed then
   */
  redeclare(zones: readonly string[], routes: readonly string[]): void;
  /** Tells other applications on the storage, who follow. Rejects with EDGE_SERVICES_LOST. */
  announce(update: AccountUpdate): Promise<void>;
  /** Releases the zones of the account. */
  releaseNames(): void;
  /** The observers of the invocations of the account. */
  readonly tails: AccountTails;
  /** The code that functions of the account have loaded. */
  readonly loaders: AccountLoaders;
  /** The times of all invocations of the host. */
  readonly stats: FunctionStats;
  /** Counts what the invocations of a function use, under its name; undefined when usage is not kept. */
  functionUsage(name: string): FunctionUsage | undefined;
  /** The usage of the account. Rejects like `account.usage(query)`. `work` pays for reading it. */
  usageReport(query: UsageQuery, work?: CallWork): Promise<UsageReport>;
  /** @param isReturned the caller gets the line in a result, too. @default false */
  emitLog(event: LogEvent, isReturned?: boolean): void;
  /** A function has failed and no `invocation` event says so. */
  noteUnheard(functionName: string): void;
  emitEgress(event: EgressEvent): void;
  wantsInvocations(): boolean;
  emitInvocation(event: InvocationEvent, trace: InvocationTrace | undefined): void;
  warn(error: Error): void;
}
