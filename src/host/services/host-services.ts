/**
 * The application's end of the services that have a process of their own. Functions are registered there when they are loaded, connections of cells are
 * announced before the cells have them, invocations when they begin; the work that calls cost, and their totals, come back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { LocalSend } from '../../bindings/egress/transport.js';
import type { CallOrigin } from '../../bindings/service.js';
import { type CellConnections, type CellServices, FIRST_LEASES } from '../../pool/host/cell.js';
import type { IsolateHandle, SpliceLine } from '../../pool/host/isolate-handle.js';
import type { SandboxState } from '../../pool/sandbox/state.js';
import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { failureText } from '../../protocol/exchange-io.js';
import { SERVICES_LOST_REASON } from '../../protocol/messages.js';
import { socketTransport } from '../../protocol/transport.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { EdgeError, isEdgeErrorCode } from '../../quotas/errors.js';
import { detached, guarded, guardedEach } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { type AccountChange, parseMissedChanges, parseToldChange } from '../../services/account-changes.js';
import type { CallTrace } from '../../services/calls/call-trace.js';
import { CONNECTION_BOUNDS } from '../../services/connection-bounds.js';
import { forward } from '../../services/forwarded-call.js';
import type { HostStore } from '../../services/host-store.js';
import {
  type ApplicationHello,
  NEWS_BYTES,
  News,
  type Notice,
  pair,
  parseDatabaseChange,
  parseNotice,
  type RemovalStep,
  unpackedTotals,
} from '../../services/message-contents.js';
import { ApplicationOpens, ApplicationSignal, ServicesOpens, ServicesSignal } from '../../services/messages.js';
import type { ServicesConnection } from '../../services/process/services-connection.js';
import { ServicesProcess } from '../../services/process/services-process.js';
import { DatabaseListeners } from '../../services/remote/database-listeners.js';
import type { BindingErrors } from '../../services/remote/errors.js';
import { leave } from '../../services/remote/outgoing-call.js';
import { packValue } from '../../services/remote/packets.js';
import { isLost, RemoteLink } from '../../services/remote/remote-link.js';
import { RemoteStore } from '../../services/remote/remote-store.js';
import type { ServedNamesList } from '../../services/served-names.js';
import { AnsweredHere } from './answered-here.js';
import { carry } from './carry.js';
import { type InvocationAddress, type RemoteCaller, RemoteFunction, type ServicesLine } from './remote-function.js';

export interface HostServicesOptions {
  /** The storage directory. */
  readonly directory: string;
  /** The program of the backend process. @default the package's program */
  readonly main?: string;
  /** Restores the errors of bindings that come from the backend process. */
  readonly errors: BindingErrors;
  readonly hello: () => Omit<ApplicationHello, 'seenChange'>;
  /** Once there is a process. Rejects when the directory may not be used. */
  readonly checkAccess: () => Promise<void>;
  /** The backend process has ended: cells have no connection to the next one. */
  readonly onLost: () => void;
  readonly onWarning: (error: EdgeError) => void;
  /** The services have told the layers around their engines of SQL. */
  readonly onSqlSandbox: (state: SandboxState) => void;
  readonly share: (account: string) => HostShare | undefined;
  /** The cells of the account have to end. */
  readonly onStuck: (account: string, reason: string) => void;
  readonly localSend: (account: string, url: URL, origin: CallOrigin | undefined) => LocalSend | undefined;
  readonly names: () => ServedNamesList;
  /** Follows what another application has changed of an account, at once for what begins from then on. Never rejects. */
  readonly follow: (change: AccountChange) => Promise<void>;
  /** Takes the step of an application that is gone in the removal of an account. */
  readonly takeRemoval: (step: RemovalStep) => Promise<void>;
}

const MISSED =
  'While the backend process was away other applications have changed more accounts than it keeps: those that were removed long ago may be used here';
const KIB = 1024;
const NAMES_AFTER_MS = 50;
/** Connections that no cell has taken within this time are closed: another one took its place. */
const UNUSED_MS = 5000;

/** Connection attempts to a living process, and the delay between them. */
const CONNECTING_ROUNDS = 50;
const CONNECTING_WAIT_MS = 20;

const NOT_LOST = (): { readonly lost: boolean } => ({ lost: false });

function lostOrThrow(error: unknown): { readonly lost: boolean } {
  if (!isLost(error)) throw error;
  return { lost: true };
}

/** An invocation of some connection as one number: ids of a connection are below 2^32, connections below 2^21. */
function keyOf(connection: number, invocation: number): number {
  return connection * 0x1_0000_0000 + invocation;
}

export class HostServices implements ChannelOwner, ServicesLine, CellServices {
  readonly #options: HostServicesOptions;
  readonly #process: ServicesProcess;
  /** Resolves when the process knows this application. */
  #ready: Promise<void> = Promise.resolve();
  #channel: Channel | undefined;
  /** Calls of the application itself. */
  readonly link: RemoteLink;
  #connection: ServicesConnection | undefined;
  #isClosed = false;
  /** Set while the services do not know the names that functions answer. */
  #namesTimer: NodeJS.Timeout | undefined;
  #access: Promise<void> | undefined;
  /** Connections for cells that are about to be created. */
  readonly #prepared: CellConnections[] = [];
  #nextConnection = 1;
  #nextFunction = 1;
  readonly #functions = new Map<number, RemoteFunction>();
  /** Settle when this backend process knows the function, for functions that are older than the process. */
  readonly #registered = new Map<number, Promise<void>>();
  readonly #isolates = new Map<number, IsolateHandle>();
  /** Announced invocations whose totals have not come. */
  readonly #callers = new Map<number, RemoteCaller>();
  /** The announced invocations that are over. */
  readonly #ending = new Set<number>();
  #waiting: { readonly left: Set<number>; readonly resolve: () => void }[] = [];
  readonly #here: AnsweredHere;
  /** The spans of open calls. */
  readonly #spans = new Map<number, { readonly trace: CallTrace; readonly caller: RemoteCaller }>();
  #nextSpan = 1;
  readonly #databases = new DatabaseListeners();
  #wasConnected = false;
  /** The last change of an account that this application has followed, or made. */
  #seenChange: number | undefined;
  /** The writer of a channel copies it. */
  readonly #record = Buffer.allocUnsafe(NEWS_BYTES);

  constructor(options: HostServicesOptions) {
    this.#options = options;
    this.link = new RemoteLink(() => this.channel(), options.errors);
    this.#process = new ServicesProcess(
      { directory: options.directory, ...(options.main !== undefined && { main: options.main }) },
      {
        onConnected: connection => this.#connected(connection),
        onLost: () => {},
        onWarning: error => options.onWarning(error),
      },
    );
    this.#here = new AnsweredHere({
      function: key => this.#functions.get(key),
      caller: (connection, invocation) => this.#callers.get(keyOf(connection, invocation)),
      share: options.share,
      localSend: options.localSend,
      countRedirect: (connection, invocation, hop) => this.#countRedirect(connection, invocation, hop),
      countEgress: (connection, invocation, sent, received) => {
        const payload = Buffer.allocUnsafe(24);
        payload.writeUInt32LE(connection, 0);
        payload.writeUInt32LE(invocation, 4);
        payload.writeDoubleLE(sent, 8);
        payload.writeDoubleLE(received, 16);
        this.#channel?.signal(0, ApplicationSignal.Egress, payload);
      },
    });
  }

  /** The id of the process; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#connection?.pid;
  }

  /** Resolves when the services can be called. Rejects when they cannot be started. */
  async channel(): Promise<Channel> {
    // A process may end while it is being connected to, and be known as the current one for a moment: then it is the next one.
    for (let round = 0; round < CONNECTING_ROUNDS; round++) {
      await withoutCaller(() => this.#process.connect());
      this.#access ??= this.#options.checkAccess();
      await this.#access;
      const { lost } = await this.#ready.then(NOT_LOST, lostOrThrow);
      if (!lost && this.#channel !== undefined) return this.#channel;
      await delay(CONNECTING_WAIT_MS);
    }
    throw lostError();
  }

  /** The storage, as the host itself uses it. */
  openStore(): Promise<HostStore> {
    return RemoteStore.open({
      connection: () => this.channel(),
      changes: this.#databases,
      errors: this.#options.errors,
    });
  }

  /** Opens the connections that a new cell inherits, one for each of its leases. To be awaited before the cell is created. */
  async prepare(leases = FIRST_LEASES): Promise<void> {
    await this.channel();
    const connection = this.#connection;
    if (connection === undefined) return;
    const first = this.#nextConnection;
    this.#nextConnection += leases;
    const opening = Array.from({ length: leases }, (_, index) => connection.open(String(first + index)));
    const sockets = await Promise.all(opening).catch(async (error: unknown) => {
      for (const opened of await Promise.allSettled(opening)) if (opened.status === 'fulfilled') opened.value.destroy();
      // By then the backend process has accepted the connections announced to it, which it does not read.
      setTimeout(
        guarded(
          () => this.#released(first, leases),
          () => this.#channel?.close(),
        ),
        UNUSED_MS,
      ).unref();
      throw error;
    });
    const connections = { first, sockets };
    this.#prepared.push(connections);
    setTimeout(
      guarded(() => this.#dropUnused(connections)),
      UNUSED_MS,
    ).unref();
  }

  /** Registers a function. Its calls are answered when `ready` of the answer has resolved. */
  bind(
    record: Omit<RemoteFunction['record'], 'key'>,
    parts: Pick<RemoteFunction, 'services' | 'checkUrl'>,
  ): RemoteFunction {
    const key = this.#nextFunction++;
    return new RemoteFunction({ ...record, key }, parts, this, async fn => {
      const channel = await this.channel();
      this.#functions.set(key, fn);
      await this.#register(channel, fn);
    });
  }

  accountEnds(account: string): void {
    this.#channel?.signal(0, ApplicationSignal.AccountEnds, account);
  }

  /** The names that functions answer have changed. Sent before the next invocation begins, or a little later: many functions may be loaded in a row. */
  namesChanged(): void {
    this.#namesTimer ??= setTimeout(this.#sendNames, NAMES_AFTER_MS).unref();
  }

  readonly #sendNames = guarded(
    (): void => {
      clearTimeout(this.#namesTimer);
      this.#namesTimer = undefined;
      this.#channel?.signal(0, ApplicationSignal.Names, JSON.stringify(this.#options.names()));
    },
    // Another one has everything sent again.
    () => this.#channel?.close(),
  );

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#namesTimer);
    for (const connections of this.#prepared.splice(0)) this.#drop(connections);
    if (this.#channel !== undefined) leave(this.#channel);
    await this.#process.close();
  }

  // --- CellServices ---

  take(): CellConnections {
    const connections = this.#prepared.shift();
    if (connections === undefined) throw new EdgeError('EDGE_SERVICES_LOST', 'The backend process has just ended');
    return connections;
  }

  release({ first, sockets }: Parameters<CellServices['release']>[0]): void {
    this.#released(first, sockets.length);
  }

  #released(first: number, count: number): void {
    this.#channel?.signal(0, ApplicationSignal.Gone, pair(first, count));
  }

  #dropUnused(connections: CellConnections): void {
    const at = this.#prepared.indexOf(connections);
    if (at < 0) return;
    this.#prepared.splice(at, 1);
    this.#drop(connections);
  }

  #drop(connections: CellConnections): void {
    guardedEach(connections.sockets, socket => socket.destroy());
    this.release(connections);
  }

  // --- ServicesLine ---

  news(connection: number, invocation: number, news: News): boolean {
    if (this.#channel === undefined) return false;
    if (this.#namesTimer !== undefined) this.#sendNames();
    this.#record.writeUInt32LE(connection, 0);
    this.#record.writeUInt32LE(invocation, 4);
    this.#record.writeUInt8(news, 8);
    this.#channel.signal(0, ApplicationSignal.Invocations, this.#record);
    return true;
  }

  belongs(connection: number, invocation: number, owner: InvocationAddress): void {
    this.#channel?.signal(
      0,
      ApplicationSignal.Belongs,
      Buffer.concat([pair(connection, invocation), pair(owner.connection, owner.invocation)]),
    );
  }

  attach(connection: number, fn: RemoteFunction, isolate: IsolateHandle): void {
    this.#isolates.set(connection, isolate);
    isolate.whenGone(() => {
      this.#isolates.delete(connection);
    });
    const channel = this.#channel;
    isolate.spliceLine = spliceLine(channel, connection);
    isolate.reconnect = exchange => {
      this.#reconnect(isolate, fn, channel, exchange).catch(() => exchange.fail(SERVICES_LOST_REASON));
    };
    this.#channel?.signal(0, ApplicationSignal.Attach, pair(connection, fn.record.key));
  }

  /** The isolate has lost its connection to the process at the other end of `lost`: it is given one to the next process. */
  async #reconnect(
    isolate: IsolateHandle,
    fn: RemoteFunction,
    lost: Channel | undefined,
    exchange: Exchange,
  ): Promise<void> {
    // It may have seen the end of the process before; or it has closed the connection itself, and gets no other one.
    for (let round = 0; this.#channel === lost && round < CONNECTING_ROUNDS; round++) await delay(CONNECTING_WAIT_MS);
    if (this.#channel === lost) throw lostError();
    await this.channel();
    const connection = this.#connection;
    if (connection === undefined || this.#functions.get(fn.record.key) !== fn) throw lostError();
    await this.#registered.get(fn.record.key);
    const number = this.#nextConnection++;
    const socket = await connection.open(String(number));
    if (connection !== this.#connection || !isolate.isUsable || exchange.isFinished) {
      socket.destroy();
      throw lostError();
    }
    isolate.calls = number;
    this.attach(number, fn, isolate);
    carry(exchange, socket);
  }

  begun(connection: number, invocation: number, caller: RemoteCaller): void {
    this.#callers.set(keyOf(connection, invocation), caller);
  }

  over(connection: number, invocation: number): void {
    this.#ending.add(keyOf(connection, invocation));
  }

  /** Resolves when the totals are here of all invocations that were over before the call. */
  settled(): Promise<void> {
    if (this.#ending.size === 0) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push({ left: new Set(this.#ending), resolve }));
  }

  #ended(key: number): void {
    if (!this.#ending.delete(key) || this.#waiting.length === 0) return;
    for (const { left } of this.#waiting) left.delete(key);
    const done = this.#waiting.filter(({ left }) => left.size === 0);
    this.#waiting = this.#waiting.filter(({ left }) => left.size > 0);
    for (const { resolve } of done) resolve();
  }

  forget(fn: RemoteFunction): void {
    this.#functions.delete(fn.record.key);
    this.#registered.delete(fn.record.key);
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(fn.record.key);
    this.#channel?.signal(0, ApplicationSignal.Forget, payload);
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    if (kind === ServicesOpens.Splice) {
      const [connection, invocation] = head.split('\n');
      const isolate = this.#isolates.get(Number(connection));
      if (isolate === undefined) exchange.fail('The isolate has ended');
      else isolate.spliced(Number(invocation), exchange);
    } else if (kind === ServicesOpens.AccountChanged) {
      detached(this.#follow(exchange, head), () => exchange.fail('The application could not follow'));
    } else if (kind === ServicesOpens.RemovalLeft) detached(this.#takeRemoval(exchange, head));
    else if (this.#here.answers(kind)) this.#here.answer(exchange, kind, head, body, isComplete, this.#beginSpan);
    else exchange.fail('Not supported');
  }

  onSignal(_id: number, kind: number, payload: Buffer): void {
    switch (kind) {
      case ServicesSignal.Asks:
        this.#asked(payload.readUInt32LE(0), payload.readUInt32LE(4));
        return;
      case ServicesSignal.Charged:
        this.#callers
          .get(keyOf(payload.readUInt32LE(0), payload.readUInt32LE(4)))
          ?.charge(payload.readUInt32LE(8) / 1000);
        return;
      case ServicesSignal.Totals:
        this.#totals(payload);
        return;
      case ServicesSignal.Stuck: {
        const text = payload.toString('utf8');
        const at = text.indexOf('\n');
        this.#options.onStuck(text.slice(0, at), text.slice(at + 1));
        return;
      }
      case ServicesSignal.Broken:
        this.#isolates.get(payload.readUInt32LE(0))?.broke(payload.toString('utf8', 4));
        return;
      case ServicesSignal.TraceEnds:
        this.#endSpan(payload.toString('utf8'));
        return;
      case ServicesSignal.DatabaseChanged: {
        const { name, keys } = parseDatabaseChange(payload.toString('utf8'));
        this.#databases.changed(name, keys);
        return;
      }
      case ServicesSignal.Notice:
        this.#noticed(parseNotice(payload.toString('utf8')));
        return;
      default:
    }
  }

  #noticed({ warning, sqlSandbox }: Notice): void {
    if (sqlSandbox !== undefined) this.#options.onSqlSandbox(sqlSandbox as SandboxState); // of the same version
    if (warning === undefined) return;
    const { code, message } = warning;
    this.#options.onWarning(new EdgeError(isEdgeErrorCode(code) ? code : 'EDGE_INTERNAL', message));
  }

  onClose(): void {
    this.#channel = undefined;
    this.#connection = undefined;
    guardedEach(this.#prepared.splice(0), connections => this.#drop(connections));
    const callers = [...this.#callers.values()];
    this.#callers.clear();
    guardedEach(this.#spans.values(), ({ trace }) => trace.end(new Error('The backend process has ended'), null));
    this.#spans.clear();
    guardedEach(callers, caller => caller.onTotals(undefined));
    guardedEach(
      new Set(this.#isolates.values()),
      isolate => isolate.servicesLost(),
      isolate => isolate.end(),
    );
    guardedEach([...this.#ending], key => this.#ended(key));
    if (!this.#isClosed) this.#options.onLost();
  }

  #connected(connection: ServicesConnection): void {
    this.#connection = connection;
    const channel = new Channel(socketTransport(connection.control, false), 'host', this, CONNECTION_BOUNDS);
    this.#channel = channel;
    this.#ready = this.#greet(channel);
    this.#ready.catch(() => {});
    this.#sendNames();
    this.#registered.clear();
    for (const [key, fn] of this.#functions) {
      const registered = this.#register(channel, fn);
      registered.catch(() => {});
      this.#registered.set(key, registered);
    }
    if (this.#wasConnected) this.#databases.missed();
    this.#wasConnected = true;
  }

  async #greet(channel: Channel): Promise<void> {
    const hello: ApplicationHello = { ...this.#options.hello(), seenChange: this.#seenChange };
    const packet = packValue(hello);
    const { head: missed } = await forward(channel, ApplicationOpens.Hello, packet.head, packet.body);
    const { changes, last, isPartial } = parseMissedChanges(missed);
    // Nothing is called over this connection before: what an account does that is gone would count to the next one of its id.
    for (const { change } of changes) detached(this.#options.follow(change));
    this.#seenChange = last;
    if (isPartial) this.#options.onWarning(new EdgeError('EDGE_SERVICES_LOST', MISSED));
  }

  async #follow(exchange: Exchange, head: string): Promise<void> {
    const { number, change, isOwn } = parseToldChange(head);
    // The missed calls come first.
    await Promise.allSettled([this.#ready]);
    this.#seenChange = number;
    // Options are followed in one order by all; an account that was removed here may be there again.
    if (!isOwn || 'update' in change) await this.#options.follow(change);
    exchange.reply(200, '', true, null, true);
  }

  async #takeRemoval(exchange: Exchange, head: string): Promise<void> {
    try {
      await this.#options.takeRemoval(JSON.parse(head));
      exchange.reply(200, '', true, null, true);
    } catch (error) {
      exchange.fail(failureText(error));
    }
  }

  async #countRedirect(connection: number, invocation: number, hop: number): Promise<void> {
    if (this.#channel === undefined) throw lostError();
    await forward(this.#channel, ApplicationOpens.Redirect, `${connection}\n${invocation}\n${hop}`, null);
  }

  /** Resolves when its bindings can be used. */
  async #register(channel: Channel, fn: RemoteFunction): Promise<void> {
    const { head, body } = packValue(fn.record);
    await forward(channel, ApplicationOpens.Function, head, body, undefined, this.#options.errors);
  }

  #asked(connection: number, invocation: number): void {
    const port = this.#isolates.get(connection)?.find(invocation);
    if (port?.onServicesAsk?.() === true) return;
    this.news(connection, invocation, News.Unknown);
  }

  #totals(payload: Buffer): void {
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

  readonly #beginSpan = (trace: CallTrace, caller: RemoteCaller): number => {
    const span = this.#nextSpan++;
    this.#spans.set(span, { trace, caller });
    return span;
  };

  /** Calls that the invocation has left alone end with it. */
  #endSpansOf(caller: RemoteCaller): void {
    for (const [span, { trace, caller: of }] of this.#spans) {
      if (of !== caller) continue;
      this.#spans.delete(span);
      trace.end(new Error('The invocation is over'), null);
    }
  }

  #endSpan(text: string): void {
    const { span, failure, status }: { span: number; failure: string | null; status: number | null } = JSON.parse(text);
    const begun = this.#spans.get(span);
    this.#spans.delete(span);
    begun?.trace.end(failure ?? undefined, status === null ? null : { status });
  }
}

/** Over the control connection of one backend process: the next process knows nothing of the isolate's connection to this one. */
function spliceLine(channel: Channel | undefined, connection: number): SpliceLine {
  return {
    get isConnected() {
      return channel?.isClosed === false;
    },
    open: (call, listener) =>
      channel?.isClosed === false
        ? channel.open(ApplicationOpens.Splice, `${connection}\n${call}`, true, null, false, listener)
        : undefined,
  };
}

function lostError(): EdgeError {
  return new EdgeError('EDGE_SERVICES_LOST', 'The backend process has ended');
}
