/** The errors of what a function itself did: what its handler threw, and answers that are none. */
import { MAX_REPLY_HEAD_CHARACTERS } from '../../isolate/ops/table.js';
import type { HandlerFailure } from '../../protocol/messages.js';
import { EdgeError } from '../../quotas/errors.js';
import type { InvocationContext } from './invocation-context.js';
import { responseError } from './invocation-errors.js';
import { positionIn } from './load-failure.js';

/**
 * What a handler threw, as the error that ends its invocation. `message` and `stack` are the function's texts, as far as they are recorded; the
 * stack has the function's own files alone.
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

/** It ended, and nothing was heard of an answer. */
export function noAnswerError(name: string, reason?: string): EdgeError {
  const why = reason === undefined ? '' : `: ${inWords(reason)}`;
  return new EdgeError('EDGE_HANDLER_THREW', `Function "${name}" ended without an answer${why}`);
}

export function brokenBodyError(name: string, reason: string): EdgeError {
  return new EdgeError('EDGE_RESPONSE_STREAM', `The response body of function "${name}" failed: ${inWords(reason)}`);
}

/** Why an answer does not go on to the client; undefined when it does. */
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
