/** Cuts the bytes of a connection into frames. No byte is trusted: the peer of the host is a process that may be compromised. */
import { ownView } from './buffer-views.js';
import { FLAG_END, FLAG_UTF8, FrameType, HEADER_BYTES, MAX_DATA_BYTES } from './frame-layout.js';
import { ProtocolError } from './protocol-error.js';

/**
 * The bounds of the frames that a reader accepts. A frame other than Data is held until it is whole, so its length is bounded before anything of it is kept.
 * The same holds for the head of an Open before it is decoded. The chunks of Data frames are handed on as they arrive.
 */
export interface FrameBounds {
  /** The largest payload, by type of frame. */
  payload(type: number): number;
  /** The largest head of an Open, by its kind, in bytes. */
  openHead(kind: number): number;
  /** How many frames are handed on before `push` returns, whatever else was read. */
  readonly framesAtOnce: number;
  /** The same in bytes of frames that are decoded and parsed, Open and Signal: the frame that passes it is the last. */
  readonly parsedBytesAtOnce: number;
}

const MAX_TRUSTED_BYTES = 8 * 1024 * 1024;

/** Bounds for frames of the host: the head of a load may have all variables of a function. */
export const TRUSTED_BOUNDS: FrameBounds = {
  payload: () => MAX_TRUSTED_BYTES,
  openHead: () => MAX_TRUSTED_BYTES,
  framesAtOnce: Number.POSITIVE_INFINITY,
  parsedBytesAtOnce: Number.POSITIVE_INFINITY,
};

/** Receives the frames of one connection. Buffers are views of the bytes that were read: copy those that must outlive the call. */
export interface FrameSink {
  onOpen(id: number, kind: number, head: string, body: Buffer, isComplete: boolean): void;
  onReply(id: number, status: number, head: string, body: Buffer, isComplete: boolean): void;
  onData(id: number, chunk: Buffer): void;
  onEnd(id: number): void;
  onCredit(id: number, bytes: number): void;
  onReset(id: number, reason: string): void;
  onStopSending(id: number, reason: string): void;
  onSignal(id: number, kind: number, payload: Buffer): void;
  onPause(id: number): void;
  onPaused(id: number): void;
  onSplice(id: number, from: number): void;
}

const NOTHING = Buffer.alloc(0);
const MAX_REASON_BYTES = 16 * 1024;

/** @throws ProtocolError from `push` and `proceed`, for what no honest peer sends */
export class FrameReader {
  /** Gets the frames; it may change between two of them. */
  sink: FrameSink;
  readonly #bounds: FrameBounds;
  /** The beginning of a frame whose rest has not arrived, with room behind it. */
  #partial: Buffer = NOTHING;
  #partialBytes = 0;
  /** How many bytes `#partial` must reach before it is looked at again. */
  #needed = 0;
  /** Bytes that have been read and may not be handed on before the next call. */
  #rest: Buffer = NOTHING;
  /** While inside a Data frame: its id and how much of it is still to come. */
  #dataId = 0;
  #dataLeft = 0;
  #isInterrupted = false;

  constructor(sink: FrameSink, bounds: FrameBounds = TRUSTED_BOUNDS) {
    this.sink = sink;
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

  /** Takes bytes that were read, once all earlier ones have been handed on. The buffer may be kept. */
  push(bytes: Buffer): void {
    let rest = bytes;
    // Exactly one frame is gathered: a view of the bytes behind it would keep the whole buffer alive.
    while (this.#partialBytes > 0) {
      rest = this.#gather(rest);
      if (this.#partialBytes < this.#needed) return;
      const gathered = this.#partial.subarray(0, this.#partialBytes);
      this.#partial = NOTHING;
      this.#partialBytes = 0;
      if (this.#consume(gathered) === gathered.length) break;
      // It was the header alone, which says how much belongs to it.
      this.#partial = gathered;
      this.#partialBytes = gathered.length;
    }
    this.#read(rest);
  }

  /** Continues with the frames that could not be handed on at once. */
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
   * Takes the needed part of the input and returns the rest of it. The buffer doubles: a list of what arrived would take a hundred times its bytes when a peer
   * sends them one by one.
   */
  #gather(input: Buffer): Buffer {
    const taken = Math.min(input.length, this.#needed - this.#partialBytes);
    const bytes = this.#partialBytes + taken;
    if (bytes > this.#partial.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(2 * bytes, this.#needed));
      grown.set(this.#partial.subarray(0, this.#partialBytes));
      this.#partial = grown;
    }
    this.#partial.set(input.subarray(0, taken), this.#partialBytes);
    this.#partialBytes = bytes;
    return input.subarray(taken);
  }

  /** Returns the offset of what could not be consumed yet. */
  #consume(buffer: Buffer): number {
    let at = 0;
    let left = this.#bounds.framesAtOnce;
    let parsedBytesLeft = this.#bounds.parsedBytesAtOnce;
    this.#isInterrupted = false;
    while (at < buffer.length) {
      if (left-- <= 0 || parsedBytesLeft <= 0) {
        this.#isInterrupted = true;
        return at;
      }
      if (this.#dataLeft > 0) {
        const take = Math.min(this.#dataLeft, buffer.length - at);
        this.#dataLeft -= take;
        this.sink.onData(this.#dataId, buffer.subarray(at, at + take));
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
      if (type === FrameType.Open || type === FrameType.Signal) parsedBytesLeft -= length;
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
        this.sink.onOpen(
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
        this.sink.onReply(
          id,
          buffer.readUInt16LE(start),
          readHead(buffer, flags, start + 7, bodyStart),
          buffer.subarray(bodyStart, end),
          (flags & FLAG_END) !== 0,
        );
        return;
      }
      case FrameType.End:
        this.sink.onEnd(id);
        return;
      case FrameType.Credit:
        checkLength(start, end, 4);
        this.sink.onCredit(id, buffer.readUInt32LE(start));
        return;
      case FrameType.Reset:
        this.sink.onReset(id, readReason(buffer, start, end));
        return;
      case FrameType.StopSending:
        this.sink.onStopSending(id, readReason(buffer, start, end));
        return;
      case FrameType.Signal:
        checkLength(start, end, 1);
        this.sink.onSignal(id, buffer.readUInt8(start), buffer.subarray(start + 1, end));
        return;
      case FrameType.Pause:
        this.sink.onPause(id);
        return;
      case FrameType.Paused:
        this.sink.onPaused(id);
        return;
      case FrameType.Splice:
        checkLength(start, end, 4);
        this.sink.onSplice(id, buffer.readUInt32LE(start));
        return;
      default:
        throw new ProtocolError(`A frame has the unknown type ${type}`);
    }
  }
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

/** A reason becomes part of messages and events: a longer one is cut. */
function readReason(buffer: Buffer, start: number, end: number): string {
  return buffer.toString('utf8', start, Math.min(end, start + MAX_REASON_BYTES));
}
