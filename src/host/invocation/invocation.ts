/**
 * One invocation on the host's side, as a state machine: messages of the isolate, actions of the client and exceeded limits change its state, and each end is
 * reported once. Policies are kept on this side, where function code cannot be: of time in limits/, of calls in calls/, of a lost isolate in loss/.
 *
 *     running --an answer with a body that follows--> responding --all of the body was handed over--> finishing
 *     running --an answer that is complete--> finishing
 *     running, responding, finishing --the client is gone--> abandoned
 *     any --the isolate says that it is over, or is lost--> over
 */
import type { InvocationPort } from '../../pool/host/invocation-port.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { LossReason, LossUsage } from '../../pool/host/isolate-loss.js';
import type { Exchange } from '../../protocol/exchange.js';
import { DoneFlag, HostOpens } from '../../protocol/messages.js';
import type { EdgeError } from '../../quotas/errors.js';
import { detached } from '../../quotas/guarded.js';
import type { InvocationOutcome } from '../events.js';
import { answeredSocket } from '../hibernation/handed-sockets.js';
import type { SleepingSocket } from '../hibernation/hibernatable-socket.js';
import { CallingInvocation } from './calling-invocation.js';
import {
  isolateFailure,
  noAnswerError,
  notStoredFailure,
  refusedAnswer,
  unexplainedError,
} from './failures/handler-errors.js';
import { cpuError, responseError } from './failures/invocation-errors.js';
import { LOSSES, lossError, peakBytesAt } from './failures/loss-error.js';
import { beginElsewhere, type Replacements } from './failures/replacement.js';
import type { InvocationContext } from './invocation-context.js';
import type { InvocationStart } from './invocation-start.js';
import { lengthOfBody } from './length-of-body.js';
import { HostBill } from './limits/host-bill.js';
import { InvocationTimes, type TimedInvocation, waitUntilSoon } from './limits/invocation-times.js';
import { HeldAnswer, type ObjectWrite, writeBefore } from './object-writes.js';
import { reportInvocation } from './report-invocation.js';
import { InvocationRecord } from './reports/invocation-record.js';
import { rounded } from './reports/rounded.js';
import type { RequestBodySource, ResponseSink } from './response-sink.js';

type State = 'running' | 'responding' | 'finishing' | 'abandoned' | 'over';

export class Invocation extends CallingInvocation implements InvocationPort, TimedInvocation {
  exchange: Exchange;
  /** Undefined when it was restarted. */
  #replacements: Replacements | undefined;
  readonly #sink: ResponseSink;
  source: RequestBodySource | undefined;
  /** Bytes of a request body that comes as a stream, counted by the one who feeds it. */
  bodyBytes = 0;
  /** The function asked that a failed request continues to the handler behind it. */
  passesThrough = false;
  /** The handler of a cron trigger asked that it is not run again when it fails. */
  #isNoRetry = false;
  #state: State = 'running';
  /** An answer has come, be it that the handler failed. */
  #isAnswered = false;
  /** Many invocations need none of these, so they are made on first use. */
  #bill: HostBill | undefined;
  #isolateCpuMs = 0;
  #times: InvocationTimes | undefined;
  /** For a stateful object: its answer, which waits for the writes that the object has made before it. */
  #held: HeldAnswer | undefined;

  constructor(
    context: InvocationContext,
    isolate: IsolateHandle,
    start: InvocationStart,
    sink: ResponseSink,
    replacements?: Replacements,
  ) {
    super(new InvocationRecord(context, start), isolate);
    this.#replacements = replacements;
    this.#sink = sink;
    this.exchange = this.#invoke();
    context.share.beginInvocation();
    const wallMs = context.limits.wallMs[this.record.kind];
    if (wallMs !== Number.POSITIVE_INFINITY) this.#timed().startWall(wallMs);
    if (start.timeoutMs !== undefined) this.#timed().startTimeout(start.timeoutMs - (start.waitedMs ?? 0));
  }

  // --- the client ---

  /** The client went away: all of it is canceled, but what waitUntil holds, for as long as the limit says. */
  abort(): void {
    // This is needed even when it is over: the rest of the response may still wait for the client.
    this.exchange.fail('The client disconnected');
    if (this.#state === 'over') return;
    if (!this.#isAnswered) this.record.ended('canceled');
    // A stream that a caller has got by a method ends with it, disposed or not: that is no loss.
    else if (this.record.start.kind !== HostOpens.Rpc) this.record.ended('responseStreamDisconnected');
    this.#leaveAnswering('abandoned');
  }

  /** The endpoint cannot send the answer, or waits for it no more. The promises of waitUntil continue as after a disconnect. */
  refuseAnswer(error: EdgeError, outcome: InvocationOutcome): void {
    if (this.#state === 'over') return;
    this.record.status = undefined;
    this.giveUp(error, outcome);
  }

  /** All bytes of the response have been handed over. */
  bodyEnded(): void {
    if (this.#state !== 'over') this.#leaveAnswering('finishing');
  }

  /** Messages of its WebSocket have been handed over: each restarts its CPU time. */
  renew(messages: number): void {
    this.isolate.claims.renewed(messages);
    this.#bill?.renew();
  }

  /** Its WebSocket is closed, which the function learns by the last of the messages. From here on waitUntil has its time. */
  socketClosed(isClean: boolean): void {
    if (this.#state === 'over') return;
    if (!isClean) this.record.ended('responseStreamDisconnected');
    this.#leaveAnswering(isClean ? 'finishing' : 'abandoned');
  }

  /** Ends it in the isolate. */
  close(): void {
    this.isolate.closeInvocation(this.exchange.id);
    this.closing();
  }

  startWaitUntil(): void {
    if (this.#state !== 'over') this.#timed().startWaitUntil(this.context.limits.waitUntilMs);
  }

  end(error: EdgeError, outcome: InvocationOutcome): void {
    this.#fail(error, outcome);
    this.close();
  }

  giveUp(error: EdgeError, outcome: InvocationOutcome): void {
    this.#fail(error, outcome);
    this.abort();
  }

  get isUnanswered(): boolean {
    return this.#state === 'running';
  }

  goAway(): void {
    this.source?.goAway?.();
  }

  checkProgress(nowMs: number): void {
    const isBounded = this.context.idleHttpMs !== Number.POSITIVE_INFINITY;
    if (!isBounded || this.record.kind !== 'fetch' || this.#state === 'over') return;
    const { receivedBytes, takenBytes, sentBytes } = this.exchange;
    const events = this.record.logLines + this.callEvents;
    const moved = receivedBytes + takenBytes + sentBytes + events + (this.#bill?.ms ?? 0);
    this.#timed().checkProgress(moved, nowMs);
  }

  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void {
    this.#isAnswered = true;
    const { object } = this.record.start;
    const write = object === undefined ? undefined : writeBefore(this.isolate, object);
    if (write === undefined) this.#answer(status, head, body, isComplete);
    else this.#hold(write, new HeldAnswer(this.share, status, head, body, isComplete));
  }

  /** It goes out when the write is on disk. */
  #hold(write: ObjectWrite, held: HeldAnswer): void {
    this.#held = held;
    write.whenSettled(failure => {
      held.release();
      if (this.#held !== held) return;
      this.#held = undefined;
      if (this.#state === 'running' && this.record.outcome === 'ok') {
        if (failure === undefined) this.#answer(...held.answer);
        else this.#notStored(failure);
        this.#bodyReady();
      }
      if (held.done !== undefined) this.onDone(...held.done);
    });
  }

  #notStored(failure: string): void {
    this.record.threw(notStoredFailure(failure));
    this.#fail(this.record.error ?? unexplainedError(), 'exception');
    this.bodyEnded();
  }

  #answer(status: number, head: string, body: Buffer, isComplete: boolean): void {
    if (status === 0) {
      this.#fail(this.record.error ?? unexplainedError(), 'exception');
      this.bodyEnded();
      return;
    }
    const isUpgrade = status === 101 && this.record.start.isUpgrade === true;
    const socket = isUpgrade && isComplete ? answeredSocket(body, this.record.start, this) : undefined;
    const isSwitch = isUpgrade && (!isComplete || socket !== undefined);
    const refusal = refusedAnswer(this.context, isSwitch ? 200 : status, head, body.length);
    if (refusal !== undefined) {
      this.end(refusal, 'exception');
      return;
    }
    this.record.status = status;
    this.record.responseBytes = socket === undefined ? body.length : 0;
    this.#leaveRunning('responding');
    if (!isComplete && !isUpgrade) this.#expectBody(status, head);
    if (this.#sink.callsApplication !== false || socket !== undefined)
      this.caller.runInAsyncScope(this.#respond, this, status, head, body, isComplete, socket);
    else this.#respond(status, head, body, isComplete, undefined);
    socket?.dropUnlessTaken();
    if (isComplete) this.bodyEnded();
  }

  #respond(status: number, head: string, body: Buffer, isComplete: boolean, socket: SleepingSocket | undefined): void {
    this.#sink.respond(status, head, body, isComplete, this.exchange, socket);
  }

  /** All who take the answer are behind this check of its length. */
  #expectBody(status: number, head: string): void {
    const length = lengthOfBody(status, head);
    if (length !== undefined) this.exchange.expect(length);
  }

  onData(): void {
    const { receivedBytes } = this.exchange;
    this.#bill ??= new HostBill();
    this.#bill.received(receivedBytes);
    this.#checkBill(this.#bill);
    if (receivedBytes <= this.context.limits.responseBytes) {
      if (this.#held === undefined) this.#bodyReady();
    } else this.end(responseError(this.context, receivedBytes), 'exception');
  }

  #bodyReady(): void {
    this.caller.runInAsyncScope(this.#sink.bodyReady, this.#sink);
  }

  onCredit(): void {
    if (this.source !== undefined) this.caller.runInAsyncScope(this.source.resume, this.source);
  }

  onSent(): void {}

  onStop(): void {
    if (this.source !== undefined) this.caller.runInAsyncScope(this.source.stop, this.source);
  }

  onFail(reason: string): void {
    this.onStop();
    // The isolate's end is reported by onLost, which knows why.
    if (!this.isolate.isUsable) return;
    const isAnswered = this.#isAnswered && this.#held === undefined;
    const { error, outcome } = isolateFailure(this.context, this.record.kind, reason, isAnswered);
    // Its isolate is about to end: later invocations go to another one.
    if (outcome === 'exceededMemory') this.isolate.leave();
    this.#fail(error, outcome);
  }

  onPassThrough(): void {
    this.passesThrough = true;
  }

  onNoRetry(): void {
    this.#isNoRetry = true;
  }

  onQueueWord(word: number, index: number, delaySeconds: number): void {
    this.#sink.queueWord?.(word, index, delaySeconds);
  }

  onDone(cpuMs: number, peakBytes: number, flags: number): void {
    if (this.#held !== undefined) {
      this.#held.done = [cpuMs, peakBytes, flags];
      return;
    }
    // Also behind its answer, which has gone out by then.
    if ((flags & DoneFlag.CpuExceeded) !== 0 && this.#isAnswered)
      this.record.ended('exceededCpu', cpuError(this.context, this.record.kind, cpuMs));
    if (!this.#isAnswered && this.record.outcome === 'ok')
      this.#fail(noAnswerError(this.context.function), 'exception');
    this.#finish(cpuMs, peakBytes, (flags & DoneFlag.Called) === 0);
  }

  onLost(reason: LossReason, detail: string, usage: LossUsage): void {
    if (reason === 'bystander' && this.#isSafeToRepeat) {
      detached(this.#beginAnew(detail, usage));
      return;
    }
    if (this.record.outcome === 'ok') {
      this.#fail(lossError(this.context, this.record.kind, reason, detail, usage), LOSSES[reason].outcome);
    }
    this.#finish(usage.cpuMs, peakBytesAt(reason, this.context, usage));
  }

  #invoke(): Exchange {
    const { start } = this.record;
    const { object, isUtf8, body, isComplete } = start;
    const own = start.kind === HostOpens.Rpc ? (start.headFor?.(this.peer) ?? start.head) : start.head;
    const kind = object === undefined ? start.kind : HostOpens.ObjectEvent;
    const head = object === undefined ? own : object.lead() + own;
    const exchange = this.isolate.invoke(kind, head, isUtf8, body, isComplete, this);
    this.begun(exchange.id);
    return exchange;
  }

  /** It may run again, once: neither an answer nor a call has made it visible, and all of its request is still here. */
  get #isSafeToRepeat(): boolean {
    const hasBegun = this.#isAnswered || this.hasCalled || this.record.outcome !== 'ok';
    return !hasBegun && this.#state === 'running' && this.record.start.isComplete && this.#replacements !== undefined;
  }

  /** Restarts it in a new isolate, after another invocation has caused the end of its isolate. Its time continues. */
  async #beginAnew(detail: string, usage: LossUsage): Promise<void> {
    const replacements = this.#replacements;
    this.#replacements = undefined;
    const hasBegun = await beginElsewhere(replacements, isolate => {
      // Its client may be gone by now, or its time be up.
      if (this.#state !== 'running' || this.record.outcome !== 'ok') return false;
      this.charge(usage.cpuMs);
      this.isolate = isolate;
      this.exchange = this.#invoke();
      return true;
    });
    if (!hasBegun) this.onLost('bystander', detail, usage);
  }

  charge(ms: number): void {
    this.#bill ??= new HostBill();
    this.#bill.add(ms);
    this.#checkBill(this.#bill);
  }

  #checkBill(bill: HostBill): void {
    const limitMs = this.context.limits.cpuMs[this.record.kind];
    if (this.#state === 'over' || !bill.passes(limitMs, this.context.cpuGrant)) return;
    this.end(cpuError(this.context, this.record.kind, bill.ms), 'exceededCpu');
  }

  #fail(error: EdgeError, outcome: InvocationOutcome): void {
    this.record.ended(outcome, error);
    this.caller.runInAsyncScope(this.#sink.fail, this.#sink, error);
  }

  #leaveRunning(state: 'responding' | 'finishing' | 'abandoned'): void {
    this.#state = state;
    this.isolate.onProgress?.();
  }

  /** Nothing more is sent to the client. From here on waitUntil has its time. */
  #leaveAnswering(state: 'finishing' | 'abandoned'): void {
    if (this.#state === 'abandoned') return;
    this.#leaveRunning(state);
    this.#times?.cancelTimeout();
    // Without a client its own time on the wall is the bound.
    const isBounded = this.context.limits.waitUntilMs !== Number.POSITIVE_INFINITY;
    if (isBounded && this.record.kind === 'fetch') waitUntilSoon(this);
  }

  /** @param isAtRest none of its calls is on its way to the backend process */
  #finish(isolateCpuMs: number, peakBytes: number, isAtRest = false): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#held = undefined;
    this.record.start.object?.over();
    this.context.share.endInvocation();
    this.#times?.cancel();
    this.closeCalls();
    const endedMs = performance.now();
    const record = this.record;
    // A promise that waitUntil was given: the answer went out before.
    if (record.thrown !== undefined) record.ended('exception');
    this.#isolateCpuMs = isolateCpuMs;
    record.wallMs = rounded(endedMs - record.startedMs);
    record.peakBytes = peakBytes;
    record.waitUntilMs = this.#times?.waitUntilTookMs(endedMs) ?? 0;
    record.requestBytes = record.start.body?.length ?? this.bodyBytes;
    record.responseBytes += this.exchange.receivedBytes;
    this.settleCalls(isAtRest);
    const { outcome, error } = record;
    const ended = outcome === 'ok' ? undefined : (error ?? noAnswerError(this.context.function));
    this.#sink.ended?.(ended, this.#isNoRetry);
  }

  protected get isOver(): boolean {
    return this.#state === 'over';
  }

  /** When everything is known that it came to. */
  protected report(): void {
    this.record.cpuMs = rounded(this.#isolateCpuMs + (this.#bill?.ms ?? 0));
    reportInvocation(this.record, this.caller);
  }

  #timed(): InvocationTimes {
    this.#times ??= new InvocationTimes(this.record, this);
    return this.#times;
  }
}
