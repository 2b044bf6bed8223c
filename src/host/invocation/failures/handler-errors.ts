/** The errors of a function's own actions: exceptions of its handler, and invalid answers. */

import { MAX_REPLY_HEAD_CHARACTERS } from '../../../isolate/ops/table.js';
import { isWrongLength } from '../../../protocol/bodies/incoming-body.js';
import { type HandlerFailure, STALLED_REASON } from '../../../protocol/messages.js';
import { EdgeError } from '../../../quotas/errors.js';
import type { InvocationKind } from '../../../quotas/limits.js';
import type { InvocationOutcome } from '../../events.js';
import type { InvocationContext } from '../invocation-context.js';
import { cpuError, cpuOfReason, memoryError, memoryOfReason, responseError } from './invocation-errors.js';
import { positionIn } from './load-failure.js';

/**
 * An exception of a handler, as the error that ends its invocation. `message` and `stack` are the function's texts, as far as they are recorded; the stack has
 * the function's own files alone.
 */
export function handlerError(
  functionName: string,
  { code, name }: Pick<HandlerFailure, 'code' | 'name'>,
  message: string,
  stack: string,
): EdgeError {
  const cause = new Error(message);
  cause.name = name;
  cause.stack = stack === '' ? `${name}: ${message}` : stack;
  const what = code === 'EDGE_NO_RESPONSE' ? 'returned no Response' : `threw ${name}`;
  const location = positionIn(stack);
  return new EdgeError(code, `The handler of function "${functionName}" ${what}: ${message}`, {
    cause,
    ...(location !== undefined && { location }),
  });
}

/** The handler failed, and the isolate did not say of what. */
export function unexplainedError(): EdgeError {
  return new EdgeError('EDGE_HANDLER_THREW', 'The handler failed');
}

/** A stateful object's write before its answer was not stored. @param failure "Name\nmessage\ncode" */
export function notStoredFailure(failure: string): HandlerFailure {
  const [name = 'Error', message = ''] = failure.split('\n');
  return { code: 'EDGE_OBJECT_RESET', name: name === 'EdgeError' ? 'Error' : name, message, stack: '' };
}

/** It ended, and nothing was heard of an answer. */
export function noAnswerError(name: string, reason?: string): EdgeError {
  const why = reason === undefined ? '' : `: ${inWords(reason)}`;
  return new EdgeError('EDGE_HANDLER_THREW', `Function "${name}" ended without an answer${why}`);
}

/** Nothing is pending that could settle what the handler waits for. */
function stalledError(name: string): EdgeError {
  return new EdgeError(
    'EDGE_HANDLER_STALLED',
    `The handler of function "${name}" can never answer: it waits for a promise, and no timer, call or other work is pending that could settle it`,
  );
}

/** The caller has waited as long as it wanted to. */
export function timeoutError(name: string, timeoutMs: number): EdgeError {
  return new EdgeError(
    'EDGE_TIMEOUT',
    `Cannot wait longer for function "${name}": it has not answered within ${timeoutMs} ms (option timeoutMs)`,
  );
}

/** The error for the reason with which the isolate fails an invocation. */
export function isolateFailure(
  context: InvocationContext,
  kind: InvocationKind,
  reason: string,
  isAnswered: boolean,
): { readonly error: EdgeError; readonly outcome: InvocationOutcome } {
  const { function: name } = context;
  const cpuMs = cpuOfReason(reason);
  if (cpuMs !== undefined) return { error: cpuError(context, kind, cpuMs), outcome: 'exceededCpu' };
  const memoryBytes = memoryOfReason(reason);
  if (memoryBytes !== undefined) return { error: memoryError(context, kind, memoryBytes), outcome: 'exceededMemory' };
  return { error: failureError(name, reason, isAnswered), outcome: 'exception' };
}

function failureError(name: string, reason: string, isAnswered: boolean): EdgeError {
  if (reason === STALLED_REASON) return stalledError(name);
  if (!isAnswered) return noAnswerError(name, reason);
  if (isWrongLength(reason)) {
    const why = 'its Content-Length is not the length of its body';
    return new EdgeError('EDGE_RESPONSE_HEADER', `The response of function "${name}" is cut off: ${why}`);
  }
  return new EdgeError('EDGE_RESPONSE_STREAM', `The response body of function "${name}" failed: ${inWords(reason)}`);
}

/** The error for an answer that does not reach the client; undefined for one that does. */
export function refusedAnswer(
  context: InvocationContext,
  status: number,
  head: string,
  bodyBytes: number,
): EdgeError | undefined {
  // After a 1xx the client waits for another answer, and a proxy may take what follows for a protocol of its own.
  if (status < 200 || status > 599 || head.length > MAX_REPLY_HEAD_CHARACTERS) {
    const what = `with status ${status} and a head of ${head.length} bytes`;
    return new EdgeError('EDGE_PROTOCOL', `The isolate answered ${what}`);
  }
  return bodyBytes > context.limits.responseBytes ? responseError(context, bodyBytes) : undefined;
}

/** A reason is plain text or "Name\nmessage\ncode", as errors travel. */
function inWords(reason: string): string {
  const [name = '', message] = reason.split('\n');
  return message === undefined ? reason : `${name}: ${message}`;
}
