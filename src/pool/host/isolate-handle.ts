/**
 * One isolate as the host sees it: its channel, the invocations that run in it, and how it ends. Every message of the isolate is matched to an open
 * invocation here before anything else sees it.
 */
import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import { CrossSplices } from '../../protocol/cross-splice.js';
import type { Exchange, ExchangeListener } from '../../protocol/exchange.js';
import { IdTable } from '../../protocol/id-table.js';
import { ISOLATE_BOUNDS } from '../../protocol/isolate-bounds.js';
import {
  type HandlerFailure,
  HostOpens,
  IsolateOpens,
  type LoadAnswer,
  type LoadHead,
  QUEUE_WORD_BYTES,
  SERVICES_LOST_REASON,
  SignalKind,
} from '../../protocol/messages.js';
import { meteredKind } from '../../protocol/metered-kind.js';
import { decodeReading } from '../../protocol/pong.js';
import { asProtocolError, ProtocolError } from '../../protocol/protocol-error.js';
import { guarded, guardedEach } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { LeaseEnd } from '../cell/thread-pool.js';
import type { LeaseConnection } from './cell.js';
import { CpuClaims } from './cell-usage/cpu-claims.js';
import { ClosingInvocations } from './closing-invocations.js';
import { parseHandlerFailure, parseLoadAnswer, parseUsage } from './isolate-messages.js';

/** Why invocations ended with their isolate. */
export type LossReason = LeaseEnd | 'bystander' | 'cell' | 'hoard' | 'protocol' | 'removed' | 'unresponsive';

/** The connection of this process to the services that an isolate calls. */
export interface SpliceLine {
  readonly isConnected: boolean;
  /** Opens an exchange with the services for the rest of the body of a call. Undefined when they have ended. */
  open(call: number, listener: ExchangeListener): Exchange | undefined;
}

/** The known usage of an invocation that was lost; unknown values are zero. */
export interface LossUsage {
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

const NOTHING_KNOWN: LossUsage = { cpuMs: 0, memoryBytes: 0 };

/** The messages of the isolate about one invocation. */
export interface InvocationPort extends ExchangeListener {
  onLog(level: number, text: string): void;
  onPassThrough(): void;
  onNoRetry(): void;
  onHandlerFailed(failure: HandlerFailure): void;
  /** A promise given to waitUntil was rejected. */
  onWaitRejected?(failure: HandlerFailure): void;
  /** The function has said what becomes of a message of its batch, or of all of them; NaN seconds for no delay. Only a queue listens. */
  onQueueWord?(word: number, index: number, delaySeconds: number): void;
  /** The function calls a service. `head` was written by the function; `body` is a view, whole when `isComplete`. */
  onCall(exchange: Exchange, service: number, head: string, body: Buffer, isComplete: boolean): void;
  /** The function has read a call's answer to its end, or has canceled it. */
  onCallRead(call: number): void;
  /** Everything sent before {@link IsolateHandle.ping} has had its turn in the isolate, where function code is reading the answers of these calls. */
  onPong(reading: readonly number[]): void;
  /** The services have got a call of it, and ask whether it is open. */
  onServicesAsk?(): boolean;
  /** The invocation has ended in the isolate. `flags` are a {@link DoneFlag} set. */
  onDone(cpuMs: number, peakBytes: number, flags: number): void;
  /** Somebody waits for its answer. */
  readonly isUnanswered?: boolean;
  /** Its host is about to close: a WebSocket of a client is closed with 1001. */
  goAway?(): void;
  /** Called periodically: an invocation without progress for too long ends. */
  checkProgress(nowMs: number): void;
  /** The isolate is gone, and the invocation with it. */
  onLost(reason: LossReason, detail: string, usage: LossUsage): void;
}

/**
 * After its connection closed, how long to wait for the cell to say why: a thread that is out of memory closes it first, and then frees its heap,
 * which took more than 2 s on a busy machine.
 */
const REASON_WITHIN_MS = 10_000;
/** With more unread bytes than this an isolate gets no new invocation. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Name, message and stack of an error, cut at some 20,000 characters together, each of which takes up to six bytes in JSON. */
const MAX_FAILURE_BYTES = 128 * 1024;
/** An isolate with more closed invocations that do not end has stopped listening and is ended. */
const MAX_CLOSING = 1024;
/**
 * How long an invocation may take to confirm that it was closed: longer than a running turn of another invocation, and short enough that a compromised isolate
 * cannot keep invocations open.
 */
const CLOSE_WITHIN_MS = 30_000;

const IGNORE = (): void => {};
/** For listeners of exchanges without streamed bodies. */
const WITHOUT_BODIES = { onData: IGNORE, onCredit: IGNORE, onSent: IGNORE, onStop: IGNORE } as const;

export class IsolateHandle implements ChannelOwner {
  readonly lease: number;
  /** The number of its connection to the services, where those have a process of their own. */
  calls: number | undefined;
  /** The CPU time that its invocations account for, compared with what the kernel reports. */
  readonly claims = new CpuClaims();
  readonly #channel: Channel;
  #share: HostShare | undefined;
  readonly #endLease: () => void;
  readonly #invocations = new IdTable<InvocationPort>();
  readonly #closing: ClosingInvocations;
  readonly #goneListeners: ((reason: LossReason, detail: string) => void)[] = [];
  readonly #idleListeners: (() => void)[] = [];
  #isRetired = false;
  #gone: { readonly reason: LossReason; readonly detail: string } | undefined;
  /** Set while the connection is closed and the cell has not reported why. */
  #reasonTimer: NodeJS.Timeout | undefined;
  readonly #waiting: (() => void)[] = [];
  #splices: CrossSplices | undefined;
  /** Ends of invocations whose answers are still on their way from the services. */
  readonly #doneLater = new Map<number, Buffer>();
  #unaccountedMs = 0;
  #isGoneReported = false;
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
    return new Promise(resolve => {
      const onOver = (): void => resolve();
      const listener = { ...WITHOUT_BODIES, onReply: onOver, onFail: onOver };
      this.#channel.open(HostOpens.Warm, '', true, null, true, listener);
    });
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
    return !this.#channel.isClosed && this.#gone === undefined;
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
    this.#gone = { reason: 'protocol', detail };
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

  /** Where bodies go that the isolate passes on between this process and the services. Set with its function. */
  spliceLine: SpliceLine | undefined;

  /** The isolate asks for a connection to the services, since its own has ended. Set with its function, for one time. */
  reconnect: ((exchange: Exchange) => void) | undefined;

  /** The backend process sends the rest of a body that the isolate passes on as the body of the invocation. */
  spliced(invocation: number, exchange: Exchange): void {
    this.#guard(() => this.#crossSplices().arrived(invocation, exchange));
  }

  /** The backend process has ended: the rest of a body that was on its way from there does not come. */
  servicesLost(): void {
    this.#guard(() => this.#splices?.lose());
  }

  /** For what no reader of its connection runs. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.broke(asProtocolError(error).message);
    }
  }

  #crossSplices(): CrossSplices {
    this.#splices ??= new CrossSplices({
      find: id => this.#channel.find(id),
      open: (call, listener) => this.spliceLine?.open(call, listener),
      isConnected: () => this.spliceLine?.isConnected === true,
      share: () => this.#share,
      onOver: id => {
        const done = this.#doneLater.get(id);
        this.#doneLater.delete(id);
        if (done !== undefined) this.#guard(() => this.#done(id, done));
      },
    });
    return this.#splices;
  }

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
    if (this.#isGoneReported) listener(this.#gone?.reason ?? 'exit', this.#gone?.detail ?? '');
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
        const { detail, usage } = parseUsage(text);
        reject(new IsolateGone(this.#gone?.reason ?? 'closed', detail, usage));
      };
      const listener: ExchangeListener = {
        ...WITHOUT_BODIES,
        onReply: (_status, text) => {
          try {
            resolve(parseLoadAnswer(text));
          } catch (error) {
            reject(error);
          }
        },
        onFail: reason => {
          if (this.isUsable) fail(reason);
          else this.#whenReported(() => fail(this.#gone?.detail ?? reason));
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
    this.onProgress?.();
    this.claims.opened(exchange.id, meteredKind(kind, head));
    return exchange;
  }

  /** Ends the invocation in the isolate. */
  closeInvocation(id: number): void {
    if (!this.#invocations.has(id) || this.#closing.has(id)) return;
    this.#closing.add(id);
    if (this.#closing.size > MAX_CLOSING) {
      this.#gone ??= { reason: 'exit', detail: `${MAX_CLOSING} invocations were closed and did not end` };
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
    this.#gone ??= { reason, detail };
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
    if (this.#isGoneReported) return;
    this.#gone ??= { reason: 'closed', detail: '' };
    this.#endLease();
    this.#channel.close();
    this.#reportGone();
  }

  /** An invocation that never confirms its end is dropped, so that it cannot leak. */
  #dropUnconfirmed(id: number): void {
    const port = this.#invocations.get(id);
    this.#invocations.delete(id);
    this.#doneLater.delete(id);
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
    if (kind === IsolateOpens.Services) {
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
      case SignalKind.Log:
        if (payload.length > 0) port.onLog(payload.readUInt8(0), payload.toString('utf8', 1));
        return;
      case SignalKind.PassThrough:
        port.onPassThrough();
        return;
      case SignalKind.NoRetry:
        port.onNoRetry();
        return;
      case SignalKind.HandlerFailed:
        port.onHandlerFailed(failureIn(payload));
        return;
      case SignalKind.WaitRejected:
        port.onWaitRejected?.(failureIn(payload));
        return;
      case SignalKind.CallRead:
        if (payload.length >= 4) port.onCallRead(payload.readUInt32LE(0));
        return;
      case SignalKind.QueueWord:
        if (payload.length < QUEUE_WORD_BYTES)
          throw new ProtocolError(`A word on a message has ${payload.length} bytes`);
        port.onQueueWord?.(payload.readUInt8(0), payload.readUInt32LE(1), payload.readDoubleLE(5));
        return;
      case SignalKind.Pong:
        port.onPong(decodeReading(payload));
        return;
      case SignalKind.Done:
        if (payload.length < 8) throw new ProtocolError(`The end of an invocation has ${payload.length} bytes`);
        if (this.#splices?.has(id) === true) this.#doneLater.set(id, Buffer.from(payload));
        else this.#done(id, payload);
        return;
      case SignalKind.SpliceFrom:
        if (this.spliceLine !== undefined && payload.length >= 4)
          this.#crossSplices().from(id, payload.readUInt32LE(0));
        return;
      case SignalKind.SpliceTo:
        if (this.spliceLine !== undefined) this.#crossSplices().to(id);
        return;
      default:
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
      this.#gone = { reason: 'protocol', detail: error.message };
      this.#endLease();
    }
    // The cell usually reports the reason at the same time as the connection ends.
    if (this.#gone !== undefined) this.#reportGone();
    else
      this.#reasonTimer ??= setTimeout(
        guarded(
          () => this.#giveUpReason(),
          () => this.#reportGone(),
        ),
        REASON_WITHIN_MS,
      );
  }

  /** No reason was reported in time: the lease is released. */
  #giveUpReason(): void {
    this.#endLease();
    this.#reportGone();
  }

  /** Calls the listener when the reason of the isolate's end is known, or was not reported in time. */
  #whenReported(listener: () => void): void {
    if (this.#isGoneReported) listener();
    else this.#waiting.push(listener);
  }

  #reportGone(): void {
    if (this.#isGoneReported) return;
    this.#isGoneReported = true;
    clearTimeout(this.#reasonTimer);
    this.#gone ??= { reason: 'exit', detail: '' };
    const { reason, detail: text } = this.#gone;
    const { invocation, usage, detail } = parseUsage(text);
    const lost = this.#invocations.entries();
    const share = { cpuMs: Math.round(this.#unaccountedMs / Math.max(1, lost.length)), memoryBytes: 0 };
    this.claims.ended();
    guarded(() => this.#splices?.close())();
    this.#doneLater.clear();
    this.#invocations.clear();
    this.#closing.clear();
    // A turn without invocation belongs to the start-up or, once there have been invocations, to work that one of them left behind: if only one is open, that
    // one.
    const isLeftBehind = reason === 'startup';
    // The other invocations of the isolate have not used up their own time or memory.
    const isShared = isLeftBehind || ((reason === 'cpu' || reason === 'memory') && invocation > 0);
    // All of them hear of it, also when one of them fails.
    guardedEach(lost, ([id, port]) => {
      if (id === invocation) port.onLost(reason, detail, usage);
      else if (isLeftBehind && lost.length === 1) port.onLost('cpu', detail, usage);
      else port.onLost(isShared ? 'bystander' : reason, detail, share);
    });
    guardedEach(this.#waiting, listener => listener());
    guardedEach(this.#goneListeners, listener => listener(reason, detail));
  }
}

/** The isolate ended before it answered. */
export class IsolateGone extends Error {
  readonly reason: LossReason;
  /** Its usage when it ended. */
  readonly usage: LossUsage;

  constructor(reason: LossReason, detail: string, usage: LossUsage) {
    super(detail);
    this.reason = reason;
    this.usage = usage;
  }
}

/** @throws ProtocolError */
function failureIn(payload: Buffer): HandlerFailure {
  if (payload.length > MAX_FAILURE_BYTES) {
    throw new ProtocolError(`The failure of a handler has ${payload.length} bytes`);
  }
  return parseHandlerFailure(payload.toString('utf8'));
}
