/**
 * The connections of an application's cells. A connection is idle until the application says which function its isolate runs. From then on it is read, and
 * the application hears of the work, the totals and the end of each invocation's calls.
 */
import type { Socket } from 'node:net';
import type { Channel } from '../../protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../protocol/exchange.js';
import { failureText } from '../../protocol/exchange-io.js';
import type { ProtocolError } from '../../protocol/frames/protocol-error.js';
import { socketTransport } from '../../protocol/transports/transport.js';
import { guarded } from '../../quotas/guarded.js';
import { NO_CALLS, type RemoteTotals } from '../calls/call-totals.js';
import type { CallTracer } from '../calls/call-trace.js';
import { NEWS_BYTES, News, packedTotals, pair } from '../wire/message-contents.js';
import { BackendOpens, BackendSignal } from '../wire/messages.js';
import { RemoteTrace } from './applications/remote-trace.js';
import type { BoundFunctions, FunctionSurroundings } from './bound-functions.js';
import type { BoundFunction } from './cells/bound-function.js';
import { type CallsOwner, CellCalls } from './cells/cell-calls.js';
import type { ServedInvocation } from './cells/served-invocation.js';

/** The function that runs behind a connection, and the bodies that the application sends on to its calls. */
interface AttachedFunction {
  readonly bound: BoundFunction;
  readonly splices: { readonly call: number; readonly exchange: Exchange }[];
}

/** Work of less than a millisecond is reported later, with the rest. */
const REPORT_EVERY_MS = 250;

export class CellConnections implements CallsOwner {
  readonly #channel: Channel;
  readonly #functions: BoundFunctions;
  readonly #shares: Pick<FunctionSurroundings, 'takeShare' | 'giveShare'>;
  /** Connections of cells whose isolates have no function yet. They are not read. */
  readonly #idle = new Map<number, Socket>();
  readonly #connections = new Map<number, CellCalls>();
  /** Connections that the application has attached before they were accepted. */
  readonly #attached = new Map<number, AttachedFunction>();
  /** The accounts whose shares connections use. */
  readonly #sharing = new Map<number, string>();
  readonly #charged = new Map<ServedInvocation, number>();
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(
    channel: Channel,
    functions: BoundFunctions,
    shares: Pick<FunctionSurroundings, 'takeShare' | 'giveShare'>,
  ) {
    this.#channel = channel;
    this.#functions = functions;
    this.#shares = shares;
  }

  /** A connection that the application has opened for a cell. */
  connect(connection: number, socket: Socket): void {
    const attached = this.#attached.get(connection);
    this.#attached.delete(connection);
    if (attached === undefined) {
      this.#idle.set(connection, socket);
      return;
    }
    this.#serve(connection, socket, attached.bound);
    for (const { call, exchange } of attached.splices) this.#splice(connection, call, exchange);
  }

  close(): void {
    clearTimeout(this.#reportTimer);
    for (const calls of [...this.#connections.values()]) calls.close();
    for (const socket of this.#idle.values()) socket.destroy();
  }

  // --- Messages of the application ---

  attach(payload: Buffer): void {
    const connection = payload.readUInt32LE(0);
    const bound = this.#functions.get(payload.readUInt32LE(4));
    const socket = this.#idle.get(connection);
    this.#idle.delete(connection);
    if (bound === undefined) socket?.destroy();
    else if (socket === undefined) this.#attached.set(connection, { bound, splices: [] });
    else this.#serve(connection, socket, bound);
  }

  gone(payload: Buffer): void {
    const first = payload.readUInt32LE(0);
    for (let connection = first; connection < first + payload.readUInt32LE(4); connection++) {
      this.#idle.get(connection)?.destroy();
      this.#idle.delete(connection);
      for (const { exchange } of this.#attached.get(connection)?.splices ?? []) exchange.fail('The isolate has ended');
      this.#attached.delete(connection);
    }
  }

  invocations(payload: Buffer): void {
    for (let at = 0; at < payload.length; at += NEWS_BYTES) {
      this.#news(payload.readUInt32LE(at), payload.readUInt32LE(at + 4), payload.readUInt8(at + 8));
    }
  }

  belongs(payload: Buffer): void {
    const [of, owner] = [payload.readUInt32LE(8), payload.readUInt32LE(12)];
    const calls = this.#connections.get(payload.readUInt32LE(0));
    calls?.belongs(payload.readUInt32LE(4), () => this.#connections.get(of)?.meter(owner));
  }

  countEgress(payload: Buffer): void {
    this.#connections
      .get(payload.readUInt32LE(0))
      ?.work(payload.readUInt32LE(4))
      ?.countEgress(payload.readDoubleLE(8), payload.readDoubleLE(16));
  }

  countRedirect(exchange: Exchange, head: string): void {
    const [connection, id, hop] = head.split('\n').map(Number);
    try {
      this.#connections
        .get(connection ?? 0)
        ?.work(id ?? 0)
        ?.countRedirect(hop ?? 0);
      exchange.reply(200, '', true, null, true);
    } catch (error) {
      exchange.fail(failureText(error));
    }
  }

  /** The rest of a body that the application receives and a call of an isolate sends on. */
  spliced(exchange: Exchange, head: string): void {
    const [connection, call] = head.split('\n');
    this.#splice(Number(connection), Number(call), exchange);
  }

  // --- CallsOwner ---

  asks(connection: number, invocation: number): void {
    this.#channel.signal(0, BackendSignal.Asks, pair(connection, invocation));
  }

  charged(connection: number, invocation: ServedInvocation): void {
    if (invocation.hasMuchCharged) {
      this.#charged.delete(invocation);
      this.#report(connection, invocation);
      return;
    }
    this.#charged.set(invocation, connection);
    this.#reportTimer ??= setTimeout(
      guarded(() => {
        this.#reportTimer = undefined;
        for (const [charged, of] of this.#charged) this.#report(of, charged);
        this.#charged.clear();
      }),
      REPORT_EVERY_MS,
    ).unref();
  }

  totals(connection: number, invocation: ServedInvocation, totals: RemoteTotals, movedKib: number): void {
    this.#charged.delete(invocation);
    const payload = packedTotals(connection, invocation.id, invocation.takeChargedUs(), movedKib, totals);
    this.#channel.signal(0, BackendSignal.Totals, payload);
    this.#dropIfOver(connection);
  }

  tracer(connection: number, invocation: number): CallTracer {
    return new RemoteTrace(this.#channel, connection, invocation);
  }

  splice(connection: number, target: number, listener: ExchangeListener): Exchange {
    return this.#channel.open(BackendOpens.Splice, `${connection}\n${target}`, true, null, false, listener);
  }

  closed(connection: number, error: ProtocolError | undefined): void {
    this.#dropIfOver(connection);
    const account = this.#sharing.get(connection);
    this.#sharing.delete(connection);
    if (account !== undefined) this.#shares.giveShare(account);
    if (error === undefined) return;
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(connection);
    this.#channel.signal(0, BackendSignal.Broken, Buffer.concat([payload, Buffer.from(error.message)]));
  }

  #splice(connection: number, call: number, exchange: Exchange): void {
    const calls = this.#connections.get(connection);
    if (calls !== undefined) calls.spliced(call, exchange);
    else if (this.#attached.get(connection)?.splices.push({ call, exchange }) === undefined)
      exchange.fail('The isolate has ended');
  }

  /** An isolate may end before the application says that its invocations are over: what they have called is kept until then. */
  #dropIfOver(connection: number): void {
    if (this.#connections.get(connection)?.isOver === true) this.#connections.delete(connection);
  }

  #report(connection: number, invocation: ServedInvocation): void {
    const payload = Buffer.allocUnsafe(12);
    payload.writeUInt32LE(connection, 0);
    payload.writeUInt32LE(invocation.id, 4);
    payload.writeUInt32LE(invocation.takeChargedUs(), 8);
    this.#channel.signal(0, BackendSignal.Charged, payload);
  }

  #news(connection: number, id: number, news: News): void {
    const calls = this.#connections.get(connection);
    if (calls === undefined) {
      // Its cell has gone, or never came: nothing was called.
      if (news === News.Over || news === News.OverAtRest) {
        this.#channel.signal(
          0,
          BackendSignal.Totals,
          packedTotals(connection, id, 0, 0, { ...NO_CALLS, warnings: [] }),
        );
      }
      return;
    }
    if (news === News.Over) calls.over(id, false);
    else if (news === News.OverAtRest) calls.over(id, true);
    else if (news === News.Unknown) calls.unknown(id);
    else if (news === News.Closing) calls.closing(id);
    else calls.begun(id, news === News.BegunTraced);
  }

  #serve(connection: number, socket: Socket, bound: BoundFunction): void {
    const movedBytes = (): number => socket.bytesRead + socket.bytesWritten;
    const { account, limits } = bound.share;
    this.#shares.takeShare(account, limits);
    this.#sharing.set(connection, account);
    this.#connections.set(
      connection,
      new CellCalls(connection, socketTransport(socket, true), movedBytes, bound, this),
    );
  }
}
