/**
 * Streams that the application hands over: bodies of its Requests and Responses. Ended early, they are cancelled here and nowhere else.
 *
 * From undici 7.20 on, as in Node 24 and 26, the body of a Request or Response made from a FormData enqueues chunks even after it was cancelled. That throws
 * where it cannot be caught, and the unhandled rejection ends the application. Undici looks before each chunk whether the stream is errored, by the property
 * that `stream.isErrored()` reads: so it is set before the stream is cancelled.
 */

const ERRORED = Symbol.for('nodejs.stream.errored');

/** The part of a ReadableStreamDefaultReader that is used here. */
interface Canceller {
  cancel(reason?: unknown): Promise<void>;
}

/**
 * Cancels the stream that `reader` reads, and does not wait for its source: one that never says that it is done would hold the call that has
 * failed, or its answer, indefinitely. Never rejects.
 */
export async function cancelQuietly(stream: object, reader: Canceller): Promise<void> {
  // Answers false for a stream that is not extensible; undici's streams are extensible.
  Reflect.defineProperty(stream, ERRORED, { value: true, configurable: true });
  void reader.cancel().catch(() => {});
}

/** The chunks of a stream. Unlike its own iterator, `return()` ends it at once, also while a chunk is awaited. */
export function chunksOf<Chunk>(stream: ReadableStream<Chunk>): AsyncIterable<Chunk> {
  return { [Symbol.asyncIterator]: () => new Chunks(stream) };
}

class Chunks<Chunk> implements AsyncIterator<Chunk, undefined> {
  readonly #stream: ReadableStream<Chunk>;
  readonly #reader: ReadableStreamDefaultReader<Chunk>;

  constructor(stream: ReadableStream<Chunk>) {
    this.#stream = stream;
    this.#reader = stream.getReader();
  }

  async next(): Promise<IteratorResult<Chunk, undefined>> {
    const { done, value } = await this.#reader.read();
    return done ? { done, value: undefined } : { done, value };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    await cancelQuietly(this.#stream, this.#reader);
    return { done: true, value: undefined };
  }
}
