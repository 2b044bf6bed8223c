/** The parts of an exchange and of its channel that its two bodies use, and the sizes of their credit windows. */
import type { FrameWriter } from '../frames/frame-writer.js';

/** The most bytes of one body that may be in flight before its reader has taken any: many clients that read nothing hold little. */
export const FIRST_WINDOW_BYTES = 64 * 1024;
/**
 * The limit when it has taken some, unless the bodies of the connection hold much together. Credit is returned when half of the window was read, so that credit
 * frames stay rare.
 */
export const WINDOW_BYTES = 256 * 1024;
/** The same between two processes of the host, which wait for each other less often then. */
export const WIDE_WINDOW_BYTES = 1024 * 1024;

/** The part of the channel that a body uses. */
export interface BodyCarrier {
  readonly writer: FrameWriter;
  /** Whether the connection has enough unwritten bytes that bodies should wait. */
  readonly isBackpressured: boolean;
  /** The most bytes of one body that may be in flight, unless all together hold much. */
  readonly windowBytes: number;
  /** Whether all exchanges together hold enough bytes that each should hold few. */
  readonly isUnderMemoryPressure: boolean;
  scheduleFlush(): void;
  /** Counts the buffers that are held of incoming bodies. @throws ProtocolError when that is too much */
  countQueued(bytes: number): void;
  /** Counts the buffers of outgoing bodies that wait for credit. */
  countBacklog(bytes: number): void;
}

/** Notifies the holder of an exchange of its events. Methods are called inside the read of the connection. */
export interface ExchangeListener {
  /** Opener only. `body` is a view that is valid during the call when `isComplete`; else the body comes by `onData`. */
  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void;
  /** There is more to `read()`, or the incoming body has ended or is paused. */
  onData(): void;
  /** `write` may continue. */
  onCredit(): void;
  /** The last byte of an outgoing body that had to wait for credit has been sent. */
  onSent(): void;
  /** The peer reads no more of the outgoing body. */
  onStop(reason: string): void;
  /** The peer's side has failed, or the connection is gone: the exchange is over. */
  onFail(reason: string): void;
}

/** The exchange, as its bodies see it. */
export interface BodyOwner {
  readonly id: number;
  readonly carrier: BodyCarrier;
  readonly listener: ExchangeListener | undefined;
  /** The incoming body differs from its announcement: the exchange fails, here and for the peer. */
  refuse(reason: string): void;
  /** One body is over: so is the exchange when the other one is. */
  forgetIfOver(): void;
  /** The writer was asked to wait because the connection is backpressured: `resume` of the outgoing body when it is no longer. */
  resumeWhenDrained(): void;
}
