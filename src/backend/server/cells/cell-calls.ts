/**
 * The connection of one isolate to the backend process. Calls are answered once it is known that the invocation which makes them
 * is open: the application says so, the isolate is believed nothing.
 *
 *     a call --its invocation was announced--> answered
 *     a call --it was not--> held, the application is asked --it is open--> answered
 *                                                         --it is not--> failed
 *
 * Calls are answered in the order in which they come, whichever invocations they belong to: those behind a call that is held wait for it. Messages and
 * writes of a stateful object are made by different invocations, and rely on it.
 */

import { CrossSplices } from '../../../protocol/bodies/cross-splice.js';
import { Channel, type ChannelOwner } from '../../../protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../../protocol/exchange.js';
import { ISOLATE_BOUNDS } from '../../../protocol/frames/isolate-bounds.js';
import { asProtocolError, ProtocolError } from '../../../protocol/frames/protocol-error.js';
import { IdTable } from '../../../protocol/id-table.js';
import { SignalKind } from '../../../protocol/messages.js';
import { decodeReading } from '../../../protocol/pong.js';
import type { Transport } from '../../../protocol/transports/transport.js';
import { guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { SubrequestMeter } from '../../../quotas/subrequest-meter.js';
import type { RemoteTotals } from '../../calls/call-totals.js';
import type { CallTracer } from '../../calls/call-trace.js';
import type { BoundFunction } from './bound-function.js';
import { type ServedConnection, ServedInvocation } from './served-invocation.js';

/** The connection's needs of the application that its isolate belongs to. */
export interface CallsOwner {
  asks(connection: number, invocation: number): void;
  charged(connection: number, invocation: ServedInvocation): void;
  /** The invocation is over; `movedKib` were moved on the connection since the last one. */
  totals(connection: number, invocation: ServedInvocation, totals: RemoteTotals, movedKib: number): void;
  tracer(connection: number, invocation: number): CallTracer;
  /** An exchange for the rest of the body that the application receives from the isolate on exchange `target`. */
  splice(connection: number, target: number, listener: ExchangeListener): Exchange;
  /** The connection has ended. `error` when the isolate broke the protocol. */
  closed(connection: number, error: ProtocolError | undefined): void;
}

/** A call of an invocation that the application is asked about, or behind such a call. */
interface HeldCall {
  readonly id: number;
  readonly exchange: Exchange;
  /** The number of the service, and whether it is made once more. */
  readonly kind: number;
  readonly head: string;
  readonly isComplete: boolean;
}

/** Invocations that the application is asked about at once: an honest isolate has as many as it has begun in a moment. */
const MAX_ASKED = 4096;
/** How long an isolate has, after the end of an invocation, to say that its calls are all here. A compromised one may never say it. */
const DONE_WITHIN_MS = 1000;
/** Calls and ends of an invocation come in order, so that an honest isolate names hardly any that is over. The application is asked about each. */
const MAX_UNKNOWN = 100;
const UNKNOWN_WITHIN_MS = 1000;
const KIB = 1024;

export class CellCalls implements ChannelOwner, ServedConnection {
  readonly number: number;
  readonly #owner: CallsOwner;
  readonly #channel: Channel;
  readonly #movedBytes: () => number;
  readonly #function: BoundFunction;
  readonly #invocations = new IdTable<ServedInvocation>();
  /** The meters of the invocations that are announced next. */
  readonly #owners = new Map<number, () => SubrequestMeter | undefined>();
  /** Invocations that the application is asked about. */
  readonly #asked = new Set<number>();
  /** Calls that wait, and invocations that are to be finished behind their calls. */
  #held: (HeldCall | ServedInvocation)[] = [];
  /** Invocations that are over, until the isolate has said that it is done with them. */
  readonly #ending: { readonly invocation: ServedInvocation; readonly untilMs: number }[] = [];
  readonly #splices: CrossSplices;
  #timer: NodeJS.Timeout | undefined;
  #reportedKib = 0;
  #unknown = 0;
  #unknownSinceMs = 0;

  /**
   * @param movedBytes bytes that the connection has moved in both directions
   * @param bound what the isolate runs
   */
  constructor(number: number, transport: Transport, movedBytes: () => number, bound: BoundFunction, owner: CallsOwner) {
    this.number = number;
    this.#function = bound;
    this.#owner = owner;
    this.#movedBytes = movedBytes;
    this.#splices = new CrossSplices({
      find: id => this.#channel.find(id),
      mayOpen: id => this.#channel.mayOpen(id),
      open: (target, listener) => owner.splice(number, target, listener),
      share: () => bound.share,
      onOver: () => {},
    });
    this.#channel = new Channel(transport, 'host', this, { frames: ISOLATE_BOUNDS, share: bound.share });
  }

  /** The invocation that is about to be announced counts its subrequests there, too. */
  belongs(id: number, ownerMeter: () => SubrequestMeter | undefined): void {
    if (!this.#channel.isClosed && !this.#invocations.has(id)) this.#owners.set(id, ownerMeter);
  }

  begun(id: number, isTraced: boolean): void {
    if (this.#channel.isClosed || this.#invocations.has(id)) return;
    const trace = isTraced ? this.#owner.tracer(this.number, id) : undefined;
    const owner = this.#owners.get(id);
    this.#owners.delete(id);
    const invocation = new ServedInvocation(id, this.#function, this, trace, owner);
    this.#invocations.set(id, invocation);
    if (this.#asked.delete(id)) this.#answerHeld();
  }

  /** The application does not know the invocation: it is over. */
  unknown(id: number): void {
    if (this.#asked.delete(id)) this.#answerHeld();
    const now = performance.now();
    if (now - this.#unknownSinceMs > UNKNOWN_WITHIN_MS) {
      this.#unknownSinceMs = now;
      this.#unknown = 0;
    }
    if (++this.#unknown > MAX_UNKNOWN) {
      this.#broken(new ProtocolError(`Calls name ${MAX_UNKNOWN} invocations in a second that are not open`));
    }
  }

  /** The application ends the invocation: its isolate may be standing still for the answer of a call, and hear nothing else. */
  closing(id: number): void {
    if (this.#invocations.has(id)) this.#channel.signal(id, SignalKind.Close, '');
  }

  /** The application says that the invocation is over. Its totals follow when no more calls of it can come; it `isAtRest` when none is on its way. */
  over(id: number, isAtRest: boolean): void {
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) return;
    invocation.isOver = true;
    if (invocation.isDone || isAtRest || this.#channel.isClosed) this.#finishBehind(invocation);
    else {
      this.#ending.push({ invocation, untilMs: performance.now() + DONE_WITHIN_MS });
      this.#timer ??= setTimeout(this.#endLate, DONE_WITHIN_MS).unref();
    }
  }

  /** The application sends the rest of what the isolate sends on one of its calls. */
  spliced(call: number, exchange: Exchange): void {
    this.#guard(() => this.#splices.arrived(call, exchange));
  }

  /** Where the subrequests of an invocation are counted. Undefined when it is over. */
  meter(invocation: number): SubrequestMeter | undefined {
    return this.#invocations.get(invocation)?.meter;
  }

  /** The work of an invocation's calls. Undefined when it is over. */
  work(invocation: number): CallWork | undefined {
    return this.#invocations.get(invocation)?.work;
  }

  /** The connection has ended, and the application has said of each invocation that it is over. */
  get isOver(): boolean {
    return this.#channel.isClosed && this.#invocations.size === 0;
  }

  close(): void {
    this.#channel.close();
  }

  // --- ServedConnection ---

  ping(invocation: number): void {
    this.#channel.signal(invocation, SignalKind.Ping, '');
  }

  cancelCall(call: number, reason: string): void {
    this.#channel.signal(call, SignalKind.CallCanceled, reason);
  }

  charged(invocation: ServedInvocation): void {
    this.#owner.charged(this.number, invocation);
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, text: string, body: Buffer, isComplete: boolean): void {
    const at = text.indexOf('\n');
    const id = Number(text.slice(0, at));
    const head = text.slice(at + 1);
    if (isComplete) exchange.buffer(body);
    const invocation = this.#invocations.get(id);
    if (invocation !== undefined && this.#held.length === 0) {
      invocation.answer(exchange, kind, head, isComplete);
      return;
    }
    this.#held.push({ id, exchange, kind, head, isComplete });
    if (invocation === undefined && !this.#asked.has(id)) this.#ask(at < 0 ? -1 : id);
  }

  #ask(id: number): void {
    // The application is asked by a number of 32 bits.
    if (id !== id >>> 0) throw new ProtocolError('A call names no invocation');
    if (this.#asked.size >= MAX_ASKED)
      throw new ProtocolError(`Calls name ${MAX_ASKED} invocations that are not known`);
    this.#asked.add(id);
    this.#owner.asks(this.number, id);
  }

  /** The application has answered about an invocation. */
  #answerHeld(): void {
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      if (next instanceof ServedInvocation) {
        this.#held.shift();
        this.#finish(next);
        continue;
      }
      const { id, exchange, kind, head, isComplete } = next;
      if (this.#asked.has(id)) return;
      this.#held.shift();
      const invocation = this.#invocations.get(id);
      if (invocation === undefined) exchange.fail(OVER);
      else if (!exchange.isFinished) this.#guard(() => invocation.answer(exchange, kind, head, isComplete));
    }
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    if (kind === SignalKind.SpliceTo) {
      this.#splices.to(id);
      return;
    }
    if (kind === SignalKind.SpliceFrom && payload.length >= 4) {
      this.#splices.from(id, payload.readUInt32LE(0));
      return;
    }
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) {
      // The application is being asked about it, and it is over in the isolate before the answer is here.
      if (!this.#asked.has(id)) this.#channel.futileFrame();
      return;
    }
    switch (kind) {
      case SignalKind.CallRead:
        if (payload.length >= 4) invocation.read(payload.readUInt32LE(0));
        return;
      case SignalKind.Pong:
        invocation.ponged(decodeReading(payload));
        return;
      case SignalKind.Done:
        invocation.isDone = true;
        if (invocation.isOver) this.#finishBehind(invocation);
        return;
      default:
    }
  }

  onClose(error: ProtocolError | undefined): void {
    this.#held = [];
    this.#asked.clear();
    this.#splices.close();
    clearTimeout(this.#timer);
    for (const invocation of this.#invocations.values()) if (invocation.isOver) this.#finish(invocation);
    this.#owner.closed(this.number, error);
  }

  readonly #endLate = guarded((): void => {
    this.#timer = undefined;
    const now = performance.now();
    let late = this.#ending[0];
    while (late !== undefined && (late.untilMs <= now || !this.#invocations.has(late.invocation.id))) {
      this.#ending.shift();
      if (this.#invocations.has(late.invocation.id)) this.#finish(late.invocation);
      late = this.#ending[0];
    }
    if (late !== undefined) this.#timer = setTimeout(this.#endLate, Math.max(1, late.untilMs - now)).unref();
  });

  /** Its calls may wait: they are answered first. */
  #finishBehind(invocation: ServedInvocation): void {
    if (this.#held.length === 0) this.#finish(invocation);
    else this.#held.push(invocation);
  }

  #finish(invocation: ServedInvocation): void {
    if (!this.#invocations.has(invocation.id)) return;
    this.#invocations.delete(invocation.id);
    const movedKib = Math.round(this.#movedBytes() / KIB);
    const since = movedKib - this.#reportedKib;
    this.#reportedKib = movedKib;
    this.#owner.totals(this.number, invocation, invocation.close(), since);
  }

  /** Guards steps that the reader of the connection does not run. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#broken(asProtocolError(error));
    }
  }

  #broken(error: ProtocolError): void {
    if (this.#channel.isClosed) return;
    this.#channel.close();
    this.#owner.closed(this.number, error);
  }
}

const OVER = 'Error\nThe invocation is over\n';
