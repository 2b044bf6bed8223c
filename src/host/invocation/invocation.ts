/**
 * One invocation on the host's side: the response on its way out, the calls to services, and the books that become its event.
 * Every policy is kept here, where function code cannot be.
 */

import { MAX_REPLY_HEAD_CHARACTERS } from '../../isolate/ops/table.js';
import type { InvocationPort, IsolateHandle, LossReason, LossUsage } from '../../pool/isolate-handle.js';
import type { Exchange } from '../../protocol/exchange.js';
import { type HandlerFailure, HostOpens } from '../../protocol/messages.js';
import { ProtocolError } from '../../protocol/protocol-error.js';
import type { AdmissionDecision, RouteMode } from '../../quotas/admission.js';
import type { ConnectionSlotRelease } from '../../quotas/connection-limiter.js';
import { EdgeError } from '../../quotas/errors.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { LimitWarnings } from '../../quotas/limit-warnings.js';
import type { InvocationKind } from '../../quotas/limits.js';
import { LogBudget } from '../../quotas/log-budget.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { InvocationEvent, InvocationOutcome, LogEvent, LogLevel } from '../events.js';
import { InvocationAccounting } from './accounting.js';
import {
  cpuError,
  cpuOfReason,
  idleError,
  LOSSES,
  lossError,
  memoryError,
  memoryOfReason,
  responseError,
  wallTimeError,
} from './invocation-errors.js';
import { invocationId } from './invocation-id.js';
import { type InvocationStart, kindOf, nextSerial, requestLine } from './invocation-start.js';
import { noteRequestHead } from './request-warnings.js';
import { answerCall, type FunctionServices } from './services.js';
import { type TraceParent, traceParent } from './telemetry.js';
import { type Deadline, TimerList } from './timer-list.js';

/** Where the answer goes. One of `respond` and `fail` is called first, once; after `respond`, `fail` breaks the stream. */
export interface ResponseSink {
  /** `body` is a view valid during the call, whole when `isComplete`; else it comes by `exchange.read` and `bodyReady`. */
  respond(status: number, head: string, body: Buffer, isComplete: boolean, exchange: Exchange): void;
  bodyReady(): void;
  fail(error: EdgeError): void;
}

/** What feeds the request body, when it is a stream. */
export interface RequestBodySource {
  /** Writing may go on. */
  resume(): void;
  /** The function reads no more. */
  stop(): void;
}

/** What an invocation needs to know of its function. */
export interface InvocationContext {
  readonly account: string;
  readonly function: string;
  readonly version: string;
  readonly limits: ResolvedLimits;
  readonly services: FunctionServices;
  /** What the account may take of the host. */
  readonly share: HostShare;
  /** An HTTP invocation of which nothing has moved for so long is ended. */
  readonly idleHttpMs: number;
  /** The CPU time at which an invocation of this limit ends: what others have left unused is lent to it. */
  cpuGrant(limitMs: number): number;
  readonly connectionSlotRelease: ConnectionSlotRelease;
  /** Whether a request may come in, by the rates of the account and the client's address. Counts it when it may. */
  admit(mode: RouteMode, address: string | undefined): AdmissionDecision | Promise<AdmissionDecision>;
  /** Requests of the account this minute and today; counted only where there is a rate. */
  requests(): { readonly requestsPerMinute: number; readonly requestsPerDay: number };
  emitLog(event: LogEvent): void;
  /** The invocation is over. `event` makes the event; nothing is made when nobody listens. */
  over(
    outcome: InvocationOutcome,
    figures: { kind: InvocationKind; cpuMs: number; wallMs: number; peakBytes: number; subrequests: number },
    event: () => InvocationEvent,
    parent: TraceParent,
  ): void;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'log', 'warn', 'error'];

const graces = new TimerList<Invocation>(invocation => invocation.exceedGrace());
/** Answered in this round of the event loop: nearly all are over by its end and need no deadline, which would cost more than their books. */
let answered: Invocation[] = [];
const wallTimes = new TimerList<Invocation>(invocation => invocation.exceedWallTime());

function addGraces(): void {
  const all = answered;
  answered = [];
  for (const invocation of all) invocation.addGrace();
}

export class Invocation implements InvocationPort {
  readonly exchange: Exchange;
  readonly #context: InvocationContext;
  readonly #isolate: IsolateHandle;
  readonly #start: InvocationStart;
  readonly #sink: ResponseSink;
  readonly #serial = nextSerial();
  readonly #startedMs = performance.now();
  readonly #parent = traceParent();
  source: RequestBodySource | undefined;
  /** Bytes of a request body that comes as a stream, told by whoever feeds it. */
  bodyBytes = 0;
  #responseBytes = 0;
  /** Of a response that comes in pieces: the bytes that its CPU time has in it. */
  #billedBytes = 0;
  /** CPU time that the host has used for the invocation. */
  #hostMs = 0;
  #isPastHostCpu = false;
  /** What had moved when it was last looked at, and when that was. */
  #progress = 0;
  #progressAtMs = 0;
  readonly #warnings = new LimitWarnings();
  #grace: Deadline<Invocation> | undefined;
  #wallTime: Deadline<Invocation> | undefined;
  #accounting: InvocationAccounting | undefined;
  #logs: LogBudget | undefined;
  #status: number | undefined;
  #failure: EdgeError | undefined;
  #failureName = '';
  #failureStack = '';
  #outcome: InvocationOutcome = 'ok';
  #logLines = 0;
  #passesThrough = false;
  #isAnswered = false;
  #isOver = false;

  constructor(context: InvocationContext, isolate: IsolateHandle, start: InvocationStart, sink: ResponseSink) {
    this.#context = context;
    this.#isolate = isolate;
    this.#start = start;
    this.#sink = sink;
    context.share.beginInvocation();
    this.exchange = isolate.invoke(start.kind, start.head, start.isUtf8, start.body, start.isComplete, this);
    const wallMs = start.kind === HostOpens.Fetch ? Number.POSITIVE_INFINITY : context.limits.wallMs[this.#kind];
    if (wallMs !== Number.POSITIVE_INFINITY) this.#wallTime = wallTimes.add(this, wallMs);
  }

  get id(): string {
    return invocationId(this.#serial);
  }

  /** The function asked that errors of its own hand the request on to what is behind it. */
  get passesThrough(): boolean {
    return this.#passesThrough;
  }

  /** The client went away: all of it is canceled, but what waitUntil holds, for as long as the limit says. */
  abort(): void {
    if (this.#isOver) {
      // What has come of the response may still wait for the client.
      this.exchange.fail('The client disconnected');
      return;
    }
    if (this.#outcome === 'ok') this.#outcome = this.#isAnswered ? 'responseStreamDisconnected' : 'canceled';
    this.exchange.fail('The client disconnected');
    this.#startGrace();
  }

  /** The time of waitUntil is up. */
  exceedGrace(): void {
    const { waitUntilMs } = this.#context.limits;
    this.#warnings.note('waitUntilMs', waitUntilMs, waitUntilMs);
    this.close();
  }

  /** Nothing of it goes on in the isolate. */
  close(): void {
    this.#isolate.closeInvocation(this.exchange.id);
  }

  /** Invocations without a client may not take for ever (specification: Usage models, Duration). */
  exceedWallTime(): void {
    const tookMs = performance.now() - this.#startedMs;
    this.#fail(wallTimeError(this.#context, this.#kind, tookMs), 'exceededWallTime');
    this.close();
  }

  /** All bytes of the response have been handed over. */
  bodyEnded(): void {
    if (!this.#isOver) this.#startGrace();
  }

  // --- InvocationPort ---

  onReply(status: number, head: string, body: Buffer, isComplete: boolean): void {
    this.#isAnswered = true;
    if (status === 0) {
      this.#fail(this.#failure ?? new EdgeError('EDGE_HANDLER_THREW', 'The handler failed'), 'exception');
      return;
    }
    // After a 1xx the client waits for another answer, and a proxy may take what follows for a protocol of its own.
    if (status < 200 || status > 599 || head.length > MAX_REPLY_HEAD_CHARACTERS) {
      const what = `with status ${status} and a head of ${head.length} bytes`;
      this.#fail(new EdgeError('EDGE_PROTOCOL', `The isolate answered ${what}`), 'exception');
      this.close();
      return;
    }
    this.#status = status;
    this.#responseBytes = body.length;
    if (body.length > this.#context.limits.responseBytes) {
      this.#fail(responseError(this.#context, body.length), 'exception');
      return;
    }
    this.#sink.respond(status, head, body, isComplete, this.exchange);
    if (isComplete && !this.#isOver) this.#startGrace();
  }

  onData(): void {
    const { receivedBytes } = this.exchange;
    if (receivedBytes > this.#billedBytes) {
      // The account was charged when it was read off the connection, by the clock.
      this.#bill(HOST_COSTS.chunkMs + costOf(receivedBytes - this.#billedBytes, HOST_COSTS.movedMbMs));
      this.#billedBytes = receivedBytes;
    }
    if (receivedBytes <= this.#context.limits.responseBytes) {
      this.#sink.bodyReady();
      return;
    }
    this.#fail(responseError(this.#context, receivedBytes), 'exception');
    this.close();
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
    // The isolate's end is told by onLost, which knows why.
    if (!this.#isolate.isUsable) return;
    const cpuMs = cpuOfReason(reason);
    const memoryBytes = cpuMs === undefined ? memoryOfReason(reason) : undefined;
    if (cpuMs !== undefined) this.#fail(cpuError(this.#context, this.#kind, cpuMs), 'exceededCpu');
    else if (memoryBytes !== undefined) {
      // Its isolate is about to end: what comes next goes to another one.
      this.#isolate.leave();
      this.#fail(memoryError(this.#context, this.#kind, memoryBytes), 'exceededMemory');
    } else if (this.#isAnswered)
      this.#fail(
        new EdgeError(
          'EDGE_RESPONSE_STREAM',
          `The response body of function "${this.#context.function}" failed: ${inWords(reason)}`,
        ),
        'exception',
      );
    else
      this.#fail(
        new EdgeError(
          'EDGE_HANDLER_THREW',
          `Function "${this.#context.function}" ended without an answer: ${inWords(reason)}`,
        ),
        'exception',
      );
  }

  onLog(level: number, message: string): void {
    const recorded = this.#record(message);
    if (recorded !== null) this.#emitLog(LEVELS[level] ?? 'log', recorded);
  }

  /** What is recorded of a text: console output, exceptions, and the head of the request share one limit (specification: Limits, rule 12). */
  #record(text: string): string | null {
    const { logBytes } = this.#context.limits;
    if (this.#logs === undefined) {
      this.#logs = new LogBudget(logBytes);
      this.#logs.admit(this.#start.head);
    }
    const recorded = this.#logs.admit(text, () => {
      this.#emitLog('warn', `Log truncated: limit logBytes is ${logBytes} (option limits.logBytes)`);
    });
    this.#warnings.note('logBytes', this.#logs.usedBytes, logBytes);
    return recorded;
  }

  #emitLog(level: LogLevel, message: string): void {
    this.#logLines++;
    this.#context.emitLog({
      account: this.#context.account,
      function: this.#context.function,
      invocation: this.id,
      level,
      message,
      time: Date.now(),
    });
  }

  onPassThrough(): void {
    this.#passesThrough = true;
  }

  onHandlerFailed(failure: HandlerFailure): void {
    if (this.#failureName !== '') throw new ProtocolError('A handler failed twice');
    this.#failureName = failure.name;
    const message = this.#record(failure.message) ?? '';
    this.#failureStack = this.#record(failure.stack) ?? '';
    this.#failure = new EdgeError(
      failure.code,
      failure.code === 'EDGE_NO_RESPONSE'
        ? `The handler of function "${this.#context.function}" returned no Response: ${message}`
        : `The handler of function "${this.#context.function}" threw ${failure.name}: ${message}`,
    );
  }

  onCall(exchange: Exchange, service: number, head: string, _body: Buffer, isComplete: boolean): void {
    const entry = this.#context.services.get(service);
    if (entry === undefined) {
      // No isolate that keeps to its own table sends that.
      throw new ProtocolError(`A call names the service ${service}, which there is none of`);
    }
    if (isComplete) exchange.buffer(_body);
    const { limits, connectionSlotRelease, share } = this.#context;
    this.#accounting ??= new InvocationAccounting(
      limits,
      connectionSlotRelease,
      this.#warnings,
      {
        ping: () => this.#isolate.ping(this.exchange.id),
        cancelCall: (call, reason) => this.#isolate.cancelCall(call, reason),
        charge: ms => this.#bill(ms),
      },
      share,
    );
    void answerCall(entry, this.#accounting, exchange, head, isComplete);
  }

  onCallRead(call: number): void {
    this.#accounting?.read(call);
  }

  onPong(): void {
    this.#accounting?.ponged();
  }

  onDone(cpuMs: number, peakBytes: number): void {
    if (!this.#isAnswered && this.#outcome === 'ok') {
      this.#fail(
        new EdgeError('EDGE_HANDLER_THREW', `Function "${this.#context.function}" ended without an answer`),
        'exception',
      );
    }
    this.#over(cpuMs, peakBytes);
  }

  /** Without a client that waits there may be a limit of wall time; with one there is this. */
  checkProgress(nowMs: number): void {
    if (this.#start.kind !== HostOpens.Fetch || this.#isOver) return;
    const { idleHttpMs } = this.#context;
    const { receivedBytes, takenBytes, sentBytes } = this.exchange;
    const moved = receivedBytes + takenBytes + sentBytes + this.#logLines + (this.#accounting?.subrequests ?? 0);
    const progress = moved + this.#hostMs;
    if (progress !== this.#progress || this.#progressAtMs === 0) {
      this.#progress = progress;
      this.#progressAtMs = nowMs;
    } else if (nowMs - this.#progressAtMs >= idleHttpMs) {
      this.#fail(idleError(this.#context, idleHttpMs), 'exceededWallTime');
      this.close();
    }
  }

  onLost(reason: LossReason, detail: string, figures: LossUsage): void {
    const { cpuMs, memoryBytes } = figures;
    if (this.#outcome === 'ok') {
      this.#fail(lossError(this.#context, this.#kind, reason, detail, figures), LOSSES[reason].outcome);
    }
    // A bomb is seen when it has gone off: what it held then is more than what was last seen of it.
    const peakBytes = reason === 'memory' ? Math.max(memoryBytes, this.#context.limits.memoryBytes) : memoryBytes;
    this.#over(cpuMs, peakBytes);
  }

  /**
   * CPU time of the host counts as that of the function, which has made it work: else a plan's limit would mean nothing for bodies that are passed on.
   */
  #bill(ms: number): void {
    this.#hostMs += ms;
    if (this.#isOver || this.#isPastHostCpu) return;
    const limit = this.#context.limits.cpuMs[this.#kind];
    if (this.#hostMs <= limit || this.#hostMs <= this.#context.cpuGrant(limit)) return;
    this.#isPastHostCpu = true;
    this.#fail(cpuError(this.#context, this.#kind, this.#hostMs), 'exceededCpu');
    this.close();
  }

  // --- the end ---

  #fail(error: EdgeError, outcome: InvocationOutcome): void {
    // What ended it comes first: that its exchange fails then is a consequence.
    if (this.#outcome === 'ok' || this.#failure === undefined) this.#failure = error;
    if (this.#outcome === 'ok') this.#outcome = outcome;
    this.#sink.fail(error);
  }

  /** From the end of the response waitUntil has so long. */
  #startGrace(): void {
    const { waitUntilMs } = this.#context.limits;
    if (waitUntilMs !== Number.POSITIVE_INFINITY && answered.push(this) === 1) setImmediate(addGraces);
  }

  addGrace(): void {
    if (!this.#isOver) this.#grace ??= graces.add(this, this.#context.limits.waitUntilMs);
  }

  #over(isolateCpuMs: number, peakBytes: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const cpuMs = isolateCpuMs + this.#hostMs;
    this.#context.share.endInvocation();
    if (this.#grace !== undefined) graces.cancel(this.#grace);
    if (this.#wallTime !== undefined) wallTimes.cancel(this.#wallTime);
    this.#accounting?.close();
    const endedMs = performance.now();
    const wallMs = endedMs - this.#startedMs;
    const graceMs = this.#grace === undefined ? 0 : this.#context.limits.waitUntilMs - (this.#grace.atMs - endedMs);
    this.#context.over(
      this.#outcome,
      { kind: this.#kind, cpuMs, wallMs, peakBytes, subrequests: this.#accounting?.subrequests ?? 0 },
      () => this.#event(cpuMs, wallMs, peakBytes, graceMs),
      this.#parent,
    );
  }

  /** Limits that are looked at when the invocation is over, and only when somebody gets its event. */
  #noteLimits(cpuMs: number, wallMs: number, peakMemoryBytes: number, graceMs: number): void {
    const { limits } = this.#context;
    const warnings = this.#warnings;
    warnings.note('cpuMs', cpuMs, limits.cpuMs[this.#kind]);
    warnings.note('memoryBytes', peakMemoryBytes, limits.memoryBytes);
    warnings.note('waitUntilMs', graceMs, limits.waitUntilMs);
    if (this.#accounting !== undefined)
      warnings.note('connections', this.#accounting.gate.mostOpen, limits.connections);
    if (this.#start.kind !== HostOpens.Fetch) {
      warnings.note('wallMs', wallMs, limits.wallMs[this.#kind]);
      return;
    }
    noteRequestHead(warnings, this.#start.head, limits);
    warnings.note('bodyBytes', this.#start.body?.length ?? this.bodyBytes, limits.bodyBytes);
    warnings.note('responseBytes', this.#responseBytes || this.exchange.receivedBytes, limits.responseBytes);
    if (limits.requestsPerDay === Number.POSITIVE_INFINITY && limits.requestsPerMinute === Number.POSITIVE_INFINITY)
      return;
    const { requestsPerDay, requestsPerMinute } = this.#context.requests();
    warnings.note('requestsPerDay', requestsPerDay, limits.requestsPerDay);
    warnings.note('requestsPerMinute', requestsPerMinute, limits.requestsPerMinute);
  }

  #event(cpuMs: number, wallMs: number, peakMemoryBytes: number, graceMs: number): InvocationEvent {
    this.#noteLimits(cpuMs, wallMs, peakMemoryBytes, graceMs);
    const error = this.#failure;
    const { method, url } = requestLine(this.#start);
    return {
      account: this.#context.account,
      function: this.#context.function,
      version: this.#context.version,
      invocation: this.id,
      kind: this.#kind,
      outcome: this.#outcome,
      status: this.#status,
      method,
      url,
      cpuMs,
      wallMs,
      peakMemoryBytes,
      subrequests: this.#accounting?.subrequests ?? 0,
      connectionsWaited: this.#accounting?.gate.waitedCount ?? 0,
      logLines: this.#logLines,
      warnings: this.#warnings.all,
      error:
        error === undefined
          ? undefined
          : {
              code: error.code,
              name: this.#failureName || error.name,
              message: error.message,
              stack: this.#failureStack,
            },
    };
  }

  get #kind(): InvocationKind {
    return kindOf(this.#start);
  }
}

/** A reason is plain text or "Name\nmessage\ncode", as errors travel. */
function inWords(reason: string): string {
  const [name = '', message] = reason.split('\n');
  return message === undefined ? reason : `${name}: ${message}`;
}
