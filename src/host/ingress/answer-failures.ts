/** Why the answer of a function cannot be sent to its client. */
import { EdgeError, errorCode } from '../../quotas/errors.js';
import type { ResponseHead } from './http-head.js';
import { HeadTooLongError, unsendablePart } from './response-head.js';

/** @param head undefined when it could not even be read */
export function answerFailure(name: string, error: unknown, head: ResponseHead | undefined): EdgeError {
  const response = `The response of function "${name}"`;
  if (head === undefined) {
    return new EdgeError('EDGE_PROTOCOL', `${response} cannot be sent: ${String(error)}`, { cause: error });
  }
  const part = error instanceof HeadTooLongError ? error.message : unsendablePart(head.statusText, head.headers);
  return part === undefined
    ? new EdgeError('EDGE_INTERNAL', `${response} could not be sent: ${String(error)}`, { cause: error })
    : new EdgeError('EDGE_RESPONSE_HEADER', `${response} cannot be sent over HTTP: ${part}`);
}

/** The head has been sent, and the rest has failed. */
export function bodyFailure(name: string, cause: unknown): EdgeError {
  return errorCode(cause) === 'ERR_HTTP_CONTENT_LENGTH_MISMATCH'
    ? new EdgeError(
        'EDGE_RESPONSE_HEADER',
        `The response of function "${name}" is cut off: its Content-Length is not the length of its body`,
      )
    : new EdgeError('EDGE_INTERNAL', `The response of function "${name}" could not be sent: ${String(cause)}`, {
        cause,
      });
}
