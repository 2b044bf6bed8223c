/** The body that comes with an answer, as chunks whose memory belongs to their reader. */
import type { Exchange } from '../../protocol/exchange.js';

const MAX_CHUNK_BYTES = 256 * 1024;

/** No generator: it is ended at once, also while a chunk is awaited. */
export class IncomingStream implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #exchange: Exchange;
  /** The error that the reader gets when the exchange has failed. */
  readonly #failure: () => Error;
  #wake: (() => void) | undefined;
  #isFinished = false;

  constructor(exchange: Exchange, failure: () => Error) {
    this.#exchange = exchange;
    this.#failure = failure;
  }

  /** It fails when it ends with another length. */
  expect(bytes: number): void {
    this.#exchange.expect(bytes);
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#isFinished) return { done: true, value: undefined };
      const chunk = this.#exchange.read(MAX_CHUNK_BYTES);
      if (chunk !== undefined) return { done: false, value: ownBytes(chunk) };
      const { incoming } = this.#exchange;
      if (incoming !== 'open') this.#isFinished = true;
      if (incoming === 'failed') throw this.#failure();
      if (incoming === 'open') {
        await new Promise<void>(resolve => {
          this.#wake = resolve;
        });
      }
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Reads no more, and has the other end stop. */
  end(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#exchange.stopReading('No more is read');
    this.changed();
  }

  /** More has come, or the exchange is over. */
  changed(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** Memory that nothing else refers to: its owner may transfer it. */
function ownBytes(chunk: Buffer): Uint8Array {
  return chunk.byteLength === chunk.buffer.byteLength ? new Uint8Array(chunk.buffer) : new Uint8Array(chunk);
}
