/**
 * One exchange of a channel: a head and at most one body in each direction. Each body is a state machine of its own (incoming-body.ts,
 * outgoing-body.ts), made when it is first needed: most exchanges have bodies that come with their heads, or none.
 */
import { type BodyCarrier, type BodyOwner, type ExchangeListener, FIRST_WINDOW_BYTES } from './bodies/body-owner.js';
import { IncomingBody } from './bodies/incoming-body.js';
import { OutgoingBody } from './bodies/outgoing-body.js';
import { Splice, type SpliceSource, type SpliceTarget } from './bodies/splice.js';
import { INLINE_BODY_BYTES } from './frames/frame-layout.js';
import { ProtocolError } from './frames/protocol-error.js';

export type { ExchangeListener } from './bodies/body-owner.js';

/** The part of the channel that an exchange uses. */
export interface ExchangeCarrier extends BodyCarrier {
  forgetIfOver(exchange: Exchange): void;
  /** `resume` the exchange when the connection is no longer backpressured. */
  resumeWhenDrained(exchange: Exchange): void;
}

/** How far the incoming body of an exchange has come. */
export type IncomingState = 'open' | 'ended' | 'failed';

export class Exchange implements BodyOwner {
  readonly id: number;
  readonly carrier: ExchangeCarrier;
  listener: ExchangeListener | undefined;
  #incoming: IncomingBody | undefined;
  #outgoing: OutgoingBody | undefined;
  /** A body that is complete with its head needs no machine. */
  #cameWithHead = false;
  #wentWithHead = false;
  /** Undefined while the exchange has not failed. */
  #failReason: string | undefined;
  /** Set when the answer has come, or has been sent. */
  isReplied = false;
  /** The bytes that the channel counts for its head, which the owner may hold until the exchange is over. */
  headBytes = 0;

  constructor(carrier: ExchangeCarrier, id: number) {
    this.carrier = carrier;
    this.id = id;
  }

  // --- the incoming body ---

  get queuedBytes(): number {
    return this.#incoming?.queuedBytes ?? 0;
  }

  /** The end shows only after everything before it has been read; a failure at once. */
  get incoming(): IncomingState {
    if (this.#failReason !== undefined) return 'failed';
    return this.isIncomingOver && this.queuedBytes === 0 ? 'ended' : 'open';
  }

  /** No more will arrive, or what arrives is not wanted. */
  get isIncomingOver(): boolean {
    if (this.#failReason !== undefined || this.#cameWithHead) return true;
    return this.#incoming !== undefined && this.#incoming.state !== 'open';
  }

  /** True when no more will arrive: the queue has the rest of the body. */
  get hasWholeBody(): boolean {
    return this.#failReason === undefined && (this.#cameWithHead || this.#incoming?.state === 'ended');
  }

  get failReason(): string {
    return this.#failReason ?? '';
  }

  /** The bytes of the body that have arrived in frames of its own, read or not. */
  get receivedBytes(): number {
    return this.#incoming?.receivedBytes ?? 0;
  }

  /** The bytes of the incoming body that have been read. */
  get takenBytes(): number {
    return this.#incoming?.takenBytes ?? 0;
  }

  /** The next chunk, at most `maxBytes`; undefined when nothing is queued. */
  read(maxBytes: number): Buffer | undefined {
    return this.#incoming?.read(maxBytes);
  }

  /** Queued bytes are not counted any more: the whole body has arrived, and belongs to its reader. */
  giveAway(): void {
    this.#incoming?.giveAway();
  }

  /** Reads no more: the queue is dropped, and the peer is asked to stop. */
  stopReading(reason: string): void {
    if (this.isIncomingOver) this.#incoming?.abandon();
    else this.#openIncoming().stopReading(reason);
  }

  /**
   * The incoming body is for another exchange. If it would need credit, the peer is asked to hold the rest back instead: `splice` it into the other one when it
   * `isPaused` and nothing is queued.
   */
  forwardIncoming(): void {
    if (!this.isIncomingOver) this.#openIncoming().forward();
  }

  /** The incoming body has this length, as its sender has announced. One that ends with another length fails. */
  expect(bytes: number): void {
    if (this.#failReason === undefined && !this.#cameWithHead) this.#openIncoming().expect(bytes);
  }

  /** The peer sends no more of the incoming body, though it is not at its end. */
  get isPaused(): boolean {
    return this.#incoming?.isPaused ?? false;
  }

  // --- the outgoing body ---

  /** How many bytes the peer takes now; zero or less: wait for `onCredit`. */
  get credit(): number {
    return this.#outgoing?.credit ?? FIRST_WINDOW_BYTES;
  }

  get isOutgoingOver(): boolean {
    return this.#failReason !== undefined || this.#wentWithHead || this.#outgoing?.state === 'over';
  }

  /** The bytes of the outgoing body that have been sent in frames of its own. */
  get sentBytes(): number {
    return this.#outgoing?.sentBytes ?? 0;
  }

  /**
   * `bytes` must stay unchanged from here on. Bytes beyond the credit are kept until it suffices; returns the credit that is left, none when the connection is
   * backpressured. After zero or less a writer that wants memory to stay bounded waits for `onCredit`.
   */
  write(bytes: Uint8Array): number {
    return this.isOutgoingOver ? 0 : this.#openOutgoing().write(bytes);
  }

  /** The outgoing body is complete. */
  end(): void {
    if (!this.isOutgoingOver) this.#openOutgoing().end();
  }

  /**
   * The rest of the outgoing body is the rest of the incoming one of `from`, which is paused: the peer moves it, since all of its bytes are
   * on that side. Progress, end and failure of that body are reported to `from`; the caller passes them on by `end` or `fail` here.
   */
  splice(from: Exchange): void {
    if (this.isOutgoingOver) return;
    this.carrier.writer.splice(this.id, from.id);
    this.carrier.scheduleFlush();
  }

  /** The answer. With `isComplete` the body is all of it, else it follows by `write` and `end`. */
  reply(status: number, head: string, isUtf8: boolean, body: Uint8Array | string | null, isComplete: boolean): void {
    if (this.isOutgoingOver) return;
    this.isReplied = true;
    const { writer } = this.carrier;
    if (isComplete && body !== null && body.length > INLINE_BODY_BYTES) {
      writer.reply(this.id, status, head, isUtf8, null, false);
      this.sendBuffered(typeof body === 'string' ? Buffer.from(body) : body);
      return;
    }
    writer.reply(this.id, status, head, isUtf8, body, isComplete);
    this.carrier.scheduleFlush();
    if (isComplete) {
      this.markSent();
      this.forgetIfOver();
    }
  }

  /** Sends a body that is there as a whole, as fast as credit allows, and ends it. */
  sendBuffered(bytes: Uint8Array): void {
    this.write(bytes);
    this.end();
  }

  /** Ends both directions with an error. */
  fail(reason: string): void {
    if (this.isFinished) {
      // Bytes that have arrived may still wait for a reader, which must not take this part of the body for all of it.
      if (this.queuedBytes > 0) this.#failReason ??= reason;
      this.#incoming?.abandon();
      return;
    }
    this.#abandon(reason);
    this.carrier.writer.reset(this.id, reason);
    this.carrier.scheduleFlush();
    this.forgetIfOver();
  }

  // --- for the channel ---

  get isFinished(): boolean {
    return this.isOutgoingOver && this.isIncomingOver;
  }

  /** The outgoing body went whole with its head. */
  markSent(): void {
    this.#wentWithHead = true;
    this.#outgoing?.abandon();
  }

  /** The body came whole with its head. */
  receiveWhole(): void {
    this.#cameWithHead = true;
  }

  /** Keeps a body that came whole, to be read by `read`. */
  buffer(body: Buffer): void {
    if (body.length > 0) this.#openIncoming().receiveWhole(body);
  }

  receiveData(chunk: Buffer): void {
    this.#receiving().receiveData(chunk);
  }

  receiveEnd(): void {
    this.#receiving().receiveEnd();
  }

  receivePaused(): void {
    this.#receiving().receivePaused();
  }

  receiveCredit(bytes: number): void {
    if (this.#wentWithHead) throw new ProtocolError('Credit was given for a body that went with its head');
    this.#openOutgoing().receiveCredit(bytes);
  }

  receivePause(): void {
    if (!this.isOutgoingOver) this.#openOutgoing().receivePause();
  }

  receiveStopSending(reason: string): void {
    if (!this.isOutgoingOver) this.#openOutgoing().receiveStopSending(reason);
  }

  /** The rest of the incoming body becomes the rest of the outgoing one of `source`. */
  receiveSplice(source: Exchange): void {
    if (this.isIncomingOver || source.isOutgoingOver) return;
    const from = source.#openOutgoing();
    const to = this.#openIncoming();
    const splice = new Splice(from, to);
    from.receiveSplice(splice);
    to.receiveSplice(splice);
  }

  /** The rest of the outgoing body goes to the target. Undefined when it is over. @throws ProtocolError when it is not paused */
  spliceOutgoing(target: SpliceTarget): Splice | undefined {
    if (this.isOutgoingOver) return undefined;
    const from = this.#openOutgoing();
    const splice = new Splice(from, target);
    from.receiveSplice(splice);
    return splice;
  }

  /** The rest of the incoming body comes from the source. Undefined when it is over. @throws ProtocolError when it cannot be */
  spliceIncoming(source: SpliceSource): Splice | undefined {
    if (this.isIncomingOver) return undefined;
    const to = this.#openIncoming();
    const splice = new Splice(source, to);
    to.receiveSplice(splice);
    return splice;
  }

  receiveReset(reason: string): void {
    this.#abandon(reason);
    this.forgetIfOver();
    this.listener?.onFail(reason);
  }

  resume(): void {
    this.#outgoing?.resume();
  }

  // --- for its bodies ---

  refuse(reason: string): void {
    this.fail(reason);
    this.listener?.onFail(reason);
  }

  forgetIfOver(): void {
    this.carrier.forgetIfOver(this);
  }

  resumeWhenDrained(): void {
    this.carrier.resumeWhenDrained(this);
  }

  #openIncoming(): IncomingBody {
    this.#incoming ??= new IncomingBody(this);
    return this.#incoming;
  }

  #openOutgoing(): OutgoingBody {
    this.#outgoing ??= new OutgoingBody(this);
    return this.#outgoing;
  }

  /** The body that a frame is for. */
  #receiving(): IncomingBody {
    if (this.#cameWithHead) throw new ProtocolError('A frame came for a body that came with its head');
    return this.#openIncoming();
  }

  #abandon(reason: string): void {
    this.#failReason = reason;
    this.#incoming?.abandon();
    this.#outgoing?.abandon();
  }
}
