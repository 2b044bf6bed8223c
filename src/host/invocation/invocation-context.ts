/** The context of an invocation: its function, and the receivers of its reports. */

import type { FunctionServices } from '../../backend/calls/answer-call.js';
import type { GivenBodies } from '../../bindings/bodies/given-bodies.js';
import type { ConnectionSlotRelease } from '../../quotas/connection-limiter.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { AdmissionDecision, Refusal, RouteMode } from '../../quotas/requests/admission.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { FrontAnswer, InvocationUsage } from '../../usage/function-usage.js';
import type { RemoteFunction } from '../backend/remote-function.js';
import type { InvocationEvent, InvocationOutcome, LogEvent } from '../events.js';
import type { InvocationTrace } from '../telemetry/trace.js';
import type { TracedInvocation } from './reports/trace-item.js';

/** The observers of the invocations of a function. */
export interface InvocationTails {
  /** Whether anybody does: else nothing is recorded. */
  readonly isWatched: boolean;
  /** The invocation is over, and somebody watches. */
  finished(invocation: TracedInvocation): void;
}

export interface InvocationContext {
  readonly account: string;
  readonly function: string;
  readonly version: string;
  readonly limits: ResolvedLimits;
  readonly services: FunctionServices;
  /** With a backend process, which answers the calls in place of `services`. */
  readonly remote?: RemoteFunction | undefined;
  /** Other accounts whose functions may call it. */
  readonly callers?: readonly string[];
  /** The account's share of the host. */
  readonly share: HostShare;
  /** An HTTP invocation without any progress for this long is ended. */
  readonly idleHttpMs: number;
  /** Gives the application the bodies of answers. */
  readonly bodies: GivenBodies;
  /** The CPU time at which an invocation of this limit ends: what others have left unused is lent to it. */
  readonly cpuGrant: (limitMs: number) => number;
  readonly connectionSlotRelease: ConnectionSlotRelease;
  /** Whether a request may come in, by the rates of the account and the client's address. Counts it when it may. */
  admit(mode: RouteMode, address: string | undefined): AdmissionDecision | Promise<AdmissionDecision>;
  /** Judges a request that runs no function, by the client's address. @default it is never refused */
  admitAsset?(address: string): Refusal | undefined;
  /** Requests of the account this minute and today; counted only where there is a rate. */
  requests(): { readonly requestsPerMinute: number; readonly requestsPerDay: number };
  /** The front cache's answer to a request, and the bytes that it has sent already. */
  onFronted?(answer: FrontAnswer, bytes: number): void;
  /** It has sent this many bytes more. */
  onFrontedBytes?(bytes: number): void;
  emitLog(event: LogEvent): void;
  /** The observers of the function. */
  readonly tails: InvocationTails;
  /** Whether the application listens to what {@link onFinished} reports. */
  isReportHeard(): boolean;
  /** The invocation is over. `event` makes the event; nothing is made when there is no listener. */
  onFinished(
    outcome: InvocationOutcome,
    usage: InvocationUsage & { readonly peakBytes: number },
    event: () => InvocationEvent,
    trace: InvocationTrace | undefined,
  ): void;
}
