/**
 * One connection between the host process and an isolate, as both ends see it: exchanges with a head and at most one body in each
 * direction, flow-controlled by credit, so that a slow reader slows the writer and memory stays bounded.
 */
import { reportFault } from '../quotas/guarded.js';
import type { HostShare } from '../quotas/host/host-share.js';
import { WIDE_WINDOW_BYTES, WINDOW_BYTES } from './bodies/body-owner.js';
import { type ChannelBounds, EXCHANGE_BYTES, FutileFrames, HeldMemory, UNBOUNDED } from './channel-bounds.js';
import { Exchange, type ExchangeCarrier, type ExchangeListener } from './exchange.js';
import { ExchangeIds } from './exchange-ids.js';
import { INLINE_BODY_BYTES } from './frames/frame-layout.js';
import { FrameReader, type FrameSink } from './frames/frame-reader.js';
import { FrameWriter } from './frames/frame-writer.js';
import { GatedReader } from './frames/gated-reader.js';
import { type Awaited, LateFrames } from './frames/late-frames.js';
import { asProtocolError, ProtocolError } from './frames/protocol-error.js';
import { IdTable } from './id-table.js';
import type { Transport } from './transports/transport.js';

/** A peer that opens more at once is not honest: the host admits fewer, an isolate is refused earlier by its quotas. */
const MAX_EXCHANGES = 16_384;
/** From this number of frames on they are written at once. */
const MANY_FRAMES = 16;

export interface ChannelOwner {
  /** The message of the error that open exchanges fail with when the connection ends. @default 'The connection is closed' */
  readonly closedReason?: string;
  /**
   * Exceptions go through to Node, which ends the thread: at an isolate's end, whose peer is the host. Everywhere else they are the fault of the peer, whose
   * connection ends with EDGE_PROTOCOL. @default false
   */
  readonly throwsFaults?: boolean;
  /** The peer opened an exchange. `body` is a view valid during the call; it is the whole body when `isComplete`. */
  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void;
  onSignal(id: number, kind: number, payload: Buffer): void;
  /** The connection has ended, and every exchange with it. `error` when the peer broke the protocol. */
  onClose(error: ProtocolError | undefined): void;
}

export class Channel implements FrameSink, ExchangeCarrier {
  readonly writer = new FrameWriter();
  readonly #transport: Transport;
  #owner: ChannelOwner;
  readonly #closedReason: string;
  readonly #held: HeldMemory;
  readonly #reader: GatedReader;
  readonly #frames: FrameReader;
  /** Made when the thread first stands still. */
  #late: LateFrames | undefined;
  readonly #futile = new FutileFrames();
  readonly ids: ExchangeIds;
  readonly #exchanges = new IdTable<Exchange>();
  /** Exchanges whose writers wait until the connection takes more. */
  #backpressured = new Set<Exchange>();
  readonly #isForMany: boolean;
  #isFlushScheduled = false;
  #framesWaiting = 0;
  #isClosed = false;
  readonly #flush = (): void => {
    try {
      this.#isFlushScheduled = false;
      this.flushNow();
    } catch (error) {
      this.#failed(error);
    }
  };

  constructor(
    transport: Transport,
    side: 'host' | 'isolate',
    owner: ChannelOwner,
    { frames, share, isForMany = false }: ChannelBounds = UNBOUNDED,
  ) {
    this.#transport = transport;
    this.#owner = owner;
    this.#closedReason = owner.closedReason ?? 'The connection is closed';
    this.#held = new HeldMemory(transport, share, isForMany);
    this.#isForMany = isForMany;
    this.#frames = new FrameReader(this, frames);
    this.#reader = new GatedReader(transport, this.#frames, share, error => this.#failed(error));
    this.ids = new ExchangeIds(side);
    transport.start({
      onRead: bytes => {
        try {
          this.#reader.read(bytes);
        } catch (error) {
          this.#failed(error);
        }
      },
      // Data that has not been read is of no use any more.
      onClose: () => this.#close(undefined),
      onDrain: () => {
        try {
          this.#drained();
        } catch (error) {
          this.#failed(error);
        }
      },
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get windowBytes(): number {
    return this.#isForMany ? WIDE_WINDOW_BYTES : WINDOW_BYTES;
  }

  get isBackpressured(): boolean {
    return this.#transport.isBackpressured;
  }

  get isUnderMemoryPressure(): boolean {
    return this.#held.isUnderMemoryPressure;
  }

  get unwrittenBytes(): number {
    return this.#transport.unwrittenBytes;
  }

  /**
   * From here on everything of the connection is counted to this account, also what this end has not written yet. False, and nothing has changed, while
   * something of the peer is held: one that has said nothing yet has nothing here. On a connection that has ended nothing is counted any more.
   */
  assign(share: HostShare): boolean {
    if (this.#isClosed) return true;
    if (this.#reader.holdsBytes) return false;
    for (const { headBytes, queuedBytes } of this.#exchanges.values()) if (headBytes + queuedBytes > 0) return false;
    this.#reader.assign(share);
    this.#held.assign(share);
    return true;
  }

  /** Exchanges and signals of the peer go to this owner from now on. */
  handOver(owner: ChannelOwner): void {
    this.#owner = owner;
  }

  find(id: number): Exchange | undefined {
    return this.#exchanges.get(id);
  }

  /** See {@link ExchangeIds.mayOpen}. */
  mayOpen(id: number): boolean {
    return !this.#isClosed && this.ids.mayOpen(id);
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
    const id = this.ids.take();
    const exchange = new Exchange(this, id);
    exchange.listener = listener;
    if (this.#isClosed) {
      exchange.receiveReset(this.#closedReason);
      return exchange;
    }
    const isLarge = isComplete && body !== null && body.length > INLINE_BODY_BYTES;
    this.writer.open(id, kind, head, isUtf8, isLarge ? null : body, isComplete && !isLarge);
    this.#exchanges.set(id, exchange);
    if (isLarge) exchange.sendBuffered(typeof body === 'string' ? Buffer.from(body) : body);
    else if (isComplete) exchange.markSent();
    this.scheduleFlush();
    return exchange;
  }

  signal(id: number, kind: number, payload: Uint8Array | string): void {
    if (this.#isClosed) return;
    this.writer.signal(id, kind, payload);
    this.scheduleFlush();
  }

  /** Everything gathered in this round of the event loop goes out in one write. */
  scheduleFlush(): void {
    this.#framesWaiting++;
    if (this.#isFlushScheduled) return;
    // In this order: where the stack has come to its end, a later call schedules it.
    setImmediate(this.#flush);
    this.#isFlushScheduled = true;
  }

  /**
   * Writes out the gathered frames when there are many, so that the other end can begin with them. It needs a moment when neither guest code nor the reading of
   * the connection is on the stack.
   *
   * @param frames how many are much. @default 16
   */
  flushMany(frames: number = MANY_FRAMES): void {
    if (this.#framesWaiting >= frames) this.flushNow();
  }

  /** Whether the thread may stand still for an answer now. See {@link Transport.beginBlocking}. */
  mayBlock(): boolean | undefined {
    return this.#transport.beginBlocking?.();
  }

  /**
   * Stands still until `isOver`, or the connection has ended. Frames of other exchanges are handed on in a later round of the event loop: the guest is in
   * the middle of a turn.
   */
  block(awaited: Awaited, isOver: () => boolean): void {
    this.#late ??= new LateFrames(this);
    const late = this.#late;
    late.awaited = awaited;
    this.#frames.sink = late;
    this.flushNow();
    while (!isOver() && !this.#isClosed) {
      if (this.#transport.readBlocking?.() !== true) break;
      this.flushNow();
    }
    late.awaited = undefined;
    if (late.isEmpty) this.#frames.sink = this;
    else {
      setImmediate(() => {
        try {
          if (this.#frames.sink === this) return;
          this.#frames.sink = this;
          late.release();
        } catch (error) {
          this.#failed(error);
        }
      });
    }
  }

  countQueued(bytes: number): void {
    this.#held.countQueued(bytes);
  }

  countBacklog(bytes: number): void {
    this.#held.countBacklog(bytes);
  }

  resumeWhenDrained(exchange: Exchange): void {
    this.#backpressured.add(exchange);
  }

  forgetIfOver(exchange: Exchange): void {
    // Asked again for one that is over, when the peer has opened another by its id.
    if (!exchange.isFinished || this.#exchanges.get(exchange.id) !== exchange) return;
    this.#exchanges.delete(exchange.id);
    if (this.#backpressured.size > 0) this.#backpressured.delete(exchange);
    this.#held.countHead(-exchange.headBytes);
  }

  /** Counts a frame without an open exchange. @throws ProtocolError when there are too many of them */
  futileFrame(): void {
    if (!this.#isForMany) this.#futile.count();
  }

  close(): void {
    this.#flush();
    this.#transport.close();
    this.#close(undefined);
  }

  /** Writes out the gathered frames: the code that runs next may never end. */
  flushNow(): void {
    this.#framesWaiting = 0;
    if (this.#isClosed || this.writer.isEmpty) return;
    this.#transport.write(this.writer.take());
    this.#held.countUnwritten();
  }

  #drained(): void {
    if (!this.#isClosed) this.#held.countUnwritten();
    if (this.#backpressured.size === 0) return;
    const waiting = this.#backpressured;
    this.#backpressured = new Set();
    for (const exchange of waiting) exchange.resume();
  }

  /** Something was thrown for what the peer sent, or is to be sent. */
  #failed(error: unknown): void {
    if (this.#owner.throwsFaults === true && !(error instanceof ProtocolError)) throw error;
    if (this.#isClosed) {
      reportFault(error);
      return;
    }
    this.#transport.close();
    this.#close(asProtocolError(error));
  }

  #close(error: ProtocolError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // First: bytes released by the exchanges may let the account be read again.
    this.#reader.close();
    const open = this.#exchanges.values();
    this.#exchanges.clear();
    this.#backpressured.clear();
    for (const exchange of open) {
      this.#over(() => exchange.receiveReset(this.#closedReason));
      this.#held.countHead(-exchange.headBytes);
    }
    this.#held.release();
    this.#over(() => this.#owner.onClose(error));
  }

  /** One of the steps of the end, which the others do not wait for. */
  #over(step: () => void): void {
    if (this.#owner.throwsFaults === true) {
      step();
      return;
    }
    try {
      step();
    } catch (error) {
      reportFault(error);
    }
  }

  // --- FrameSink: ids that are not open are late frames of an exchange that is over, and are dropped ---

  onOpen(id: number, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    // It was read together with a frame for which the owner has closed the connection.
    if (this.#isClosed) return;
    this.ids.opened(id);
    if (this.#exchanges.has(id)) throw new ProtocolError(`The id ${id} is open already`);
    if (this.#exchanges.size >= MAX_EXCHANGES && !this.#isForMany)
      throw new ProtocolError('Too many exchanges are open');
    if (!isComplete && body.length > 0) throw new ProtocolError('A body that is not complete came with its head');
    const exchange = new Exchange(this, id);
    this.#exchanges.set(id, exchange);
    // A character of a text that is not Latin-1 takes two bytes.
    exchange.headBytes = EXCHANGE_BYTES + head.length * 2;
    this.#held.countHead(exchange.headBytes);
    if (isComplete) exchange.receiveWhole();
    this.#owner.onOpen(exchange, kind, head, body, isComplete);
  }

  onReply(id: number, status: number, head: string, body: Buffer, isComplete: boolean): void {
    const exchange = this.#find(id);
    if (exchange === undefined) return;
    if (this.ids.isOfPeer(id)) throw new ProtocolError('A reply came for an exchange of the peer');
    if (exchange.isReplied) throw new ProtocolError('A second reply came');
    if (!isComplete && body.length > 0) throw new ProtocolError('A body that is not complete came with its head');
    exchange.isReplied = true;
    if (isComplete) exchange.receiveWhole();
    this.forgetIfOver(exchange);
    exchange.listener?.onReply(status, head, body, isComplete);
  }

  #find(id: number): Exchange | undefined {
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) this.futileFrame();
    return exchange;
  }

  onData(id: number, chunk: Buffer): void {
    this.#find(id)?.receiveData(chunk);
  }

  onEnd(id: number): void {
    this.#find(id)?.receiveEnd();
  }

  onCredit(id: number, bytes: number): void {
    this.#find(id)?.receiveCredit(bytes);
  }

  onReset(id: number, reason: string): void {
    this.#find(id)?.receiveReset(reason);
  }

  onStopSending(id: number, reason: string): void {
    this.#find(id)?.receiveStopSending(reason);
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    this.#owner.onSignal(id, kind, payload);
  }

  onPause(id: number): void {
    this.#find(id)?.receivePause();
  }

  onPaused(id: number): void {
    this.#find(id)?.receivePaused();
  }

  /** When one of them is over, the failure that ended it is on its way to the peer, which passes it on. */
  onSplice(id: number, from: number): void {
    // A call that is sent its own answer would go round without end, and cost the peer nothing.
    if (id === from && this.ids.isOfPeer(id)) throw new ProtocolError('A call was spliced to itself');
    const source = this.#find(from);
    if (source !== undefined) this.#find(id)?.receiveSplice(source);
  }
}
