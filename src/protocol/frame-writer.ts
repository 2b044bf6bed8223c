/** Writes frames, each into the same few buffers, for one write to the connection. */
import { asBuffer } from './buffer-views.js';
import { FLAG_END, FLAG_UTF8, FrameType, HEADER_BYTES, MAX_DATA_BYTES } from './frame-layout.js';

const SLAB_BYTES = 64 * 1024;
/** Of a connection that has said little: most control connections never need more, and there are two connections or more for each cell. */
const FIRST_SLAB_BYTES = 2 * 1024;
const SLAB_GROWTH = 8;
/** Bodies from this size on are written from where they are instead of being copied into the slab. */
const BY_REFERENCE_BYTES = 8 * 1024;
/** No id, in place of that of an exchange. */
const NO_FRAME = -1;

/**
 * Gathers frames until `take`. A caller that hands over a body of BY_REFERENCE_BYTES or more must leave it unchanged
 * until it has been written.
 */
export class FrameWriter {
  #parts: Buffer[] = [];
  #slab = Buffer.allocUnsafeSlow(FIRST_SLAB_BYTES);
  #slabBytes = FIRST_SLAB_BYTES;
  /** A view of the slab for writing numbers, which the engine compiles to plain stores. */
  #numbers = new DataView(this.#slab.buffer);
  #start = 0;
  #end = 0;
  /** The Data frame that was written last, where nothing came after it: its exchange, its length, and where that stands. */
  #dataId = NO_FRAME;
  #dataBytes = 0;
  #dataAt = 0;
  #dataNumbers = this.#numbers;

  get isEmpty(): boolean {
    return this.#end === this.#start && this.#parts.length === 0;
  }

  /** The frames that have been gathered since the last call. */
  take(): Buffer[] {
    this.#seal();
    this.#dataId = NO_FRAME;
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  open(
    id: number,
    kind: number,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
    isComplete: boolean,
  ): void {
    const at = this.#message(FrameType.Open, id, 2, head, isUtf8, body);
    this.#numbers.setUint8(at, kind);
    this.#numbers.setUint8(at + 1, (isComplete ? FLAG_END : 0) | (isUtf8 ? FLAG_UTF8 : 0));
  }

  reply(
    id: number,
    status: number,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
    isComplete: boolean,
  ): void {
    const at = this.#message(FrameType.Reply, id, 3, head, isUtf8, body);
    this.#numbers.setUint16(at, status, true);
    this.#numbers.setUint8(at + 2, (isComplete ? FLAG_END : 0) | (isUtf8 ? FLAG_UTF8 : 0));
  }

  /** Chunks that follow each other share a frame: what the other end reads then lies mostly in buffers of its own, without a header. */
  data(id: number, bytes: Uint8Array): void {
    const copiedBytes = bytes.length < BY_REFERENCE_BYTES ? bytes.length : 0;
    if (this.#dataId === id && this.#dataBytes + bytes.length <= MAX_DATA_BYTES) {
      this.#reserve(copiedBytes);
      this.#dataBytes += bytes.length;
      this.#dataNumbers.setUint32(this.#dataAt, this.#dataBytes, true);
    } else {
      const at = this.#reserve(HEADER_BYTES + copiedBytes);
      this.#header(at, bytes.length, FrameType.Data, id);
      this.#end = at + HEADER_BYTES;
      this.#dataId = id;
      this.#dataBytes = bytes.length;
      this.#dataAt = at;
      this.#dataNumbers = this.#numbers;
    }
    this.#body(bytes);
  }

  end(id: number): void {
    this.#bare(FrameType.End, id);
  }

  credit(id: number, bytes: number): void {
    this.#number(FrameType.Credit, id, bytes);
  }

  pause(id: number): void {
    this.#bare(FrameType.Pause, id);
  }

  paused(id: number): void {
    this.#bare(FrameType.Paused, id);
  }

  splice(id: number, from: number): void {
    this.#number(FrameType.Splice, id, from);
  }

  reset(id: number, reason: string): void {
    this.#text(FrameType.Reset, id, reason);
  }

  stopSending(id: number, reason: string): void {
    this.#text(FrameType.StopSending, id, reason);
  }

  signal(id: number, kind: number, payload: Uint8Array | string): void {
    const size = typeof payload === 'string' ? payload.length * 3 : payload.length;
    const at = this.#reserve(HEADER_BYTES + 1 + size);
    const bodyAt = at + HEADER_BYTES + 1;
    let length = size;
    if (typeof payload === 'string') length = this.#slab.write(payload, bodyAt, 'utf8');
    else this.#slab.set(payload, bodyAt);
    this.#header(at, 1 + length, FrameType.Signal, id);
    this.#numbers.setUint8(at + HEADER_BYTES, kind);
    this.#end = bodyAt + length;
  }

  #bare(type: FrameType, id: number): void {
    this.#header(this.#reserve(HEADER_BYTES), 0, type, id);
    this.#end += HEADER_BYTES;
  }

  #number(type: FrameType, id: number, value: number): void {
    const at = this.#reserve(HEADER_BYTES + 4);
    this.#header(at, 4, type, id);
    this.#numbers.setUint32(at + HEADER_BYTES, value, true);
    this.#end = at + HEADER_BYTES + 4;
  }

  #text(type: FrameType, id: number, text: string): void {
    const at = this.#reserve(HEADER_BYTES + text.length * 3);
    const length = this.#slab.write(text, at + HEADER_BYTES, 'utf8');
    this.#header(at, length, type, id);
    this.#end = at + HEADER_BYTES + length;
  }

  /** A frame with a head and perhaps a body; returns where its `fixed` bytes go. */
  #message(
    type: FrameType,
    id: number,
    fixed: number,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
  ): number {
    const headSize = isUtf8 ? head.length * 3 : head.length;
    const bodySize = body === null ? 0 : typeof body === 'string' ? body.length * 3 : body.length;
    const isCopied = typeof body === 'string' || bodySize < BY_REFERENCE_BYTES;
    const at = this.#reserve(HEADER_BYTES + fixed + 4 + headSize + (isCopied ? bodySize : 0));
    const fixedAt = at + HEADER_BYTES;
    const headAt = fixedAt + fixed + 4;
    const slab = this.#slab;
    const headLength = slab.write(head, headAt, isUtf8 ? 'utf8' : 'latin1');
    this.#numbers.setUint32(fixedAt + fixed, headLength, true);
    this.#end = headAt + headLength;
    let bodyLength = bodySize;
    if (typeof body === 'string') {
      bodyLength = slab.write(body, this.#end, 'utf8');
      this.#end += bodyLength;
    }
    this.#header(at, fixed + 4 + headLength + bodyLength, type, id);
    if (body !== null && typeof body !== 'string') {
      // The caller writes the fixed bytes into the slab that is current now, so a large body is added after them.
      if (isCopied) this.#body(body);
      else this.#later(body, slab);
    }
    return fixedAt;
  }

  /** Seals the slab behind a head and puts the body after it; the sealed part is a view, so the fixed bytes may still be written. */
  #later(body: Uint8Array, slab: Buffer): void {
    if (this.#end > this.#start) this.#parts.push(slab.subarray(this.#start, this.#end));
    this.#start = this.#end;
    this.#parts.push(asBuffer(body));
  }

  #body(bytes: Uint8Array): void {
    if (bytes.length < BY_REFERENCE_BYTES) {
      this.#slab.set(bytes, this.#end);
      this.#end += bytes.length;
    } else {
      this.#later(bytes, this.#slab);
    }
  }

  #header(at: number, length: number, type: FrameType, id: number): void {
    const numbers = this.#numbers;
    this.#dataId = NO_FRAME;
    numbers.setUint32(at, length, true);
    numbers.setUint8(at + 4, type);
    numbers.setUint32(at + 5, id, true);
  }

  #reserve(bytes: number): number {
    if (this.#slab.length - this.#end < bytes) {
      this.#seal();
      this.#slabBytes = Math.min(SLAB_BYTES, this.#slabBytes * SLAB_GROWTH);
      this.#slab = Buffer.allocUnsafeSlow(Math.max(this.#slabBytes, bytes));
      this.#numbers = new DataView(this.#slab.buffer);
      this.#start = 0;
      this.#end = 0;
    }
    return this.#end;
  }

  #seal(): void {
    if (this.#end > this.#start) this.#parts.push(this.#slab.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
