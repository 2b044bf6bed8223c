/**
 * The incoming body of one exchange of the guest, sent as the outgoing body of another without passing the guest.
 *
 *     copying --the source is paused, and all that came of it is sent--> spliced --the source has ended--> ended
 *     copying --the source has ended--> ended
 *
 * When both ends of a long body are in the host process, they are spliced there after the first bytes. This thread then sees nothing of the body but its end.
 */
import type { Exchange } from '../protocol/exchange.js';
import { SignalKind } from '../protocol/messages.js';

export interface PipeEnd {
  readonly exchange: Exchange;
}

export interface PipeSource extends PipeEnd {
  /** All of the body has been read, or no more of it is wanted. */
  onPipedOut(): void;
  noteRead(): void;
}

export interface PipeTarget extends PipeEnd {
  /** The body cannot be sent to its end. */
  failOutgoing(reason: string): void;
  /** All of the body has been sent, or nothing more of it will be. */
  onPipedIn(): void;
}

export class BodyPipe {
  readonly #source: PipeSource;
  readonly #target: PipeTarget;
  #state: 'copying' | 'spliced' | 'ended' = 'copying';
  /** Both bodies have their other ends in one process. */
  readonly #isOneConnection: boolean;

  constructor(source: PipeSource, target: PipeTarget) {
    this.#source = source;
    this.#target = target;
    this.#isOneConnection = source.exchange.carrier === target.exchange.carrier;
    source.exchange.forwardIncoming();
  }

  /** Moves the received part of the body, as fast as the target takes it, and its end. */
  pump(): void {
    if (this.#state === 'ended') return;
    const from = this.#source.exchange;
    const to = this.#target.exchange;
    while (to.credit > 0 && !to.isOutgoingOver) {
      const chunk = from.read(to.credit);
      if (chunk === undefined) break;
      to.write(chunk);
    }
    const { incoming } = from;
    if (incoming === 'open') {
      if (this.#state === 'copying' && from.isPaused && from.queuedBytes === 0) {
        this.#state = 'spliced';
        if (this.#isOneConnection) to.splice(from);
        else spliceAcross(from, to);
      }
      return;
    }
    this.#state = 'ended';
    this.#source.noteRead();
    if (incoming === 'ended') to.end();
    else this.#target.failOutgoing(from.failReason);
    this.#ended();
  }

  /** The source is read no more, though it was not at its end: the part sent so far is not a whole body. */
  abandon(reason: string): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#target.failOutgoing(reason);
    this.#ended();
  }

  /** The target is wanted no more, or has failed: so the source is read no more. */
  stop(reason: string): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#source.exchange.stopReading(reason);
    this.#source.noteRead();
    this.#ended();
  }

  #ended(): void {
    this.#source.onPipedOut();
    this.#target.onPipedIn();
  }
}

/** The other ends are two processes, which are notified behind the last bytes that went through here. */
function spliceAcross(from: Exchange, to: Exchange): void {
  if (to.isOutgoingOver) return;
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32LE(to.id);
  from.carrier.writer.signal(from.id, SignalKind.SpliceFrom, payload);
  from.carrier.scheduleFlush();
  to.carrier.writer.signal(to.id, SignalKind.SpliceTo, '');
  to.carrier.scheduleFlush();
}
