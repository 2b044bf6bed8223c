/**
 * The body that an exchange receives. Its peer may send as much as it was given credit for, and received bytes are queued until they are read.
 *
 *     state   open --End--> ended
 *             open --stopReading(), or the exchange failed--> stopped --End--> ended
 *
 *     supply  data --forwardIncoming()--> forwarding --credit is due--> pausing --Paused--> paused
 *             data --Splice--> spliced
 *
 * `supply` says how the bytes of an open body come. One that is forwarded comes as data until it would be given credit; then the peer is asked
 * to hold the rest back, so that it can be spliced there. Everything else that a peer might send is a ProtocolError.
 */

import { asBuffer } from '../frames/buffer-views.js';
import { ProtocolError } from '../frames/protocol-error.js';
import { type BodyOwner, FIRST_WINDOW_BYTES } from './body-owner.js';
import { ChunkQueue } from './chunk-queue.js';
import type { Splice, SpliceTarget } from './splice.js';

type State = 'open' | 'ended' | 'stopped';
type Supply = 'data' | 'forwarding' | 'pausing' | 'paused' | 'spliced';

export class IncomingBody implements SpliceTarget {
  readonly #owner: BodyOwner;
  #state: State = 'open';
  #supply: Supply = 'data';
  /** Set while `supply` is spliced. */
  #splice: Splice | undefined;
  /** Made with the first chunk. */
  #queue: ChunkQueue | undefined;
  /** The counted bytes of the queue: the sizes of the buffers that it keeps alive. */
  #countedBytes = 0;
  #isGivenAway = false;
  #windowBytes = FIRST_WINDOW_BYTES;
  /** Bytes that the peer may still send. */
  #grantedBytes = FIRST_WINDOW_BYTES;
  /** Bytes that were read and not yet returned as credit. */
  #uncreditedBytes = 0;
  /** Its length, where that was announced. */
  #expectedBytes: number | undefined;
  /** The bytes that have arrived in frames of its own, or by the splice, read or not. */
  receivedBytes = 0;
  /** Read. */
  takenBytes = 0;

  constructor(owner: BodyOwner) {
    this.#owner = owner;
  }

  get state(): State {
    return this.#state;
  }

  get queuedBytes(): number {
    return this.#queue?.bytes ?? 0;
  }

  /** The peer sends no more of the body, though it is not at its end. */
  get isPaused(): boolean {
    return this.#supply === 'paused';
  }

  // --- for its reader ---

  /** The next chunk, at most `maxBytes`; undefined when nothing is queued. */
  read(maxBytes: number): Buffer | undefined {
    const chunk = this.#queue?.shift(maxBytes);
    if (chunk === undefined) return undefined;
    this.#count();
    this.takenBytes += chunk.length;
    this.#uncreditedBytes += chunk.length;
    if (this.#uncreditedBytes >= this.#windowBytes / 2 && this.#state === 'open') this.#creditIsDue();
    return chunk;
  }

  /** Queued bytes are not counted any more: the whole body has arrived, and belongs to its reader. */
  giveAway(): void {
    this.#owner.carrier.countQueued(-this.#countedBytes);
    this.#countedBytes = 0;
    this.#isGivenAway = true;
  }

  /** Reads no more: the queue is dropped, and the peer is asked to stop. */
  stopReading(reason: string): void {
    const wasOpen = this.#state === 'open';
    this.abandon();
    if (!wasOpen) return;
    const { id, carrier } = this.#owner;
    carrier.writer.stopSending(id, reason);
    carrier.scheduleFlush();
    this.#owner.forgetIfOver();
  }

  /** The exchange has failed, or its reader has stopped. */
  abandon(): void {
    if (this.#state === 'open') {
      this.#state = 'stopped';
      this.#splice?.targetGone();
    }
    this.#queue = undefined;
    this.#count();
  }

  /** The body is for another exchange: instead of giving credit the peer is asked to hold the rest back. */
  forward(): void {
    if (this.#supply === 'data') this.#supply = 'forwarding';
  }

  /** It fails unless it ends with this length. The end may have come already. */
  expect(bytes: number): void {
    this.#expectedBytes = bytes;
    if (this.#state === 'ended') this.#checkLength();
  }

  // --- what the peer sends ---

  /** Keeps a body that came whole with its head. */
  receiveWhole(bytes: Buffer): void {
    this.#state = 'ended';
    this.#keep(bytes);
  }

  receiveData(chunk: Buffer): void {
    this.#grantedBytes -= chunk.length;
    if (this.#grantedBytes < 0) throw new ProtocolError('More data was sent than credit was given');
    if (this.#state === 'ended') throw new ProtocolError('Data came after the end of a body');
    if (this.#state === 'stopped') return;
    if (this.#supply === 'spliced') throw new ProtocolError('Data came for a body that was spliced');
    if (this.#supply === 'paused') throw new ProtocolError('Data came for a body that is paused');
    this.#receive(chunk);
  }

  receiveSpliced(bytes: Uint8Array): void {
    if (this.#state === 'open') this.#receive(asBuffer(bytes));
  }

  receiveEnd(): void {
    // The peer is notified of the end of a spliced body, which comes from its source here. That may still be on its way.
    if (this.#supply === 'spliced') return;
    if (this.#state === 'ended') throw new ProtocolError('A body ended twice');
    this.receiveSplicedEnd();
  }

  receiveSplicedEnd(): void {
    const wasOpen = this.#state === 'open';
    if (wasOpen && !this.#checkLength()) return;
    this.#state = 'ended';
    if (wasOpen) this.#owner.listener?.onData();
    this.#owner.forgetIfOver();
  }

  receivePaused(): void {
    if (this.#supply !== 'pausing') throw new ProtocolError('A body was paused that was not asked to be');
    this.#supply = 'paused';
    this.#owner.listener?.onData();
  }

  /** The rest comes by the splice. The source sends everything that the peer might still have sent. */
  receiveSplice(splice: Splice): void {
    if (this.#supply === 'spliced') throw new ProtocolError('A body was spliced twice');
    if (this.#supply !== 'data') throw new ProtocolError('A body was spliced that is forwarded');
    this.#supply = 'spliced';
    this.#splice = splice;
    splice.giveCredit(this.#grantedBytes);
  }

  /** Whichever way its bytes came by, an end in the wrong place is a failure. */
  #checkLength(): boolean {
    const expected = this.#expectedBytes;
    if (expected === undefined || expected === this.receivedBytes) return true;
    this.#owner.refuse(wrongLength(this.receivedBytes, expected));
    return false;
  }

  #receive(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    this.#keep(chunk);
    this.#owner.listener?.onData();
  }

  // --- its window ---

  #creditIsDue(): void {
    switch (this.#supply) {
      case 'data':
      case 'spliced':
        this.#giveCredit();
        return;
      case 'forwarding': {
        const { id, carrier } = this.#owner;
        this.#supply = 'pausing';
        carrier.writer.pause(id);
        carrier.scheduleFlush();
        return;
      }
      case 'pausing':
      case 'paused':
    }
  }

  #giveCredit(): void {
    const { id, carrier } = this.#owner;
    const windowBytes = carrier.isUnderMemoryPressure ? FIRST_WINDOW_BYTES : carrier.windowBytes;
    const bytes = this.#uncreditedBytes + windowBytes - this.#windowBytes;
    // The window shrinks by the credit that is withheld. Credit is due at the latest when the whole window was read.
    if (bytes <= 0) return;
    this.#uncreditedBytes = 0;
    this.#windowBytes = windowBytes;
    if (this.#splice !== undefined) {
      this.#splice.giveCredit(bytes);
      return;
    }
    this.#grantedBytes += bytes;
    carrier.writer.credit(id, bytes);
    carrier.scheduleFlush();
  }

  // --- its memory ---

  #keep(chunk: Buffer): void {
    this.#queue ??= new ChunkQueue();
    this.#queue.push(chunk);
    this.#count();
  }

  #count(): void {
    if (this.#isGivenAway) return;
    const heldBytes = this.#queue?.heldBytes ?? 0;
    const more = heldBytes - this.#countedBytes;
    this.#countedBytes = heldBytes;
    if (more !== 0) this.#owner.carrier.countQueued(more);
  }
}

const WRONG_LENGTH = 'TypeError\nThe body has ';

/** The reason with which a body fails that does not have the length that was announced. */
export function wrongLength(received: number, expected: number): string {
  return `${WRONG_LENGTH}${received} bytes, and its length was announced as ${expected}\n`;
}

export function isWrongLength(reason: string): boolean {
  return reason.startsWith(WRONG_LENGTH);
}
