/** The errors that end an invocation from outside: limits, and the loss of its isolate. */

import type { LossReason, LossUsage } from '../../pool/isolate-handle.js';
import { EdgeError, type EdgeErrorCode } from '../../quotas/errors.js';
import { limitError } from '../../quotas/limit-error.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { InvocationOutcome } from '../events.js';

/** Whose error it is. */
export interface InvocationSubject {
  readonly account: string;
  readonly function: string;
  readonly limits: ResolvedLimits;
}

/** How an invocation ends when its isolate does. */
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
  silent: { code: 'EDGE_ISOLATE_LOST', outcome: 'isolateLost' },
};

/** The reason with which an isolate fails an invocation that has used up its CPU time: the code, and the milliseconds. */
const CPU_REASON = /^EDGE_CPU_LIMIT (\d{1,12}(?:\.\d{1,3})?)$/;

/** The CPU milliseconds that a reason of failure tells; undefined when it is about something else. */
export function cpuOfReason(reason: string): number | undefined {
  const [, figure] = CPU_REASON.exec(reason) ?? [];
  return figure === undefined ? undefined : Number(figure);
}

/** The same for memory: the code, and the bytes that the isolate held. */
const MEMORY_REASON = /^EDGE_MEMORY_LIMIT (\d{1,15})$/;

/** The bytes that a reason of failure tells; undefined when it is about something else. */
export function memoryOfReason(reason: string): number | undefined {
  const [, figure] = MEMORY_REASON.exec(reason) ?? [];
  return figure === undefined ? undefined : Number(figure);
}

/** `figure` is what was last seen: a bomb is seen when it has gone off, so it held more. */
export function memoryError(subject: InvocationSubject, kind: InvocationKind, figure: number): EdgeError {
  const allowed = subject.limits.memoryBytes;
  return exceeded(subject, 'EDGE_MEMORY_LIMIT', 'memoryBytes', kind, Math.max(figure, allowed), allowed);
}

/** `figure` is what the isolate said: when that is not past the limit, nothing is known but that it was passed. */
export function cpuError(subject: InvocationSubject, kind: InvocationKind, figure: number): EdgeError {
  const allowed = subject.limits.cpuMs[kind];
  return exceeded(subject, 'EDGE_CPU_LIMIT', 'cpuMs', kind, Math.max(figure, allowed), allowed);
}

export function wallTimeError(subject: InvocationSubject, kind: InvocationKind, figure: number): EdgeError {
  return exceeded(subject, 'EDGE_WALL_TIME_LIMIT', 'wallMs', kind, figure, subject.limits.wallMs[kind]);
}

/** waitUntil of an invocation that no client waits for was not done in its time. */
export function waitUntilError(subject: InvocationSubject, kind: InvocationKind): EdgeError {
  const { waitUntilMs } = subject.limits;
  return exceeded(subject, 'EDGE_CANCELED', 'waitUntilMs', kind, waitUntilMs, waitUntilMs);
}

/** @param idleMs what the owner of the host allows, option `idleHttpMs` */
export function idleError({ account, function: name }: InvocationSubject, idleMs: number): EdgeError {
  return new EdgeError(
    'EDGE_WALL_TIME_LIMIT',
    `Cannot finish the fetch invocation of function "${name}" of account "${account}": nothing of it has moved for ${idleMs} ms (option idleHttpMs of the host)`,
  );
}

export function responseError(subject: InvocationSubject, figure: number): EdgeError {
  return exceeded(subject, 'EDGE_RESPONSE_STREAM', 'responseBytes', 'fetch', figure, subject.limits.responseBytes);
}

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

const WHAT: Readonly<Partial<Record<LossReason, string>>> = {
  cell: 'the process of its account ended',
  hoard: 'the process of its account was ended',
  bystander: 'another request of the function used more CPU time or memory than its limit, which ended the isolate',
  removed: 'its account was removed',
  silent: 'its time was up, and its isolate did not say that it had ended',
};

function exceeded(
  { account, function: name, limits }: InvocationSubject,
  code: EdgeErrorCode,
  limit: 'cpuMs' | 'wallMs' | 'waitUntilMs' | 'memoryBytes' | 'responseBytes',
  kind: InvocationKind,
  figure: number,
  allowed: number,
): EdgeError {
  const subject = `finish the ${kind} invocation of function "${name}" of account "${account}"`;
  return limitError(code, { limit, subject, figure, allowed, plan: limits.plan });
}
