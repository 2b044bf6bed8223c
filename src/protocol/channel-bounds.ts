/** The bounds of one connection: the memory that it takes at this end, counted to an account or bounded by itself, and frames that are of no use. */
import type { HostShare } from '../quotas/host/host-share.js';
import { type FrameBounds, TRUSTED_BOUNDS } from './frames/frame-reader.js';
import { ProtocolError } from './frames/protocol-error.js';
import type { Transport } from './transports/transport.js';

/** All bodies of one connection together, queued and not yet read, and the heads of what the peer has opened: for an end without a share. */
const MAX_QUEUED_BYTES = 128 * 1024 * 1024;
/** From here on windows stay small, so that it takes thousands of clients that do not read to come there. */
const PRESSURE_BYTES = MAX_QUEUED_BYTES / 8;
/** The memory that this end needs for an exchange of the peer beside its contents. */
export const EXCHANGE_BYTES = 1024;
/** An honest peer sends a few frames for exchanges that have just ended. One that sends this many in a second only keeps this end busy. */
const MAX_FUTILE_FRAMES = 10_000;
const FUTILE_WITHIN_MS = 1000;

/** The bounds that the host sets for a connection. */
export interface ChannelBounds {
  readonly frames: FrameBounds;
  /** The account that everything of the connection is counted to. */
  readonly share: HostShare | undefined;
  /**
   * The peer is a process of the host with bodies and calls of many clients, any of which may be slow or give up: their number, their bytes and late frames
   * have no bound, and a body has a wide window while all of them hold little. @default false
   */
  readonly isForMany?: boolean;
}

export const UNBOUNDED: ChannelBounds = { frames: TRUSTED_BOUNDS, share: undefined };

export class HeldMemory {
  readonly #transport: Transport;
  readonly #isForMany: boolean;
  #share: HostShare | undefined;
  /** The bytes waiting to be written that are counted to the account. */
  #countedUnwrittenBytes = 0;
  /** For an end without a share. */
  #queuedBytes = 0;

  constructor(transport: Transport, share: HostShare | undefined, isForMany: boolean) {
    this.#transport = transport;
    this.#share = share;
    this.#isForMany = isForMany;
  }

  get isUnderMemoryPressure(): boolean {
    return this.#share === undefined ? this.#queuedBytes > PRESSURE_BYTES : this.#share.bytes.isUnderMemoryPressure;
  }

  /** From here on everything is counted to this account, also what this end has not written yet. Nothing else may be held. */
  assign(share: HostShare): void {
    this.release();
    this.#share = share;
    this.countUnwritten();
  }

  /** Counts the bytes that the exchanges hold, so that a peer cannot fill this side's memory with many of them. */
  countQueued(bytes: number): void {
    if (this.#share !== undefined) {
      this.#share.bytes.countBuffers(bytes);
      return;
    }
    this.#queuedBytes += bytes;
    // Released bytes are never refused: they are released while a connection is being closed for holding too much.
    if (bytes > 0 && this.#queuedBytes > MAX_QUEUED_BYTES && !this.#isForMany)
      throw new ProtocolError('Too much data is queued');
  }

  /** Counts the bytes that wait for the peer's credit. */
  countBacklog(bytes: number): void {
    this.#share?.bytes.countBuffers(bytes);
  }

  /** Counts the head of an exchange of the peer. */
  countHead(bytes: number): void {
    if (this.#share === undefined) this.countQueued(bytes);
    else this.#share.bytes.countHeap(bytes);
  }

  countUnwritten(): void {
    if (this.#share === undefined) return;
    const { unwrittenBytes } = this.#transport;
    if (unwrittenBytes === this.#countedUnwrittenBytes) return;
    this.#share.bytes.countBuffers(unwrittenBytes - this.#countedUnwrittenBytes);
    this.#countedUnwrittenBytes = unwrittenBytes;
  }

  /** Nothing that waits to be written is counted any more. */
  release(): void {
    this.#share?.bytes.countBuffers(-this.#countedUnwrittenBytes);
    this.#countedUnwrittenBytes = 0;
  }
}

/** Frames without an open exchange, which may have ended while the frame was on its way. */
export class FutileFrames {
  #count = 0;
  #sinceMs = 0;

  /** @throws ProtocolError when there are too many of them */
  count(): void {
    if (++this.#count <= MAX_FUTILE_FRAMES) return;
    const now = performance.now();
    if (now - this.#sinceMs < FUTILE_WITHIN_MS) {
      throw new ProtocolError(`More than ${MAX_FUTILE_FRAMES} frames in a second belong to nothing that is open`);
    }
    this.#sinceMs = now;
    this.#count = 0;
  }
}
