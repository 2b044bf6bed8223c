import { NumericError } from '../numeric-code.js';

/** The errors of queues, by codes of their own. A code never changes its meaning. */
export const QUEUE_ERRORS = {
  10201: { status: 400, text: 'the message is too large' },
  10202: { status: 400, text: 'the batch is too large' },
  10203: { status: 400, text: 'the batch has too many messages' },
  10204: { status: 400, text: 'the delay is out of range' },
  10205: { status: 400, text: 'the queue name is not valid' },
  10206: { status: 404, text: 'the queue does not exist' },
  10207: { status: 409, text: 'the queue exists already' },
  10208: { status: 409, text: 'the queue is in use' },
  10209: { status: 400, text: 'the account has as many queues as it may' },
} as const;

export type QueueErrorCode = keyof typeof QUEUE_ERRORS;

/** An error of a queue, as functions see it: `Queue <method> failed: <text> (<code>)`. Decide by `code`. */
export class QueueError extends NumericError<QueueErrorCode> {
  /** The status of an HTTP response for this error. Not enumerable. */
  declare readonly status: number;

  constructor(method: string, code: QueueErrorCode, text: string = QUEUE_ERRORS[code].text) {
    super(code, `Queue ${method} failed: ${text} (${code})`);
    Object.defineProperty(this, 'status', { value: QUEUE_ERRORS[code].status, configurable: true });
  }
}
