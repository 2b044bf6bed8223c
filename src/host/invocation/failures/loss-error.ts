/** How an invocation ends when its isolate is lost. */
import type { LossReason, LossUsage } from '../../../pool/host/isolate-loss.js';
import { EdgeError, type EdgeErrorCode } from '../../../quotas/errors.js';
import type { InvocationKind } from '../../../quotas/limits.js';
import type { InvocationOutcome } from '../../events.js';
import { cpuError, type InvocationSubject, memoryError } from './invocation-errors.js';

export const LOSSES: Readonly<
  Record<LossReason, { readonly code: EdgeErrorCode; readonly outcome: InvocationOutcome }>
> = {
  cpu: { code: 'EDGE_CPU_LIMIT', outcome: 'exceededCpu' },
  bystander: { code: 'EDGE_ISOLATE_LOST', outcome: 'isolateLost' },
  startup: { code: 'EDGE_STARTUP_LIMIT', outcome: 'exceededCpu' },
  memory: { code: 'EDGE_MEMORY_LIMIT', outcome: 'exceededMemory' },
  closed: { code: 'EDGE_CLOSED', outcome: 'canceled' },
  exit: { code: 'EDGE_ISOLATE_LOST', outcome: 'isolateLost' },
  failed: { code: 'EDGE_ISOLATE_LOST', outcome: 'isolateLost' },
  cell: { code: 'EDGE_CELL_LOST', outcome: 'isolateLost' },
  hoard: { code: 'EDGE_MEMORY_LIMIT', outcome: 'exceededMemory' },
  protocol: { code: 'EDGE_PROTOCOL', outcome: 'isolateLost' },
  removed: { code: 'EDGE_ACCOUNT_REMOVED', outcome: 'canceled' },
  unresponsive: { code: 'EDGE_ISOLATE_LOST', outcome: 'isolateLost' },
};

const WHAT: Readonly<Partial<Record<LossReason, string>>> = {
  cell: 'the process of its account ended',
  hoard: 'the process of its account was ended',
  bystander: 'other work of the function used more CPU time or memory than its limit, which ended the isolate',
  removed: 'its account was removed',
  unresponsive: 'its time was up, and its isolate did not say that it had ended',
};

export function lossError(
  subject: InvocationSubject,
  kind: InvocationKind,
  reason: LossReason,
  detail: string,
  { cpuMs, memoryBytes }: LossUsage,
): EdgeError {
  if (reason === 'cpu') return cpuError(subject, kind, cpuMs);
  if (reason === 'memory') return memoryError(subject, kind, memoryBytes);
  return new EdgeError(
    LOSSES[reason].code,
    `Function "${subject.function}" was interrupted: ${WHAT[reason] ?? `its isolate ended (${reason})`}${detail === '' ? '' : `: ${detail}`}`,
  );
}

/** A memory bomb is noticed after it has exploded: it then holds more than the last measurement shows. */
export function peakBytesAt(reason: LossReason, { limits }: InvocationSubject, { memoryBytes }: LossUsage): number {
  return reason === 'memory' ? Math.max(memoryBytes, limits.memoryBytes) : memoryBytes;
}
