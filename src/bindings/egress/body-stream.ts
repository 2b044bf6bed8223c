/** A Node stream as the body of a reply: bytes when asked for, and an end at any moment that frees the socket. */

import type { Readable } from 'node:stream';
import { guarded } from '../../quotas/guarded.js';

/**
 * An iterable over the chunks of `readable`. Unlike the stream's own iterator, `return()` ends the stream at once: before
 * the first chunk was asked for (an async generator would not even start), and while a chunk is awaited (it would wait).
 *
 * @param toError turns the stream's error into the one that the reader gets
 */
export function bodyStream(readable: Readable, toError: (error: unknown) => Error): AsyncIterable<Uint8Array> {
  const body = new BodyIterator(readable, toError);
  return { [Symbol.asyncIterator]: () => body };
}

/** Ends a stream and ignores its errors from now on. */
export function destroyQuietly(readable: Readable): void {
  readable.on('error', () => {});
  readable.destroy();
}

class BodyIterator implements AsyncIterator<Uint8Array> {
  readonly #readable: Readable;
  readonly #toError: (error: unknown) => Error;
  #isListening = false;
  #isCanceled = false;
  /** `next()` waits for this: the stream has data, has ended or has failed. */
  #movement: Promise<void> | undefined;
  #moved: (() => void) | undefined;

  constructor(readable: Readable, toError: (error: unknown) => Error) {
    this.#readable = readable;
    this.#toError = toError;
    // An error that comes before the first call of `next()` is kept for that call.
    readable.on(
      'error',
      guarded(() => this.#move()),
    );
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#listen();
    for (;;) {
      const readable = this.#readable;
      if (this.#isCanceled) return DONE;
      if (readable.errored !== null) throw this.#toError(readable.errored);
      const chunk: unknown = readable.read();
      if (chunk instanceof Uint8Array) return { done: false, value: chunk };
      if (readable.readableEnded) return DONE;
      if (readable.closed) throw this.#toError(new Error('the stream was closed'));
      this.#movement ??= new Promise(resolve => {
        this.#moved = resolve;
      });
      await this.#movement;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isCanceled = true;
    destroyQuietly(this.#readable);
    this.#move();
    return DONE;
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    const move = guarded((): void => this.#move());
    this.#readable.on('readable', move).on('end', move).on('close', move);
  }

  #move(): void {
    this.#moved?.();
    this.#moved = undefined;
    this.#movement = undefined;
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
