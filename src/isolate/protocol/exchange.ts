/**
 * One exchange of a channel: a head and at most one body in each direction. What it may send is bounded by the credit that its reader
 * gives, what it may receive by the credit that it has given.
 */

import { asBuffer, type FrameWriter, INLINE_BODY_BYTES, MAX_DATA_BYTES, ProtocolError } from './frames.js';
import { PieceQueue } from './piece-queue.js';

/** How many bytes of one body may be under way before its reader has taken any: many clients that read nothing hold little. */
export const FIRST_WINDOW_BYTES = 64 * 1024;
/**
 * And when it has taken some, unless the bodies of the connection hold much together. Credit is given back when half of the window was read,
 * so that credit frames stay rare.
 */
export const WINDOW_BYTES = 256 * 1024;

/** What an exchange needs of its channel. */
export interface ExchangeCarrier {
  readonly writer: FrameWriter;
  /** So much waits to be sent that bodies should wait. */
  readonly isFull: boolean;
  scheduleFlush(): void;
  /** What all exchanges hold is so much that each should hold little. */
  readonly isCrowded: boolean;
  /** Keeps count of what all exchanges hold of incoming bodies. @throws ProtocolError when that is too much */
  countQueued(bytes: number): void;
  /** Keeps count of what waits for credit. */
  countBacklog(bytes: number): void;
  forgetIfOver(exchange: Exchange): void;
}

/** What happens to an exchange, told to the side that holds it. Methods are called inside the read of the connection. */
export interface ExchangeListener {
  /** Opener only. `body` is a view that is valid during the call when `isComplete`; else the body comes by `onData`. */
  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void;
  /** There is more to `read()`, or the incoming body has ended. */
  onData(): void;
  /** `write` may go on. */
  onCredit(): void;
  /** The last byte of an outgoing body that had to wait for credit has been sent. */
  onSent(): void;
  /** The peer reads no more of the outgoing body. */
  onStop(reason: string): void;
  /** The peer's side has failed, or the connection is gone: the exchange is over. */
  onFail(reason: string): void;
}

/** How far the incoming body of an exchange has come. */
export type IncomingState = 'open' | 'ended' | 'failed';

/**
 * An incoming body that is passed on: as data (`open`) until it would be given credit; then the peer is asked to hold the rest back (`diverting`),
 * and has sent the last of it (`diverted`).
 */
type Passing = 'open' | 'diverting' | 'diverted';

export class Exchange {
  readonly id: number;
  listener: ExchangeListener | undefined;
  readonly #channel: ExchangeCarrier;
  /** Made with the first piece: most exchanges have a body that came with its head, or none. */
  #queue: PieceQueue | undefined;
  /** What is counted of the queue: the buffers that it keeps alive. */
  #countedBytes = 0;
  #isGivenAway = false;
  /** Bytes taken by the reader and not yet given back as credit. */
  #takenBytes = 0;
  #windowBytes = FIRST_WINDOW_BYTES;
  /** Bytes that the peer may still send. */
  #grantedBytes = FIRST_WINDOW_BYTES;
  /** Bytes that may still be written. */
  #credit = FIRST_WINDOW_BYTES;
  #incoming: IncomingState | 'stopped' = 'open';
  #isOutgoingOver = false;
  #failReason = '';
  /** Written, and waiting for credit. */
  #backlog: Uint8Array[] | undefined;
  #backlogBytes = 0;
  /** The peer takes no more of the outgoing body as data: it is held back until it is joined to another exchange. */
  #isDivertedAway = false;
  /** Whose incoming body the rest of the outgoing one is. */
  #joinedTo: Exchange | undefined;
  /** Whose outgoing body the rest of the incoming one is. */
  #joinedFrom: Exchange | undefined;
  #passing: Passing | undefined;
  /** A piece is being handed to the exchange joined, which may give credit at once. */
  #isHanding = false;
  /** Whoever writes was told to wait because the channel was full. */
  #isHeld = false;
  /** `end` was called and the backlog is still to be sent. */
  #isEnding = false;

  constructor(channel: ExchangeCarrier, id: number) {
    this.#channel = channel;
    this.id = id;
  }

  // --- the incoming body ---

  get queuedBytes(): number {
    return this.#queue?.bytes ?? 0;
  }

  /** The end shows only after everything before it has been read; a failure at once. */
  get incoming(): IncomingState {
    if (this.#incoming === 'failed') return 'failed';
    return this.#incoming !== 'open' && this.queuedBytes === 0 ? 'ended' : 'open';
  }

  /** True when no more will arrive: what is queued is the rest of the body. */
  get hasWholeBody(): boolean {
    return this.#incoming === 'ended';
  }

  get failReason(): string {
    return this.#failReason;
  }

  /** The next piece, at most `maxBytes`; undefined when nothing is queued. */
  read(maxBytes: number): Buffer | undefined {
    const piece = this.#queue?.shift(maxBytes);
    if (piece === undefined) return undefined;
    this.#count();
    this.takenBytes += piece.length;
    this.#takenBytes += piece.length;
    if (this.#takenBytes >= this.#windowBytes / 2 && this.#incoming === 'open') this.#giveCredit();
    return piece;
  }

  #giveCredit(): void {
    if (this.#passing !== undefined) {
      this.#divert();
      return;
    }
    const windowBytes = this.#channel.isCrowded ? FIRST_WINDOW_BYTES : WINDOW_BYTES;
    const bytes = this.#takenBytes + windowBytes - this.#windowBytes;
    // The window shrinks by what is not given back; there is something to give at the latest when all of it was read.
    if (bytes <= 0) return;
    this.#takenBytes = 0;
    this.#windowBytes = windowBytes;
    if (this.#joinedFrom !== undefined) {
      this.#joinedFrom.#takeCredit(bytes);
      return;
    }
    this.#grantedBytes += bytes;
    this.#channel.writer.credit(this.id, bytes);
    this.#channel.scheduleFlush();
  }

  #divert(): void {
    if (this.#passing !== 'open') return;
    this.#passing = 'diverting';
    this.#channel.writer.divert(this.id);
    this.#channel.scheduleFlush();
  }

  /** What is queued is not counted any more: all of the body has come, and belongs to whoever will read it. */
  giveAway(): void {
    this.#channel.countQueued(-this.#countedBytes);
    this.#countedBytes = 0;
    this.#isGivenAway = true;
  }

  /** Reads no more: what is queued is dropped, and the peer is told to stop. */
  stopReading(reason: string): void {
    this.#drop();
    if (this.#incoming !== 'open') return;
    this.#incoming = 'stopped';
    this.#channel.writer.stop(this.id, reason);
    this.#channel.scheduleFlush();
    this.#channel.forgetIfOver(this);
  }

  /**
   * The incoming body is for another exchange. When it is so long that it would need credit, the peer is asked to hold the rest back instead:
   * `join` the other one to this when it `isDiverted` and nothing is queued.
   */
  passOn(): void {
    this.#passing ??= 'open';
  }

  /** The peer sends no more of the incoming body, though it is not at its end. */
  get isDiverted(): boolean {
    return this.#passing === 'diverted';
  }

  // --- the outgoing body ---

  /** How many bytes the peer takes now; zero or less: wait for `onCredit`. */
  get credit(): number {
    return this.#credit;
  }

  get isOutgoingOver(): boolean {
    return this.#isOutgoingOver;
  }

  /**
   * `bytes` must stay unchanged from here on. What the credit does not cover is kept until it does; answers the credit that is left,
   * none when the channel is full, and after an answer of zero or less a caller that wants memory to stay bounded waits for `onCredit`.
   */
  write(bytes: Uint8Array): number {
    if (this.#isOutgoingOver || this.#isEnding) return 0;
    if (this.#backlogBytes > 0 || bytes.length > this.#credit) {
      this.#backlog ??= [];
      this.#backlog.push(bytes);
      this.#backlogBytes += bytes.length;
      // What is sent of it gives nothing back before all of it is: the rest keeps the whole buffer.
      this.#channel.countBacklog(bytes.buffer.byteLength);
      this.#sendBacklog();
    } else {
      this.#send(bytes);
    }
    const left = this.#credit - this.#backlogBytes;
    if (left <= 0 || this.#joinedTo !== undefined || !this.#channel.isFull) return left;
    this.#isHeld = true;
    return 0;
  }

  /** The outgoing body is complete. */
  end(): void {
    if (this.#isOutgoingOver || this.#isEnding) return;
    if (this.#backlogBytes > 0 || (this.#isDivertedAway && this.#joinedTo === undefined)) {
      this.#isEnding = true;
      return;
    }
    this.#isOutgoingOver = true;
    // The peer, which joined them, hears of it all the same.
    this.#channel.writer.end(this.id);
    this.#channel.scheduleFlush();
    this.#joinedTo?.receiveEnd();
    this.#channel.forgetIfOver(this);
  }

  /**
   * What follows of the outgoing body is the rest of the incoming one of `from`, which is diverted: the peer moves it, as the bytes are all on
   * its side. How that one goes on, ends or fails is told to `from`, and to be passed on by `end` or `fail` here.
   */
  join(from: Exchange): void {
    if (this.#isOutgoingOver) return;
    this.#channel.writer.join(this.id, from.id);
    this.#channel.scheduleFlush();
  }

  /** Ends both directions with an error. */
  fail(reason: string): void {
    // What has come of the body may still wait to be read, by somebody who is gone.
    this.#drop();
    if (this.isOver) return;
    this.#incoming = 'failed';
    this.#failReason = reason;
    this.#isOutgoingOver = true;
    this.#dropBacklog();
    this.#channel.writer.fail(this.id, reason);
    this.#channel.scheduleFlush();
    this.#channel.forgetIfOver(this);
  }

  /** The answer. With `isComplete` the body is all of it, else it follows by `write` and `end`. */
  reply(status: number, head: string, isUtf8: boolean, body: Uint8Array | string | null, isComplete: boolean): void {
    if (this.#isOutgoingOver) return;
    if (isComplete && body !== null && body.length > INLINE_BODY_BYTES) {
      this.#channel.writer.reply(this.id, status, head, isUtf8, null, false);
      this.sendWhole(typeof body === 'string' ? Buffer.from(body) : body);
      return;
    }
    this.#channel.writer.reply(this.id, status, head, isUtf8, body, isComplete);
    this.#channel.scheduleFlush();
    if (isComplete) {
      this.#isOutgoingOver = true;
      this.#channel.forgetIfOver(this);
    }
  }

  /** Sends a body that is there as a whole, as fast as credit allows, and ends it. */
  sendWhole(bytes: Uint8Array): void {
    this.write(bytes);
    this.end();
  }

  #send(bytes: Uint8Array): void {
    this.#credit -= bytes.length;
    this.sentBytes += bytes.length;
    if (this.#joinedTo !== undefined) {
      this.#isHanding = true;
      try {
        this.#joinedTo.#receiveJoined(bytes);
      } finally {
        this.#isHanding = false;
      }
      return;
    }
    for (let at = 0; at < bytes.length; at += MAX_DATA_BYTES) {
      this.#channel.writer.data(
        this.id,
        bytes.length > MAX_DATA_BYTES ? bytes.subarray(at, at + MAX_DATA_BYTES) : bytes,
      );
    }
    this.#channel.scheduleFlush();
  }

  #sendBacklog(): void {
    const backlog = this.#backlog;
    while (backlog !== undefined && this.#credit > 0) {
      const first = backlog[0];
      if (first === undefined) return;
      const part = first.length > this.#credit ? first.subarray(0, this.#credit) : first;
      if (part === first) {
        backlog.shift();
        this.#channel.countBacklog(-first.buffer.byteLength);
      } else backlog[0] = first.subarray(part.length);
      this.#backlogBytes -= part.length;
      this.#send(part);
    }
  }

  #dropBacklog(): void {
    for (const { buffer } of this.#backlog ?? []) this.#channel.countBacklog(-buffer.byteLength);
    this.#backlog = undefined;
    this.#backlogBytes = 0;
  }

  // --- for the channel ---

  /** Set when the answer has come. */
  isReplied = false;
  /** Of the body that comes in frames of its own, read or not. */
  receivedBytes = 0;
  /** Of the incoming body, read. */
  takenBytes = 0;
  /** Of the outgoing body that goes in frames of its own. */
  sentBytes = 0;
  /** What the channel counts for it: its head, which the owner may hold until the exchange is over. */
  headBytes = 0;

  get isOver(): boolean {
    return this.#isOutgoingOver && this.#incoming !== 'open';
  }

  /** The outgoing body went whole with its head. */
  markSent(): void {
    this.#isOutgoingOver = true;
  }

  /** The body came whole with its head. */
  receiveWhole(): void {
    this.#incoming = 'ended';
  }

  /** Keeps a copy of a body that came whole, to be read by `read`. */
  keepWhole(body: Buffer): void {
    if (body.length > 0) this.#keep(Buffer.from(body));
  }

  receiveData(piece: Buffer): void {
    this.#grantedBytes -= piece.length;
    if (this.#grantedBytes < 0) throw new ProtocolError('More data was sent than credit was given');
    if (this.#incoming === 'stopped' || this.#incoming === 'failed') return;
    if (this.#incoming === 'ended') throw new ProtocolError('Data came after the end of a body');
    if (this.#joinedFrom !== undefined) throw new ProtocolError('Data came for a body that was joined to another');
    this.receivedBytes += piece.length;
    this.#keep(piece);
    this.listener?.onData();
  }

  #receiveJoined(bytes: Uint8Array): void {
    if (this.#incoming !== 'open') return;
    this.receivedBytes += bytes.length;
    this.#keep(asBuffer(bytes));
    this.listener?.onData();
  }

  receiveEnd(): void {
    if (this.#incoming === 'open') {
      this.#incoming = 'ended';
      this.listener?.onData();
    } else if (this.#incoming === 'stopped') {
      this.#incoming = 'ended';
    }
    this.#channel.forgetIfOver(this);
  }

  receiveCredit(bytes: number): void {
    // Given before the peer knew that no more would come.
    if (this.#isDivertedAway) return;
    if (this.#credit + bytes > WINDOW_BYTES * 2) throw new ProtocolError('More credit was given than the window has');
    this.#takeCredit(bytes);
  }

  #takeCredit(bytes: number): void {
    this.#credit += bytes;
    // Whoever hands on looks at the credit after each piece.
    if (!this.#isHanding) this.#goOn();
  }

  #goOn(): void {
    if (this.#isOutgoingOver) return;
    this.#sendBacklog();
    if (this.#credit <= 0 || this.#backlogBytes > 0) return;
    if (this.#isEnding) {
      this.#isEnding = false;
      this.end();
      this.listener?.onSent();
    } else {
      this.listener?.onCredit();
    }
  }

  /** The channel is full no more. */
  resume(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (!this.#isOutgoingOver && this.#credit > 0) this.listener?.onCredit();
  }

  receiveDivert(): void {
    // Its end is on its way.
    if (this.#isOutgoingOver) return;
    if (this.#isDivertedAway) throw new ProtocolError('A body was diverted twice');
    this.#isDivertedAway = true;
    this.#credit = 0;
    this.#channel.writer.diverted(this.id);
    this.#channel.scheduleFlush();
  }

  receiveDiverted(): void {
    if (this.#passing !== 'diverting') throw new ProtocolError('A body was held back that nobody diverts');
    this.#passing = 'diverted';
    this.listener?.onData();
  }

  /** The rest of the incoming body is that of the outgoing one of `source`. */
  receiveJoin(source: Exchange): void {
    if (this.#incoming !== 'open' || source.#isOutgoingOver) return;
    if (!source.#isDivertedAway) throw new ProtocolError('A body was joined that is not diverted');
    if (this.#joinedFrom !== undefined || source.#joinedTo !== undefined)
      throw new ProtocolError('A body was joined twice');
    this.#joinedFrom = source;
    source.#joinedTo = this;
    // What the peer might have sent is for the source to send.
    source.#takeCredit(this.#grantedBytes);
  }

  receiveStop(reason: string): void {
    if (this.#isOutgoingOver) return;
    this.#isOutgoingOver = true;
    this.#dropBacklog();
    this.#channel.writer.end(this.id);
    this.#channel.scheduleFlush();
    this.listener?.onStop(reason);
    this.#channel.forgetIfOver(this);
  }

  receiveFail(reason: string): void {
    this.#drop();
    this.#incoming = 'failed';
    this.#failReason = reason;
    this.#isOutgoingOver = true;
    this.#dropBacklog();
    this.#channel.forgetIfOver(this);
    this.listener?.onFail(reason);
  }

  #keep(piece: Buffer): void {
    this.#queue ??= new PieceQueue();
    this.#queue.push(piece);
    this.#count();
  }

  #drop(): void {
    this.#queue = undefined;
    this.#count();
  }

  #count(): void {
    if (this.#isGivenAway) return;
    const held = this.#queue?.heldBytes ?? 0;
    const more = held - this.#countedBytes;
    this.#countedBytes = held;
    if (more !== 0) this.#channel.countQueued(more);
  }
}
