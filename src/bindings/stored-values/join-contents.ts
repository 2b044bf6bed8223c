/** Several values as one body, end to end. */
import type { StoredContent } from './stored-content.js';
import { INLINE_BYTES } from './value-sizes.js';

/**
 * The bytes of the contents in chunks: small values together, large ones as they are read. Ended early, it releases those that are left. No generator,
 * which could not be ended while it waits for a chunk.
 */
export class JoinedContents implements AsyncIterableIterator<Uint8Array> {
  readonly #contents: readonly StoredContent[];
  /** The next content to be opened. */
  #index = 0;
  #source: AsyncIterator<Uint8Array> | undefined;
  #isOver = false;

  readonly #onEnd: () => void;

  /** @param onEnd called once, when all has been read or nothing more will be */
  constructor(contents: readonly StoredContent[], onEnd: () => void) {
    this.#contents = contents;
    this.#onEnd = onEnd;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      while (!this.#isOver) {
        const result = await this.#source?.next();
        if (this.#isOver) break;
        if (result !== undefined && result.done !== true) return result;
        this.#source = undefined;
        const whole = this.#takeWhole();
        if (whole.byteLength > 0) return { done: false, value: whole };
        if (this.#source === undefined) break;
      }
      return await this.return();
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#onEnd();
      for (const content of this.#contents.slice(this.#index)) content.release();
      await this.#source?.return?.();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The contents up to the next one that is a stream, which is opened, or up to the size of a chunk. */
  #takeWhole(): Uint8Array {
    const bodies: Uint8Array[] = [];
    let bytes = 0;
    while (bytes < INLINE_BYTES && this.#source === undefined) {
      const content = this.#contents[this.#index++];
      if (content === undefined) break;
      const body = content.open();
      if (!(body instanceof Uint8Array)) this.#source = body[Symbol.asyncIterator]();
      else {
        bodies.push(body);
        bytes += body.byteLength;
      }
    }
    const whole = new Uint8Array(bytes);
    let at = 0;
    for (const body of bodies) {
      whole.set(body, at);
      at += body.byteLength;
    }
    return whole;
  }
}
