/**
 * One connection between the host process and an isolate, as both ends see it: exchanges with a head and at most one body in each
 * direction, flow-controlled by credit, so that a slow reader slows the writer and memory stays bounded.
 */

import {
  FrameReader,
  type FrameSink,
  FrameWriter,
  INLINE_BODY_BYTES,
  MAX_DATA_BYTES,
  ProtocolError,
} from './frames.js';
import type { Transport } from './transport.js';

/** How many bytes of one body may be under way before its reader has taken any. */
export const WINDOW_BYTES = 256 * 1024;
/** Read so much before credit is given back, so that credit frames stay rare. */
const CREDIT_STEP_BYTES = WINDOW_BYTES / 2;
/** A peer that opens more at once is not honest: the host admits fewer, an isolate is refused earlier by its quotas. */
const MAX_EXCHANGES = 16_384;
/** All bodies of one connection together, queued and not yet read. */
const MAX_QUEUED_BYTES = 128 * 1024 * 1024;
const MAX_ID = 0xffff_fffe;
/** A body piece kept in the queue that is this small is copied, so that it does not pin the buffer it was read into. */
const COPY_BELOW_BYTES = 16 * 1024;

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

export class Exchange {
  readonly id: number;
  listener: ExchangeListener | undefined;
  readonly #channel: Channel;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  /** Bytes taken by the reader and not yet given back as credit. */
  #takenBytes = 0;
  /** Bytes that the peer may still send. */
  #grantedBytes = WINDOW_BYTES;
  /** Bytes that may still be written. */
  #credit = WINDOW_BYTES;
  #incoming: IncomingState | 'stopped' = 'open';
  #isOutgoingOver = false;
  #failReason = '';
  /** Written, and waiting for credit. */
  #backlog: Uint8Array[] = [];
  #backlogBytes = 0;
  /** `end` was called and the backlog is still to be sent. */
  #isEnding = false;

  constructor(channel: Channel, id: number) {
    this.#channel = channel;
    this.id = id;
  }

  // --- the incoming body ---

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The end shows only after everything before it has been read; a failure at once. */
  get incoming(): IncomingState {
    if (this.#incoming === 'failed') return 'failed';
    return this.#incoming !== 'open' && this.#queuedBytes === 0 ? 'ended' : 'open';
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
    const first = this.#queue[0];
    if (first === undefined) return undefined;
    let piece = first;
    if (first.length > maxBytes) {
      piece = first.subarray(0, maxBytes);
      this.#queue[0] = first.subarray(maxBytes);
    } else {
      this.#queue.shift();
    }
    this.#queuedBytes -= piece.length;
    this.#channel.countQueued(-piece.length);
    this.#takenBytes += piece.length;
    if (this.#takenBytes >= CREDIT_STEP_BYTES && this.#incoming === 'open') {
      this.#grantedBytes += this.#takenBytes;
      this.#channel.writer.credit(this.id, this.#takenBytes);
      this.#channel.scheduleFlush();
      this.#takenBytes = 0;
    }
    return piece;
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

  // --- the outgoing body ---

  /** How many bytes may still be written now; zero or less: wait for `onCredit`. */
  get credit(): number {
    return this.#credit;
  }

  get isOutgoingOver(): boolean {
    return this.#isOutgoingOver;
  }

  /**
   * `bytes` must stay unchanged from here on. What the credit does not cover is kept until it does; answers the credit that is left,
   * and after an answer of zero or less a caller that wants memory to stay bounded waits for `onCredit`.
   */
  write(bytes: Uint8Array): number {
    if (this.#isOutgoingOver || this.#isEnding) return 0;
    if (this.#backlogBytes > 0 || bytes.length > this.#credit) {
      this.#backlog.push(bytes);
      this.#backlogBytes += bytes.length;
      this.#sendBacklog();
    } else {
      this.#send(bytes);
    }
    return this.#credit - this.#backlogBytes;
  }

  /** The outgoing body is complete. */
  end(): void {
    if (this.#isOutgoingOver || this.#isEnding) return;
    if (this.#backlogBytes > 0) {
      this.#isEnding = true;
      return;
    }
    this.#isOutgoingOver = true;
    this.#channel.writer.end(this.id);
    this.#channel.scheduleFlush();
    this.#channel.forgetIfOver(this);
  }

  /** Ends both directions with an error. */
  fail(reason: string): void {
    if (this.isOver) return;
    this.#drop();
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
    for (let at = 0; at < bytes.length; at += MAX_DATA_BYTES) {
      this.#channel.writer.data(
        this.id,
        bytes.length > MAX_DATA_BYTES ? bytes.subarray(at, at + MAX_DATA_BYTES) : bytes,
      );
    }
    this.#channel.scheduleFlush();
  }

  #sendBacklog(): void {
    while (this.#credit > 0) {
      const first = this.#backlog[0];
      if (first === undefined) return;
      const part = first.length > this.#credit ? first.subarray(0, this.#credit) : first;
      if (part === first) this.#backlog.shift();
      else this.#backlog[0] = first.subarray(part.length);
      this.#backlogBytes -= part.length;
      this.#send(part);
    }
  }

  #dropBacklog(): void {
    this.#backlog = [];
    this.#backlogBytes = 0;
  }

  // --- for the channel ---

  /** Set when the answer has come. */
  isReplied = false;

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
    if (body.length === 0) return;
    this.#queue.push(Buffer.from(body));
    this.#queuedBytes = body.length;
    this.#channel.countQueued(body.length);
  }

  receiveData(piece: Buffer): void {
    this.#grantedBytes -= piece.length;
    if (this.#grantedBytes < 0) throw new ProtocolError('More data was sent than credit was given');
    if (this.#incoming === 'stopped' || this.#incoming === 'failed') return;
    if (this.#incoming === 'ended') throw new ProtocolError('Data came after the end of a body');
    this.#queue.push(piece.length < COPY_BELOW_BYTES ? Buffer.from(piece) : piece);
    this.#queuedBytes += piece.length;
    this.#channel.countQueued(piece.length);
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
    if (this.#credit + bytes > WINDOW_BYTES * 2) throw new ProtocolError('More credit was given than the window has');
    this.#credit += bytes;
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

  #drop(): void {
    this.#channel.countQueued(-this.#queuedBytes);
    this.#queue = [];
    this.#queuedBytes = 0;
  }
}

export interface ChannelOwner {
  /** The peer opened an exchange. `body` is a view valid during the call; it is the whole body when `isComplete`. */
  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void;
  onNote(id: number, kind: number, payload: Buffer): void;
  /** The connection has ended; every exchange has been told. `error` when the peer broke the protocol. */
  onClose(error: ProtocolError | undefined): void;
}

export class Channel implements FrameSink {
  readonly writer = new FrameWriter();
  readonly #transport: Transport;
  readonly #owner: ChannelOwner;
  readonly #reader = new FrameReader(this);
  readonly #exchanges = new Map<number, Exchange>();
  readonly #peerParity: number;
  readonly #firstId: 1 | 2;
  #nextId: number;
  #queuedBytes = 0;
  #isFlushScheduled = false;
  #isClosed = false;
  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    if (!this.#isClosed && !this.writer.isEmpty) this.#transport.write(this.writer.take());
  };

  /** The host opens even ids, the isolate odd ones. */
  constructor(transport: Transport, side: 'host' | 'isolate', owner: ChannelOwner) {
    this.#transport = transport;
    this.#owner = owner;
    this.#firstId = side === 'host' ? 2 : 1;
    this.#nextId = this.#firstId;
    this.#peerParity = side === 'host' ? 1 : 0;
    transport.start({
      onRead: chunk => this.#read(chunk),
      onClose: () => this.#close(undefined),
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get openExchanges(): number {
    return this.#exchanges.size;
  }

  find(id: number): Exchange | undefined {
    return this.#exchanges.get(id);
  }

  /** Opens an exchange. With `isComplete` the body is all of it, else it follows by `write` and `end`. */
  open(
    kind: number,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
    isComplete: boolean,
    listener?: ExchangeListener,
  ): Exchange {
    const id = this.#nextId;
    this.#nextId = id + 2 <= MAX_ID ? id + 2 : this.#firstId;
    const exchange = new Exchange(this, id);
    exchange.listener = listener;
    if (this.#isClosed) {
      exchange.receiveFail('The connection is closed');
      return exchange;
    }
    this.#exchanges.set(id, exchange);
    if (isComplete && body !== null && body.length > INLINE_BODY_BYTES) {
      this.writer.open(id, kind, head, isUtf8, null, false);
      exchange.sendWhole(typeof body === 'string' ? Buffer.from(body) : body);
    } else {
      this.writer.open(id, kind, head, isUtf8, body, isComplete);
      if (isComplete) exchange.markSent();
    }
    this.scheduleFlush();
    return exchange;
  }

  note(id: number, kind: number, payload: Uint8Array | string): void {
    if (this.#isClosed) return;
    this.writer.note(id, kind, payload);
    this.scheduleFlush();
  }

  /** Everything gathered in this round of the event loop goes out in one write. */
  scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flush);
  }

  /** Keeps count of what the exchanges hold, so that a peer cannot fill this side's memory with many of them. */
  countQueued(bytes: number): void {
    this.#queuedBytes += bytes;
    if (this.#queuedBytes > MAX_QUEUED_BYTES) throw new ProtocolError('Too much data is queued');
  }

  forgetIfOver(exchange: Exchange): void {
    if (exchange.isOver) this.#exchanges.delete(exchange.id);
  }

  close(): void {
    this.#flush();
    this.#transport.close();
    this.#close(undefined);
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#transport.close();
      this.#close(error);
    }
  }

  #close(error: ProtocolError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const open = [...this.#exchanges.values()];
    this.#exchanges.clear();
    for (const exchange of open) exchange.receiveFail('The connection is closed');
    this.#owner.onClose(error);
  }

  // --- FrameSink: ids that are not open are late frames of an exchange that is over, and are dropped ---

  onOpen(id: number, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    if ((id & 1) !== this.#peerParity || id === 0) throw new ProtocolError(`The peer may not open the id ${id}`);
    if (this.#exchanges.has(id)) throw new ProtocolError(`The id ${id} is open already`);
    if (this.#exchanges.size >= MAX_EXCHANGES) throw new ProtocolError('Too many exchanges are open');
    if (!isComplete && body.length > 0) throw new ProtocolError('A body that is not complete came with its head');
    const exchange = new Exchange(this, id);
    this.#exchanges.set(id, exchange);
    if (isComplete) exchange.receiveWhole();
    this.#owner.onOpen(exchange, kind, head, body, isComplete);
  }

  onReply(id: number, status: number, head: string, body: Buffer, isComplete: boolean): void {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    if ((id & 1) === this.#peerParity) throw new ProtocolError('A reply came for an exchange of the peer');
    if (exchange.isReplied) throw new ProtocolError('A second reply came');
    if (!isComplete && body.length > 0) throw new ProtocolError('A body that is not complete came with its head');
    exchange.isReplied = true;
    if (isComplete) exchange.receiveWhole();
    this.forgetIfOver(exchange);
    exchange.listener?.onReply(status, head, body, isComplete);
  }

  onData(id: number, piece: Buffer): void {
    this.#exchanges.get(id)?.receiveData(piece);
  }

  onEnd(id: number): void {
    this.#exchanges.get(id)?.receiveEnd();
  }

  onCredit(id: number, bytes: number): void {
    this.#exchanges.get(id)?.receiveCredit(bytes);
  }

  onFail(id: number, reason: string): void {
    this.#exchanges.get(id)?.receiveFail(reason);
  }

  onStop(id: number, reason: string): void {
    this.#exchanges.get(id)?.receiveStop(reason);
  }

  onNote(id: number, kind: number, payload: Buffer): void {
    this.#owner.onNote(id, kind, payload);
  }
}
