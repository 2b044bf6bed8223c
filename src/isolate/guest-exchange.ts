/**
 * An exchange as the guest sees it: events reach the guest only when it waits for them, and a body can be piped into another
 * exchange without passing the guest.
 */

import type { Channel } from '../protocol/channel.js';
import type { Exchange, ExchangeListener } from '../protocol/exchange.js';
import { REPEATED_CALL, SERVICES_LOST_REASON } from '../protocol/messages.js';
import { BodyPipe, type PipeSource, type PipeTarget } from './body-pipe.js';
import { OWN } from './held-work.js';
import { OpError } from './ops/arguments.js';
import type { MessageReader } from './ops/message-reader.js';
import { BODY_NONE, BODY_STREAM, Ev } from './ops/table.js';
import type { TurnQueue } from './turns.js';

/** The connection of a call: isolate/invocations/backend-line.ts. */
export interface CallLine {
  readonly channel: Channel;
  /** The connection has ended before the answer to the call. It is made once more, or hears of its failure again. */
  lose(call: GuestExchange): void;
}

/** A call that can be made once more when its connection is lost. */
export interface RepeatableCall {
  readonly line: CallLine;
  readonly service: number;
  readonly head: string;
}

export class GuestExchange implements ExchangeListener, PipeSource, PipeTarget {
  /** The id of the invocation or call. A call keeps its id when it is retried. */
  readonly id: number;
  #exchange: Exchange;
  /** Until it was made once more. */
  #repeatable: RepeatableCall | undefined;
  /** The invocation that it is, or that made the call. */
  readonly invocationId: number;
  /** See held-work.ts. */
  readonly serial: number;
  readonly #turns: TurnQueue;
  readonly #onOver: (exchange: GuestExchange) => void;
  /** The guest waits for an Ev.Data. */
  #wantsData = false;
  /** The guest has used up the credit and waits for an Ev.Credit. */
  #wantsCredit = false;
  /** The guest writes the outgoing body chunk by chunk, and has not ended it. */
  isWriting = false;
  /** For an invocation: function code has the request's signal, which fires when the client is gone. */
  isClientAwaited = false;
  /** Takes the incoming body to another exchange. */
  #pipeOut: BodyPipe | undefined;
  /** Brings the outgoing body from another exchange. */
  #pipeIn: BodyPipe | undefined;
  /** Its bodies carry the messages of a WebSocket: they are read message by message. */
  messages: MessageReader | undefined;
  readonly #onRead: (exchange: GuestExchange) => void;
  #isReadReported = false;
  /** For a call: the guest has seen the end of the answer's body, or wants no more of it. */
  #isRead = false;

  /**
   * @param onOver the guest has no more use for a call; or the answer of an invocation has been sent, or has failed
   * @param onRead called once: the guest has read the body of a call's answer to its end, or has canceled it. For an invocation: all of the request's body
   * has come, and the guest does not wait for it
   * @param repeatable a call of services that have a process of their own, whose body was empty
   */
  constructor(
    exchange: Exchange,
    invocationId: number,
    turns: TurnQueue,
    onOver: (exchange: GuestExchange) => void,
    onRead: (exchange: GuestExchange) => void,
    repeatable?: RepeatableCall,
  ) {
    this.id = exchange.id;
    this.#exchange = exchange;
    this.#repeatable = repeatable;
    this.invocationId = invocationId;
    this.#turns = turns;
    this.serial = exchange.id === invocationId ? OWN : turns.held.begin();
    this.#onOver = onOver;
    this.#onRead = onRead;
    exchange.listener = this;
  }

  get exchange(): Exchange {
    return this.#exchange;
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

  /** The guest waits for more of the body, or it is piped to another exchange. */
  get isBeingRead(): boolean {
    return this.#wantsData || this.#pipeOut !== undefined;
  }

  /** Writes; an answer of zero or less promises an Ev.Credit. */
  write(bytes: Uint8Array): number {
    if (this.exchange.isOutgoingOver) throw new OpError('Error', 'The body is not read any more');
    const credit = this.exchange.write(bytes);
    this.#wantsCredit = credit <= 0;
    return credit;
  }

  /** An event of it may still continue function code, or it continues without function code. */
  get isPending(): boolean {
    if (this.#pipeOut !== undefined || this.#pipeIn !== undefined) return true;
    const { exchange } = this;
    if ((this.#wantsCredit || this.isClientAwaited) && !exchange.isOutgoingOver) return true;
    if (!this.isInvocation && !exchange.isReplied) return true;
    // Also for a body that is not being read: its failure is reported too.
    return exchange.incoming === 'open' && !exchange.hasWholeBody;
  }

  /** More has come of a message that the guest is reading. */
  reportMore(): void {
    this.#reportData();
  }

  pipeTo(target: GuestExchange): void {
    const pipe = new BodyPipe(this, target);
    target.isWriting = false;
    this.#pipeOut = pipe;
    target.#pipeIn = pipe;
    pipe.pump();
  }

  /** The guest reads no more: so a call is over, unless the guest still writes. */
  readingDone(): void {
    this.#isRead = true;
    this.#forgetIfOver();
  }

  /** The guest writes no more: so a call is over, if it was read to its end. */
  writingDone(): void {
    this.isWriting = false;
    this.#forgetIfOver();
  }

  #forgetIfOver(): void {
    const isSending = this.isWriting || this.#pipeIn !== undefined;
    if (this.#isRead && !isSending && !this.isInvocation) this.#onOver(this);
  }

  /** Reports when nothing of the body is left to be read. To be called whenever the guest has read. */
  noteRead(): void {
    if (this.isInvocation || this.#isReadReported || this.exchange.incoming === 'open') return;
    this.#isReadReported = true;
    this.#onRead(this);
  }

  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void {
    if (isComplete) this.exchange.buffer(body);
    const size = isComplete ? (body.length > 0 ? body.length : BODY_NONE) : BODY_STREAM;
    this.#push([Ev.CallReply, this.id, status, head, size]);
  }

  onData(): void {
    if (this.#pipeOut !== undefined) this.#pipeOut.pump();
    else if (this.messages !== undefined) this.messages.onData();
    else if (this.#wantsData) this.#reportData();
    else if (this.isInvocation && this.exchange.hasWholeBody) this.#onRead(this);
  }

  onCredit(): void {
    if (this.#pipeIn !== undefined) this.#pipeIn.pump();
    else if (this.#wantsCredit) {
      this.#wantsCredit = false;
      this.#push([Ev.Credit, this.id]);
    }
  }

  onSent(): void {
    if (this.isInvocation) this.#onOver(this);
  }

  onStop(reason: string): void {
    if (this.#pipeIn !== undefined) this.#pipeIn.stop(reason);
    else {
      this.#push([Ev.Stopped, this.id, `Error\n${reason}\n`, 0]);
      this.writingDone();
    }
  }

  /** Makes the call once more. It fails without a connection, and when that has ended too. */
  repeat(channel: Channel | undefined): void {
    const call = this.#repeatable;
    this.#repeatable = undefined;
    if (call === undefined || channel === undefined || channel.isClosed) {
      this.onFail(SERVICES_LOST_REASON);
      return;
    }
    this.#exchange = channel.open(call.service | REPEATED_CALL, call.head, true, null, true, this);
  }

  onFail(reason: string): void {
    const line = this.#repeatable?.line;
    if (line?.channel.isClosed === true && !this.exchange.isReplied && reason === SERVICES_LOST_REASON) {
      line.lose(this);
      return;
    }
    // Before all that ends by it: listeners of the request's signal come first, and the invocation must be open for them.
    if (this.isInvocation) this.#push([Ev.ClientGone, this.id]);
    this.#failPipes(reason);
    if (this.messages !== undefined) this.messages.onData();
    else this.#reportIncomingFailure();
    // A source that has nothing to write is canceled now, not with its next write.
    if (this.isWriting) this.#push([Ev.Stopped, this.id, errorText(reason), 1]);
    if (this.isInvocation) this.#push([Ev.Abort, this.id]);
    this.#fail(reason);
  }

  /**
   * The body that the guest sends has failed, by its own doing or because its source has. Both directions end. The peer does not answer an end from this side,
   * so waiting code of the guest is notified from here.
   */
  failOutgoing(reason: string): void {
    this.isWriting = false;
    const wasOver = this.exchange.isFinished;
    this.exchange.fail(reason);
    this.#failPipes(reason);
    if (wasOver) return;
    this.#reportIncomingFailure();
    this.#fail(reason);
  }

  /** Reported without being asked: a stream of the guest fails at once, whether it is being read or not. */
  #reportIncomingFailure(): void {
    if (this.#wantsData || this.isInvocation || this.exchange.isReplied) this.#reportData();
  }

  /** A call that was answered stays until the guest has seen that its body failed. */
  #fail(reason: string): void {
    if (!this.isInvocation && this.exchange.isReplied) return;
    if (!this.isInvocation) this.#push([Ev.CallFailed, this.id, errorText(reason)]);
    this.#onOver(this);
  }

  /** Reads no more. The target of a pipe from this body has got only a part, and fails. */
  stopReading(reason: string): void {
    this.exchange.stopReading(reason);
    this.#pipeOut?.abandon(reason);
  }

  /** Its invocation is over: the remaining pipes have their other end in another invocation, which continues. */
  endPipes(reason: string): void {
    this.#pipeOut?.abandon(reason);
    this.#pipeIn?.stop(reason);
  }

  /** Ends both directions from this side, and at the other end of a pipe. */
  fail(reason: string): void {
    this.exchange.fail(reason);
    this.#failPipes(reason);
  }

  /** The target of the incoming body fails with it, and the source of the outgoing body is read no more. */
  #failPipes(reason: string): void {
    this.#pipeOut?.pump();
    this.#pipeIn?.stop(reason);
  }

  #push(args: readonly [Ev, ...unknown[]]): void {
    this.#turns.push(this.invocationId, args, undefined, this.serial);
  }

  #reportData(): void {
    this.#wantsData = false;
    this.#push([Ev.Data, this.id]);
  }

  /** A call is over when its answer has been read; an invocation continues after its body. */
  onPipedOut(): void {
    this.#pipeOut = undefined;
    this.readingDone();
  }

  /** The answer of an invocation has been sent; a call stays open until it is answered. */
  onPipedIn(): void {
    this.#pipeIn = undefined;
    // The guest keeps the invocation open until then, for listeners of the request's signal.
    if (this.isClientAwaited) this.#push([Ev.Piped, this.id]);
    if (this.isInvocation) this.#onOver(this);
    else this.#forgetIfOver();
  }
}

/** A reason off the wire is "Name\nmessage\ncode" already, or plain text. */
export function errorText(reason: string): string {
  return reason.includes('\n') ? reason : `Error\n${reason}\n`;
}
