/** Writes frames, each into the same few buffers, for one write to the connection. */
import { asBuffer } from './buffer-views.js';
import { FLAG_END, FLAG_UTF8, FrameType, HEADER_BYTES, MAX_DATA_BYTES } from './frame-layout.js';

const SLAB_BYTES = 64 * 1024;
/** A new connection begins with this much: most control connections never need more, and each cell has at least two connections. */
const FIRST_SLAB_BYTES = 2 * 1024;
const SLAB_GROWTH = 8;
/** Bodies from this size on are written from where they are instead of being copied into the slab. */
const BY_REFERENCE_BYTES = 8 * 1024;
/** Stands for the id of an exchange when no frame is open. */
const NO_FRAME = -1;

/**
 * Gathers frames until `take`. A caller that hands over a body of BY_REFERENCE_BYTES or more must leave it unchanged until it has been written.
 *
 * A frame is there as a whole or not at all, also when a call in the middle throws: an isolate writes on the stack of its function, which may have come to its
 * end. So the state of the gathered frames (`#parts`, `#start`, `#end`, the length of a frame that grows) changes last. It changes by nothing that calls a
 * JavaScript function, as getters such as the length of an array of bytes do.
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
    const at = this.#reserveMessage(2, head, isUtf8, body) + HEADER_BYTES;
    this.#numbers.setUint8(at, kind);
    this.#numbers.setUint8(at + 1, (isComplete ? FLAG_END : 0) | (isUtf8 ? FLAG_UTF8 : 0));
    this.#message(FrameType.Open, id, 2, head, isUtf8, body);
  }

  reply(
    id: number,
    status: number,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
    isComplete: boolean,
  ): void {
    const at = this.#reserveMessage(3, head, isUtf8, body) + HEADER_BYTES;
    this.#numbers.setUint16(at, status, true);
    this.#numbers.setUint8(at + 2, (isComplete ? FLAG_END : 0) | (isUtf8 ? FLAG_UTF8 : 0));
    this.#message(FrameType.Reply, id, 3, head, isUtf8, body);
  }

  /** Chunks that follow each other share a frame: what the other end reads then lies mostly in buffers of its own, without a header. */
  data(id: number, bytes: Uint8Array): void {
    const { length } = bytes;
    const isCopied = length < BY_REFERENCE_BYTES;
    const isJoined = this.#dataId === id && this.#dataBytes + length <= MAX_DATA_BYTES;
    const headerBytes = isJoined ? 0 : HEADER_BYTES;
    const at = this.#reserve(headerBytes + (isCopied ? length : 0));
    const end = at + headerBytes;
    if (!isJoined) this.#header(at, length, FrameType.Data, id);
    if (isCopied) {
      this.#slab.set(bytes, end);
      this.#end = end + length;
    } else {
      this.#later(end, bytes);
    }
    if (isJoined) {
      this.#dataBytes += length;
      this.#dataNumbers.setUint32(this.#dataAt, this.#dataBytes, true);
    } else {
      this.#dataId = id;
      this.#dataBytes = length;
      this.#dataAt = at;
      this.#dataNumbers = this.#numbers;
    }
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

  /** Makes room for a frame with a head and perhaps a body, and returns where it begins. Behind its header stand the `fixed` bytes. */
  #reserveMessage(fixed: number, head: string, isUtf8: boolean, body: Uint8Array | string | null): number {
    const headSize = isUtf8 ? head.length * 3 : head.length;
    const copiedSize = body === null ? 0 : typeof body === 'string' ? body.length * 3 : copiedBytes(body);
    return this.#reserve(HEADER_BYTES + fixed + 4 + headSize + copiedSize);
  }

  /** The frame that room was made for, whose `fixed` bytes are written. */
  #message(
    type: FrameType,
    id: number,
    fixed: number,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
  ): void {
    const at = this.#end;
    const slab = this.#slab;
    const headAt = at + HEADER_BYTES + fixed + 4;
    const headLength = slab.write(head, headAt, isUtf8 ? 'utf8' : 'latin1');
    this.#numbers.setUint32(headAt - 4, headLength, true);
    const bodyAt = headAt + headLength;
    let bodyLength = 0;
    if (typeof body === 'string') bodyLength = slab.write(body, bodyAt, 'utf8');
    else if (body !== null) bodyLength = body.length;
    this.#header(at, fixed + 4 + headLength + bodyLength, type, id);
    if (body === null || typeof body === 'string') {
      this.#end = bodyAt + bodyLength;
    } else if (copiedBytes(body) === bodyLength) {
      slab.set(body, bodyAt);
      this.#end = bodyAt + bodyLength;
    } else {
      this.#later(bodyAt, body);
    }
  }

  /** Ends the gathered bytes at `end`, and puts these bytes behind them. */
  #later(end: number, bytes: Uint8Array): void {
    const before = end > this.#start ? this.#slab.subarray(this.#start, end) : undefined;
    const part = asBuffer(bytes);
    this.#start = end;
    this.#end = end;
    if (before !== undefined) this.#parts.push(before);
    this.#parts.push(part);
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
      const slabBytes = Math.min(SLAB_BYTES, this.#slabBytes * SLAB_GROWTH);
      const slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes));
      const numbers = new DataView(slab.buffer);
      this.#slabBytes = slabBytes;
      this.#slab = slab;
      this.#numbers = numbers;
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

/** How many bytes of a body go into the slab: none, or all of them. */
function copiedBytes(body: Uint8Array): number {
  return body.length < BY_REFERENCE_BYTES ? body.length : 0;
}
