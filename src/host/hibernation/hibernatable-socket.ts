/**
 * A WebSocket that a stateful object has accepted to sleep. The host keeps it: its connection, its tags, its attachment. No isolate and no invocation is
 * held by it; what happens to it begins an event of the object.
 *
 *     pending --its connection is there--> open --the connection has ended--> closed --the object has been told--> removed
 */

import { SOCKET_EVENTS } from '../../bindings/objects/socket-wire.js';
import type { MessageOwner } from '../../bindings/websocket/bridge-owner.js';
import { RecordError, recordHead } from '../../bindings/websocket/record-codec.js';
import { CloseCode, RECORD_HEAD_BYTES, RecordKind } from '../../bindings/websocket/wire.js';
import type { SocketKeeper } from './keeper.js';
import type { SocketEnd } from './socket-end.js';

/** An event of a socket that waits for the object. */
export interface SleepingSocketEvent {
  readonly kind: (typeof SOCKET_EVENTS)[keyof typeof SOCKET_EVENTS];
  readonly data: Buffer | null;
  readonly code?: number;
  readonly reason?: string;
}

/** Messages of a socket that wait for the object, or run in it; beyond them it is not read. */
const MAX_WAITING = 16;
const MAX_WAITING_BYTES = 256 * 1024;
/** The most unsent bytes of a client when one more message arrives. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/** The memory of a waiting message beside its bytes. */
const EVENT_BYTES = 256;

export class SleepingSocket implements MessageOwner {
  readonly id: number;
  readonly object: SocketKeeper<SleepingSocket>;
  readonly tags: readonly string[];
  /** When the host has answered it last. */
  answeredMs = 0;
  #attachment: Buffer | undefined;
  #end: SocketEnd | undefined;
  /** Messages that the object has sent before the connection was there. */
  #early: Buffer[] | undefined;
  #earlyBytes = 0;
  /** Somebody brings it to where its connection is. */
  #isTaken = false;
  #isClosed = false;
  readonly #waiting: SleepingSocketEvent[] = [];
  #waitingBytes = 0;
  #running = 0;

  constructor(id: number, object: SocketKeeper<SleepingSocket>, tags: readonly string[]) {
    this.id = id;
    this.object = object;
    this.tags = tags;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get attachment(): Buffer | undefined {
    return this.#attachment;
  }

  set attachment(value: Buffer | undefined) {
    this.object.count((value?.length ?? 0) - (this.#attachment?.length ?? 0));
    this.#attachment = value;
  }

  // --- its connection ---

  get isPending(): boolean {
    return this.#end === undefined && !this.#isClosed;
  }

  /** It will be connected, or dropped, by the caller. */
  take(): void {
    this.#isTaken = true;
  }

  /** The invocation is over that was to answer with it. */
  dropUnlessTaken(): void {
    if (!this.#isTaken) this.drop();
  }

  /** It is not connected, and will not be. */
  drop(): void {
    if (this.isPending) this.ended(CloseCode.Lost, '', '');
  }

  connect(endFor: (owner: MessageOwner) => SocketEnd): void {
    this.#isTaken = true;
    if (!this.isPending) {
      // It was closed meanwhile, with all sockets of its function.
      endFor(DEAF).end(CloseCode.GoingAway, '');
      return;
    }
    const end = endFor(this);
    this.#end = end;
    for (const record of this.#takeEarly()) this.#pass(record);
    end.resume();
  }

  // --- from the object ---

  /** A record: head and payload. */
  send(record: Buffer): void {
    if (this.#isClosed) return;
    if (this.#end !== undefined) {
      this.#pass(record);
      return;
    }
    const bytes = record.length + EVENT_BYTES;
    if (this.#earlyBytes + bytes > MAX_UNSENT_BYTES) {
      this.drop();
      return;
    }
    this.#earlyBytes += bytes;
    this.object.count(bytes);
    this.#early ??= [];
    this.#early.push(record);
  }

  #pass(record: Buffer): void {
    const end = this.#end;
    if (end === undefined) return;
    if (end.unsentBytes > MAX_UNSENT_BYTES) {
      end.drop('The other end did not take what was sent to it');
      return;
    }
    try {
      end.receive(record);
    } catch (error) {
      // It has closed the connection.
      if (!(error instanceof RecordError)) throw error;
    }
  }

  /** Closes it from this side; the object is not told of its end. */
  forget(code: number, reason: string): void {
    const end = this.#end;
    this.#isClosed = true;
    this.#drain();
    end?.end(code, reason);
  }

  // --- MessageOwner ---

  message(data: Buffer, isBinary: boolean): boolean {
    if (this.#isClosed) return true;
    const response = isBinary ? undefined : this.object.responseTo(data);
    if (response !== undefined) {
      this.answeredMs = Date.now();
      this.object.answered(this);
      this.#pass(response);
      return true;
    }
    this.#push({ kind: isBinary ? SOCKET_EVENTS.binary : SOCKET_EVENTS.text, data: ownBytes(data) });
    return !this.#isFull;
  }

  ended(code: number, reason: string, failure: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#end = undefined;
    this.#takeEarly();
    if (failure !== '') this.#push({ kind: SOCKET_EVENTS.error, data: null, reason: failure });
    else this.#push({ kind: SOCKET_EVENTS.close, data: null, code, reason });
  }

  drained(): void {}

  // --- events of the object ---

  get #isFull(): boolean {
    return this.#waiting.length + this.#running >= MAX_WAITING || this.#waitingBytes > MAX_WAITING_BYTES;
  }

  /** Whether one more may begin. */
  get isReady(): boolean {
    return this.#waiting.length > 0 && this.#running < MAX_WAITING;
  }

  #push(event: SleepingSocketEvent): void {
    this.#waiting.push(event);
    const bytes = sizeOf(event);
    this.#waitingBytes += bytes;
    this.object.count(bytes);
    this.object.waits(this);
  }

  /** The next event begins. Its bytes stay counted until `over`. */
  next(): SleepingSocketEvent | undefined {
    const event = this.#waiting.shift();
    if (event !== undefined) this.#running++;
    return event;
  }

  /** It could not begin. */
  putBack(event: SleepingSocketEvent): void {
    this.#running--;
    this.#waiting.unshift(event);
  }

  over(event: SleepingSocketEvent): void {
    this.#running--;
    const bytes = sizeOf(event);
    this.#waitingBytes -= bytes;
    this.object.count(-bytes);
    if (event.kind === SOCKET_EVENTS.close || event.kind === SOCKET_EVENTS.error) this.object.remove(this);
    else if (!this.#isFull) this.#end?.resume();
  }

  /** Nothing waits any more. */
  #drain(): void {
    this.#takeEarly();
    this.#end = undefined;
    let bytes = 0;
    for (const event of this.#waiting.splice(0)) bytes += sizeOf(event);
    this.#waitingBytes -= bytes;
    this.object.count(-bytes);
  }

  #takeEarly(): readonly Buffer[] {
    const early = this.#early ?? [];
    this.#early = undefined;
    this.object.count(-this.#earlyBytes);
    this.#earlyBytes = 0;
    return early;
  }
}

const DEAF: MessageOwner = { message: () => true, ended: () => {}, drained: () => {} };

function sizeOf({ data, reason = '' }: SleepingSocketEvent): number {
  return EVENT_BYTES + (data?.length ?? 0) + reason.length * 2;
}

/** A small message may be a view of much more. */
function ownBytes(data: Buffer): Buffer {
  return data.buffer.byteLength > data.length * 2 + 1024 ? Buffer.from(data) : data;
}

/** A text as the object sends one. */
export function textRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([recordHead(RecordKind.Text, bytes.length), bytes], RECORD_HEAD_BYTES + bytes.length);
}
