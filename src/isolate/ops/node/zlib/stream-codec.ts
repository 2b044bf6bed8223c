/** A stream of node:zlib taken step by step, with the flushes that its writer asks for. */
import { OpError } from '../../arguments.js';
import type { ZlibStream } from './formats.js';

const NOTHING = new Uint8Array(0);

export enum Flush {
  /** More input follows. */
  None = 0,
  /** The end of the input. */
  Finish = -1,
}

export class StreamCodec {
  readonly #stream: ZlibStream;
  /** Writes and flushes that the stream has not finished. */
  #pending = 0;
  #isEnding = false;
  #isEnded = false;
  #error: Error | undefined;
  #wake: () => void = () => {};

  constructor(stream: ZlibStream) {
    this.#stream = stream;
    stream.on('readable', () => this.#wake());
    stream.on('end', () => {
      this.#isEnded = true;
      this.#wake();
    });
    stream.on('error', error => {
      this.#error = error;
      this.#wake();
    });
  }

  /** Bytes of input that it has processed. */
  get bytesWritten(): number {
    return this.#stream.bytesWritten;
  }

  /**
   * Takes in bytes and answers a piece of output, none when all of the input and the flush is processed. While it answers bytes, the next step is one
   * without input and without a flush. One step at a time.
   *
   * @param flush a flush of zlib after the input, or a value of Flush
   */
  async step(bytes: Uint8Array, flush: number): Promise<Uint8Array> {
    this.#give(bytes, flush);
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const piece: Uint8Array | null = this.#stream.read();
      if (piece !== null) return piece;
      if (this.#isEnded || (this.#pending === 0 && !this.#isEnding)) return NOTHING;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  params(level: number, strategy: number): Promise<undefined> {
    return new Promise((resolve, reject) => {
      if (this.#stream.params === undefined) throw new OpError('TypeError', 'The stream has no parameters to change');
      this.#stream.params(level, strategy, error => {
        if (error === undefined || error === null) resolve(undefined);
        else reject(error);
      });
    });
  }

  reset(): void {
    this.#stream.reset?.();
  }

  close(): void {
    this.#error ??= new OpError('Error', 'The stream was closed', 'ERR_STREAM_DESTROYED');
    this.#stream.destroy();
    this.#wake();
  }

  #give(bytes: Uint8Array, flush: number): void {
    if (this.#isEnded) return;
    const done = (): void => {
      this.#pending--;
      this.#wake();
    };
    if (bytes.length > 0) {
      if (this.#pending > 0) throw new OpError('TypeError', 'The previous input is still being processed');
      this.#pending++;
      this.#stream.write(bytes, done);
    }
    if (flush === Flush.Finish) {
      if (this.#isEnding) return;
      this.#isEnding = true;
      this.#stream.end();
    } else if (flush !== Flush.None) {
      this.#pending++;
      this.#stream.flush(flush, done);
    }
  }
}
