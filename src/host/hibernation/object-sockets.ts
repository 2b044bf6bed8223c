/** The sleeping WebSockets of one stateful object, and the events that begin when something happens to them. */

import { SOCKET_LIMITS, type SocketEventHead } from '../../bindings/objects/socket-wire.js';
import type { ObjectEventHead } from '../../bindings/objects/wire.js';
import type { BridgeWork } from '../../bindings/websocket/bridge-owner.js';
import { CloseCode } from '../../bindings/websocket/wire.js';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { type SleepingSocket, type SleepingSocketEvent, textRecord } from './hibernatable-socket.js';
import type { SleepingObject, SocketEventStart, SocketGroup, SocketKeeper } from './keeper.js';

export interface AutoResponse {
  readonly request: string;
  readonly response: string;
}

/** Events of one object that run at once. */
const MAX_RUNNING = 256;
/** An object that has too much to do is tried again after this time, this many times. */
const RETRY_MS = 50;
const MAX_RETRIES = 200;
/** The sockets of which one event says that the host has answered them. */
const MAX_TOLD = 1000;
const GOING_AWAY: ReadonlySet<string> = new Set(['EDGE_FUNCTION_UNLOADED', 'EDGE_ACCOUNT_REMOVED', 'EDGE_CLOSED']);

export class ObjectSockets implements SocketKeeper<SleepingSocket> {
  readonly name: SleepingObject;
  readonly #group: SocketGroup;
  readonly #sockets = new Map<number, SleepingSocket>();
  #auto: (AutoResponse & { readonly request8: Buffer; readonly record: Buffer }) | undefined;
  /** How long an event may take; 0: as any event. */
  eventTimeoutMs = 0;
  /** Sockets with events that wait, once for each. */
  #queue: SleepingSocket[] = [];
  #first = 0;
  #running = 0;
  /** The next event waits for the start of the one before: they begin in their order. */
  #isStarting = false;
  #retries = 0;
  #retry: NodeJS.Timeout | undefined;
  /** When the host has answered each socket, for the sockets that were answered since the last event. */
  readonly #answered = new Map<number, number>();
  /** In-flight calls of the object, in their order. */
  #calls: Promise<void> | undefined;

  constructor(name: SleepingObject, group: SocketGroup) {
    this.name = name;
    this.#group = group;
  }

  get sockets(): ReadonlyMap<number, SleepingSocket> {
    return this.#sockets;
  }

  get autoResponse(): AutoResponse | undefined {
    return this.#auto;
  }

  set autoResponse(value: AutoResponse | undefined) {
    this.count(sizeOf(value) - sizeOf(this.#auto));
    this.#auto = value && { ...value, request8: Buffer.from(value.request), record: textRecord(value.response) };
  }

  get maxMessageBytes(): number {
    return this.#group.runner.context.limits.webSocketMessageBytes;
  }

  get share(): HostShare {
    return this.#group.runner.context.share;
  }

  /** The host's work for its connections. */
  get work(): BridgeWork {
    return this.#group.work;
  }

  /** Counts bytes to the account. */
  count(bytes: number): void {
    this.#group.count(bytes);
  }

  /** Calls are done one after the other, in the order in which they came. */
  inOrder(isWhole: boolean, task: () => Promise<void> | void): Promise<void> | void {
    if (isWhole && this.#calls === undefined) return task();
    const done = (this.#calls ?? Promise.resolve()).then(task);
    const settled = done
      .catch(() => {})
      .then(() => {
        if (this.#calls === settled) this.#calls = undefined;
        this.#forgetIfEmpty();
      });
    this.#calls = settled;
    return done;
  }

  // --- sockets ---

  /** @throws EdgeError EDGE_OVERLOADED, TypeError for a number that is taken */
  add(socket: SleepingSocket): void {
    if (this.#sockets.has(socket.id)) throw new TypeError('The WebSocket has been accepted before');
    if (this.#sockets.size >= SOCKET_LIMITS.sockets) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot accept the WebSocket: the object has ${this.#sockets.size}, at most ${SOCKET_LIMITS.sockets} are allowed`,
      );
    }
    this.#group.added(socket);
    this.#sockets.set(socket.id, socket);
  }

  remove(socket: SleepingSocket): void {
    if (this.#sockets.get(socket.id) !== socket) return;
    socket.attachment = undefined;
    this.#sockets.delete(socket.id);
    this.#answered.delete(socket.id);
    this.#group.removed(socket);
    this.#forgetIfEmpty();
  }

  #forgetIfEmpty(): void {
    if (this.#sockets.size > 0 || this.#calls !== undefined) return;
    this.autoResponse = undefined;
    this.#group.forget(this.name);
  }

  forgetIfUnused(): void {
    this.#forgetIfEmpty();
  }

  /** The function is gone. */
  end(error: EdgeError): void {
    clearTimeout(this.#retry);
    this.#queue = [];
    this.#first = 0;
    for (const socket of [...this.#sockets.values()]) this.#close(socket, error);
  }

  #close(socket: SleepingSocket, error: unknown): void {
    const code = errorCode(error) ?? '';
    const isBusy = code === 'EDGE_OVERLOADED' || code === 'EDGE_TIMEOUT';
    socket.forget(GOING_AWAY.has(code) ? CloseCode.GoingAway : isBusy ? CloseCode.TryAgain : CloseCode.Internal, code);
    this.remove(socket);
  }

  // --- answers of the host ---

  /** The record with which the host itself answers a text. */
  responseTo(text: Buffer): Buffer | undefined {
    const auto = this.#auto;
    if (auto === undefined || !text.equals(auto.request8)) return undefined;
    this.#group.charge(ANSWER_MS);
    return auto.record;
  }

  answered({ id, answeredMs }: SleepingSocket): void {
    this.#answered.set(id, answeredMs);
  }

  /** The part of an event's head about the sockets of the object. */
  lead(): Pick<ObjectEventHead, 'w' | 'a'> {
    if (this.#sockets.size === 0) return {};
    if (this.#answered.size === 0) return HAS_SOCKETS;
    const told: [number, number][] = [];
    for (const entry of this.#answered) {
      if (told.length === MAX_TOLD) break;
      this.#answered.delete(entry[0]);
      told.push(entry);
    }
    return { w: 1, a: told };
  }

  // --- events ---

  /** An event of the socket waits. */
  waits(socket: SleepingSocket): void {
    this.#queue.push(socket);
    this.#pump();
  }

  #pump(): void {
    while (this.#running < MAX_RUNNING && !this.#isStarting && this.#retry === undefined) {
      const socket = this.#queue[this.#first];
      if (socket === undefined) return;
      if (++this.#first > 1024 || this.#first === this.#queue.length) {
        this.#queue = this.#queue.slice(this.#first);
        this.#first = 0;
      }
      const event = socket.next();
      if (event !== undefined) this.#start(socket, event);
    }
  }

  #start(socket: SleepingSocket, event: SleepingSocketEvent): void {
    this.#running++;
    const over = (): void => {
      this.#running--;
      socket.over(event);
      this.#pump();
    };
    const failed = (error: unknown): void => {
      this.#running--;
      this.#notStarted(socket, event, error);
      this.#pump();
    };
    try {
      const begun = this.#group.runner.beginSocketEvent(this.name, startOf(socket, event, this.eventTimeoutMs), over);
      if (begun === undefined) {
        this.#retries = 0;
        return;
      }
      this.#isStarting = true;
      begun.then(
        () => {
          this.#isStarting = false;
          this.#retries = 0;
          this.#pump();
        },
        (error: unknown) => {
          this.#isStarting = false;
          failed(error);
        },
      );
    } catch (error) {
      failed(error);
    }
  }

  #notStarted(socket: SleepingSocket, event: SleepingSocketEvent, error: unknown): void {
    if (errorCode(error) === 'EDGE_OVERLOADED' && this.#retries < MAX_RETRIES) {
      this.#retries++;
      socket.putBack(event);
      this.#queue = [socket, ...this.#queue.slice(this.#first)];
      this.#first = 0;
      this.#retry = setTimeout(
        guarded(() => {
          this.#retry = undefined;
          this.#pump();
        }),
        RETRY_MS,
      );
      this.#retry.unref();
      return;
    }
    socket.over(event);
    if (this.#sockets.has(socket.id)) this.#close(socket, error);
  }
}

const HAS_SOCKETS = { w: 1 } as const;
/** To compare a message with the request, and to answer it. */
const ANSWER_MS = 0.01;

function startOf(
  { id }: SleepingSocket,
  { kind, data, code, reason }: SleepingSocketEvent,
  eventTimeoutMs: number,
): SocketEventStart {
  const head: SocketEventHead = {
    s: id,
    ...(code !== undefined && { c: code }),
    ...(reason !== undefined && { r: reason }),
  };
  return {
    head: kind + JSON.stringify(head),
    body: data !== null && data.length > 0 ? data : null,
    timeoutMs: eventTimeoutMs === 0 ? undefined : eventTimeoutMs,
  };
}

function sizeOf(auto: AutoResponse | undefined): number {
  return auto === undefined ? 0 : (auto.request.length + auto.response.length) * 4 + 256;
}
