/** The chunks of a body that have arrived and have not been read. */
import { ownView } from '../frames/buffer-views.js';

/** A chunk that is this small is gathered with others. */
const COPY_BELOW_BYTES = 16 * 1024;

/** Small chunks are gathered in one buffer that doubles: a peer that sends its bytes one by one would else cost a hundred times their number. */
export class ChunkQueue {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #heldBytes = 0;
  /** The buffer of the last chunk where that is a copy; the space behind the chunk is room for more. */
  #tail: Buffer | undefined;

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the buffers that the chunks keep alive. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** How many chunks it holds, for tests. */
  get count(): number {
    return this.#chunks.length;
  }

  /** `chunk` may be a view of the bytes read from the connection. */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (chunk.length >= COPY_BELOW_BYTES) {
      const kept = ownView(chunk);
      this.#heldBytes += kept.buffer.byteLength;
      this.#chunks.push(kept);
    } else if (!this.#append(chunk)) {
      this.#tail = Buffer.allocUnsafeSlow(chunk.length);
      this.#tail.set(chunk);
      this.#heldBytes += chunk.length;
      this.#chunks.push(this.#tail);
    }
  }

  /** The next chunk, at most `maxBytes`; undefined when the queue is empty. */
  shift(maxBytes: number): Buffer | undefined {
    const first = this.#chunks[0];
    if (first === undefined) return undefined;
    const chunk = first.length > maxBytes ? first.subarray(0, maxBytes) : first;
    if (chunk === first) {
      this.#chunks.shift();
      this.#heldBytes -= first.buffer.byteLength;
    } else this.#chunks[0] = first.subarray(maxBytes);
    this.#bytes -= chunk.length;
    return chunk;
  }

  /** Puts the chunk behind the last one, when that is a copy and stays small. */
  #append(chunk: Buffer): boolean {
    const at = this.#chunks.length - 1;
    const last = this.#chunks[at];
    const tail = this.#tail;
    if (last === undefined || tail === undefined || last.buffer !== tail.buffer) return false;
    const joined = last.length + chunk.length;
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
    target.set(chunk, start + last.length);
    this.#chunks[at] = target.subarray(start, start + joined);
    return true;
  }
}
