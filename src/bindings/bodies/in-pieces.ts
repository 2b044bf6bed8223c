/**
 * Cuts long chunks of the application into pieces with memory of their own. The account is charged for bytes that wait for their reader, by the buffer
 * that they keep alive. A large buffer of the application is not the account's, and must not end its process.
 */

import type { ServiceBody } from '../service.js';
import { bodyChunks } from './body-chunks.js';

/** Chunks of up to this many bytes are sent as they are. */
export const PIECE_BYTES = 64 * 1024;

export function inPieces(chunks: AsyncIterator<Uint8Array>): AsyncIterator<Uint8Array, undefined> {
  return new Pieces(chunks);
}

/** A body that is there as a whole, as it is sent. */
export function piecesOf(bytes: Uint8Array): ServiceBody {
  if (bytes.length <= PIECE_BYTES) return bytes;
  return { [Symbol.asyncIterator]: () => inPieces(bodyChunks(bytes)) };
}

class Pieces implements AsyncIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return { done, value: undefined };
      if (value.buffer.byteLength <= PIECE_BYTES) return { done: false, value };
      this.#chunk = value;
    }
    const piece = new Uint8Array(this.#chunk.subarray(0, PIECE_BYTES));
    this.#chunk = this.#chunk.subarray(piece.length);
    return { done: false, value: piece };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#chunk = new Uint8Array();
    await this.#chunks.return?.();
    return { done: true, value: undefined };
  }
}
