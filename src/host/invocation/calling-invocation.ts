/**
 * An invocation as the caller of services. Its calls are answered in this process, or by the backend process. That process is notified when the invocation
 * begins and ends, and reports its work and totals. Nothing here is created before the first call.
 */

import type { RemoteTotals } from '../../backend/calls/call-totals.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { Exchange } from '../../protocol/exchange.js';
import type { HandlerFailure } from '../../protocol/messages.js';
import { callerContext } from '../../quotas/caller-context.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { InvocationAddress, RemoteCaller } from '../backend/remote-caller.js';
import { InvocationCalls } from './invocation-calls.js';
import type { InvocationContext } from './invocation-context.js';
import { Peer } from './peers.js';
import type { InvocationRecord } from './reports/invocation-record.js';

export abstract class CallingInvocation implements RemoteCaller {
  /** Code of the application that belongs to it runs there: what the isolate sends comes on a socket, which is in no context. */
  readonly caller = callerContext();
  abstract readonly exchange: Exchange;
  protected readonly context: InvocationContext;
  protected readonly record: InvocationRecord;
  protected isolate: IsolateHandle;
  #calls: InvocationCalls | undefined;
  #peer: Peer | undefined;
  #chain: RemoteCaller['calls'] | undefined;
  /** The backend process was notified of it, and will report the totals of its calls. */
  #isAnnounced = false;

  constructor(record: InvocationRecord, isolate: IsolateHandle) {
    this.context = record.context;
    this.record = record;
    this.isolate = isolate;
  }

  protected abstract get isOver(): boolean;
  /** Called when the totals of its calls are known, after it is over. */
  protected abstract report(): void;
  /** The host has worked for it: that counts as its CPU time. */
  abstract charge(ms: number): void;

  /** The share of its account. */
  get share(): HostShare {
    return this.context.share;
  }

  /** The invocation as one end of calls of functions. */
  get peer(): Peer {
    this.#peer ??= new Peer(this.context, this.isolate, {
      meter: () => this.#calling().accounting.meter,
      announced: () => this.#announced(),
      id: () => this.exchange.id,
    });
    return this.#peer;
  }

  // --- Messages of the isolate that are recorded alone ---

  onHandlerFailed(failure: HandlerFailure): void {
    this.record.handlerFailed(failure);
  }

  onWaitRejected(failure: HandlerFailure): void {
    this.record.waitRejected(failure);
  }

  onLog(level: number, message: string): void {
    this.caller.runInAsyncScope(this.record.log, this.record, level, message);
  }

  // --- CallOrigin ---

  get trace(): InvocationRecord['trace'] {
    return this.record.trace;
  }

  get invocation(): string {
    return this.record.id;
  }

  get props(): RemoteCaller['props'] {
    return this.record.start.props;
  }

  get chain(): RemoteCaller['chain'] {
    return this.record.start.chain;
  }

  get calls(): RemoteCaller['calls'] {
    this.#chain ??= this.record.start.calls ?? { depth: 1, total: { count: 1 } };
    return this.#chain;
  }

  // --- The isolate ---

  onCall(exchange: Exchange, service: number, head: string, body: Buffer, isComplete: boolean): void {
    const calls = this.#calling();
    this.caller.runInAsyncScope(calls.answer, calls, exchange, service, head, body, isComplete);
  }

  onCallRead(call: number): void {
    this.#calls?.accounting.read(call);
  }

  onPong(reading: readonly number[]): void {
    this.#calls?.accounting.ponged(reading);
  }

  // --- The backend process ---

  onBackendAsks(): boolean {
    const { remote } = this.context;
    if (remote === undefined) return false;
    remote.noteCalls(true);
    if (!this.#isAnnounced) this.#announce(this.exchange.id);
    return this.#isAnnounced;
  }

  onTotals(totals: RemoteTotals | undefined): void {
    this.#isAnnounced = false;
    const { record } = this;
    if (totals !== undefined) {
      this.context.remote?.noteCalls(totals.subrequests > 0);
      record.subrequests = totals.subrequests;
      record.accounting = totals;
      record.warnings.take(totals.warnings);
    }
    // Before that the backend process has been lost, and nothing is known of its calls.
    if (this.isOver) this.report();
  }

  /** It has begun in its isolate. @param id the id of its exchange */
  protected begun(id: number): void {
    if (this.context.remote?.isCalling === true) this.#announce(id);
  }

  protected closing(): void {
    if (this.#isAnnounced) this.context.remote?.closing(this.isolate, this.exchange.id);
  }

  /** It has called something, or may have. */
  protected get hasCalled(): boolean {
    return this.#calls !== undefined || this.#isAnnounced || this.#peer !== undefined;
  }

  /** A number that grows with each call that it makes, or that comes for its objects. */
  protected get callEvents(): number {
    return (this.#calls?.accounting.subrequests ?? 0) + (this.#peer?.called ?? 0);
  }

  /** It is over: calls in flight are given up. */
  protected closeCalls(): void {
    this.#calls?.over();
    this.#calls?.accounting.close();
    this.#peer?.close();
  }

  /** Reports when the totals of its calls are known. @param isAtRest none of its calls is on its way to the backend process */
  protected settleCalls(isAtRest: boolean): void {
    const accounting = this.#calls?.accounting;
    if (accounting !== undefined) {
      this.record.subrequests = accounting.subrequests;
      this.record.accounting = accounting;
    }
    if (this.#isAnnounced) this.context.remote?.over(this.isolate, this.exchange.id, this, isAtRest);
    else this.report();
  }

  #announce(id: number): void {
    const owner = this.record.start.ownedBy?.announced();
    this.#isAnnounced = this.context.remote?.begun(this.isolate, id, this, owner) === true;
  }

  #announced(): InvocationAddress | undefined {
    const { calls } = this.isolate;
    if (this.isOver || calls === undefined) return undefined;
    if (!this.#isAnnounced) this.#announce(this.exchange.id);
    return this.#isAnnounced ? { connection: calls, invocation: this.exchange.id } : undefined;
  }

  #calling(): InvocationCalls {
    this.#calls ??= new InvocationCalls(this.record, this.isolate, this.exchange, this);
    return this.#calls;
  }
}
