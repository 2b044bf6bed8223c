/** What an invocation needs to know of its function, and where it reports. */
import type { AdmissionDecision, RouteMode } from '../../quotas/admission.js';
import type { ConnectionSlotRelease } from '../../quotas/connection-limiter.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { InvocationUsage } from '../../usage/function-usage.js';
import type { InvocationEvent, InvocationOutcome, LogEvent } from '../events.js';
import type { InvocationTrace } from '../telemetry/trace.js';
import type { FunctionServices } from './calls/services.js';

export interface InvocationContext {
  readonly account: string;
  readonly function: string;
  readonly version: string;
  readonly limits: ResolvedLimits;
  readonly services: FunctionServices;
  /** What the account may take of the host. */
  readonly share: HostShare;
  /** An HTTP invocation of which nothing has moved for so long is ended. */
  readonly idleHttpMs: number;
  /** The CPU time at which an invocation of this limit ends: what others have left unused is lent to it. */
  readonly cpuGrant: (limitMs: number) => number;
  readonly connectionSlotRelease: ConnectionSlotRelease;
  /** Whether a request may come in, by the rates of the account and the client's address. Counts it when it may. */
  admit(mode: RouteMode, address: string | undefined): AdmissionDecision | Promise<AdmissionDecision>;
  /** Requests of the account this minute and today; counted only where there is a rate. */
  requests(): { readonly requestsPerMinute: number; readonly requestsPerDay: number };
  emitLog(event: LogEvent): void;
  /** The invocation is over. `event` makes the event; nothing is made when there is no listener. */
  onFinished(
    outcome: InvocationOutcome,
    figures: InvocationUsage & { readonly peakBytes: number },
    event: () => InvocationEvent,
    trace: InvocationTrace | undefined,
  ): void;
}
