/** The facts about one invocation for its event, its trace and its log. Most of them are collected when there is something to record. */

import type { CallTotals } from '../../../backend/calls/call-totals.js';
import { ProtocolError } from '../../../protocol/frames/protocol-error.js';
import type { HandlerFailure } from '../../../protocol/messages.js';
import type { EdgeError } from '../../../quotas/errors.js';
import { LimitWarnings } from '../../../quotas/limit-warnings.js';
import type { InvocationKind } from '../../../quotas/limits.js';
import type { ToolTotals } from '../../../usage/function-usage.js';
import type { InvocationOutcome } from '../../events.js';
import { isTraced } from '../../telemetry/open-telemetry.js';
import type { InvocationTrace } from '../../telemetry/trace.js';
import { beginTrace } from '../../telemetry/tracing.js';
import { handlerError } from '../failures/handler-errors.js';
import type { InvocationContext } from '../invocation-context.js';
import { type InvocationStart, kindOf, nextSerial, tracedStart } from '../invocation-start.js';
import { invocationId } from './invocation-id.js';
import { InvocationLog } from './invocation-log.js';
import type { RecordedLog } from './trace-item.js';

/** The recorded part of what the handler threw. */
export interface ThrownRecord {
  readonly name: string;
  readonly stack: string;
}

export class InvocationRecord {
  readonly context: InvocationContext;
  readonly start: InvocationStart;
  readonly kind: InvocationKind;
  readonly startedMs = performance.now();
  readonly trace: InvocationTrace | undefined;
  readonly #serial = nextSerial();
  #outcome: InvocationOutcome = 'ok';
  #error: EdgeError | undefined;
  #thrown: ThrownRecord | undefined;
  #warnings: LimitWarnings | undefined;
  #log: InvocationLog | undefined;
  /** The status of the response. */
  status: number | undefined;
  /** While it runs: of a response that came whole. At its end: of any. */
  responseBytes = 0;
  // The values that are known at its end.
  cpuMs = 0;
  wallMs = 0;
  peakBytes = 0;
  /** Time that waitUntil has added. */
  waitUntilMs = 0;
  requestBytes = 0;
  subrequests = 0;
  /** Undefined when no service was called. */
  accounting: CallTotals | undefined;

  constructor(context: InvocationContext, start: InvocationStart) {
    this.context = context;
    this.start = start;
    this.kind = kindOf(start);
    this.trace = isTraced() ? beginTrace(context, tracedStart(start)) : undefined;
  }

  /** The calls of tools, when it is a run. */
  get run(): ToolTotals | undefined {
    return this.start.run;
  }

  get id(): string {
    return invocationId(this.#serial);
  }

  get outcome(): InvocationOutcome {
    return this.#outcome;
  }

  /** The error that ended it, or its handler's exception. */
  get error(): EdgeError | undefined {
    return this.#error;
  }

  get thrown(): ThrownRecord | undefined {
    return this.#thrown;
  }

  get warnings(): LimitWarnings {
    this.#warnings ??= new LimitWarnings();
    return this.#warnings;
  }

  get logLines(): number {
    return this.#log?.lines ?? 0;
  }

  log(level: number, message: string): void {
    this.#recorded().write(level, message);
  }

  /** Nobody watches any more. */
  releaseLog(): void {
    this.#log?.takeRecorded();
  }

  /** For those who watch, at its end. */
  recorded(): RecordedLog {
    return this.#recorded().takeRecorded();
  }

  /** The first reason for its end counts: later failures are consequences. */
  ended(outcome: InvocationOutcome, error?: EdgeError): void {
    if (error !== undefined && (this.#outcome === 'ok' || this.#error === undefined)) this.#error = error;
    if (this.#outcome === 'ok') this.#outcome = outcome;
  }

  /** The handler failed; the answer that says so follows. @throws ProtocolError when it has failed before */
  handlerFailed(failure: HandlerFailure): void {
    if (this.#thrown !== undefined) throw new ProtocolError('A handler failed twice');
    this.threw(failure);
  }

  /** In place of what it may have thrown before. */
  threw(failure: HandlerFailure): void {
    const log = this.#recorded();
    const message = log.record(failure.message) ?? '';
    const stack = log.record(failure.stack) ?? '';
    this.#thrown = { name: failure.name, stack };
    this.#error = handlerError(this.context.function, failure, message, stack);
  }

  /** A promise that waitUntil was given. It fails nothing, so only tails are notified. */
  waitRejected({ name, message, stack }: HandlerFailure): void {
    if (this.context.tails.isWatched) this.#recorded().exception(name, message, stack);
  }

  #recorded(): InvocationLog {
    // The invocations that a tail is about have recorded their own texts, and the head of a run is its input.
    const head = this.kind === 'tail' || this.run !== undefined ? '' : this.start.head;
    this.#log ??= new InvocationLog(this.context, this.id, head, this.warnings);
    return this.#log;
  }
}
