/** An invocation as the backend process sees it: it answers its calls, and reports to the application what those cost. */

import { methodOf } from '../../../bindings/binding.js';
import type { CallOrigin } from '../../../bindings/service.js';
import type { Exchange } from '../../../protocol/exchange.js';
import { ProtocolError } from '../../../protocol/frames/protocol-error.js';
import { REPEATED_CALL, SERVICES_LOST_REASON } from '../../../protocol/messages.js';
import { detached } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { LimitWarnings } from '../../../quotas/limit-warnings.js';
import type { SubrequestMeter } from '../../../quotas/subrequest-meter.js';
import { type AccountingPort, InvocationAccounting } from '../../calls/accounting.js';
import { answerCall, type ServiceEntry } from '../../calls/answer-call.js';
import { NO_CALLS, type RemoteTotals } from '../../calls/call-totals.js';
import type { CallTracer } from '../../calls/call-trace.js';
import type { BoundFunction } from './bound-function.js';

/** The connection of the isolate that it runs in. */
export interface ServedConnection {
  readonly number: number;
  ping(invocation: number): void;
  cancelCall(call: number, reason: string): void;
  /** Work for the invocation is reported when there is so much of it, and else with the next round of reports. */
  charged(invocation: ServedInvocation): void;
}

/** Work is reported at once from this many microseconds on: limits are milliseconds. */
const REPORTED_US = 1000;

export class ServedInvocation implements AccountingPort {
  readonly id: number;
  readonly function: BoundFunction;
  /** Made with the first call. */
  #accounting: InvocationAccounting | undefined;
  #warnings: LimitWarnings | undefined;
  readonly #connection: ServedConnection;
  readonly #ownerMeter: (() => SubrequestMeter | undefined) | undefined;
  readonly #trace: CallTracer | undefined;
  #unreportedMs = 0;
  /** The application says that it is over. */
  isOver = false;
  /** The isolate says that it makes no more calls. */
  isDone = false;

  /** @param ownerMeter where its subrequests count, too */
  constructor(
    id: number,
    bound: BoundFunction,
    connection: ServedConnection,
    trace: CallTracer | undefined,
    ownerMeter?: () => SubrequestMeter | undefined,
  ) {
    this.id = id;
    this.function = bound;
    this.#connection = connection;
    this.#trace = trace;
    this.#ownerMeter = ownerMeter;
  }

  /**
   * Answers a call on its exchange. @throws ProtocolError for a service that does not exist
   *
   * @param kind the number of the service, and whether the call is made once more
   */
  answer(exchange: Exchange, kind: number, head: string, isComplete: boolean): void {
    const service = kind & ~REPEATED_CALL;
    const entry = this.function.services.get(service);
    // An isolate that keeps to its own table does not send that.
    if (entry === undefined) throw new ProtocolError(`A call names the service ${service}, which does not exist`);
    if (service !== kind && !isSafe(entry, head)) {
      this.#opened().work.charge(HOST_COSTS.callMs);
      exchange.fail(SERVICES_LOST_REASON);
      return;
    }
    detached(answerCall(entry, this.#opened(), exchange, head, isComplete, this.#trace));
  }

  /** The work of a call that the application answers. Undefined when it has made no call. */
  get work(): CallWork | undefined {
    return this.#accounting?.work;
  }

  get meter(): SubrequestMeter {
    return this.#opened().meter;
  }

  read(call: number): void {
    this.#accounting?.read(call);
  }

  ponged(reading: readonly number[]): void {
    this.#accounting?.ponged(reading);
  }

  /** Its totals, once it is over: nothing more is counted. */
  close(): RemoteTotals {
    const accounting = this.#accounting;
    accounting?.close();
    const { subrequests, calls, egressSentBytes, egressReceivedBytes, connectionsOpen, connectionsWaited } =
      accounting ?? NO_CALLS;
    return {
      subrequests,
      calls,
      egressSentBytes,
      egressReceivedBytes,
      connectionsOpen,
      connectionsWaited,
      warnings: this.#warnings?.all ?? [],
    };
  }

  /** Microseconds of work that were not reported yet. */
  takeChargedUs(): number {
    const us = Math.round(this.#unreportedMs * 1000);
    this.#unreportedMs = 0;
    return us;
  }

  // --- AccountingPort ---

  ping(): void {
    this.#connection.ping(this.id);
  }

  cancelCall(call: number, reason: string): void {
    this.#connection.cancelCall(call, reason);
  }

  charge(ms: number): void {
    const isFirst = this.#unreportedMs === 0;
    this.#unreportedMs += ms;
    if (isFirst || this.#unreportedMs * 1000 >= REPORTED_US) this.#connection.charged(this);
  }

  /** There is enough to be reported now. */
  get hasMuchCharged(): boolean {
    return this.#unreportedMs * 1000 >= REPORTED_US;
  }

  #opened(): InvocationAccounting {
    if (this.#accounting !== undefined) return this.#accounting;
    const { limits, connectionSlotRelease, share } = this.function;
    this.#warnings = new LimitWarnings();
    const origin: CallOrigin = this.function.originOf(this.#connection.number, this.id);
    this.#accounting = new InvocationAccounting(
      limits,
      connectionSlotRelease,
      this.#warnings,
      this,
      share,
      origin,
      this.#ownerMeter?.(),
    );
    return this.#accounting;
  }
}

/** Whether a call that may have been carried out already changes nothing. */
function isSafe({ definition }: ServiceEntry, head: string): boolean {
  return methodOf(definition, head.slice(0, head.indexOf('\n'))).isSafe === true;
}
