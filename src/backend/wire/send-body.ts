/** The body of a request to the backend process, with a trailer at its end. */
import type { Channel } from '../../protocol/channel.js';
import { detached } from '../../quotas/guarded.js';
import type { AtEnd } from './calls.js';
import { ApplicationSignal } from './messages.js';
import type { OutgoingCall } from './outgoing-call.js';

/**
 * Sends the body as fast as the other end reads it. When it fails, so does the call, with the error of the body itself; when the other end wants no
 * more of it, it is ended.
 *
 * @param atEnd called when the body was read to its end: the other end gets the result before the end of the body
 */
export function sendBody(channel: Channel, call: OutgoingCall, body: AsyncIterable<Uint8Array>, atEnd?: AtEnd): void {
  const source = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const result = await source.next();
        if (result.done === true && atEnd !== undefined) {
          const trailer = { result: await atEnd() };
          channel.signal(call.exchange.id, ApplicationSignal.Trailer, JSON.stringify(trailer));
        }
        return result;
      } catch (error) {
        call.giveUp(error);
        throw error;
      }
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  detached(call.send({ [Symbol.asyncIterator]: () => iterator }));
}
