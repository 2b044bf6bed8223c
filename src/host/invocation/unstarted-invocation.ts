/** Invocations that came to nothing because their function could not be started: they have an event like all others. */
import { EdgeError, type EdgeErrorCode } from '../../quotas/errors.js';
import type { InvocationEvent, InvocationOutcome } from '../events.js';
import type { InvocationTrace } from '../telemetry/trace.js';
import type { InvocationContext } from './invocation-context.js';
import { type InvocationStart, kindOf, nextSerial, objectOf, requestLine } from './invocation-start.js';
import { invocationId } from './reports/invocation-id.js';
import { rpcMethodOf } from './reports/rpc-method.js';

/** How it ended, by the error of the start. All other errors are the script's. */
const OUTCOMES: Readonly<Partial<Record<EdgeErrorCode, InvocationOutcome>>> = {
  EDGE_STARTUP_LIMIT: 'exceededCpu',
  EDGE_MEMORY_LIMIT: 'exceededMemory',
  EDGE_CLOSED: 'canceled',
  EDGE_FUNCTION_UNLOADED: 'canceled',
  EDGE_ISOLATE_LOST: 'isolateLost',
  EDGE_CELL_LOST: 'isolateLost',
  EDGE_CELL_START: 'isolateLost',
  EDGE_OVERLOADED: 'isolateLost',
  EDGE_WALL_TIME_LIMIT: 'exceededWallTime',
  EDGE_TIMEOUT: 'exceededWallTime',
};

const NOTHING_USED = {
  cpuMs: 0,
  peakBytes: 0,
  requestBytes: 0,
  responseBytes: 0,
  subrequests: 0,
  accounting: undefined,
} as const;

/** @param wallMs how long it has waited for the start */
export function reportUnstarted(
  context: InvocationContext,
  start: InvocationStart,
  cause: unknown,
  wallMs: number,
  trace: InvocationTrace | undefined,
): void {
  const error = cause instanceof EdgeError ? cause : new EdgeError('EDGE_INTERNAL', String(cause), { cause });
  const kind = kindOf(start);
  const outcome = OUTCOMES[error.code] ?? 'exception';
  const event = (): InvocationEvent => {
    const { method, url } = requestLine(start);
    const { account, function: name, version } = context;
    return {
      account,
      function: name,
      version,
      invocation: invocationId(nextSerial()),
      kind,
      ...objectOf(start),
      outcome,
      status: undefined,
      method,
      url,
      rpcMethod: rpcMethodOf(start),
      cpuMs: 0,
      wallMs,
      peakMemoryBytes: 0,
      requestBytes: 0,
      responseBytes: 0,
      subrequests: 0,
      calls: {},
      egressSentBytes: 0,
      egressReceivedBytes: 0,
      connectionsWaited: 0,
      logLines: 0,
      warnings: [],
      error: { code: error.code, name: error.name, message: error.message, stack: '' },
    };
  };
  context.onFinished(outcome, { ...NOTHING_USED, kind, wallMs }, event, trace);
}
