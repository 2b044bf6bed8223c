/**
 * The messages of a socket, one by one: each is an event of its own, with a turn of its own. So microtasks run between them, other invocations get their turns,
 * and each restarts its CPU time. The host has written the records, so their form is known.
 */
import { MAX_CLOSE_BYTES, MAX_LOST_BYTES, RECORD_HEAD_BYTES, RecordKind } from '../../bindings/websocket/wire.js';
import type { Exchange } from '../../protocol/exchange.js';
import { copyOut, guestByteLength } from './arguments.js';
import { Ev } from './table.js';

/** Up to this length a message is delivered when all of it is there: half of the first window of a body. */
const WHOLE_BYTES = 32 * 1024;
const MAX_READ_BYTES = 512 * 1024 * 1024;

export type SocketMessageEvent = readonly [
  Ev.SocketMessage,
  exchange: number,
  kind: RecordKind,
  size: number,
  text?: string,
];

export interface MessageReaderOwner {
  /** @param isMessage of the other end, and no end of the connection */
  onEvent(event: SocketMessageEvent, isMessage: boolean): void;
  /** There is more of the message whose bytes are being read. */
  onMore(): void;
  /** Nothing more comes. */
  onEnd(): void;
}

export class MessageReader {
  readonly #exchange: Exchange;
  readonly #owner: MessageReaderOwner;
  readonly #head = Buffer.alloc(RECORD_HEAD_BYTES);
  #headBytes = 0;
  /** The guest waits for the next message. */
  #isWanted = false;
  /** The guest waits for more of the announced message. */
  #isMoreWanted = false;
  /** The bytes of that message that were not read. */
  #leftBytes = 0;
  #isOver = false;

  constructor(exchange: Exchange, owner: MessageReaderOwner) {
    this.#exchange = exchange;
    this.#owner = owner;
  }

  /** The next message is wanted: an event follows. The rest of the message before is dropped. */
  next(): void {
    this.#isWanted = true;
    this.#look();
  }

  /** Bytes of the message, copied into the guest's array; 0 when none have arrived, and Ev.Data follows. */
  read(target: unknown): number {
    const room = Math.min(guestByteLength(target, MAX_READ_BYTES), this.#leftBytes);
    let at = 0;
    while (at < room) {
      const piece = this.#exchange.read(room - at);
      if (piece === undefined) break;
      copyOut(target, piece, at);
      at += piece.length;
    }
    this.#leftBytes -= at;
    this.#isMoreWanted = at === 0;
    return at;
  }

  /** More has come, or the body has ended or failed. */
  onData(): void {
    if (this.#isWanted) this.#look();
    else if (this.#isMoreWanted) {
      this.#isMoreWanted = false;
      if (this.#exchange.incoming === 'open') this.#owner.onMore();
      else this.#lost();
    }
  }

  #look(): void {
    if (this.#isOver) return;
    const exchange = this.#exchange;
    while (this.#leftBytes > 0) {
      const dropped = exchange.read(this.#leftBytes);
      if (dropped === undefined) break;
      this.#leftBytes -= dropped.length;
    }
    if (exchange.incoming === 'failed' || (this.#leftBytes === 0 && !this.#readHead())) {
      if (exchange.incoming !== 'open') this.#lost();
      return;
    }
    if (this.#leftBytes > 0) return;
    const kind = this.#head.readUInt8(0);
    const bytes = this.#head.readUInt32LE(1);
    if (bytes <= WHOLE_BYTES && exchange.queuedBytes < bytes) {
      if (exchange.incoming !== 'open') this.#lost();
      return;
    }
    this.#deliver(kind, bytes);
  }

  /** Whether the head of a record is there. */
  #readHead(): boolean {
    while (this.#headBytes < RECORD_HEAD_BYTES) {
      const piece = this.#exchange.read(RECORD_HEAD_BYTES - this.#headBytes);
      if (piece === undefined) return false;
      this.#head.set(piece, this.#headBytes);
      this.#headBytes += piece.length;
    }
    return true;
  }

  #deliver(kind: RecordKind, bytes: number): void {
    this.#headBytes = 0;
    this.#isWanted = false;
    const { id } = this.#exchange;
    switch (kind) {
      case RecordKind.Text:
        if (bytes <= WHOLE_BYTES) {
          this.#owner.onEvent([Ev.SocketMessage, id, kind, bytes, this.#take(bytes).toString('utf8')], true);
          return;
        }
        break;
      case RecordKind.Binary:
        break;
      case RecordKind.Close: {
        const payload = this.#take(Math.min(bytes, MAX_CLOSE_BYTES));
        this.#end([Ev.SocketMessage, id, kind, payload.readUInt16LE(0), payload.toString('utf8', 2)]);
        return;
      }
      default:
        this.#end([Ev.SocketMessage, id, kind, 0, this.#take(Math.min(bytes, MAX_LOST_BYTES)).toString('utf8')]);
        return;
    }
    this.#leftBytes = bytes;
    this.#owner.onEvent([Ev.SocketMessage, id, kind, bytes], true);
  }

  #take(bytes: number): Buffer {
    const whole = Buffer.allocUnsafe(bytes);
    for (let at = 0; at < bytes; ) {
      const piece = this.#exchange.read(bytes - at);
      if (piece === undefined) break;
      if (piece.length === bytes) return piece;
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  #lost(): void {
    const { id, failReason } = this.#exchange;
    this.#end([Ev.SocketMessage, id, RecordKind.Lost, 0, failReason]);
  }

  #end(event: SocketMessageEvent): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.onEvent(event, false);
    this.#owner.onEnd();
  }
}
