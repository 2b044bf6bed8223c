/** A call, or a part of one, that the other process answers: one exchange of the control connection, with a body in each direction. */
import type { ServiceBody } from '../../bindings/service.js';
import type { Channel } from '../../protocol/channel.js';
import { guarded } from '../../quotas/guarded.js';
import type { BindingErrors } from './errors.js';
import { bodyOf, OutgoingCall } from './outgoing-call.js';
import { sendBody } from './send-body.js';

export interface ForwardedAnswer {
  /** 101: the call has opened a WebSocket, and its bodies carry the messages of that. */
  readonly status: number;
  readonly head: string;
  /** Undefined without a body. */
  readonly body: ServiceBody | undefined;
}

/**
 * Rejects with the error that the other end has failed it with, with EDGE_SERVICES_LOST when the connection ends, and with the reason of `signal` when
 * that fires before the answer.
 *
 * @param errors the rows of the bindings whose errors the other end may fail it with. @default the bindings of the package
 */
export async function forward(
  channel: Channel,
  kind: number,
  head: string,
  body: ServiceBody | null,
  signal?: AbortSignal,
  errors?: BindingErrors,
): Promise<ForwardedAnswer> {
  signal?.throwIfAborted();
  const call = new OutgoingCall(channel, head, bodyOf(body), kind, errors);
  if (body !== null && !(body instanceof Uint8Array)) sendBody(channel, call, endedLate(body));
  const abort = guarded((): void => call.giveUp(signal?.reason));
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const answer = await call.reply;
    const isEmpty = answer.body instanceof Uint8Array && answer.body.length === 0;
    return { status: answer.status, head: answer.head, body: isEmpty ? undefined : answer.body };
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** The caller learns why the call has failed before its body is refused: an isolate would take it for one that is not read to its end. */
function endedLate(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    next: () => source.next(),
    async return() {
      await new Promise(resolve => setImmediate(resolve));
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
