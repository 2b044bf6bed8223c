/** A function whose calls the backend process answers: its invocations are announced there, and their totals come back. */

import type { FunctionServices } from '../../backend/calls/answer-call.js';
import type { FunctionRegistration } from '../../backend/wire/message-contents.js';
import { News } from '../../backend/wire/message-contents.js';
import type { RefusalListener } from '../../bindings/egress/rules/refusals.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { AttachedIsolates } from './attached-isolates.js';
import type { InvocationReports } from './invocation-reports.js';
import type { InvocationAddress, RemoteCaller } from './remote-caller.js';

/** The parts of the connection to the services that functions use. */
export interface FunctionLine {
  readonly reports: InvocationReports;
  readonly isolates: AttachedIsolates;
  /** The backend process need not know the function any longer. */
  forget(): void;
}

/**
 * After this many announced invocations in a row that call no service, none is announced before its first call. Announcing every invocation costs more than
 * asking for the few that need it: the backend process learns of each beginning and end, and answers.
 */
const QUIET_INVOCATIONS = 64;

export type RemoteFunctionParts = Pick<RemoteFunction, 'services' | 'checkUrl' | 'onRefusal'>;

export class RemoteFunction {
  readonly record: FunctionRegistration;
  /** Services that this process answers itself. */
  readonly services: FunctionServices;
  /** Refuses URLs that the function may not fetch. */
  readonly checkUrl: (url: URL) => void;
  /** Reports what the policy of the function has refused there. */
  readonly onRefusal: RefusalListener;
  /** Whether invocations are announced when they begin: some of the last ones have called a service. */
  isCalling = false;
  /** The announced invocations since the last one that has called a service. */
  #quiet = 0;
  readonly #line: FunctionLine;
  /** Isolates that load it, or have. */
  #isolates = 0;
  #isRetired = false;
  /** Rejects with what a call of its bindings would find out too late. */
  readonly ready: Promise<void>;

  constructor(
    record: FunctionRegistration,
    parts: RemoteFunctionParts,
    line: FunctionLine,
    bind: (fn: RemoteFunction) => Promise<void>,
  ) {
    this.record = record;
    this.services = parts.services;
    this.checkUrl = parts.checkUrl;
    this.onRefusal = parts.onRefusal;
    this.#line = line;
    this.ready = bind(this);
    this.ready.catch(() => {});
  }

  /** The isolate loads the function. */
  attach(isolate: IsolateHandle): void {
    if (isolate.calls === undefined) return;
    this.#isolates++;
    isolate.whenGone(() => {
      this.#isolates--;
      this.#forgetUnused();
    });
    this.#line.isolates.attach(isolate.calls, this.record.key, isolate);
  }

  /** An invocation has called a service; or one that was announced is over, and has not. */
  noteCalls(hasCalled: boolean): void {
    if (hasCalled) this.isCalling = true;
    if (hasCalled) this.#quiet = 0;
    else if (++this.#quiet === QUIET_INVOCATIONS) this.isCalling = false;
  }

  /**
   * Announces an invocation. False when no backend process is connected.
   * @param owner its subrequests count there, too
   */
  begun(isolate: IsolateHandle, invocation: number, caller: RemoteCaller, owner?: InvocationAddress): boolean {
    const { calls } = isolate;
    if (calls === undefined) return false;
    if (owner !== undefined) this.#line.reports.belongs(calls, invocation, owner);
    const isKnown = this.#line.reports.news(
      calls,
      invocation,
      caller.trace === undefined ? News.Begun : News.BegunTraced,
    );
    if (isKnown) this.#line.reports.begun(calls, invocation, caller);
    return isKnown;
  }

  /** The invocation is being ended. */
  closing({ calls }: IsolateHandle, invocation: number): void {
    if (calls !== undefined) this.#line.reports.news(calls, invocation, News.Closing);
  }

  /** The invocation is over; its totals follow, at once when it `isAtRest`: its isolate says that no call of it is on its way. */
  over(isolate: IsolateHandle, invocation: number, caller: RemoteCaller, isAtRest: boolean): void {
    const { calls } = isolate;
    const news = isAtRest ? News.OverAtRest : News.Over;
    if (calls === undefined || !this.#line.reports.news(calls, invocation, news)) caller.onTotals(undefined);
    else this.#line.reports.over(calls, invocation);
  }

  /** No isolate loads it any more. Its calls are answered until the last isolate that has loaded it is gone. */
  forget(): void {
    this.#isRetired = true;
    this.#forgetUnused();
  }

  #forgetUnused(): void {
    if (this.#isRetired && this.#isolates === 0) this.#line.forget();
  }
}
