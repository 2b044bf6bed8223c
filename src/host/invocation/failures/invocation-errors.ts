/** The errors of limits that end an invocation from outside. */

import { EdgeError, type EdgeErrorCode } from '../../../quotas/errors.js';
import { limitError } from '../../../quotas/limit-error.js';
import type { InvocationKind } from '../../../quotas/limits.js';
import type { ResolvedLimits } from '../../../quotas/resolve-limits.js';

/** The function that an error is about. */
export interface InvocationSubject {
  readonly account: string;
  readonly function: string;
  readonly limits: ResolvedLimits;
}

/** The reason with which an isolate fails an invocation that has used up its CPU time: the code, and the milliseconds. */
const CPU_REASON = /^EDGE_CPU_LIMIT (\d{1,12}(?:\.\d{1,3})?)$/;

/** An invocation that has taken this multiple of its limit was one of the first of its isolate (limits.md). */
const FAR_BEYOND = 2;

/** The CPU milliseconds that a reason of failure states; undefined when it is about something else. */
export function cpuOfReason(reason: string): number | undefined {
  const [, actual] = CPU_REASON.exec(reason) ?? [];
  return actual === undefined ? undefined : Number(actual);
}

/** The same for memory: the code, and the bytes that the isolate held. */
const MEMORY_REASON = /^EDGE_MEMORY_LIMIT (\d{1,15})$/;

/** The bytes that a reason of failure states; undefined when it is about something else. */
export function memoryOfReason(reason: string): number | undefined {
  const [, actual] = MEMORY_REASON.exec(reason) ?? [];
  return actual === undefined ? undefined : Number(actual);
}

/** `actual` is the last value seen: an excess is noticed afterwards, so the isolate held more. */
export function memoryError(subject: InvocationSubject, kind: InvocationKind, actual: number): EdgeError {
  const allowed = subject.limits.memoryBytes;
  return exceeded(subject, 'EDGE_MEMORY_LIMIT', 'memoryBytes', kind, Math.max(actual, allowed), allowed);
}

/** `actual` is what the isolate said: when that is not past the limit, nothing is known but that it was passed. */
export function cpuError(subject: InvocationSubject, kind: InvocationKind, actual: number): EdgeError {
  const allowed = subject.limits.cpuMs[kind];
  const error = exceeded(subject, 'EDGE_CPU_LIMIT', 'cpuMs', kind, Math.max(actual, allowed), allowed);
  // An author who sees many times the limit wonders whether it holds at all.
  if (actual > FAR_BEYOND * allowed)
    error.message += '; one of the first invocations of an isolate may take more than the limit, for what it compiles';
  return error;
}

export function wallTimeError(subject: InvocationSubject, kind: InvocationKind, actual: number): EdgeError {
  return exceeded(subject, 'EDGE_WALL_TIME_LIMIT', 'wallMs', kind, actual, subject.limits.wallMs[kind]);
}

/** @param idleMs what the owner of the host allows, option `idleHttpMs` */
export function idleError({ account, function: name }: InvocationSubject, idleMs: number): EdgeError {
  return new EdgeError(
    'EDGE_WALL_TIME_LIMIT',
    `Cannot finish the fetch invocation of function "${name}" of account "${account}": nothing of it has moved for ${idleMs} ms (option idleHttpMs of the host)`,
  );
}

export function responseError(subject: InvocationSubject, actual: number): EdgeError {
  return exceeded(subject, 'EDGE_RESPONSE_STREAM', 'responseBytes', 'fetch', actual, subject.limits.responseBytes);
}

function exceeded(
  { account, function: name, limits }: InvocationSubject,
  code: EdgeErrorCode,
  limit: 'cpuMs' | 'wallMs' | 'memoryBytes' | 'responseBytes',
  kind: InvocationKind,
  actual: number,
  allowed: number,
): EdgeError {
  const subject = `finish the ${kind} invocation of function "${name}" of account "${account}"`;
  return limitError(code, { limit, subject, actual, allowed, plan: limits.plan });
}
