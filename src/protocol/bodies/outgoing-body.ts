/**
 * The body that an exchange sends. Bytes beyond its reader's credit wait in a backlog.
 *
 *     state  open --end()--> over
 *            open --end() while something waits--> ending --the last of it is sent--> over
 *            open, ending --StopSending, or the exchange failed--> over
 *
 *     route  direct --Pause--> paused --Splice--> spliced
 *
 * `route` says where the bytes go: as data to the peer; nowhere, until the peer says where; or to the incoming body of another exchange of
 * this connection. Everything else that a peer might send is a ProtocolError.
 */

import { MAX_DATA_BYTES } from '../frames/frame-layout.js';
import { ProtocolError } from '../frames/protocol-error.js';
import { type BodyOwner, FIRST_WINDOW_BYTES } from './body-owner.js';
import type { Splice, SpliceSource } from './splice.js';

type State = 'open' | 'ending' | 'over';
type Route = 'direct' | 'paused' | 'spliced';

export class OutgoingBody implements SpliceSource {
  readonly #owner: BodyOwner;
  #state: State = 'open';
  #route: Route = 'direct';
  /** Set while `route` is spliced. */
  #splice: Splice | undefined;
  /** Bytes that may still be sent. */
  #credit = FIRST_WINDOW_BYTES;
  /** Written, and waiting for credit. */
  #backlog: Uint8Array[] | undefined;
  #backlogBytes = 0;
  /** Sent in frames of its own, or by the splice. */
  sentBytes = 0;

  constructor(owner: BodyOwner) {
    this.#owner = owner;
  }

  get state(): State {
    return this.#state;
  }

  /** How many bytes the reader takes now; zero or less: wait for `onCredit`. */
  get credit(): number {
    return this.#credit;
  }

  // --- for its writer ---

  /**
   * `bytes` must stay unchanged from here on. Bytes beyond the credit are kept until it suffices; returns the credit that is left, none when the connection is
   * backpressured. After zero or less a writer that wants memory to stay bounded waits for `onCredit`.
   */
  write(bytes: Uint8Array): number {
    if (this.#state !== 'open') return 0;
    if (this.#backlogBytes > 0 || bytes.length > this.#credit) {
      this.#backlog ??= [];
      this.#backlog.push(bytes);
      this.#backlogBytes += bytes.length;
      // The buffer is counted as a whole until all of it has been sent, since the rest keeps it alive.
      this.#owner.carrier.countBacklog(bytes.buffer.byteLength);
      this.#sendBacklog();
    } else {
      this.#send(bytes);
    }
    const left = this.#credit - this.#backlogBytes;
    // A spliced body never reaches the connection.
    if (left <= 0 || this.#route === 'spliced' || !this.#owner.carrier.isBackpressured) return left;
    this.#owner.resumeWhenDrained();
    return 0;
  }

  /** The body is complete. */
  end(): void {
    if (this.#state !== 'open') return;
    if (this.#backlogBytes > 0 || this.#route === 'paused') this.#state = 'ending';
    else this.#finish();
  }

  /** The exchange has failed: the backlog is dropped. */
  abandon(): void {
    const wasOver = this.#state === 'over';
    this.#state = 'over';
    this.#dropBacklog();
    if (!wasOver) this.#splice?.sourceGone();
  }

  /** The connection is no longer backpressured. */
  resume(): void {
    if (this.#state !== 'over' && this.#credit > 0) this.#owner.listener?.onCredit();
  }

  // --- what the peer sends ---

  receiveCredit(bytes: number): void {
    // It was given before the peer knew that no more data would come.
    if (this.#route !== 'direct') return;
    if (this.#credit + bytes > this.#owner.carrier.windowBytes * 2)
      throw new ProtocolError('More credit was given than the window has');
    this.takeCredit(bytes, false);
  }

  receivePause(): void {
    // Its end is on its way.
    if (this.#state === 'over') return;
    if (this.#route !== 'direct') throw new ProtocolError('A body was paused twice');
    const { id, carrier } = this.#owner;
    this.#route = 'paused';
    this.#credit = 0;
    carrier.writer.paused(id);
    carrier.scheduleFlush();
  }

  receiveSplice(splice: Splice): void {
    if (this.#route === 'spliced') throw new ProtocolError('A body was spliced twice');
    if (this.#route !== 'paused') throw new ProtocolError('A body was spliced that is not paused');
    this.#route = 'spliced';
    this.#splice = splice;
  }

  receiveStopSending(reason: string): void {
    if (this.#state === 'over') return;
    const { id, carrier } = this.#owner;
    this.abandon();
    carrier.writer.end(id);
    carrier.scheduleFlush();
    this.#owner.listener?.onStop(reason);
    this.#owner.forgetIfOver();
  }

  // --- its credit ---

  takeCredit(bytes: number, isSending: boolean): void {
    this.#credit += bytes;
    if (isSending || this.#state === 'over') return;
    this.#sendBacklog();
    if (this.#credit <= 0 || this.#backlogBytes > 0) return;
    if (this.#state === 'ending') {
      this.#finish();
      this.#owner.listener?.onSent();
    } else {
      this.#owner.listener?.onCredit();
    }
  }

  #send(bytes: Uint8Array): void {
    this.#credit -= bytes.length;
    this.sentBytes += bytes.length;
    if (this.#splice !== undefined) {
      this.#splice.deliver(bytes);
      return;
    }
    const { id, carrier } = this.#owner;
    for (let at = 0; at < bytes.length; at += MAX_DATA_BYTES) {
      carrier.writer.data(id, bytes.length > MAX_DATA_BYTES ? bytes.subarray(at, at + MAX_DATA_BYTES) : bytes);
    }
    carrier.scheduleFlush();
  }

  #sendBacklog(): void {
    const backlog = this.#backlog;
    while (backlog !== undefined && this.#credit > 0) {
      const first = backlog[0];
      if (first === undefined) return;
      const part = first.length > this.#credit ? first.subarray(0, this.#credit) : first;
      if (part === first) {
        backlog.shift();
        this.#owner.carrier.countBacklog(-first.buffer.byteLength);
      } else backlog[0] = first.subarray(part.length);
      this.#backlogBytes -= part.length;
      this.#send(part);
    }
  }

  #dropBacklog(): void {
    for (const { buffer } of this.#backlog ?? []) this.#owner.carrier.countBacklog(-buffer.byteLength);
    this.#backlog = undefined;
    this.#backlogBytes = 0;
  }

  /** The peer is notified of the end of a spliced body too, although it sees none of its bytes. */
  #finish(): void {
    const { id, carrier } = this.#owner;
    carrier.writer.end(id);
    this.#state = 'over';
    carrier.scheduleFlush();
    this.#splice?.end();
    this.#owner.forgetIfOver();
  }
}
