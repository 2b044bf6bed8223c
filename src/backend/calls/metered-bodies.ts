/** The bodies of a call, which report to the limiter when something is read or written, so that it can see a deadlock. */
import type { Connection } from '../../quotas/connection-limiter.js';

/** The body of the answer. No generator, which could not be ended while it waits for a chunk. */
export function meteredAnswer(body: AsyncIterable<Uint8Array>, connection: Connection): AsyncIterable<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      connection.beginRead();
      try {
        return await source.next();
      } finally {
        connection.endRead();
      }
    },
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The body that the function sends. A chunk is being written until the service asks for the next one. No generator either. */
export function meteredUpload(
  body: AsyncIterable<Uint8Array>,
  connection: Connection,
): AsyncIterableIterator<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    taken();
    await source.return?.();
    return { done: true, value: undefined };
  };
  let isWriting = false;
  const taken = (): void => {
    if (isWriting) connection.endWrite();
    isWriting = false;
  };
  const iterator: AsyncIterableIterator<Uint8Array> = {
    async next() {
      taken();
      const result = await source.next();
      if (result.done === true) return result;
      try {
        connection.beginWrite();
      } catch (error) {
        await end();
        throw error;
      }
      isWriting = true;
      return result;
    },
    return: end,
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/**
 * The reads of a function from a connection that stays open while nobody uses it. The host itself always waits for the next bytes, so the isolate reports
 * whether function code does: when it is asked, and until something comes.
 */
export class FunctionReads {
  readonly #connection: Connection;
  #isReading = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The isolate reports that function code waits for the next bytes. */
  begin(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#connection.beginRead();
  }

  /** The received bytes, as the body of the answer. */
  metered(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const source = body[Symbol.asyncIterator]();
    const iterator: AsyncIterator<Uint8Array> = {
      next: async () => {
        try {
          return await source.next();
        } finally {
          this.#moved();
        }
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  }

  /** Something has come, or the end: whatever the isolate has said before is out of date. */
  #moved(): void {
    if (!this.#isReading) this.#connection.beginRead();
    this.#isReading = false;
    this.#connection.endRead();
  }
}
