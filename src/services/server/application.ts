/** One application that is connected to the backend process: its functions, the connections of its cells, and the notices sent to it. */
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { BindingBase, BindingDefinition, BindingHost, NamedBinding } from '../../bindings/binding.js';
import type { HopAnswer, HopRequest, LocalSend } from '../../bindings/egress/transport.js';
import type { BindingRegistry } from '../../bindings/registry.js';
import type { CallOrigin, Service } from '../../bindings/service.js';
import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../protocol/exchange.js';
import { ExchangeIo, failureText } from '../../protocol/exchange-io.js';
import type { ProtocolError } from '../../protocol/protocol-error.js';
import { socketTransport, type Transport } from '../../protocol/transport.js';
import { detached, guarded } from '../../quotas/guarded.js';
import type { HostShare, HostShareLimits } from '../../quotas/host/host-share.js';
import { changesText, type MissedChanges, type ToldChange } from '../account-changes.js';
import type { FunctionServices, ServiceEntry } from '../calls/answer-call.js';
import { NO_CALLS, type RemoteTotals } from '../calls/call-totals.js';
import type { CallTracer } from '../calls/call-trace.js';
import { CONNECTION_BOUNDS } from '../connection-bounds.js';
import { forward } from '../forwarded-call.js';
import { type ConfiguredBinding, HostBindings } from '../host-bindings.js';
import { parseHopAnswer } from '../local-hop.js';
import {
  type ApplicationHello,
  type FunctionRegistration,
  NEWS_BYTES,
  News,
  packedTotals,
  pair,
  type RemovalStep,
} from '../message-contents.js';
import { ApplicationOpens, ApplicationSignal, ServicesOpens, ServicesSignal } from '../messages.js';
import { unpackValue } from '../remote/packets.js';
import { RemoteServer } from '../remote/serve/remote-server.js';
import type { ServedObjects } from '../remote/serve/served-objects.js';
import { ServedNames } from '../served-names.js';
import { BoundFunction, RemoteOrigin } from './bound-function.js';
import { type CallsOwner, CellCalls } from './cell-calls.js';
import { RemoteTrace } from './remote-trace.js';
import type { ServedInvocation } from './served-invocation.js';

/** The parts of the process that its applications share. */
export interface ApplicationSurroundings {
  readonly registry: BindingRegistry;
  readonly storage: BindingHost['storage'];
  /** The parts of rows with storage that all applications share. */
  readonly common: HostBindings;
  /** The share of an account, used by one more function or connection. */
  takeShare(account: string, bounds: HostShareLimits): HostShare;
  /** Resolves with the changes of accounts that the application has missed. */
  onHello(application: Application, hello: ApplicationHello): Promise<MissedChanges>;
  giveShare(account: string): void;
  /** The objects of the application itself. */
  readonly objects: ServedObjects;
  onClose(application: Application): void;
}

/** The function that runs behind a connection, and the bodies that the application sends on to its calls. */
interface AttachedFunction {
  readonly bound: BoundFunction;
  readonly splices: { readonly call: number; readonly exchange: Exchange }[];
}

/** Work that is less than a millisecond is reported with what else there is. */
const REPORT_EVERY_MS = 250;
/** An application is stuck when it has not followed a change of an account, or taken a step of its removal, for this long. */
const FOLLOW_MS = 30_000;

export class Application implements ChannelOwner, CallsOwner {
  readonly channel: Channel;
  /** Answers what the application itself calls. */
  readonly remote: RemoteServer;
  /** It knows of all changes of accounts until now, and must receive the later ones. */
  isGreeted = false;
  readonly #surroundings: ApplicationSurroundings;
  #hello: ApplicationHello | undefined;
  #bound: HostBindings | undefined;
  readonly #functions = new Map<number, BoundFunction>();
  readonly #accounts = new Map<number, string>();
  /** Connections of cells whose isolates have no function yet. They are not read. */
  readonly #idle = new Map<number, Socket>();
  readonly #connections = new Map<number, CellCalls>();
  /** Connections that have not been accepted yet, and may come behind what the application says of them. */
  readonly #attached = new Map<number, AttachedFunction>();
  /** The accounts whose shares connections use. */
  readonly #sharing = new Map<number, string>();
  readonly #charged = new Map<ServedInvocation, number>();
  readonly #names = new ServedNames();
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(transport: Transport, surroundings: ApplicationSurroundings) {
    this.#surroundings = surroundings;
    this.channel = new Channel(transport, 'isolate', this, CONNECTION_BOUNDS);
    this.remote = new RemoteServer(this.channel, surroundings.objects);
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

  #splice(connection: number, call: number, exchange: Exchange): void {
    const calls = this.#connections.get(connection);
    if (calls !== undefined) calls.spliced(call, exchange);
    else if (this.#attached.get(connection)?.splices.push({ call, exchange }) === undefined)
      exchange.fail('The isolate has ended');
  }

  close(): void {
    this.channel.close();
  }

  /**
   * Resolves when the application has followed the change, or is gone. One that does not answer has its connection closed: it makes another one, and receives
   * the change then.
   */
  async follow(change: ToldChange): Promise<void> {
    await this.#ask(ServicesOpens.AccountChanged, changesText(change)).catch(() => this.close());
  }

  /** As a helper of LeftRemovals. One that does not answer has its connection closed. */
  async takeRemoval(step: RemovalStep): Promise<boolean> {
    try {
      await this.#ask(ServicesOpens.RemovalLeft, JSON.stringify(step));
      return true;
    } catch (error) {
      if (this.channel.isClosed) return false;
      throw error;
    }
  }

  /** Rejects as `forward` does. The connection of one that is stuck is closed. */
  async #ask(kind: ServicesOpens, head: string): Promise<void> {
    const timeout = AbortSignal.timeout(FOLLOW_MS);
    try {
      await forward(this.channel, kind, head, null, timeout);
    } catch (error) {
      if (timeout.aborted) this.close();
      throw error;
    }
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    switch (kind) {
      case ApplicationOpens.Remote:
        this.remote.onOpen(exchange, head, body, isComplete);
        return;
      case ApplicationOpens.Splice: {
        const [connection, call] = head.split('\n');
        this.#splice(Number(connection), Number(call), exchange);
        return;
      }
      case ApplicationOpens.Redirect:
        this.#redirect(exchange, head);
        return;
      case ApplicationOpens.Hello:
      case ApplicationOpens.Function:
        if (isComplete) exchange.buffer(body);
        detached(this.#registered(exchange, kind, head, isComplete));
        return;
      default:
        exchange.fail('Not supported');
    }
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    switch (kind) {
      case ApplicationSignal.Gone:
        this.#gone(payload.readUInt32LE(0), payload.readUInt32LE(4));
        return;
      case ApplicationSignal.Attach:
        this.#attach(payload.readUInt32LE(0), payload.readUInt32LE(4));
        return;
      case ApplicationSignal.Invocations:
        for (let at = 0; at < payload.length; at += NEWS_BYTES) {
          this.#news(payload.readUInt32LE(at), payload.readUInt32LE(at + 4), payload.readUInt8(at + 8));
        }
        return;
      case ApplicationSignal.Belongs: {
        const [of, owner] = [payload.readUInt32LE(8), payload.readUInt32LE(12)];
        const calls = this.#connections.get(payload.readUInt32LE(0));
        calls?.belongs(payload.readUInt32LE(4), () => this.#connections.get(of)?.meter(owner));
        return;
      }
      case ApplicationSignal.Egress:
        this.#connections
          .get(payload.readUInt32LE(0))
          ?.work(payload.readUInt32LE(4))
          ?.countEgress(payload.readDoubleLE(8), payload.readDoubleLE(16));
        return;
      case ApplicationSignal.Forget:
        this.#forget(payload.readUInt32LE(0));
        return;
      case ApplicationSignal.AccountEnds:
        this.#bindings.endAccount(payload.toString('utf8'));
        return;
      case ApplicationSignal.Names:
        this.#names.set(payload.toString('utf8'));
        return;
      default:
        this.remote.onSignal(id, kind, payload);
    }
  }

  onClose(): void {
    clearTimeout(this.#reportTimer);
    for (const calls of [...this.#connections.values()]) calls.close();
    for (const key of [...this.#functions.keys()]) this.#forget(key);
    for (const socket of this.#idle.values()) socket.destroy();
    void this.#bound?.close();
    this.remote.close();
    this.#surroundings.onClose(this);
  }

  // --- CallsOwner ---

  asks(connection: number, invocation: number): void {
    this.channel.signal(0, ServicesSignal.Asks, pair(connection, invocation));
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
    this.channel.signal(0, ServicesSignal.Totals, payload);
    this.#dropIfOver(connection);
  }

  tracer(connection: number, invocation: number): CallTracer {
    return new RemoteTrace(this.channel, connection, invocation);
  }

  splice(connection: number, target: number, listener: ExchangeListener): Exchange {
    return this.channel.open(ServicesOpens.Splice, `${connection}\n${target}`, true, null, false, listener);
  }

  closed(connection: number, error: ProtocolError | undefined): void {
    this.#dropIfOver(connection);
    const account = this.#sharing.get(connection);
    this.#sharing.delete(connection);
    if (account !== undefined) this.#surroundings.giveShare(account);
    if (error === undefined) return;
    const payload = Buffer.alloc(4);
    payload.writeUInt32LE(connection);
    this.channel.signal(0, ServicesSignal.Broken, Buffer.concat([payload, Buffer.from(error.message)]));
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
    this.channel.signal(0, ServicesSignal.Charged, payload);
  }

  #news(connection: number, id: number, news: News): void {
    const calls = this.#connections.get(connection);
    if (calls === undefined) {
      // Its cell has gone, or never came: nothing was called.
      if (news === News.Over || news === News.OverAtRest) {
        this.channel.signal(
          0,
          ServicesSignal.Totals,
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

  #redirect(exchange: Exchange, head: string): void {
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

  #greeted(hello: ApplicationHello): Promise<MissedChanges> {
    const { registry, storage, common } = this.#surroundings;
    const isHere = (row: BindingBase): boolean => !hello.applicationRows.includes(row.id);
    this.#hello = hello;
    this.#bound = new HostBindings(registry, { options: hello.options, storage }, { isHere, common });
    return this.#surroundings.onHello(this, hello);
  }

  get #bindings(): HostBindings {
    if (this.#bound === undefined) throw new Error('The application has not said what it is');
    return this.#bound;
  }

  #attach(connection: number, key: number): void {
    const bound = this.#functions.get(key);
    const socket = this.#idle.get(connection);
    this.#idle.delete(connection);
    if (bound === undefined) socket?.destroy();
    else if (socket === undefined) this.#attached.set(connection, { bound, splices: [] });
    else this.#serve(connection, socket, bound);
  }

  #serve(connection: number, socket: Socket, bound: BoundFunction): void {
    const movedBytes = (): number => socket.bytesRead + socket.bytesWritten;
    const { account, limits } = bound.share;
    this.#surroundings.takeShare(account, limits);
    this.#sharing.set(connection, account);
    this.#connections.set(
      connection,
      new CellCalls(connection, socketTransport(socket, true), movedBytes, bound, this),
    );
  }

  #gone(first: number, count: number): void {
    for (let connection = first; connection < first + count; connection++) {
      this.#idle.get(connection)?.destroy();
      this.#idle.delete(connection);
      for (const { exchange } of this.#attached.get(connection)?.splices ?? []) exchange.fail('The isolate has ended');
      this.#attached.delete(connection);
    }
  }

  async #registered(
    exchange: Exchange,
    kind: ApplicationOpens.Hello | ApplicationOpens.Function,
    head: string,
    isComplete: boolean,
  ): Promise<void> {
    try {
      const io = new ExchangeIo(exchange);
      const pieces: Uint8Array[] = [];
      if (isComplete) pieces.push(exchange.read(Number.MAX_SAFE_INTEGER) ?? new Uint8Array());
      else for await (const piece of io.chunks()) pieces.push(piece);
      const value = unpackValue(head, Buffer.concat(pieces));
      let text = '';
      if (kind === ApplicationOpens.Hello)
        text = changesText(await this.#greeted(value as ApplicationHello)); // as the application has packed it
      else await this.#register(value as FunctionRegistration); // as above
      exchange.reply(200, text, true, null, true);
    } catch (error) {
      exchange.fail(failureText(error));
    }
  }

  /** Rejects for what the first call of a binding would find out too late. */
  async #register(record: FunctionRegistration): Promise<void> {
    const bound = this.#configured(record).filter(({ row }) => this.#bindings.isHere(row));
    this.#bind(record);
    await this.#bindings.prepare({ account: record.account, limits: record.limits }, bound);
  }

  #configured({ bindings }: FunctionRegistration): ConfiguredBinding[] {
    return bindings.flatMap(({ option, name, config }) => {
      const row = this.#bindings.registry.named.find(each => each.option === option);
      return row === undefined ? [] : [{ row, name, config }];
    });
  }

  #bind(record: FunctionRegistration): void {
    const share = this.#surroundings.takeShare(record.account, record.bounds);
    try {
      const services = this.#services(record);
      const { key, limits } = record;
      const connectionSlotRelease = this.#hello?.connectionSlotRelease ?? 'body';
      this.#functions.set(key, new BoundFunction({ key, services, limits, connectionSlotRelease, share }));
      this.#accounts.set(key, record.account);
    } catch (error) {
      this.#surroundings.giveShare(record.account);
      throw error;
    }
  }

  #forget(key: number): void {
    const account = this.#accounts.get(key);
    this.#functions.delete(key);
    this.#accounts.delete(key);
    if (account !== undefined) this.#surroundings.giveShare(account);
  }

  #services(record: FunctionRegistration): FunctionServices {
    const { registry } = this.#bindings;
    const bound = this.#configured(record);
    const { account, function: name, limits, props, compatibility } = record;
    const services = this.#bindings.services(
      {
        account,
        function: name,
        limits,
        props,
        compatibility,
        // Both are asked of the application, with the hop.
        checkUrl: () => {},
        localOf: (url, origin) => this.#localOf(url, origin),
      },
      bound.filter(({ row }) => this.#bindings.isHere(row)),
    );
    const entries = new Map<number, ServiceEntry>(services);
    for (const row of registry.rows) {
      if (!this.#bindings.isHere(row)) entries.set(row.id, this.#inApplication(row, bound));
    }
    return entries;
  }

  /** A service that the application answers itself. */
  #inApplication(row: BindingDefinition, bound: readonly { row: NamedBinding; name: string }[]): ServiceEntry {
    const names = row.implicit === true ? [''] : bound.filter(each => each.row === row).map(({ name }) => name);
    return { definition: row, services: new Map(names.map(name => [name, this.#forwarded(row.id, name)])) };
  }

  #forwarded(service: number, binding: string): Service {
    return async ({ method, args, body, signal, origin, traceHeaders = [] }) => {
      if (!(origin instanceof RemoteOrigin)) throw new Error('A call has no invocation');
      const { function: key, connection, id } = origin;
      const fields = [
        key,
        connection,
        id,
        service,
        method,
        binding,
        JSON.stringify(traceHeaders),
        JSON.stringify(args),
      ];
      const answer = await forward(
        this.channel,
        ServicesOpens.Call,
        fields.join('\n'),
        body,
        signal,
        this.#bindings.registry,
      );
      const reply = { head: JSON.parse(answer.head), body: answer.body ?? null };
      return answer.status === 101 ? { ...reply, isOpen: true } : reply;
    };
  }

  #localOf(url: URL, origin: CallOrigin | undefined): LocalSend | undefined {
    if (!(origin instanceof RemoteOrigin) || !this.#names.mayHave(url)) return undefined;
    return request => this.#sendLocal(request, origin);
  }

  async #sendLocal(
    request: HopRequest,
    { function: key, connection, id }: RemoteOrigin,
  ): Promise<HopAnswer | undefined> {
    const { method, url, headers, contentLength, body, signal } = request;
    const head = { key, connection, id, method, url: url.href, headers, contentLength };
    // Before its body, which the network may have to get.
    const route = await forward(this.channel, ServicesOpens.Route, JSON.stringify(head), null, signal);
    if (route.head === '') return undefined;
    const answer = await forward(this.channel, ServicesOpens.Local, JSON.stringify(head), body, signal);
    const hop = parseHopAnswer(answer.head);
    const content = answer.body instanceof Uint8Array ? [answer.body] : answer.body;
    return { ...hop, body: content === undefined ? null : Readable.from(content, { objectMode: false }) };
  }
}
