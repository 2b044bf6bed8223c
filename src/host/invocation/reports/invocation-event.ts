/** The event of an invocation that is over. Made only when there is a listener. */
import { HostOpens } from '../../../protocol/messages.js';
import type { InvocationEvent } from '../../events.js';
import type { InvocationContext } from '../invocation-context.js';
import { objectOf, requestLine, runOf } from '../invocation-start.js';
import type { InvocationRecord } from './invocation-record.js';
import { noteRequestHead } from './request-warnings.js';
import { rpcMethodOf } from './rpc-method.js';

const NO_CALLS: InvocationEvent['calls'] = Object.freeze({});

export function invocationEvent(context: InvocationContext, record: InvocationRecord): InvocationEvent {
  noteLimits(context, record);
  const { kind, start, accounting, error, thrown } = record;
  const { method, url } = requestLine(start);
  return {
    account: context.account,
    function: context.function,
    version: context.version,
    invocation: record.id,
    kind,
    ...objectOf(start),
    ...runOf(start),
    outcome: record.outcome,
    status: record.status,
    method,
    url,
    rpcMethod: rpcMethodOf(start),
    cpuMs: record.cpuMs,
    wallMs: record.wallMs,
    peakMemoryBytes: record.peakBytes,
    requestBytes: record.requestBytes,
    responseBytes: record.responseBytes,
    subrequests: record.subrequests,
    calls: accounting === undefined ? NO_CALLS : { ...accounting.calls },
    egressSentBytes: accounting?.egressSentBytes ?? 0,
    egressReceivedBytes: accounting?.egressReceivedBytes ?? 0,
    connectionsWaited: accounting?.connectionsWaited ?? 0,
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
function noteLimits(context: InvocationContext, record: InvocationRecord): void {
  const { limits } = context;
  const { kind, start, warnings } = record;
  warnings.note('cpuMs', record.cpuMs, limits.cpuMs[kind]);
  warnings.note('memoryBytes', record.peakBytes, limits.memoryBytes);
  warnings.note('waitUntilMs', record.waitUntilMs, limits.waitUntilMs);
  if (record.accounting !== undefined)
    warnings.note('connections', record.accounting.connectionsOpen, limits.connections);
  warnings.note('wallMs', record.wallMs, limits.wallMs[kind]);
  if (start.kind !== HostOpens.Fetch) return;
  noteRequestHead(warnings, start.head, limits);
  warnings.note('bodyBytes', record.requestBytes, limits.bodyBytes);
  warnings.note('responseBytes', record.responseBytes, limits.responseBytes);
  if (limits.requestsPerDay === Number.POSITIVE_INFINITY && limits.requestsPerMinute === Number.POSITIVE_INFINITY)
    return;
  const { requestsPerDay, requestsPerMinute } = context.requests();
  warnings.note('requestsPerDay', requestsPerDay, limits.requestsPerDay);
  warnings.note('requestsPerMinute', requestsPerMinute, limits.requestsPerMinute);
}
