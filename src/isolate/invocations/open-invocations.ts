/**
 * The invocations that are open in an isolate, and the calls that they make: how each is delivered to the guest, what the guest does with it, and how it ends.
 */

import type { Channel } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { IdTable } from '../../protocol/id-table.js';
import {
  DoneFlag,
  HostOpens,
  QUEUE_WORD_BYTES,
  QueueWord,
  SERVICES_LOST_REASON,
  SignalKind,
  STALLED_REASON,
} from '../../protocol/messages.js';
import { meteredKind } from '../../protocol/metered-kind.js';
import type { ServiceId } from '../../quotas/service-calls.js';
import { errorText, GuestExchange } from '../guest-exchange.js';
import { OWN } from '../held-work.js';
import type { IsolateParts } from '../isolate-parts.js';
import type { MeterEvents } from '../metering/meter.js';
import { OpError } from '../ops/arguments.js';
import type { ExchangeHost } from '../ops/exchange.js';
import { MessageReader } from '../ops/message-reader.js';
import { Ev } from '../ops/table.js';
import { checkStack } from '../stack-left.js';
import { BlockingCall } from './blocking-call.js';
import { EndedInvocations } from './ended-invocations.js';
import { eventTurn } from './event-turn.js';
import { NO_CALLS, OpenInvocation } from './open-invocation.js';
import { StalledInvocations } from './stalled-invocations.js';

/**
 * CPU time that a call without an answer is charged with. It costs the host process 22 us among many, 100 alone (Node 20.20). Answers are bounded
 * by the limit of subrequests; refusals are not, and a loop of them would cost the host several times what it costs the function.
 */
const FAILED_CALL_MS = 0.05;

/** The message of errors in a handler that continues after its client. */
const GONE = 'The client has disconnected, and only what waitUntil was given goes on';

const [LOST_NAME = '', LOST_MESSAGE = '', LOST_CODE = ''] = SERVICES_LOST_REASON.split('\n');

export class OpenInvocations implements ExchangeHost, MeterEvents {
  /** The invocation whose rejected promise is reported in a turn of no invocation. */
  rejecting = 0;
  readonly #parts: IsolateParts;
  /** The exchanges of invocations and of calls. */
  readonly #exchanges = new IdTable<GuestExchange>();
  readonly #invocations = new IdTable<OpenInvocation>();
  readonly #ended = new EndedInvocations();
  readonly #stalled: StalledInvocations;
  /** The invocation that the isolate is about to end for. */
  #ending = 0;
  /** A run was ended before it had answered, or for a limit: its code may be in the middle of something. */
  hasLeftWork = false;

  /** The guest has no more use for a call; or the answer of an invocation has been sent, or has failed. */
  readonly forget = (exchange: GuestExchange): void => {
    if (exchange.isInvocation) {
      this.#finishIfOver(exchange.id);
      return;
    }
    this.#exchanges.delete(exchange.id);
    this.#invocations.get(exchange.invocationId)?.calls?.delete(exchange);
    if (!exchange.exchange.isReplied) this.#parts.meter.settle(exchange.invocationId, FAILED_CALL_MS);
  };

  readonly #read = (exchange: GuestExchange): void => {
    if (exchange.isInvocation) {
      this.#stalled.turnEnded(exchange.id);
      return;
    }
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(exchange.id);
    this.#callsChannel?.signal(exchange.invocationId, SignalKind.CallRead, payload);
  };

  readonly #report = (id: number, usage: Buffer): void => this.#parts.channel?.signal(id, SignalKind.Done, usage);

  /** The promises that the turns of a batch have rejected were reported: what ended in it is over for the host. */
  readonly reportEnded = (): void => {
    this.rejecting = 0;
    this.#ended.drain(this.#report);
  };

  constructor(parts: IsolateParts) {
    this.#parts = parts;
    this.#stalled = new StalledInvocations({
      open: this.#invocations,
      get isBusy() {
        return parts.isBusy;
      },
      onStalled: invocation => this.#fail(invocation, STALLED_REASON),
    });
  }

  has(invocation: number): boolean {
    return this.#invocations.has(invocation);
  }

  /** Whether nothing is open, neither an invocation nor a call. */
  get isEmpty(): boolean {
    return this.#invocations.size + this.#exchanges.size === 0;
  }

  /** An event has come: the guest gets it in a turn. */
  open(exchange: Exchange, kind: HostOpens, head: string, body: Buffer, isComplete: boolean): void {
    const { turns, timers, meter } = this.#parts;
    const guest = new GuestExchange(exchange, exchange.id, turns, this.forget, this.#read);
    this.#exchanges.set(exchange.id, guest);
    this.#invocations.set(exchange.id, new OpenInvocation(guest, timers, kind === HostOpens.ObjectEvent));
    meter.open(exchange.id, meteredKind(kind, head));
    const turn = eventTurn(exchange, kind, head, body, isComplete);
    if (turn === undefined) exchange.fail('Not supported');
    else turns.push(exchange.id, turn, undefined, OWN);
  }

  /** The calls of an invocation whose answers are being read. */
  reading(invocation: number): readonly number[] {
    const ids: number[] = [];
    for (const call of this.#invocations.get(invocation)?.calls ?? []) if (call.isBeingRead) ids.push(call.id);
    return ids;
  }

  // --- ExchangeHost ---

  find(id: number): GuestExchange | undefined {
    return this.#exchanges.get(id);
  }

  beforeReply({ id }: GuestExchange): void {
    this.#parts.meter.beforeReply(id);
  }

  failed({ id }: GuestExchange, failure: string): void {
    this.#parts.channel?.signal(id, SignalKind.HandlerFailed, failure);
  }

  waitRejected({ id }: GuestExchange, failure: string): void {
    this.#parts.channel?.signal(id, SignalKind.WaitRejected, failure);
  }

  passThrough({ id }: GuestExchange): void {
    this.#parts.channel?.signal(id, SignalKind.PassThrough, '');
  }

  noRetry({ id }: GuestExchange): void {
    this.#parts.channel?.signal(id, SignalKind.NoRetry, '');
  }

  /** Acknowledgements go out at once: they hold whatever becomes of the handler. */
  queueWord({ id }: GuestExchange, word: QueueWord, index: number, delaySeconds: number): void {
    const isAtOnce = word === QueueWord.Ack || word === QueueWord.AckAll;
    if (isAtOnce) checkStack();
    const payload = Buffer.allocUnsafe(QUEUE_WORD_BYTES);
    payload[0] = word;
    payload.writeUInt32LE(index, 1);
    payload.writeDoubleLE(delaySeconds, 5);
    const { channel } = this.#parts;
    channel?.signal(id, SignalKind.QueueWord, payload);
    if (isAtOnce) channel?.flushNow();
  }

  handled({ id }: GuestExchange): void {
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) return;
    invocation.isHandled = true;
    // Its own turn ends by asking this; a promise that it waited for may also settle in the turn of another.
    if (id !== this.#parts.turns.current) this.#finishIfOver(id);
  }

  hold({ id }: GuestExchange): void {
    const { held } = this.#parts.turns;
    if (!held.mayBegin(id)) throw new OpError('Error', GONE);
    held.hold(id);
  }

  resume({ id }: GuestExchange): void {
    this.#parts.turns.push(id, [Ev.Resume, id], undefined, OWN);
  }

  awaitClient(exchange: GuestExchange): void {
    exchange.isClientAwaited = true;
  }

  messagesOf(exchange: GuestExchange): MessageReader {
    const { turns, meter } = this.#parts;
    const { invocationId, serial, isInvocation } = exchange;
    const renew = (): boolean => {
      meter.renew(invocationId);
      return true;
    };
    exchange.messages ??= new MessageReader(exchange.exchange, {
      // Only messages of the client renew the CPU time: answers to the function's own requests are its own work.
      onEvent: (event, isMessage) =>
        turns.push(invocationId, event, isMessage && isInvocation ? renew : undefined, serial),
      onMore: () => exchange.reportMore(),
      onEnd: () => {
        exchange.noteRead();
        exchange.readingDone();
      },
    });
    return exchange.messages;
  }

  call(service: ServiceId, head: string, body: Uint8Array | string | null, isComplete: boolean): GuestExchange {
    const { invocation, channel } = this.#caller();
    const { line, turns } = this.#parts;
    const { id } = invocation.exchange;
    const text = `${id}\n${head}`;
    const exchange = channel.open(service, text, true, body, isComplete);
    const repeatable = line !== undefined && isComplete && body === null ? { line, service, head: text } : undefined;
    const guest = new GuestExchange(exchange, id, turns, this.forget, this.#read, repeatable);
    this.#exchanges.set(guest.id, guest);
    invocation.calls ??= new Set();
    invocation.calls.add(guest);
    return guest;
  }

  callBlocking(
    service: ServiceId,
    head: string,
    body: Uint8Array | string | null,
  ): { readonly head: string; readonly body: Uint8Array } {
    const { invocation, channel } = this.#caller();
    const { id } = invocation.exchange;
    if (this.#parts.line?.isFirst === false) throw new OpError(LOST_NAME, LOST_MESSAGE, LOST_CODE);
    const mayBlock = channel.mayBlock();
    if (mayBlock === undefined)
      throw new OpError('Error', 'Calls cannot be waited for on this system', 'EDGE_NOT_SUPPORTED');
    if (!mayBlock) throw new OpError('Error', 'The isolate has too much to send at the moment', 'EDGE_OVERLOADED');
    checkStack();
    const { meter } = this.#parts;
    const call = new BlockingCall();
    const answer = meter.standing(() => call.run(channel, id, service, `${id}\n${head}`, body));
    if (answer !== undefined) return answer;
    if (!call.wasAnswered) meter.settle(id, FAILED_CALL_MS);
    const [name = '', message = '', code = ''] = errorText(call.failure ?? '').split('\n');
    throw new OpError(name, message, code);
  }

  #caller(): { readonly invocation: OpenInvocation; readonly channel: Channel } {
    const invocation = this.#invocations.get(this.#parts.turns.current);
    if (invocation === undefined || this.#parts.channel === undefined) {
      throw new OpError(
        'Error',
        'Services cannot be called outside of a request; the global scope may only prepare what handlers use',
      );
    }
    if (!this.#parts.turns.held.mayBegin(invocation.exchange.id)) throw new OpError('AbortError', GONE);
    if (invocation.isSpent) throw new OpError('AbortError', 'The CPU time of the request is used up');
    const channel = this.#parts.line?.open() ?? this.#parts.channel;
    if (channel.isClosed) throw new OpError(LOST_NAME, LOST_MESSAGE, LOST_CODE);
    return { invocation, channel };
  }

  /** The host takes no log without an open invocation: function code that continues by itself would flood it. */
  log(level: number, text: string): void {
    const id = this.#parts.turns.current || this.rejecting;
    if (!this.#invocations.has(id) && !this.#ended.has(id)) return;
    this.#parts.channel?.signal(id, SignalKind.Log, String.fromCharCode(level) + text);
  }

  /** The client is gone: the handler's own pending work is over, and it begins nothing more. */
  abandon({ id }: GuestExchange): void {
    const { held } = this.#parts.turns;
    held.abandon(id);
    const isHeld = (serial: number): boolean => held.isHeld(id, serial);
    this.#parts.timers.abandon(id, isHeld);
    for (const call of [...(this.#invocations.get(id)?.calls ?? NO_CALLS)]) {
      if (isHeld(call.serial)) continue;
      const reason = `AbortError\n${GONE}\n`;
      call.exchange.fail(reason);
      call.onFail(reason);
    }
  }

  /** Its answer fails now; it ends with its turn, which is charged to it whole. */
  onCpuSpent(id: number, cpuMs: number): void {
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) return;
    invocation.isSpent = true;
    invocation.exchange.exchange.fail(cpuLimitReason(cpuMs));
  }

  #fail(id: number, code: string): void {
    this.#invocations.get(id)?.exchange.exchange.fail(code);
    this.finish(id);
  }

  /** One that is answered by now stays open until the isolate ends: the host then hears that it was the one. */
  onMemoryExceeded(id: number, bytes: number): void {
    if (this.#invocations.get(id)?.exchange.exchange.isFinished === true) this.#ending = id;
    else this.#fail(id, memoryLimitReason(bytes));
  }

  /** The invocation is over once it is handled and its answer has been sent. */
  #finishIfOver(id: number): void {
    const invocation = this.#invocations.get(id);
    if (id === this.#ending || invocation?.isHandled !== true || !invocation.exchange.exchange.isOutgoingOver) return;
    // Events of one object wait for each other: what one of them has called may be what another waits for.
    if (invocation.isOfObject && invocation.hasOpenCalls) return;
    this.finish(id);
  }

  finish(id: number): void {
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) return;
    // Calls, bodies and timers that a finished run leaves are ended below. Its turns are left out from here on.
    if (this.#parts.isForRuns && (!invocation.isHandled || invocation.isSpent)) this.hasLeftWork = true;
    this.#invocations.delete(id);
    this.#exchanges.delete(id);
    const calls = invocation.calls ?? NO_CALLS;
    if (!invocation.isHandled || calls.size > 0 || invocation.isOfObject) {
      const ids = [id, ...Array.from(calls, call => call.id)];
      this.#parts.turns.push(0, [Ev.Over, id, ids.join(',')]);
    }
    // Before the calls: a body piped from one of them did not fail, it ran out of time.
    const { exchange } = invocation.exchange;
    exchange.stopReading('The invocation is over');
    if (!exchange.isOutgoingOver) exchange.fail('The invocation is over');
    for (const call of calls) {
      this.#exchanges.delete(call.id);
      call.fail('AbortError\nThe request that this belongs to is over\n');
      call.endPipes('The request that this belongs to is over');
    }
    invocation.exchange.endPipes('The invocation is over');
    this.#parts.timers.release(id);
    this.#parts.turns.held.forget(id);
    this.#stalled.ended(id);
    const usage = this.#parts.meter.close(id);
    if (invocation.calls !== undefined) usage.writeUInt8(usage.readUInt8(8) | DoneFlag.Called, 8);
    if (this.#parts.turns.isLeaving) this.#ended.add(id, usage);
    else this.#parts.channel?.signal(id, SignalKind.Done, usage);
    if (invocation.calls !== undefined) this.#parts.line?.channel.signal(id, SignalKind.Done, '');
  }

  /** Where services are called. */
  get #callsChannel(): Channel | undefined {
    return this.#parts.line?.channel ?? this.#parts.channel;
  }

  // --- MeterEvents ---

  onTurnEnd(invocation: number): void {
    this.#finishIfOver(invocation);
    this.#stalled.turnEnded(invocation);
    this.#parts.channel?.flushMany();
    this.#parts.line?.channel.flushMany();
  }

  onCpuExceeded(invocation: number, cpuMs: number): void {
    this.#fail(invocation, cpuLimitReason(cpuMs));
  }
}

/** The reason of a failure, for the host: the used, or requested, time in milliseconds. */
function cpuLimitReason(cpuMs: number): string {
  return `EDGE_CPU_LIMIT ${cpuMs.toFixed(3)}`;
}

function memoryLimitReason(bytes: number): string {
  return `EDGE_MEMORY_LIMIT ${Math.round(bytes)}`;
}
