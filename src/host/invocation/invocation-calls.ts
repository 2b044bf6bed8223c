/** The calls of services that one invocation makes, and the isolate that makes them. Made with the first call. */

import { type AccountingPort, InvocationAccounting } from '../../backend/calls/accounting.js';
import { answerCall, splitHead } from '../../backend/calls/answer-call.js';
import type { BindingDefinition, ObjectStep } from '../../bindings/binding.js';
import type { CallOrigin } from '../../bindings/service.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { Exchange } from '../../protocol/exchange.js';
import { ProtocolError } from '../../protocol/frames/protocol-error.js';
import { detached } from '../../quotas/guarded.js';
import { beginStep, type ObjectWrite } from './object-writes.js';
import type { InvocationRecord } from './reports/invocation-record.js';

/** The bytes that are counted for a remembered failure of a write: the name of its object may be that long. */
const FAILED_WRITE_BYTES = 1024;

export class InvocationCalls implements AccountingPort {
  readonly accounting: InvocationAccounting;
  readonly #record: InvocationRecord;
  readonly #isolate: IsolateHandle;
  readonly #exchange: Exchange;
  readonly #caller: CallOrigin & Pick<AccountingPort, 'charge'>;
  #failedWrites: ObjectWrite[] = [];
  #isOver = false;

  /**
   * @param exchange the exchange of the invocation
   * @param caller the invocation, as services see it
   */
  constructor(
    record: InvocationRecord,
    isolate: IsolateHandle,
    exchange: Exchange,
    caller: CallOrigin & Pick<AccountingPort, 'charge'>,
  ) {
    const { limits, connectionSlotRelease, share } = record.context;
    this.#record = record;
    this.#isolate = isolate;
    this.#exchange = exchange;
    this.#caller = caller;
    this.accounting = new InvocationAccounting(
      limits,
      connectionSlotRelease,
      record.warnings,
      this,
      share,
      caller,
      record.start.ownedBy?.meter,
    );
  }

  /** Answers a call on its exchange. @throws ProtocolError for a service that does not exist */
  answer(exchange: Exchange, service: number, head: string, body: Buffer, isComplete: boolean): void {
    const { context, trace } = this.#record;
    const entry = context.services.get(service);
    // An isolate that keeps to its own table does not send that.
    if (entry === undefined) throw new ProtocolError(`A call names the service ${service}, which does not exist`);
    if (isComplete) exchange.buffer(body);
    const answered = answerCall(entry, this.accounting, exchange, head, isComplete, trace);
    const { objectStep } = entry.definition;
    const step = objectStep === undefined ? undefined : stepOf(head, objectStep);
    if (step !== undefined) this.#noteStep(step, answered);
  }

  /** Before anything that the isolate has sent behind the call. */
  #noteStep(step: ObjectStep, answered: Promise<string | undefined>): void {
    const write = beginStep(this.#isolate, step);
    if (write === undefined) return;
    detached(
      answered.then(failure => {
        if (!write.settle(failure)) return;
        this.#failedWrites.push(write);
        this.accounting.countHeld(FAILED_WRITE_BYTES);
        if (this.#isOver) this.over();
      }),
    );
  }

  /** The invocation is over: the isolate has learned of the writes that have failed. */
  over(): void {
    this.#isOver = true;
    for (const write of this.#failedWrites) write.forget();
    this.accounting.countHeld(-this.#failedWrites.length * FAILED_WRITE_BYTES);
    this.#failedWrites = [];
  }

  // --- AccountingPort ---

  ping(): void {
    this.#isolate.ping(this.#exchange.id);
  }

  cancelCall(call: number, reason: string): void {
    this.#isolate.cancelCall(call, reason);
  }

  charge(ms: number): void {
    this.#caller.charge(ms);
  }
}

function stepOf(head: string, read: NonNullable<BindingDefinition['objectStep']>): ObjectStep | undefined {
  try {
    const { method, argumentText } = splitHead(head);
    return read(method, argumentText);
  } catch {
    return undefined; // a malformed call fails
  }
}
