/**
 * A socket whose other end is outside of this realm: the two bodies of an exchange, with a message in each record (bindings/websocket/wire.ts). The host takes
 * as much as its credit allows; further messages wait here, in the memory of the isolate.
 */
import { RecordKind } from '../../bindings/websocket/wire.ts';
import { Ev, Op } from '../../isolate/ops/table.ts';
import { onEvent, op, opNumber } from '../bridge.ts';
import { HostSink, whenData } from '../host-body.ts';
import { leave, mayLeave } from '../output-gate.ts';
import {
  arrayPush,
  MapCtor,
  mapDelete,
  mapGet,
  mapSet,
  stringSplit,
  typedArrayLength,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { decodeUtf8WithBom, encodeUtf8 } from '../utf8.ts';
import { concatBytes } from '../web/base/buffers.ts';
import type { Link, LinkOwner } from './link.ts';

interface Outgoing {
  readonly kind: RecordKind;
  readonly data: string | Uint8Array;
}

const links = new MapCtor<number, HostLink>();

export class HostLink implements Link {
  readonly exchange: number;
  readonly owner: LinkOwner;
  readonly #sink: SocketSink;
  readonly #onOver: (isLost: boolean) => void;
  /** Waits for credit. */
  #queue: Outgoing[] = [];
  #isBlocked = false;
  #isStarted = false;
  #hasClosed = false;
  #isOver = false;
  /** Nothing more is sent. */
  #isSent = false;

  /** `onOver`: both directions have ended, and the owner knows. */
  constructor(exchange: number, owner: LinkOwner, onOver: (isLost: boolean) => void) {
    this.exchange = exchange;
    this.owner = owner;
    this.#onOver = onOver;
    this.#sink = new SocketSink(exchange, () => this.#credited());
    mapSet(links, exchange, this);
  }

  start(): void {
    if (this.#isStarted || this.#isOver) return;
    this.#isStarted = true;
    this.#next();
  }

  send(data: string | Uint8Array): void {
    this.#write({ kind: typeof data === 'string' ? RecordKind.Text : RecordKind.Binary, data });
  }

  close(code: number, reason: string): void {
    this.#hasClosed = true;
    const text = encodeUtf8(reason);
    const bytes = concatBytes([new Uint8ArrayCtor([code & 0xff, code >> 8]), text], 2 + typedArrayLength(text));
    this.#write({ kind: RecordKind.Close, data: bytes });
    // The answer of the other end is wanted, though nobody has asked for messages.
    this.start();
  }

  #write(record: Outgoing): void {
    if (this.#isOver) return;
    if (mayLeave()) this.#pass(record);
    else
      leave(
        () => this.#pass(record),
        () => this.#refuse(),
      );
  }

  /** The host could not store a write that came before a message: nothing more is sent. */
  #refuse(): void {
    if (this.#isSent) return;
    this.#isSent = true;
    this.#sink.fail('A write before a message was not stored');
    this.lost('A write before a message was not stored');
  }

  #pass(record: Outgoing): void {
    if (this.#isSent) return;
    if (this.#isBlocked) arrayPush(this.#queue, record);
    else this.#send(record);
  }

  #send({ kind, data }: Outgoing): void {
    try {
      const credit = opNumber(typeof data === 'string' ? Op.SocketText : Op.SocketBytes, this.exchange, kind, data);
      this.#isBlocked = credit <= 0;
    } catch {
      // Nobody reads it any more: the end of the connection is on its way.
    }
  }

  #credited(): void {
    this.#isBlocked = false;
    const queue = this.#queue;
    this.#queue = [];
    for (let i = 0; i < queue.length; i++) {
      const record = queue[i];
      if (record !== undefined) this.#pass(record);
    }
  }

  #next(): void {
    if (this.#isOver) return;
    try {
      op(Op.SocketNext, this.exchange);
    } catch {
      this.lost('The request that this belongs to is over');
    }
  }

  /** The next message, or the end. */
  received(kind: RecordKind, size: number, text: string | undefined): void {
    if (this.#isOver) return;
    if (kind === RecordKind.Close) this.#close(size, text ?? '');
    else if (kind === RecordKind.Lost) this.lost(text ?? '');
    else if (text !== undefined) {
      this.owner.onMessage(text);
      this.#next();
    } else this.#receive(kind, size);
  }

  /** A message whose bytes are to be read. Most are all there, and cost no promise. */
  #receive(kind: RecordKind, size: number): void {
    const bytes = new Uint8ArrayCtor(size);
    const at = this.#read(bytes, 0);
    if (at === size) this.#deliver(kind, bytes);
    else this.#readRest(kind, bytes, at);
  }

  async #readRest(kind: RecordKind, bytes: Uint8Array, from: number): Promise<void> {
    for (let at = from; at < typedArrayLength(bytes); at = this.#read(bytes, at)) await whenData(this.exchange);
    this.#deliver(kind, bytes);
  }

  #read(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < typedArrayLength(bytes)) {
      const read = opNumber(Op.SocketRead, this.exchange, at === 0 ? bytes : typedArraySubarray(bytes, at));
      if (read === 0) break;
      at += read;
    }
    return at;
  }

  #deliver(kind: RecordKind, bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.owner.onMessage(kind === RecordKind.Text ? decodeUtf8WithBom(bytes) : bytes);
    this.#next();
  }

  /** It is answered, with the same code, by the end that has not sent one. */
  #close(code: number, reason: string): void {
    if (!this.#hasClosed) this.close(code, '');
    this.#end();
    this.owner.onClose(code, reason);
    this.#endSending(false);
  }

  lost(reason: string): void {
    if (this.#isOver) return;
    this.#end();
    this.owner.onLost(messageOf(reason));
    this.#endSending(true);
  }

  #end(): void {
    this.#isOver = true;
    mapDelete(links, this.exchange);
    try {
      op(Op.BodyStop, this.exchange);
    } catch {
      // The exchange is over already.
    }
  }

  /** Behind everything that waits at the gate: this includes the close frame that answers the other end's. */
  #endSending(isLost: boolean): void {
    const end = (): void => {
      try {
        if (!this.#isSent) this.#sink.endNow();
      } catch {
        // The exchange is over already.
      }
      this.#isSent = true;
      this.#onOver(isLost);
    };
    leave(end, end);
  }
}

/** The outgoing body of the exchange, which is written by records. */
class SocketSink extends HostSink {
  readonly #onCredit: () => void;

  constructor(exchange: number, onCredit: () => void) {
    super(exchange);
    this.#onCredit = onCredit;
  }

  override resume(): void {
    this.#onCredit();
  }
}

/** A reason off the wire is "Name\nmessage\ncode", or plain text. */
function messageOf(reason: string): string {
  const lines = stringSplit(reason, '\n');
  return lines[1] ?? reason;
}

/** The socket of the exchange is over, if it has one. */
export function loseLink(exchange: number, reason: string): boolean {
  const link = mapGet(links, exchange);
  link?.lost(reason);
  return link !== undefined;
}

/** The exchange has ended, and nothing of the function runs for it any more. */
export function dropLink(exchange: number): void {
  mapDelete(links, exchange);
}

onEvent(Ev.SocketMessage, (exchange: number, kind: RecordKind, size: number, text: string | undefined) =>
  mapGet(links, exchange)?.received(kind, size, text),
);
