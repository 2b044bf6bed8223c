/** The event of an invocation that is over. Made only when there is a listener. */
import { HostOpens } from '../../protocol/messages.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { InvocationEvent } from '../events.js';
import type { InvocationAccounting } from './calls/accounting.js';
import type { InvocationContext } from './invocation-context.js';
import type { InvocationRecord } from './invocation-record.js';
import { type InvocationStart, requestLine } from './invocation-start.js';
import { noteRequestHead } from './request-warnings.js';

/** What is known at the end of an invocation beside its record. */
export interface EndedInvocation {
  readonly kind: InvocationKind;
  readonly start: InvocationStart;
  readonly record: InvocationRecord;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly peakBytes: number;
  /** Time that waitUntil has added. */
  readonly waitUntilMs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly subrequests: number;
  /** Undefined when no service was called. */
  readonly accounting: InvocationAccounting | undefined;
}

const NO_CALLS: InvocationEvent['calls'] = Object.freeze({});

export function invocationEvent(context: InvocationContext, ended: EndedInvocation): InvocationEvent {
  noteLimits(context, ended);
  const { kind, start, record, accounting } = ended;
  const { error, thrown } = record;
  const { method, url } = requestLine(start);
  return {
    account: context.account,
    function: context.function,
    version: context.version,
    invocation: record.id,
    kind,
    outcome: record.outcome,
    status: record.status,
    method,
    url,
    cpuMs: ended.cpuMs,
    wallMs: ended.wallMs,
    peakMemoryBytes: ended.peakBytes,
    requestBytes: ended.requestBytes,
    responseBytes: ended.responseBytes,
    subrequests: ended.subrequests,
    calls: accounting === undefined ? NO_CALLS : { ...accounting.calls },
    egressSentBytes: accounting?.egressSentBytes ?? 0,
    egressReceivedBytes: accounting?.egressReceivedBytes ?? 0,
    connectionsWaited: accounting?.gate.waitedCount ?? 0,
    logLines: record.logLines,
    warnings: record.warnings.all,
    error:
      error === undefined
        ? undefined
        : {
            code: error.code,
            name: thrown?.name || error.name,
            message: error.message,
            stack: thrown?.stack ?? '',
          },
  };
}

/** Limits that are looked at when the invocation is over, and only when somebody gets its event. */
function noteLimits(context: InvocationContext, ended: EndedInvocation): void {
  const { limits } = context;
  const { kind, start } = ended;
  const { warnings } = ended.record;
  warnings.note('cpuMs', ended.cpuMs, limits.cpuMs[kind]);
  warnings.note('memoryBytes', ended.peakBytes, limits.memoryBytes);
  warnings.note('waitUntilMs', ended.waitUntilMs, limits.waitUntilMs);
  if (ended.accounting !== undefined) warnings.note('connections', ended.accounting.gate.mostOpen, limits.connections);
  warnings.note('wallMs', ended.wallMs, limits.wallMs[kind]);
  if (start.kind !== HostOpens.Fetch) return;
  noteRequestHead(warnings, start.head, limits);
  warnings.note('bodyBytes', ended.requestBytes, limits.bodyBytes);
  warnings.note('responseBytes', ended.responseBytes, limits.responseBytes);
  if (limits.requestsPerDay === Number.POSITIVE_INFINITY && limits.requestsPerMinute === Number.POSITIVE_INFINITY)
    return;
  const { requestsPerDay, requestsPerMinute } = context.requests();
  warnings.note('requestsPerDay', requestsPerDay, limits.requestsPerDay);
  warnings.note('requestsPerMinute', requestsPerMinute, limits.requestsPerMinute);
}
