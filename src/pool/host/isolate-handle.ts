/**
 * One isolate as the host sees it: its channel, the invocations that run in it, and how it ends. Every message of the isolate is matched to an open
 * invocation here before anything else sees it.
 */
import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { ISOLATE_BOUNDS } from '../../protocol/frames/isolate-bounds.js';
import { ProtocolError } from '../../protocol/frames/protocol-error.js';
import { IdTable } from '../../protocol/id-table.js';
import {
  type HostOpens,
  IsolateOpens,
  type LoadAnswer,
  type LoadHead,
  SERVICES_LOST_REASON,
  SignalKind,
} from '../../protocol/messages.js';
import { meteredKind } from '../../protocol/metered-kind.js';
import { guarded, guardedEach } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { LeaseConnection } from './cell.js';
import { CpuClaims } from './cell-usage/cpu-claims.js';
import { ClosingInvocations } from './closing-invocations.js';
import { deliverSignal, type InvocationPort } from './invocation-port.js';
import { IsolateEnd } from './isolate-end.js';
import { loadFunction, renewRealm, warmUp } from './isolate-load.js';
import { type LossReason, NOTHING_KNOWN } from './isolate-loss.js';
import { IsolateSplices } from './isolate-splices.js';

/** With more unread bytes than this an isolate gets no new invocation. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** An isolate with more closed invocations that do not end has stopped listening and is ended. */
const MAX_CLOSING = 1024;
/**
 * How long an invocation may take to confirm that it was closed: longer than a running turn of another invocation, and short enough that a compromised isolate
 * cannot keep invocations open.
 */
const CLOSE_WITHIN_MS = 30_000;

export class IsolateHandle implements ChannelOwner {
  readonly lease: number;
  /** The number of its connection to the backend process, if there is one. */
  calls: number | undefined;
  readonly splices = new IsolateSplices({
    find: id => this.#channel.find(id),
    share: () => this.#share,
    onDone: (id, payload) => this.#done(id, payload),
    onBroken: detail => this.broke(detail),
  });
  /** The CPU time that its invocations account for, compared with what the kernel reports. */
  readonly claims = new CpuClaims();
  readonly #channel: Channel;
  #share: HostShare | undefined;
  readonly #endLease: () => void;
  readonly #invocations = new IdTable<InvocationPort>();
  readonly #closing: ClosingInvocations;
  readonly #idleListeners: (() => void)[] = [];
  #isRetired = false;
  readonly #ending = new IsolateEnd();
  #unaccountedMs = 0;
  #isLeaving = false;
  #isLoading = false;

  /**
   * @param share the account's share of the host; without it nothing is counted
   * @param closeWithinMs how long an invocation may take to confirm that it was closed. @default 30,000
   */
  constructor(
    connection: LeaseConnection,
    endLease: () => void,
    share?: HostShare,
    closeWithinMs: number = CLOSE_WITHIN_MS,
  ) {
    this.lease = connection.lease;
    this.calls = connection.calls;
    this.#endLease = endLease;
    this.#closing = new ClosingInvocations(
      closeWithinMs,
      guarded(
        (id: number) => this.#dropUnconfirmed(id),
        () => this.end(),
      ),
    );
    this.#share = share;
    this.#channel = new Channel(connection.transport, 'host', this, { frames: ISOLATE_BOUNDS, share });
  }

  /** Lets the isolate warm up. Resolves when it has, or is gone. */
  warm(): Promise<void> {
    return warmUp(this.#channel);
  }

  /** The account that it is counted to, if it has one. */
  get account(): string | undefined {
    return this.#share?.account;
  }

  /** Counts an isolate that has loaded nothing yet to an account. False if it has sent something already, as only a hostile one does: then it must be ended. */
  assign(share: HostShare): boolean {
    if (share === this.#share) return true;
    if (this.isBusy || !this.#channel.assign(share)) return false;
    this.#share = share;
    return true;
  }

  get isUsable(): boolean {
    return !this.#channel.isClosed && !this.#ending.isKnown;
  }

  /** Whether new invocations may come here. */
  get takesNew(): boolean {
    return this.isUsable && !this.#isLeaving;
  }

  /** Its unread bytes are so numerous that sending more would only take memory. */
  get isBacklogged(): boolean {
    return this.#channel.unwrittenBytes > MAX_UNREAD_BYTES;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Its function is loading, or it has open invocations. */
  get isBusy(): boolean {
    return this.#isLoading || this.#invocations.size > 0;
  }

  /** Takes no new invocations, because the cell may end soon; open ones continue. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** The isolate broke the protocol on a connection that this process does not read. */
  broke(detail: string): void {
    if (!this.isUsable) return;
    this.#ending.brokeProtocol(detail);
    this.#endLease();
    this.#channel.close();
    this.#reportGone();
  }

  /** The bytes and calls of the isolate on a connection that this process does not read. */
  movedElsewhere(bytes: number, calls: number): void {
    this.elsewhereBytes += bytes;
    this.claims.called(calls);
  }

  elsewhereBytes = 0;

  /** A timer of a stateful object is due. The payload was written by the isolate. Set with the function, in isolates of objects. */
  timerDue: ((payload: Buffer) => void) | undefined;

  /** The isolate asks for a connection to the backend process, since its own has ended. Set with its function, for one time. */
  reconnect: ((exchange: Exchange) => void) | undefined;

  /** The open invocation of this id. */
  find(invocation: number): InvocationPort | undefined {
    return this.#invocations.get(invocation);
  }

  /** Open invocations, those included of which only waitUntil is left. */
  get inFlight(): number {
    return this.#invocations.size;
  }

  /** Somebody waits for the answer of one of them. */
  get hasUnanswered(): boolean {
    return this.#invocations.some(port => port.isUnanswered === true);
  }

  /** Called when an invocation begins, is answered, or is over. Set while somebody waits for that. */
  onProgress: (() => void) | undefined;

  /** Closes the WebSockets of clients. */
  goAway(): void {
    for (const port of this.#invocations.values()) port.goAway?.();
  }

  /** Calls the listener once, when the isolate is gone and its invocations have been notified; at once if that is so already. */
  whenGone(listener: (reason: LossReason, detail: string) => void): void {
    this.#ending.whenGone(listener);
  }

  /** Calls the listener whenever the last of its invocations is over, and when its function is loaded. */
  whenIdle(listener: () => void): void {
    this.#idleListeners.push(listener);
  }

  load(head: LoadHead, body: Uint8Array): Promise<LoadAnswer> {
    this.#isLoading = true;
    this.claims.loading(head.limits);
    return loadFunction(this.#channel, head, body, this.#ending).finally(() => {
      this.#isLoading = false;
      this.claims.started();
      this.#idle();
    });
  }

  /** Takes a new realm when nothing is open any more. False: something of the run before may be left, or it is gone. */
  async renew(): Promise<boolean> {
    if (this.isBusy || !this.takesNew) return false;
    this.#isLoading = true;
    try {
      return await renewRealm(this.#channel);
    } finally {
      this.#isLoading = false;
      this.#idle();
    }
  }

  /** Delivers an event. A body that is not complete follows by `write` and `end` on the exchange that is answered. */
  invoke(
    kind: HostOpens,
    head: string,
    isUtf8: boolean,
    body: Uint8Array | string | null,
    isComplete: boolean,
    port: InvocationPort,
  ): Exchange {
    const exchange = this.#channel.open(kind, head, isUtf8, body, isComplete, port);
    this.#invocations.set(exchange.id, port);
    this.onProgress?.();
    this.claims.opened(exchange.id, meteredKind(kind, head));
    return exchange;
  }

  /** Ends the invocation in the isolate. */
  closeInvocation(id: number): void {
    if (!this.#invocations.has(id) || this.#closing.has(id)) return;
    this.#closing.add(id);
    if (this.#closing.size > MAX_CLOSING) {
      this.#ending.because('exit', `${MAX_CLOSING} invocations were closed and did not end`);
      this.end();
      return;
    }
    this.#channel.signal(id, SignalKind.Close, '');
  }

  /** Fails the rest of a call's answer for its readers in the isolate. `reason` is a failure text. */
  cancelCall(call: number, reason: string): void {
    this.#channel.signal(call, SignalKind.CallCanceled, reason);
  }

  /** Answered by `onPong` of the invocation's port. */
  ping(invocation: number): void {
    this.#channel.signal(invocation, SignalKind.Ping, '');
  }

  /** Ends invocations without progress for too long. */
  checkProgress(nowMs: number): void {
    guardedEach(
      this.#invocations.entries(),
      ([, port]) => port.checkProgress(nowMs),
      ([id]) => this.closeInvocation(id),
    );
  }

  /**
   * The lease is over: the cell has reported it, or has ended itself.
   *
   * @param unaccountedMs CPU time reported by the kernel that no invocation accounts for; it is divided among the open ones
   */
  leaseEnded(reason: LossReason, detail: string, unaccountedMs = 0): void {
    this.#ending.because(reason, detail);
    this.#unaccountedMs = unaccountedMs;
    this.#channel.close();
    this.#reportGone();
  }

  /** Ends the isolate when nothing runs in it any more; at once when nothing does. */
  retire(): void {
    if (this.#invocations.size === 0) this.end();
    else this.#isRetired = true;
  }

  #idle(): void {
    if (this.#isRetired) this.end();
    for (const listener of this.#idleListeners) listener();
  }

  end(): void {
    if (this.#ending.isReported) return;
    this.#ending.because('closed', '');
    this.#endLease();
    this.#channel.close();
    this.#reportGone();
  }

  /** An invocation that never confirms its end is dropped, so that it cannot leak. */
  #dropUnconfirmed(id: number): void {
    const port = this.#invocations.get(id);
    this.#invocations.delete(id);
    this.splices.drop(id);
    this.claims.closed(id, undefined);
    this.#channel.find(id)?.fail('The invocation is over');
    port?.onLost('unresponsive', '', NOTHING_KNOWN);
    this.#left();
  }

  /** An invocation is over. */
  #left(): void {
    this.onProgress?.();
    if (this.#invocations.size === 0) this.#idle();
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    if (kind === IsolateOpens.Backend) {
      this.#reconnect(exchange);
      return;
    }
    const at = head.indexOf('\n');
    const port = this.#invocations.get(Number(head.slice(0, at)));
    if (at < 0 || port === undefined) {
      this.#channel.futileFrame();
      exchange.fail('Error\nThe invocation is over\n');
      return;
    }
    this.claims.called();
    port.onCall(exchange, kind, head.slice(at + 1), body, isComplete);
  }

  #reconnect(exchange: Exchange): void {
    const { reconnect } = this;
    this.reconnect = undefined;
    if (reconnect !== undefined) reconnect(exchange);
    else {
      this.#channel.futileFrame();
      exchange.fail(SERVICES_LOST_REASON);
    }
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    const port = this.#invocations.get(id);
    if (port === undefined) {
      if (kind === SignalKind.TimerDue && this.timerDue !== undefined) this.timerDue(payload);
      else this.#channel.futileFrame();
      return;
    }
    switch (kind) {
      case SignalKind.Done:
        if (payload.length < 8) throw new ProtocolError(`The end of an invocation has ${payload.length} bytes`);
        if (!this.splices.holds(id, payload)) this.#done(id, payload);
        return;
      case SignalKind.SpliceFrom:
        this.splices.from(id, payload);
        return;
      case SignalKind.SpliceTo:
        this.splices.to(id);
        return;
      default:
        deliverSignal(port, kind, payload);
    }
  }

  #done(id: number, payload: Buffer): void {
    // An answer that went on after its invocation would not be accounted for. One that has just been given up is found, and is over.
    if (this.#channel.find(id)?.isFinished === false)
      throw new ProtocolError('An invocation ended before its answer did');
    const port = this.#invocations.get(id);
    this.#invocations.delete(id);
    this.#closing.delete(id);
    this.claims.closed(id, payload.readUInt32LE(0) / 1000);
    port?.onDone(payload.readUInt32LE(0) / 1000, payload.readUInt32LE(4) * 1024, payload[8] ?? 0);
    this.#left();
  }

  onClose(error: ProtocolError | undefined): void {
    if (error !== undefined) {
      this.#ending.brokeProtocol(error.message);
      this.#endLease();
    }
    // The cell usually reports the reason at the same time as the connection ends.
    if (this.#ending.isKnown) this.#reportGone();
    else
      this.#ending.awaitReason(
        () => this.#giveUpReason(),
        () => this.#reportGone(),
      );
  }

  /** No reason was reported in time: the lease is released. */
  #giveUpReason(): void {
    this.#endLease();
    this.#reportGone();
  }

  #reportGone(): void {
    if (!this.#ending.begin()) return;
    const lost = this.#invocations.entries();
    this.claims.ended();
    this.splices.close();
    this.#invocations.clear();
    this.#closing.clear();
    this.#ending.report(lost, this.#unaccountedMs);
  }
}
