/**
 * The reports of a host: its events, the diagnostics channels of the same names, and spans and metrics. Listeners for invocations are called in the context of
 * the invocation; the others have no caller.
 */
import type { EventEmitter } from 'node:events';
import { withoutCaller } from '../../quotas/caller-context.js';
import { EdgeError, errorCode, isEdgeErrorCode, messageOf } from '../../quotas/errors.js';
import { rethrowOutside } from '../../quotas/guarded.js';
import type { AbuseEvent } from '../../quotas/requests/abuse-guard.js';
import { warnUnheard } from '../events/unheard.js';
import type { CronEvent, EgressEvent, HostEvents, InvocationEvent, LogEvent } from '../events.js';
import { CHANNELS, isRecorded, publish, recordInvocation } from '../invocation/reports/telemetry.js';
import type { InvocationTrace } from '../telemetry/trace.js';

export class HostReports {
  readonly #events: EventEmitter<HostEvents>;

  constructor(events: EventEmitter<HostEvents>) {
    this.#events = events;
  }

  warn(cause: unknown): void {
    const error = withCode(cause);
    withoutCaller(() => {
      this.#calls(() => this.#events.emit('warning', error));
      publish('warning', error);
    });
  }

  abuse(event: AbuseEvent): void {
    withoutCaller(() => {
      this.#calls(() => this.#events.emit('abuse', event));
      publish('abuse', event);
    });
  }

  egress(event: EgressEvent): void {
    withoutCaller(() => {
      this.#calls(() => this.#events.emit('egress', event));
      publish('egress', event);
    });
  }

  cron(event: CronEvent): void {
    withoutCaller(() => {
      this.#calls(() => this.#events.emit('cron', event));
      publish('cron', event);
    });
  }

  /** @param isReturned the caller gets the line in a result, too */
  log(event: LogEvent, isReturned: boolean): void {
    if (!this.#calls(() => this.#events.emit('log', event)) && !isReturned) this.noteUnheard(event.function);
    publish('log', event);
  }

  /** Whether anything would be done with the event of an invocation. */
  get wantsInvocations(): boolean {
    return this.#events.listenerCount('invocation') > 0 || CHANNELS.invocation.hasSubscribers || isRecorded();
  }

  invocation(event: InvocationEvent, trace: InvocationTrace | undefined): void {
    this.#calls(() => this.#events.emit('invocation', event));
    publish('invocation', event);
    this.#calls(() => {
      recordInvocation(event, trace);
      return true;
    });
  }

  /**
   * Calls what belongs to the application, in the middle of the work of the host: what it throws is thrown where nothing waits for the host. True when there
   * was somebody to call.
   */
  #calls(step: () => boolean): boolean {
    try {
      return step();
    } catch (error) {
      rethrowOutside(error);
      return true;
    }
  }

  /** The function has logged or failed: a host without any listener says once how to see that. */
  noteUnheard(functionName: string): void {
    const isHeard = this.#events.listenerCount('log') > 0 || CHANNELS.log.hasSubscribers || this.wantsInvocations;
    if (!isHeard) warnUnheard(functionName);
  }
}

/** Programs tell warnings apart by their codes, so that each of them has one of the table. */
function withCode(cause: unknown): Error {
  if (cause instanceof Error && isEdgeErrorCode(errorCode(cause) ?? '')) return cause;
  return new EdgeError('EDGE_INTERNAL', messageOf(cause), { cause });
}
