/** What has arrived of a body and has not been read. */
import { ownView } from './frames.js';

/** A piece that is this small is gathered with others. */
const COPY_BELOW_BYTES = 16 * 1024;

/**
 * Small pieces are gathered in one buffer that doubles: a peer that sends its bytes one by one would else cost a hundred times their
 * number.
 */
export class PieceQueue {
  #pieces: Buffer[] = [];
  #bytes = 0;
  #heldBytes = 0;
  /** The buffer of the last piece where that is a copy; what is behind the piece is room for more. */
  #tail: Buffer | undefined;

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the buffers that the pieces keep alive. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The buffers held: figures of a test. */
  get pieces(): number {
    return this.#pieces.length;
  }

  /** `piece` may be a view of what was read from the connection. */
  push(piece: Buffer): void {
    this.#bytes += piece.length;
    if (piece.length >= COPY_BELOW_BYTES) {
      const kept = ownView(piece);
      this.#heldBytes += kept.buffer.byteLength;
      this.#pieces.push(kept);
    } else if (!this.#append(piece)) {
      this.#tail = Buffer.allocUnsafeSlow(piece.length);
      this.#tail.set(piece);
      this.#heldBytes += piece.length;
      this.#pieces.push(this.#tail);
    }
  }

  /** The next piece, at most `maxBytes`; undefined when there is none. */
  shift(maxBytes: number): Buffer | undefined {
    const first = this.#pieces[0];
    if (first === undefined) return undefined;
    const piece = first.length > maxBytes ? first.subarray(0, maxBytes) : first;
    if (piece === first) {
      this.#pieces.shift();
      this.#heldBytes -= first.buffer.byteLength;
    } else this.#pieces[0] = first.subarray(maxBytes);
    this.#bytes -= piece.length;
    return piece;
  }

  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
    this.#heldBytes = 0;
    this.#tail = undefined;
  }

  /** Puts the piece behind the last one, when that is a copy and stays small. */
  #append(piece: Buffer): boolean {
    const at = this.#pieces.length - 1;
    const last = this.#pieces[at];
    const tail = this.#tail;
    if (last === undefined || tail === undefined || last.buffer !== tail.buffer) return false;
    const joined = last.length + piece.length;
    if (joined > COPY_BELOW_BYTES) return false;
    let start = last.byteOffset;
    let target = tail;
    if (tail.length - start < joined) {
      target = Buffer.allocUnsafeSlow(joined * 2);
      target.set(last);
      start = 0;
      this.#heldBytes += target.length - tail.length;
      this.#tail = target;
    }
    target.set(piece, start + last.length);
    this.#pieces[at] = target.subarray(start, start + joined);
    return true;
  }
}
