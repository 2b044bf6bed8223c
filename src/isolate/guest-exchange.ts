/**
 * An exchange as the guest sees it: events reach the guest only when it waits for them, and a body can be piped into another
 * exchange without passing the guest.
 */
import { OpError } from './ops/arguments.js';
import { BODY_NONE, BODY_STREAM, Ev } from './ops/table.js';
import type { Exchange, ExchangeListener } from './protocol/exchange.js';
import type { TurnQueue } from './turns.js';

export class GuestExchange implements ExchangeListener {
  readonly exchange: Exchange;
  /** The invocation that it is, or that made the call. */
  readonly invocationId: number;
  readonly #turns: TurnQueue;
  readonly #onOver: (exchange: GuestExchange) => void;
  /** The guest asked for more and there was none. */
  #wantsData = false;
  /** The guest wrote as much as the credit. */
  #wantsCredit = false;
  /** The other end of a pipe, which gets what this exchange reads. */
  #pipedTo: GuestExchange | undefined;
  #pipedFrom: GuestExchange | undefined;
  #isJoined = false;
  readonly #onRead: (exchange: GuestExchange) => void;
  #isReadTold = false;

  /**
   * `onOver`: a call has nothing more for the guest; or the answer to an invocation has been sent, or has failed.
   * `onRead`, once: the guest has read the body of a call's answer to its end, or wants no more of it.
   */
  constructor(
    exchange: Exchange,
    invocationId: number,
    turns: TurnQueue,
    onOver: (exchange: GuestExchange) => void,
    onRead: (exchange: GuestExchange) => void,
  ) {
    this.exchange = exchange;
    this.invocationId = invocationId;
    this.#turns = turns;
    this.#onOver = onOver;
    this.#onRead = onRead;
    exchange.listener = this;
  }

  get id(): number {
    return this.exchange.id;
  }

  get isInvocation(): boolean {
    return this.id === this.invocationId;
  }

  /** Bytes that the guest can read now; an answer of 0 promises an Ev.Data. */
  awaitData(): number {
    const available = this.exchange.queuedBytes;
    this.#wantsData = available === 0;
    return available;
  }

  /** Writes; an answer of zero or less promises an Ev.Credit. */
  write(bytes: Uint8Array): number {
    if (this.exchange.isOutgoingOver) throw new OpError('Error', 'The body is read no more');
    const credit = this.exchange.write(bytes);
    this.#wantsCredit = credit <= 0;
    return credit;
  }

  pipeTo(target: GuestExchange): void {
    this.#pipedTo = target;
    target.#pipedFrom = this;
    this.exchange.passOn();
    this.#pump();
  }

  /** Tells when nothing of the body is left to be read. To be asked whenever the guest has read. */
  noteRead(): void {
    if (this.isInvocation || this.#isReadTold || this.exchange.incoming === 'open') return;
    this.#isReadTold = true;
    this.#onRead(this);
  }

  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void {
    if (isComplete) this.exchange.keepWhole(body);
    const size = isComplete ? (body.length > 0 ? body.length : BODY_NONE) : BODY_STREAM;
    this.#turns.push(this.invocationId, [Ev.CallReply, this.id, status, head, size]);
  }

  onData(): void {
    if (this.#pipedTo !== undefined) this.#pump();
    else if (this.#wantsData) this.#tellData();
  }

  onCredit(): void {
    if (this.#pipedFrom !== undefined) this.#pipedFrom.#pump();
    else if (this.#wantsCredit) {
      this.#wantsCredit = false;
      this.#turns.push(this.invocationId, [Ev.Credit, this.id]);
    }
  }

  onSent(): void {
    if (this.isInvocation) this.#onOver(this);
  }

  onStop(reason: string): void {
    if (this.#pipedFrom === undefined) this.#turns.push(this.invocationId, [Ev.Stopped, this.id, `Error\n${reason}\n`]);
    else this.#stopSource(reason);
  }

  onFail(reason: string): void {
    this.#failPipes(reason);
    // Also unasked: a stream of the guest's fails at once, whether somebody reads it or not.
    if (this.#wantsData || this.isInvocation || this.exchange.isReplied) this.#tellData();
    if (this.#wantsCredit) this.#turns.push(this.invocationId, [Ev.Stopped, this.id, errorText(reason)]);
    if (this.isInvocation) this.#turns.push(this.invocationId, [Ev.Abort, this.id]);
    else if (!this.exchange.isReplied) this.#turns.push(this.invocationId, [Ev.CallFailed, this.id, errorText(reason)]);
    // A call that was answered stays until the guest has seen that its body failed.
    if (this.isInvocation || !this.exchange.isReplied) this.#onOver(this);
  }

  /** Ends both directions from this side, also those of the other end of a pipe. */
  fail(reason: string): void {
    this.exchange.fail(reason);
    this.#failPipes(reason);
  }

  /** The exchange has failed: what gets its body fails with it, and what its body comes from is read no more. */
  #failPipes(reason: string): void {
    this.#pump();
    this.#stopSource(reason);
  }

  #stopSource(reason: string): void {
    const source = this.#pipedFrom;
    if (source === undefined) return;
    this.#pipedFrom = undefined;
    source.#pipedTo = undefined;
    source.exchange.stopReading(reason);
    source.noteRead();
    source.#pipeEnded();
    this.onSent();
  }

  #tellData(): void {
    this.#wantsData = false;
    this.#turns.push(this.invocationId, [Ev.Data, this.id]);
  }

  /**
   * Moves what has been read to the other end, as fast as that end takes it. Both ends of what is long are in the host process: after the
   * first bytes they are joined there, and nothing of it comes here any more but its end.
   */
  #pump(): void {
    const target = this.#pipedTo;
    if (target === undefined) return;
    const to = target.exchange;
    while (to.credit > 0 && !to.isOutgoingOver) {
      const piece = this.exchange.read(to.credit);
      if (piece === undefined) break;
      to.write(piece);
    }
    const { incoming } = this.exchange;
    if (incoming === 'open') {
      this.#joinIfDiverted(to);
      return;
    }
    this.noteRead();
    this.#pipedTo = undefined;
    target.#pipedFrom = undefined;
    if (incoming === 'ended') to.end();
    else to.fail(this.exchange.failReason);
    this.#pipeEnded();
    target.onSent();
  }

  #joinIfDiverted(to: Exchange): void {
    if (!this.exchange.isDiverted || this.exchange.queuedBytes > 0 || this.#isJoined) return;
    this.#isJoined = true;
    to.join(this.exchange);
  }

  /** All that was to be read of a call has been; the body of an invocation is not all there is to it. */
  #pipeEnded(): void {
    if (!this.isInvocation) this.#onOver(this);
  }
}

/** A reason off the wire is "Name\nmessage\ncode" already, or plain text. */
export function errorText(reason: string): string {
  return reason.includes('\n') ? reason : `Error\n${reason}\n`;
}
