/** A Node stream as the body of a reply: bytes when asked for, and an end at any moment that frees the socket. */

import type { Readable } from 'node:stream';

/**
 * An iterable over the chunks of `readable`. Unlike the stream's own iterator, `return()` ends the stream at once: before
 * the first chunk was asked for (an async generator would not even start), and while a chunk is awaited (it would wait).
 *
 * @param toError turns the stream's error into the one that the reader gets
 */
export function bodyStream(readable: Readable, toError: (error: unknown) => Error): AsyncIterable<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = readable[Symbol.asyncIterator]();
  let isCanceled = false;
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (isCanceled) return DONE;
      try {
        return await chunks.next();
      } catch (error) {
        if (isCanceled) return DONE;
        throw toError(error);
      }
    },
    async return() {
      isCanceled = true;
      destroyQuietly(readable);
      return DONE;
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Ends a stream whose errors nobody waits for any more. */
export function destroyQuietly(readable: Readable): void {
  readable.on('error', () => {});
  readable.destroy();
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
