/** Reports on invocations in both directions: the backend process learns when one begins and ends, and reports its work for it, its totals and its spans. */

import type { CallTrace } from '../../backend/calls/call-trace.js';
import { forward } from '../../backend/wire/forwarded-call.js';
import { NEWS_BYTES, News, pair, unpackedTotals } from '../../backend/wire/message-contents.js';
import { ApplicationOpens, ApplicationSignal } from '../../backend/wire/messages.js';
import { guardedEach } from '../../quotas/guarded.js';
import type { AttachedIsolates } from './attached-isolates.js';
import { type ControlConnection, lostError } from './control-connection.js';
import type { NamesReport } from './names-report.js';
import type { InvocationAddress, RemoteCaller } from './remote-caller.js';

const KIB = 1024;

/** An invocation of some connection as one number: ids of a connection are below 2^32, connections below 2^21. */
function keyOf(connection: number, invocation: number): number {
  return connection * 0x1_0000_0000 + invocation;
}

export class InvocationReports {
  readonly #control: ControlConnection;
  readonly #isolates: AttachedIsolates;
  readonly #names: NamesReport;
  /** Announced invocations whose totals have not come. */
  readonly #callers = new Map<number, RemoteCaller>();
  /** The announced invocations that are over. */
  readonly #ending = new Set<number>();
  #waiting: { readonly left: Set<number>; readonly resolve: () => void }[] = [];
  /** The spans of open calls. */
  readonly #spans = new Map<number, { readonly trace: CallTrace; readonly caller: RemoteCaller }>();
  #nextSpan = 1;
  /** The writer of a channel copies it. */
  readonly #record = Buffer.allocUnsafe(NEWS_BYTES);

  constructor(control: ControlConnection, isolates: AttachedIsolates, names: NamesReport) {
    this.#control = control;
    this.#isolates = isolates;
    this.#names = names;
  }

  /** The announced invocation, until its totals have come. */
  caller(connection: number, invocation: number): RemoteCaller | undefined {
    return this.#callers.get(keyOf(connection, invocation));
  }

  // --- To the backend process ---

  /** False while there is no connection. */
  news(connection: number, invocation: number, news: News): boolean {
    const channel = this.#control.current;
    if (channel === undefined) return false;
    this.#names.sendPending();
    this.#record.writeUInt32LE(connection, 0);
    this.#record.writeUInt32LE(invocation, 4);
    this.#record.writeUInt8(news, 8);
    channel.signal(0, ApplicationSignal.Invocations, this.#record);
    return true;
  }

  /** The subrequests of an invocation count to `owner`, too. Before `news` of it. */
  belongs(connection: number, invocation: number, owner: InvocationAddress): void {
    this.#control.current?.signal(
      0,
      ApplicationSignal.Belongs,
      Buffer.concat([pair(connection, invocation), pair(owner.connection, owner.invocation)]),
    );
  }

  begun(connection: number, invocation: number, caller: RemoteCaller): void {
    this.#callers.set(keyOf(connection, invocation), caller);
  }

  /** The invocation is over; its totals are awaited. */
  over(connection: number, invocation: number): void {
    this.#ending.add(keyOf(connection, invocation));
  }

  /** Counts a redirect of a fetch that is made here. Rejects with EDGE_EGRESS_FAILED or EDGE_SUBREQUEST_LIMIT. */
  async countRedirect(connection: number, invocation: number, hop: number): Promise<void> {
    const channel = this.#control.current;
    if (channel === undefined) throw lostError();
    await forward(channel, ApplicationOpens.Redirect, `${connection}\n${invocation}\n${hop}`, null);
  }

  countEgress(connection: number, invocation: number, sentBytes: number, receivedBytes: number): void {
    const payload = Buffer.allocUnsafe(24);
    payload.writeUInt32LE(connection, 0);
    payload.writeUInt32LE(invocation, 4);
    payload.writeDoubleLE(sentBytes, 8);
    payload.writeDoubleLE(receivedBytes, 16);
    this.#control.current?.signal(0, ApplicationSignal.Egress, payload);
  }

  // --- From the backend process ---

  /** A call has come for an invocation that was not announced. */
  asked(payload: Buffer): void {
    const [connection, invocation] = [payload.readUInt32LE(0), payload.readUInt32LE(4)];
    const port = this.#isolates.get(connection)?.find(invocation);
    if (port?.onBackendAsks?.() === true) return;
    this.news(connection, invocation, News.Unknown);
  }

  charged(payload: Buffer): void {
    this.caller(payload.readUInt32LE(0), payload.readUInt32LE(4))?.charge(payload.readUInt32LE(8) / 1000);
  }

  totals(payload: Buffer): void {
    const connection = payload.readUInt32LE(0);
    const key = keyOf(connection, payload.readUInt32LE(4));
    const caller = this.#callers.get(key);
    this.#callers.delete(key);
    const totals = unpackedTotals(payload);
    this.#isolates.get(connection)?.movedElsewhere(payload.readUInt32LE(12) * KIB, totals.subrequests);
    if (caller === undefined) return;
    caller.charge(payload.readUInt32LE(8) / 1000);
    if (caller.trace !== undefined) this.#endSpansOf(caller);
    caller.onTotals(totals);
    this.#ended(key);
  }

  /** Keeps a span until its end is reported, under the returned number. */
  readonly beginSpan = (trace: CallTrace, caller: RemoteCaller): number => {
    const span = this.#nextSpan++;
    this.#spans.set(span, { trace, caller });
    return span;
  };

  endSpan(text: string): void {
    const { span, failure, status }: { span: number; failure: string | null; status: number | null } = JSON.parse(text);
    const begun = this.#spans.get(span);
    this.#spans.delete(span);
    begun?.trace.end(failure ?? undefined, status === null ? null : { status });
  }

  // --- The end ---

  /** Resolves when the totals are here of all invocations that were over before the call. */
  settled(): Promise<void> {
    if (this.#ending.size === 0) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push({ left: new Set(this.#ending), resolve }));
  }

  /** The backend process has ended, and its counts with it. */
  lostTotals(): void {
    const callers = [...this.#callers.values()];
    this.#callers.clear();
    guardedEach(this.#spans.values(), ({ trace }) => trace.end(new Error('The backend process has ended'), null));
    this.#spans.clear();
    guardedEach(callers, caller => caller.onTotals(undefined));
  }

  /** No totals are waited for any longer. */
  lostWaits(): void {
    guardedEach([...this.#ending], key => this.#ended(key));
  }

  #ended(key: number): void {
    if (!this.#ending.delete(key) || this.#waiting.length === 0) return;
    for (const { left } of this.#waiting) left.delete(key);
    const done = this.#waiting.filter(({ left }) => left.size === 0);
    this.#waiting = this.#waiting.filter(({ left }) => left.size > 0);
    for (const { resolve } of done) resolve();
  }

  /** Calls that the invocation has left alone end with it. */
  #endSpansOf(caller: RemoteCaller): void {
    for (const [span, { trace, caller: of }] of this.#spans) {
      if (of !== caller) continue;
      this.#spans.delete(span);
      trace.end(new Error('The invocation is over'), null);
    }
  }
}
