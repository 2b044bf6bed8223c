/**
 * One connection between the host process and an isolate, as both ends see it: exchanges with a head and at most one body in each
 * direction, flow-controlled by credit, so that a slow reader slows the writer and memory stays bounded.
 */

import { Exchange, type ExchangeCarrier, type ExchangeListener } from './exchange.js';
import { FrameReader, type FrameSink, FrameWriter, INLINE_BODY_BYTES, ProtocolError } from './frames.js';
import type { Transport } from './transport.js';

/** A peer that opens more at once is not honest: the host admits fewer, an isolate is refused earlier by its quotas. */
const MAX_EXCHANGES = 16_384;
/** All bodies of one connection together, queued and not yet read, and the heads of what the peer has opened. */
const MAX_QUEUED_BYTES = 128 * 1024 * 1024;
/** From here on windows stay small, so that it takes thousands of clients that do not read to come there. */
const CROWDED_BYTES = MAX_QUEUED_BYTES / 8;
const MAX_ID = 0xffff_fffe;
/** So many frames are worth a write of their own. */
const MANY_FRAMES = 16;

export interface ChannelOwner {
  /** The peer opened an exchange. `body` is a view valid during the call; it is the whole body when `isComplete`. */
  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void;
  onNote(id: number, kind: number, payload: Buffer): void;
  /** The connection has ended; every exchange has been told. `error` when the peer broke the protocol. */
  onClose(error: ProtocolError | undefined): void;
}

export class Channel implements FrameSink, ExchangeCarrier {
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
  #framesWaiting = 0;
  #isClosed = false;
  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    this.#writeOut();
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
      onDrain: () => this.#resume(),
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isFull(): boolean {
    return this.#transport.isFull;
  }

  get isCrowded(): boolean {
    return this.#queuedBytes > CROWDED_BYTES;
  }

  get unwrittenBytes(): number {
    return this.#transport.unwrittenBytes;
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
    this.#framesWaiting++;
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flush);
  }

  /**
   * Writes out what has gathered when that is much, so that the other end begins with it while this one goes on. For a moment when
   * neither guest code nor the reading of the connection is on the stack.
   */
  flushMany(): void {
    if (this.#framesWaiting >= MANY_FRAMES) this.#writeOut();
  }

  /** Keeps count of what the exchanges hold, so that a peer cannot fill this side's memory with many of them. */
  countQueued(bytes: number): void {
    this.#queuedBytes += bytes;
    // Never for what is given back: that happens while a connection is being closed for holding too much.
    if (bytes > 0 && this.#queuedBytes > MAX_QUEUED_BYTES) throw new ProtocolError('Too much data is queued');
  }

  forgetIfOver(exchange: Exchange): void {
    // Told again of one that is over, when the peer has opened another by its id.
    if (!exchange.isOver || this.#exchanges.get(exchange.id) !== exchange) return;
    this.#exchanges.delete(exchange.id);
    this.#queuedBytes -= exchange.headBytes;
  }

  close(): void {
    this.#flush();
    this.#transport.close();
    this.#close(undefined);
  }

  #writeOut(): void {
    this.#framesWaiting = 0;
    if (!this.#isClosed && !this.writer.isEmpty) this.#transport.write(this.writer.take());
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

  #resume(): void {
    for (const exchange of [...this.#exchanges.values()]) exchange.resume();
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
    exchange.headBytes = head.length;
    this.countQueued(head.length);
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

  onDivert(id: number): void {
    this.#exchanges.get(id)?.receiveDivert();
  }

  onDiverted(id: number): void {
    this.#exchanges.get(id)?.receiveDiverted();
  }

  /** One of them is over: the failure that ended it is on its way to the peer, which passes it on. */
  onJoin(id: number, from: number): void {
    // A call that is sent its own answer would go round without end, and cost the peer nothing.
    if (id === from && (id & 1) === this.#peerParity) throw new ProtocolError('A call was joined to itself');
    const source = this.#exchanges.get(from);
    if (source !== undefined) this.#exchanges.get(id)?.receiveJoin(source);
  }
}
