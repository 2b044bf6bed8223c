/**
 * Frames on the wire: `u32 payload length | u8 type | u32 id | payload`, little-endian. Heads are Latin-1 when they hold HTTP
 * (method, URL and headers are byte strings) and UTF-8 when they hold JSON; the flag says which.
 *
 * The reader takes nothing on trust: the peer of the host is a process that may have been taken over.
 */

export enum FrameType {
  /** Opens an exchange: u8 kind | u8 flags | u32 head length | head | body. */
  Open = 1,
  /** Answers it: u16 status | u8 flags | u32 head length | head | body. */
  Reply = 2,
  /** Bytes of the sender's body; delivered in pieces as they arrive. */
  Data = 3,
  /** The sender's body is complete. */
  End = 4,
  /** u32: so many more bytes may be sent. */
  Credit = 5,
  /** UTF-8 reason. The sender's side of the exchange has failed; both bodies are over. */
  Fail = 6,
  /** UTF-8 reason. The sender reads no more of the peer's body. */
  Stop = 7,
  /** One-way message that belongs to an exchange: u8 kind | payload. */
  Note = 8,
  /** The sender wants no more of the peer's body as data: the rest is held back until `Join` says where it goes. */
  Divert = 9,
  /** Answers it, behind the last data: the rest of the sender's body is held back. */
  Diverted = 10,
  /** u32 id: what follows of the sender's body is the rest of the peer's body of that exchange, which is held back. */
  Join = 11,
}

/** The body is complete in this frame; no Data or End follows. */
export const FLAG_END = 1;
/** The head is UTF-8 instead of Latin-1. */
export const FLAG_UTF8 = 2;

export const HEADER_BYTES = 9;
export const MAX_REASON_BYTES = 16 * 1024;
export const MAX_DATA_BYTES = 1024 * 1024;
/** Bodies up to this size travel in the frame of their head. */
export const INLINE_BODY_BYTES = 64 * 1024;

export class ProtocolError extends Error {
  readonly code = 'EDGE_PROTOCOL';
}

/**
 * What a reader takes of its peer. A frame other than Data is held until it is whole, so its length is bounded before anything of it is kept, and the
 * head of an Open before it is decoded. The pieces of Data frames are handed on as they arrive.
 */
export interface FrameBounds {
  /** The largest payload, by type of frame. */
  payload(type: number): number;
  /** The largest head of an Open, by its kind, in bytes. */
  openHead(kind: number): number;
  /** How many frames are handed on before `push` returns, whatever else was read. */
  readonly framesAtOnce: number;
}

const MAX_TRUSTED_BYTES = 8 * 1024 * 1024;

/** For what the host sends: the head of a load may have all variables of a function. */
export const TRUSTED_BOUNDS: FrameBounds = {
  payload: () => MAX_TRUSTED_BYTES,
  openHead: () => MAX_TRUSTED_BYTES,
  framesAtOnce: Number.POSITIVE_INFINITY,
};

/** Gets the frames of one connection. Buffers are views of what was read: copy what must outlive the call. */
export interface FrameSink {
  onOpen(id: number, kind: number, head: string, body: Buffer, isComplete: boolean): void;
  onReply(id: number, status: number, head: string, body: Buffer, isComplete: boolean): void;
  onData(id: number, piece: Buffer): void;
  onEnd(id: number): void;
  onCredit(id: number, bytes: number): void;
  onFail(id: number, reason: string): void;
  onStop(id: number, reason: string): void;
  onNote(id: number, kind: number, payload: Buffer): void;
  onDivert(id: number): void;
  onDiverted(id: number): void;
  onJoin(id: number, from: number): void;
}

const NOTHING = Buffer.alloc(0);

/** Cuts what is read into frames. Throws ProtocolError for what no honest peer sends. */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #bounds: FrameBounds;
  /** The beginning of a frame whose rest has not arrived, with room behind it. */
  #partial: Buffer = NOTHING;
  #partialBytes = 0;
  /** How many bytes `#partial` must reach before it is looked at again. */
  #needed = 0;
  /** What has been read and may not be handed on before the next call. */
  #rest: Buffer = NOTHING;
  /** While inside a Data frame: its id and how much of it is still to come. */
  #dataId = 0;
  #dataLeft = 0;
  #isInterrupted = false;

  constructor(sink: FrameSink, bounds: FrameBounds = TRUSTED_BOUNDS) {
    this.#sink = sink;
    this.#bounds = bounds;
  }

  /** Bytes of the buffers that are held between two calls. */
  get heldBytes(): number {
    return this.#partial.buffer.byteLength + this.#rest.buffer.byteLength;
  }

  /** There is more to hand on: `proceed` before the next `push`. */
  get hasRest(): boolean {
    return this.#rest.length > 0;
  }

  /** Reads a chunk, once nothing is left of the one before. It may be kept. */
  push(chunk: Buffer): void {
    let rest = chunk;
    // What is gathered is one frame and nothing behind it: a view of what follows would hold the whole buffer.
    while (this.#partialBytes > 0) {
      rest = this.#gather(rest);
      if (this.#partialBytes < this.#needed) return;
      const gathered = this.#partial.subarray(0, this.#partialBytes);
      this.#partial = NOTHING;
      this.#partialBytes = 0;
      if (this.#consume(gathered) === gathered.length) break;
      // It was the header alone, and tells how much belongs to it.
      this.#partial = gathered;
      this.#partialBytes = gathered.length;
    }
    this.#read(rest);
  }

  /** Goes on with what could not be handed on at once. */
  proceed(): void {
    const rest = this.#rest;
    this.#rest = NOTHING;
    this.#read(rest);
  }

  #read(buffer: Buffer): void {
    const end = this.#consume(buffer);
    if (end === buffer.length) return;
    const left = ownView(buffer.subarray(end));
    if (this.#isInterrupted) {
      this.#rest = left;
    } else {
      this.#partial = left;
      this.#partialBytes = left.length;
    }
  }

  /**
   * Takes what is needed of the chunk and answers the rest of it. The buffer doubles: a list of what arrived would take a hundred times its bytes when a
   * peer sends them one by one.
   */
  #gather(chunk: Buffer): Buffer {
    const taken = Math.min(chunk.length, this.#needed - this.#partialBytes);
    const bytes = this.#partialBytes + taken;
    if (bytes > this.#partial.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(2 * bytes, this.#needed));
      grown.set(this.#partial.subarray(0, this.#partialBytes));
      this.#partial = grown;
    }
    this.#partial.set(chunk.subarray(0, taken), this.#partialBytes);
    this.#partialBytes = bytes;
    return chunk.subarray(taken);
  }

  /** Answers the offset of what could not be consumed yet. */
  #consume(buffer: Buffer): number {
    let at = 0;
    let left = this.#bounds.framesAtOnce;
    this.#isInterrupted = false;
    while (at < buffer.length) {
      if (left-- <= 0) {
        this.#isInterrupted = true;
        return at;
      }
      if (this.#dataLeft > 0) {
        const take = Math.min(this.#dataLeft, buffer.length - at);
        this.#dataLeft -= take;
        this.#sink.onData(this.#dataId, buffer.subarray(at, at + take));
        at += take;
        continue;
      }
      if (buffer.length - at < HEADER_BYTES) {
        this.#needed = HEADER_BYTES;
        return at;
      }
      const length = buffer.readUInt32LE(at);
      const type = buffer.readUInt8(at + 4);
      const id = buffer.readUInt32LE(at + 5);
      if (type === FrameType.Data) {
        if (length > MAX_DATA_BYTES) throw new ProtocolError(`A data frame has ${length} bytes`);
        this.#dataId = id;
        this.#dataLeft = length;
        at += HEADER_BYTES;
        continue;
      }
      if (length > this.#bounds.payload(type)) throw new ProtocolError(`A frame of type ${type} has ${length} bytes`);
      if (buffer.length - at - HEADER_BYTES < length) {
        this.#needed = HEADER_BYTES + length;
        return at;
      }
      at += HEADER_BYTES;
      this.#deliver(type, id, buffer, at, at + length);
      at += length;
    }
    return at;
  }

  #deliver(type: number, id: number, buffer: Buffer, start: number, end: number): void {
    switch (type) {
      case FrameType.Open: {
        checkLength(start, end, 6);
        const kind = buffer.readUInt8(start);
        const flags = buffer.readUInt8(start + 1);
        const headBytes = buffer.readUInt32LE(start + 2);
        const bodyStart = start + 6 + headBytes;
        checkHead(bodyStart, end);
        if (headBytes > this.#bounds.openHead(kind)) {
          throw new ProtocolError(`The head of an exchange of kind ${kind} has ${headBytes} bytes`);
        }
        this.#sink.onOpen(
          id,
          kind,
          readHead(buffer, flags, start + 6, bodyStart),
          buffer.subarray(bodyStart, end),
          (flags & FLAG_END) !== 0,
        );
        return;
      }
      case FrameType.Reply: {
        checkLength(start, end, 7);
        const flags = buffer.readUInt8(start + 2);
        const bodyStart = start + 7 + buffer.readUInt32LE(start + 3);
        checkHead(bodyStart, end);
        this.#sink.onReply(
          id,
          buffer.readUInt16LE(start),
          readHead(buffer, flags, start + 7, bodyStart),
          buffer.subarray(bodyStart, end),
          (flags & FLAG_END) !== 0,
        );
        return;
      }
      case FrameType.End:
        this.#sink.onEnd(id);
        return;
      case FrameType.Credit:
        checkLength(start, end, 4);
        this.#sink.onCredit(id, buffer.readUInt32LE(start));
        return;
      case FrameType.Fail:
        this.#sink.onFail(id, readReason(buffer, start, end));
        return;
      case FrameType.Stop:
        this.#sink.onStop(id, readReason(buffer, start, end));
        return;
      case FrameType.Note:
        checkLength(start, end, 1);
        this.#sink.onNote(id, buffer.readUInt8(start), buffer.subarray(start + 1, end));
        return;
      case FrameType.Divert:
        this.#sink.onDivert(id);
        return;
      case FrameType.Diverted:
        this.#sink.onDiverted(id);
        return;
      case FrameType.Join:
        checkLength(start, end, 4);
        this.#sink.onJoin(id, buffer.readUInt32LE(start));
        return;
      default:
        throw new ProtocolError(`A frame has the unknown type ${type}`);
    }
  }
}

/** A view that is most of what it keeps alive, by a copy where it is not. */
export function ownView(view: Buffer): Buffer {
  return view.length * 2 >= view.buffer.byteLength ? view : copyOf(view);
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

function checkLength(start: number, end: number, least: number): void {
  if (end - start < least) throw new ProtocolError(`A frame of ${end - start} bytes is too short`);
}

function checkHead(bodyStart: number, end: number): void {
  if (bodyStart > end) throw new ProtocolError('A head is longer than its frame');
}

function readHead(buffer: Buffer, flags: number, start: number, end: number): string {
  return buffer.toString((flags & FLAG_UTF8) === 0 ? 'latin1' : 'utf8', start, end);
}

/** A reason becomes part of messages and events: what is too long for that is cut. */
function readReason(buffer: Buffer, start: number, end: number): string {
  return buffer.toString('utf8', start, Math.min(end, start + MAX_REASON_BYTES));
}

const SLAB_BYTES = 64 * 1024;
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
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** Of the slab: numbers are written through it, which the engine compiles to plain stores. */
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

  /** What has been gathered since the last call. */
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

  /** Pieces that follow each other share a frame: what the other end reads then lies mostly in buffers of its own, without a header. */
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

  divert(id: number): void {
    this.#bare(FrameType.Divert, id);
  }

  diverted(id: number): void {
    this.#bare(FrameType.Diverted, id);
  }

  join(id: number, from: number): void {
    this.#number(FrameType.Join, id, from);
  }

  fail(id: number, reason: string): void {
    this.#text(FrameType.Fail, id, reason);
  }

  stop(id: number, reason: string): void {
    this.#text(FrameType.Stop, id, reason);
  }

  note(id: number, kind: number, payload: Uint8Array | string): void {
    const size = typeof payload === 'string' ? payload.length * 3 : payload.length;
    const at = this.#reserve(HEADER_BYTES + 1 + size);
    const bodyAt = at + HEADER_BYTES + 1;
    let length = size;
    if (typeof payload === 'string') length = this.#slab.write(payload, bodyAt, 'utf8');
    else this.#slab.set(payload, bodyAt);
    this.#header(at, 1 + length, FrameType.Note, id);
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

  /** A frame with a head and perhaps a body; answers where its `fixed` bytes go. */
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
      this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes));
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

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
