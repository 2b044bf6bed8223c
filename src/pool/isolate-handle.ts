/**
 * One isolate as the host sees it: its channel, the invocations that run in it, and how it ends. Everything that comes from the
 * isolate is bound here to an invocation that is open, before anything else sees it.
 */
import { Channel, type ChannelOwner } from '../protocol/channel.js';
import type { Exchange, ExchangeListener } from '../protocol/exchange.js';
import { IdTable } from '../protocol/id-table.js';
import { ISOLATE_BOUNDS } from '../protocol/isolate-bounds.js';
import { type HandlerFailure, HostOpens, type LoadAnswer, type LoadHead, SignalKind } from '../protocol/messages.js';
import { ProtocolError } from '../protocol/protocol-error.js';
import type { HostShare } from '../quotas/host/host-share.js';
import type { LeaseConnection } from './cell.js';
import { parseBlame, parseHandlerFailure, parseLoadAnswer } from './isolate-messages.js';
import type { LeaseEnd } from './thread-pool.js';
import { CpuClaims } from './watch/cpu-claims.js';

/** Why invocations ended with their isolate. */
export type LossReason = LeaseEnd | 'bystander' | 'cell' | 'hoard' | 'protocol' | 'removed' | 'silent';

/** What is known of an invocation that was lost: zero for what is not. */
export interface LossUsage {
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

const NOTHING_KNOWN: LossUsage = { cpuMs: 0, memoryBytes: 0 };

/** What the isolate says of one invocation. */
export interface InvocationPort extends ExchangeListener {
  onLog(level: number, text: string): void;
  onPassThrough(): void;
  onHandlerFailed(failure: HandlerFailure): void;
  /** The function calls a service. `head` was written by the function; `body` is a view, whole when `isComplete`. */
  onCall(exchange: Exchange, service: number, head: string, body: Buffer, isComplete: boolean): void;
  /** The function has read all of a call's answer, or wants no more of it. */
  onCallRead(call: number): void;
  /** Everything sent before {@link IsolateHandle.ping} has had its turn in the isolate. */
  onPong(): void;
  /** Everything of the invocation is over in the isolate, which may have ended it for its CPU time. */
  onDone(cpuMs: number, peakBytes: number, isCpuExceeded: boolean): void;
  /** Something may have moved since the last call: without progress for long the invocation ends. */
  checkProgress(nowMs: number): void;
  /** The isolate is gone, and the invocation with it. */
  onLost(reason: LossReason, detail: string, figures: LossUsage): void;
}

/**
 * After its connection closed, how long to wait for the cell to say why: a thread that is out of memory closes it first, and then frees its heap,
 * which took more than 2 s on a busy machine.
 */
const REASON_WITHIN_MS = 10_000;
/** More waits to be read by an isolate that is too busy to, and it gets no new invocation. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Name, message and stack of an error, cut at some 20,000 characters together, each of which takes up to six bytes in JSON. */
const MAX_FAILURE_BYTES = 128 * 1024;
/** An isolate with more invocations that were closed and do not end has stopped to listen. */
const MAX_CLOSING = 1024;
/**
 * How long an invocation that was told to close may take to say that it is over: longer than the turn of another that may be running, short
 * enough that an isolate which was taken over keeps nothing on the books.
 */
const CLOSE_WITHIN_MS = 30_000;

export class IsolateHandle implements ChannelOwner {
  readonly lease: number;
  /** What its invocations account for, seen from outside. */
  readonly claims = new CpuClaims();
  readonly #channel: Channel;
  #share: HostShare | undefined;
  readonly #endLease: () => void;
  readonly #invocations = new IdTable<InvocationPort>();
  /** Those that were told to close and have not said that they are over, in the order of what they have till then. */
  readonly #closing = new Map<number, number>();
  readonly #closeWithinMs: number;
  #closeTimer: NodeJS.Timeout | undefined;
  readonly #goneListeners: ((reason: LossReason, detail: string) => void)[] = [];
  readonly #idleListeners: (() => void)[] = [];
  #isRetired = false;
  #gone: { readonly reason: LossReason; readonly detail: string } | undefined;
  /** Runs while the connection is closed and the cell has not said why. */
  #reasonTimer: NodeJS.Timeout | undefined;
  readonly #waiting: (() => void)[] = [];
  #unaccountedMs = 0;
  #isToldGone = false;
  #isLeaving = false;
  #isLoading = false;

  /**
   * @param share what the account may take of the host; `undefined` counts nothing
   * @param closeWithinMs how long an invocation that was told to close may take. @default 30,000
   */
  constructor(
    connection: LeaseConnection,
    endLease: () => void,
    share?: HostShare,
    closeWithinMs: number = CLOSE_WITHIN_MS,
  ) {
    this.lease = connection.lease;
    this.#endLease = endLease;
    this.#closeWithinMs = closeWithinMs;
    this.#share = share;
    this.#channel = new Channel(connection.transport, 'host', this, { frames: ISOLATE_BOUNDS, share });
  }

  /** Nothing is to be loaded yet: the isolate prepares for it. Resolves when it has, or is gone. */
  warm(): Promise<void> {
    return new Promise(resolve => {
      const over = (): void => resolve();
      const ignore = (): void => {};
      const listener = {
        onReply: over,
        onFail: over,
        onData: ignore,
        onCredit: ignore,
        onSent: ignore,
        onStop: ignore,
      };
      this.#channel.open(HostOpens.Warm, '', true, null, true, listener);
    });
  }

  /** The account that it is counted to; undefined while it has none. */
  get account(): string | undefined {
    return this.#share?.account;
  }

  /**
   * An isolate that has loaded nothing yet gets its account. False when it holds something already, as an honest one does not: then it belongs
   * to nobody, and has to end.
   */
  assign(share: HostShare): boolean {
    if (share === this.#share) return true;
    if (this.isBusy || !this.#channel.assign(share)) return false;
    this.#share = share;
    return true;
  }

  get isUsable(): boolean {
    return !this.#channel.isClosed && this.#gone === undefined;
  }

  /** Whether new invocations may come here. */
  get takesNew(): boolean {
    return this.isUsable && !this.#isLeaving;
  }

  /** It has not read what it was sent for so long that more of it would only take memory. */
  get isBacklogged(): boolean {
    return this.#channel.unwrittenBytes > MAX_UNREAD_BYTES;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Its function is loading, or some invocation is not over. */
  get isBusy(): boolean {
    return this.#isLoading || this.#invocations.size > 0;
  }

  /** The cell may not live much longer: what runs goes on, and what comes goes elsewhere. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Invocations that are not over, waitUntil included. */
  get inFlight(): number {
    return this.#invocations.size;
  }

  /** Calls the listener once, when the isolate is gone, after its invocations were told; at once when it is. */
  whenGone(listener: (reason: LossReason, detail: string) => void): void {
    if (this.#isToldGone) listener(this.#gone?.reason ?? 'exit', this.#gone?.detail ?? '');
    else this.#goneListeners.push(listener);
  }

  /** Calls the listener whenever the last of its invocations is over, and when its function is loaded. */
  whenIdle(listener: () => void): void {
    this.#idleListeners.push(listener);
  }

  load(head: LoadHead, body: Uint8Array): Promise<LoadAnswer> {
    this.#isLoading = true;
    this.claims.loading(head.limits);
    return new Promise<LoadAnswer>((resolve, reject) => {
      const fail = (text: string): void => {
        const { detail, figures } = parseBlame(text);
        reject(new IsolateGone(this.#gone?.reason ?? 'closed', detail, figures));
      };
      const listener: ExchangeListener = {
        onReply: (_status, text) => {
          try {
            resolve(parseLoadAnswer(text));
          } catch (error) {
            reject(error);
          }
        },
        onData: () => {},
        onCredit: () => {},
        onSent: () => {},
        onStop: () => {},
        onFail: reason => {
          if (this.isUsable) fail(reason);
          else this.#whenTold(() => fail(this.#gone?.detail ?? reason));
        },
      };
      this.#channel.open(HostOpens.Load, JSON.stringify(head), true, body, true, listener);
    }).finally(() => {
      this.#isLoading = false;
      this.claims.started();
      this.#idle();
    });
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
    this.claims.opened(exchange.id, kind);
    return exchange;
  }

  /** The invocation's time is up: nothing of it goes on in the isolate. */
  closeInvocation(id: number): void {
    if (!this.#invocations.has(id) || this.#closing.has(id)) return;
    this.#closing.set(id, performance.now() + this.#closeWithinMs);
    this.#closeTimer ??= setTimeout(() => this.#giveUpSilent(), this.#closeWithinMs).unref();
    if (this.#closing.size > MAX_CLOSING) {
      this.#gone ??= { reason: 'exit', detail: `${MAX_CLOSING} invocations were closed and did not end` };
      this.end();
      return;
    }
    this.#channel.signal(id, SignalKind.Close, '');
  }

  /** Whoever reads the rest of a call's answer finds that it failed. `reason` is a failure text. */
  cancelCall(call: number, reason: string): void {
    this.#channel.signal(call, SignalKind.CallCanceled, reason);
  }

  /** Answered by `onPong` of the invocation's port. */
  ping(invocation: number): void {
    this.#channel.signal(invocation, SignalKind.Ping, '');
  }

  /** Ends invocations that have made no progress for long. */
  checkProgress(nowMs: number): void {
    for (const port of this.#invocations.values()) port.checkProgress(nowMs);
  }

  /**
   * The lease is over, as the cell says or as the cell was ended.
   *
   * @param unaccountedMs CPU time that the kernel says was used for nothing that is known, for the invocations that are open
   */
  leaseEnded(reason: LossReason, detail: string, unaccountedMs = 0): void {
    this.#gone ??= { reason, detail };
    this.#unaccountedMs = unaccountedMs;
    this.#channel.close();
    this.#tellGone();
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
    if (this.#isToldGone) return;
    this.#gone ??= { reason: 'closed', detail: '' };
    this.#endLease();
    this.#channel.close();
    this.#tellGone();
  }

  /** An invocation of which nothing more is heard is over all the same: nothing of it may be on the books for ever. */
  #giveUpSilent(): void {
    this.#closeTimer = undefined;
    const now = performance.now();
    for (const [id, deadlineMs] of this.#closing) {
      if (deadlineMs > now) {
        this.#closeTimer = setTimeout(() => this.#giveUpSilent(), deadlineMs - now).unref();
        return;
      }
      const port = this.#invocations.get(id);
      this.#closing.delete(id);
      this.#invocations.delete(id);
      this.claims.closed(id, undefined);
      this.#channel.find(id)?.fail('The invocation is over');
      port?.onLost('silent', '', NOTHING_KNOWN);
    }
    if (this.#invocations.size === 0) this.#idle();
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
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

  onSignal(id: number, kind: number, payload: Buffer): void {
    const port = this.#invocations.get(id);
    if (port === undefined) {
      this.#channel.futileFrame();
      return;
    }
    switch (kind) {
      case SignalKind.Log:
        if (payload.length > 0) port.onLog(payload.readUInt8(0), payload.toString('utf8', 1));
        return;
      case SignalKind.PassThrough:
        port.onPassThrough();
        return;
      case SignalKind.HandlerFailed:
        if (payload.length > MAX_FAILURE_BYTES) {
          throw new ProtocolError(`The failure of a handler has ${payload.length} bytes`);
        }
        port.onHandlerFailed(parseHandlerFailure(payload.toString('utf8')));
        return;
      case SignalKind.CallRead:
        if (payload.length >= 4) port.onCallRead(payload.readUInt32LE(0));
        return;
      case SignalKind.Pong:
        port.onPong();
        return;
      case SignalKind.Done:
        if (payload.length < 8) throw new ProtocolError(`The end of an invocation has ${payload.length} bytes`);
        // Its answer is over before an invocation is; one that goes on would be on nobody's books.
        if (this.#channel.find(id) !== undefined) throw new ProtocolError('An invocation ended before its answer did');
        this.#invocations.delete(id);
        this.#closing.delete(id);
        this.claims.closed(id, payload.readUInt32LE(0) / 1000);
        port.onDone(payload.readUInt32LE(0) / 1000, payload.readUInt32LE(4) * 1024, payload[8] === 1);
        if (this.#invocations.size === 0) this.#idle();
        return;
      default:
    }
  }

  onClose(error: ProtocolError | undefined): void {
    if (error !== undefined) {
      this.#gone = { reason: 'protocol', detail: error.message };
      this.#endLease();
    }
    // The cell's word on why usually comes at the same time as the end of the connection.
    if (this.#gone !== undefined) this.#tellGone();
    else this.#reasonTimer ??= setTimeout(() => this.#giveUpReason(), REASON_WITHIN_MS);
  }

  /** Nobody has said that the lease is over: it is, for everybody who counts it. */
  #giveUpReason(): void {
    this.#endLease();
    this.#tellGone();
  }

  /** Calls the listener when it is known why the isolate is gone, or that nobody says so. */
  #whenTold(listener: () => void): void {
    if (this.#isToldGone) listener();
    else this.#waiting.push(listener);
  }

  #tellGone(): void {
    if (this.#isToldGone) return;
    this.#isToldGone = true;
    clearTimeout(this.#reasonTimer);
    this.#gone ??= { reason: 'exit', detail: '' };
    const { reason, detail: text } = this.#gone;
    const { invocation, figures, detail } = parseBlame(text);
    const lost = this.#invocations.entries();
    const share = { cpuMs: Math.round(this.#unaccountedMs / Math.max(1, lost.length)), memoryBytes: 0 };
    this.claims.ended();
    this.#invocations.clear();
    this.#closing.clear();
    clearTimeout(this.#closeTimer);
    // A turn that belongs to no invocation is that of the start-up, or, once there are invocations, of work that one has left behind: the one that is
    // open, if there are no others.
    const isLeftBehind = reason === 'startup';
    // Those that only shared the isolate with it have not used up their own time or memory.
    const isShared = isLeftBehind || ((reason === 'cpu' || reason === 'memory') && invocation > 0);
    for (const [id, port] of lost) {
      if (id === invocation) port.onLost(reason, detail, figures);
      else if (isLeftBehind && lost.length === 1) port.onLost('cpu', detail, figures);
      else port.onLost(isShared ? 'bystander' : reason, detail, share);
    }
    for (const listener of this.#waiting) listener();
    for (const listener of this.#goneListeners) listener(reason, detail);
  }
}

/** The isolate ended before it answered. */
export class IsolateGone extends Error {
  readonly reason: LossReason;
  /** What it had used when it ended. */
  readonly figures: LossUsage;

  constructor(reason: LossReason, detail: string, figures: LossUsage) {
    super(detail);
    this.reason = reason;
    this.figures = figures;
  }
}
