/**
 * One invocation on the host's side, as a state machine: what the isolate says, what the client does and what goes past a limit move it on, and
 * each end is reported once. Every policy is kept here, where function code cannot be.
 *
 *     running --an answer with a body that follows--> responding --all of the body was handed over--> finishing
 *     running --an answer that is complete--> finishing
 *     running, responding, finishing --the client is gone--> abandoned
 *     any --the isolate says that it is over, or is lost--> over
 */

import type { CallOrigin } from '../../bindings/service.js';
import type { InvocationPort, IsolateHandle, LossReason, LossUsage } from '../../pool/isolate-handle.js';
import type { Exchange } from '../../protocol/exchange.js';
import type { HandlerFailure } from '../../protocol/messages.js';
import { ProtocolError } from '../../protocol/protocol-error.js';
import type { EdgeError } from '../../quotas/errors.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { InvocationOutcome } from '../events.js';
import { isTraced } from '../telemetry/open-telemetry.js';
import type { InvocationTrace } from '../telemetry/trace.js';
import { beginTrace } from '../telemetry/tracing.js';
import { InvocationAccounting } from './calls/accounting.js';
import { answerCall } from './calls/services.js';
import { isolateFailure, noAnswerError, refusedAnswer, timeoutError, unexplainedError } from './handler-errors.js';
import type { InvocationContext } from './invocation-context.js';
import {
  cpuError,
  idleError,
  LOSSES,
  lossError,
  responseError,
  waitUntilError,
  wallTimeError,
} from './invocation-errors.js';
import { type EndedInvocation, invocationEvent } from './invocation-event.js';
import { InvocationRecord } from './invocation-record.js';
import { type InvocationStart, kindOf, tracedStart } from './invocation-start.js';
import { HostBill } from './limits/host-bill.js';
import { InvocationTimes, type TimedInvocation, waitUntilSoon } from './limits/invocation-times.js';
import { ProgressWatch } from './limits/progress-watch.js';
import type { RequestBodySource, ResponseSink } from './response-sink.js';
import { rounded } from './rounded.js';

/** Where an invocation begins anew that has lost its isolate by the doing of another. */
export interface Replacements {
  /** The isolate of the same version in place of the one that is gone. */
  replacement(): Promise<IsolateHandle>;
}

type State = 'running' | 'responding' | 'finishing' | 'abandoned' | 'over';

export class Invocation implements InvocationPort, TimedInvocation, CallOrigin {
  exchange: Exchange;
  readonly #context: InvocationContext;
  #isolate: IsolateHandle;
  /** Undefined when it has begun anew. */
  #replacements: Replacements | undefined;
  readonly #start: InvocationStart;
  readonly #kind: InvocationKind;
  readonly #sink: ResponseSink;
  readonly #startedMs = performance.now();
  readonly #trace: InvocationTrace | undefined;
  readonly #record: InvocationRecord;
  source: RequestBodySource | undefined;
  /** Bytes of a request body that comes as a stream, counted by the one who feeds it. */
  bodyBytes = 0;
  /** The function asked that errors of its own hand the request on to what is behind it. */
  passesThrough = false;
  #state: State = 'running';
  /** An answer has come, be it that the handler failed. */
  #isAnswered = false;
  /** What many invocations do without is made when it is needed. */
  #bill: HostBill | undefined;
  #times: InvocationTimes | undefined;
  #accounting: InvocationAccounting | undefined;
  #progress: ProgressWatch | undefined;

  constructor(
    context: InvocationContext,
    isolate: IsolateHandle,
    start: InvocationStart,
    sink: ResponseSink,
    replacements?: Replacements,
  ) {
    this.#context = context;
    this.#isolate = isolate;
    this.#replacements = replacements;
    this.#start = start;
    this.#kind = kindOf(start);
    this.#sink = sink;
    this.#record = new InvocationRecord(context, start);
    this.#trace = isTraced() ? beginTrace(context, tracedStart(start)) : undefined;
    context.share.beginInvocation();
    this.exchange = this.#invoke();
    const wallMs = context.limits.wallMs[this.#kind];
    if (wallMs !== Number.POSITIVE_INFINITY) this.#timed().startWall(wallMs);
    if (start.timeoutMs !== undefined) this.#timed().startTimeout(start.timeoutMs - (start.waitedMs ?? 0));
  }

  // --- CallOrigin ---

  get invocation(): string {
    return this.#record.id;
  }

  get props(): CallOrigin['props'] {
    return this.#start.props;
  }

  get chain(): CallOrigin['chain'] {
    return this.#start.chain;
  }

  // --- the client ---

  /** The client went away: all of it is canceled, but what waitUntil holds, for as long as the limit says. */
  abort(): void {
    // Also when it is over: what has come of the response may still wait for the client.
    this.exchange.fail('The client disconnected');
    if (this.#state === 'over') return;
    this.#record.ended(this.#isAnswered ? 'responseStreamDisconnected' : 'canceled');
    this.#leaveAnswering('abandoned');
  }

  /** The endpoint cannot send the answer, or waits for it no more. What waitUntil holds goes on as after a disconnect. */
  refuseAnswer(error: EdgeError, outcome: InvocationOutcome): void {
    if (this.#state === 'over') return;
    this.#record.status = undefined;
    this.#fail(error, outcome);
    this.abort();
  }

  /** All bytes of the response have been handed over. */
  bodyEnded(): void {
    if (this.#state !== 'over') this.#leaveAnswering('finishing');
  }

  /** Nothing of it goes on in the isolate. */
  close(): void {
    this.#isolate.closeInvocation(this.exchange.id);
  }

  startWaitUntil(): void {
    if (this.#state !== 'over') this.#timed().startWaitUntil(this.#context.limits.waitUntilMs);
  }

  exceedWaitUntil(): void {
    const { waitUntilMs } = this.#context.limits;
    this.#record.warnings.note('waitUntilMs', waitUntilMs, waitUntilMs);
    // A client has its answer, or is gone; others wait for the end.
    if (this.#kind !== 'fetch') this.#record.ended('canceled', waitUntilError(this.#context, this.#kind));
    this.close();
  }

  /** The caller waits no longer: for the function that is the same as a client that is gone. */
  exceedTimeout(): void {
    this.#fail(timeoutError(this.#context.function, this.#start.timeoutMs ?? 0), 'exceededWallTime');
    this.abort();
  }

  /** Invocations without a client may not go on indefinitely (specification: Usage models, Duration); others have this limit where it is set. */
  exceedWallTime(): void {
    const tookMs = performance.now() - this.#startedMs;
    this.#end(wallTimeError(this.#context, this.#kind, tookMs), 'exceededWallTime');
  }

  /** Without a client that waits there may be a limit of wall time; with one there is this. */
  checkProgress(nowMs: number): void {
    if (this.#kind !== 'fetch' || this.#state === 'over') return;
    const { receivedBytes, takenBytes, sentBytes } = this.exchange;
    const events = this.#record.logLines + (this.#accounting?.subrequests ?? 0);
    const moved = receivedBytes + takenBytes + sentBytes + events + (this.#bill?.ms ?? 0);
    this.#progress ??= new ProgressWatch(moved, nowMs);
    const { idleHttpMs } = this.#context;
    const isIdle = this.#progress.idleMs(moved, nowMs) >= idleHttpMs;
    if (isIdle) this.#end(idleError(this.#context, idleHttpMs), 'exceededWallTime');
  }

  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void {
    this.#isAnswered = true;
    if (status === 0) {
      this.#fail(this.#record.error ?? unexplainedError(), 'exception');
      this.bodyEnded();
      return;
    }
    const refusal = refusedAnswer(this.#context, status, head, body.length);
    if (refusal !== undefined) {
      this.#end(refusal, 'exception');
      return;
    }
    this.#record.status = status;
    this.#record.responseBytes = body.length;
    this.#state = 'responding';
    this.#sink.respond(status, head, body, isComplete, this.exchange);
    if (isComplete) this.bodyEnded();
  }

  onData(): void {
    const { receivedBytes } = this.exchange;
    this.#bill ??= new HostBill();
    this.#bill.received(receivedBytes);
    this.#checkBill(this.#bill);
    if (receivedBytes <= this.#context.limits.responseBytes) this.#sink.bodyReady();
    else this.#end(responseError(this.#context, receivedBytes), 'exception');
  }

  onCredit(): void {
    this.source?.resume();
  }

  onSent(): void {}

  onStop(): void {
    this.source?.stop();
  }

  onFail(reason: string): void {
    this.source?.stop();
    // The isolate's end is reported by onLost, which knows why.
    if (!this.#isolate.isUsable) return;
    const { error, outcome } = isolateFailure(this.#context, this.#kind, reason, this.#isAnswered);
    // Its isolate is about to end: what comes next goes to another one.
    if (outcome === 'exceededMemory') this.#isolate.leave();
    this.#fail(error, outcome);
  }

  onPassThrough(): void {
    this.passesThrough = true;
  }

  onHandlerFailed(failure: HandlerFailure): void {
    this.#record.handlerFailed(failure);
  }

  onLog(level: number, message: string): void {
    this.#record.log(level, message);
  }

  onCall(exchange: Exchange, service: number, head: string, body: Buffer, isComplete: boolean): void {
    const entry = this.#context.services.get(service);
    // No isolate that keeps to its own table sends that.
    if (entry === undefined) throw new ProtocolError(`A call names the service ${service}, which there is none of`);
    if (isComplete) exchange.buffer(body);
    this.#accounting ??= new InvocationAccounting(
      this.#context.limits,
      this.#context.connectionSlotRelease,
      this.#record.warnings,
      {
        ping: () => this.#isolate.ping(this.exchange.id),
        cancelCall: (call, reason) => this.#isolate.cancelCall(call, reason),
        charge: ms => this.#charge(ms),
      },
      this.#context.share,
      this,
    );
    void answerCall(entry, this.#accounting, exchange, head, isComplete, this.#trace);
  }

  onCallRead(call: number): void {
    this.#accounting?.read(call);
  }

  onPong(): void {
    this.#accounting?.ponged();
  }

  onDone(cpuMs: number, peakBytes: number, isCpuExceeded: boolean): void {
    // Also behind its answer, which has gone out by then.
    if (isCpuExceeded && this.#isAnswered)
      this.#record.ended('exceededCpu', cpuError(this.#context, this.#kind, cpuMs));
    if (!this.#isAnswered && this.#record.outcome === 'ok')
      this.#fail(noAnswerError(this.#context.function), 'exception');
    this.#finish(cpuMs, peakBytes);
  }

  onLost(reason: LossReason, detail: string, usage: LossUsage): void {
    const { cpuMs, memoryBytes } = usage;
    if (reason === 'bystander' && this.#isSafeToRepeat) {
      void this.#beginAnew(detail, usage);
      return;
    }
    if (this.#record.outcome === 'ok') {
      this.#fail(lossError(this.#context, this.#kind, reason, detail, usage), LOSSES[reason].outcome);
    }
    // A bomb is seen when it has gone off: what it held then is more than what was last seen of it.
    const peakBytes = reason === 'memory' ? Math.max(memoryBytes, this.#context.limits.memoryBytes) : memoryBytes;
    this.#finish(cpuMs, peakBytes);
  }

  #invoke(): Exchange {
    const { kind, head, isUtf8, body, isComplete } = this.#start;
    return this.#isolate.invoke(kind, head, isUtf8, body, isComplete, this);
  }

  /** Nobody has seen anything of it, so that it may run again: no answer and no call; and its request is still here. Once. */
  get #isSafeToRepeat(): boolean {
    const hasBegun = this.#isAnswered || this.#accounting !== undefined || this.#record.outcome !== 'ok';
    return !hasBegun && this.#state === 'running' && this.#start.isComplete && this.#replacements !== undefined;
  }

  /** In the isolate that replaces the one that another invocation has taken along. Its time goes on. */
  async #beginAnew(detail: string, usage: LossUsage): Promise<void> {
    const replacements = this.#replacements;
    this.#replacements = undefined;
    try {
      // Later, when the isolate that is lost has left its place.
      await null;
      const isolate = await replacements?.replacement();
      // Its client may be gone by now, or its time be up.
      if (isolate?.isUsable === true && this.#state === 'running' && this.#record.outcome === 'ok') {
        this.#charge(usage.cpuMs);
        this.#isolate = isolate;
        this.exchange = this.#invoke();
        return;
      }
    } catch {
      // It is lost, whatever keeps the function from starting again.
    }
    this.onLost('bystander', detail, usage);
  }

  #charge(ms: number): void {
    this.#bill ??= new HostBill();
    this.#bill.add(ms);
    this.#checkBill(this.#bill);
  }

  #checkBill(bill: HostBill): void {
    const limitMs = this.#context.limits.cpuMs[this.#kind];
    if (this.#state === 'over' || !bill.passes(limitMs, this.#context.cpuGrant)) return;
    this.#end(cpuError(this.#context, this.#kind, bill.ms), 'exceededCpu');
  }

  /** Ends it with an error, in the isolate too. */
  #end(error: EdgeError, outcome: InvocationOutcome): void {
    this.#fail(error, outcome);
    this.close();
  }

  #fail(error: EdgeError, outcome: InvocationOutcome): void {
    this.#record.ended(outcome, error);
    this.#sink.fail(error);
  }

  /** Nothing more is sent to the client. From here on waitUntil has its time. */
  #leaveAnswering(state: 'finishing' | 'abandoned'): void {
    if (this.#state === 'abandoned') return;
    this.#state = state;
    this.#times?.cancelTimeout();
    if (this.#context.limits.waitUntilMs !== Number.POSITIVE_INFINITY) waitUntilSoon(this);
  }

  #finish(isolateCpuMs: number, peakBytes: number): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    const cpuMs = rounded(isolateCpuMs + (this.#bill?.ms ?? 0));
    this.#context.share.endInvocation();
    this.#times?.cancel();
    this.#accounting?.close();
    const endedMs = performance.now();
    const ended: EndedInvocation = {
      kind: this.#kind,
      start: this.#start,
      record: this.#record,
      cpuMs,
      wallMs: rounded(endedMs - this.#startedMs),
      peakBytes,
      waitUntilMs: this.#times?.waitUntilTookMs(endedMs) ?? 0,
      requestBytes: this.#start.body?.length ?? this.bodyBytes,
      responseBytes: this.#record.responseBytes + this.exchange.receivedBytes,
      subrequests: this.#accounting?.subrequests ?? 0,
      accounting: this.#accounting,
    };
    const { outcome, error } = this.#record;
    this.#context.over(outcome, ended, () => invocationEvent(this.#context, ended), this.#trace);
    this.#sink.ended?.(outcome === 'ok' ? undefined : (error ?? noAnswerError(this.#context.function)));
  }

  #timed(): InvocationTimes {
    this.#times ??= new InvocationTimes(this);
    return this.#times;
  }
}
