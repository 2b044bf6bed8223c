/** A zlib stream taken step by step. */
import type { Transform } from 'node:stream';
import { OpError } from '../arguments.js';

export interface Codec {
  /**
   * Takes in bytes and answers a piece of output, none when it needs more input. While it answers bytes, the next step is one
   * without input. The step with the last input says so, and so do those after it. One step at a time.
   */
  step(bytes: Uint8Array, isLast: boolean): Promise<Uint8Array>;
  close(): void;
}

const NOTHING = new Uint8Array(0);

export class ZlibCodec implements Codec {
  readonly #stream: Transform & { readonly bytesWritten: number };
  /** Whether bytes after the end of the data are left to the owner, see `leftover`. */
  readonly #keepsLeftover: boolean;
  #given = 0;
  #last: Uint8Array = NOTHING;
  #isInputTaken = true;
  #isInputOver = false;
  #isEnded = false;
  #error: Error | undefined;
  #wake: () => void = () => {};

  constructor(stream: Transform & { readonly bytesWritten: number }, keepsLeftover = false) {
    this.#stream = stream;
    this.#keepsLeftover = keepsLeftover;
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

  /** The data has come to its end, by itself or with the input. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Input after the end of the data. */
  get leftover(): Uint8Array {
    const count = this.#given - this.#stream.bytesWritten;
    return count > 0 ? this.#last.subarray(Math.max(0, this.#last.length - count)) : NOTHING;
  }

  async step(bytes: Uint8Array, isLast: boolean): Promise<Uint8Array> {
    this.#give(bytes, isLast);
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const piece: Uint8Array | null = this.#stream.read();
      if (piece !== null) return piece;
      if (this.#isEnded) {
        if (!this.#keepsLeftover && this.leftover.length > 0) throw trailingData();
        return NOTHING;
      }
      // With a remainder the end has been found, and its event is on its way.
      if (this.#isInputTaken && !this.#isInputOver && this.leftover.length === 0) return NOTHING;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#error ??= new OpError('TypeError', 'The stream was closed');
    this.#stream.destroy();
    this.#wake();
  }

  #give(bytes: Uint8Array, isLast: boolean): void {
    if (bytes.length > 0) {
      if (!this.#isInputTaken) throw new OpError('TypeError', 'The previous input is still being processed');
      this.#given += bytes.length;
      this.#last = bytes;
      if (this.#isEnded) return;
      this.#isInputTaken = false;
      this.#stream.write(bytes, () => {
        this.#isInputTaken = true;
        this.#wake();
      });
    }
    if (isLast && !this.#isInputOver) {
      this.#isInputOver = true;
      if (!this.#isEnded) this.#stream.end();
    }
  }
}

export function trailingData(): OpError {
  return new OpError('TypeError', 'There is more data after the end of the compressed data');
}
