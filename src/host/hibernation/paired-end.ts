/**
 * A hibernatable WebSocket whose other end is in this host: code of a function, or of the application. Each end
 * takes messages of the other one at once, and keeps them until they are read.
 */

import type { BridgeOwner, BridgeWork, MessageOwner } from '../../bindings/websocket/bridge-owner.js';
import { MessageParts } from '../../bindings/websocket/message-parts.js';
import type { OutgoingBridge } from '../../bindings/websocket/outgoing-link.js';
import { closeRecord, lostRecord, RecordReader } from '../../bindings/websocket/record-codec.js';
import { CloseCode, RecordKind } from '../../bindings/websocket/wire.js';
import type { SocketEnd } from './socket-end.js';

export class PairedEnd implements SocketEnd {
  /** The bridge of the other end. */
  readonly far: OutgoingBridge;
  readonly #near: MessageOwner;
  readonly #owner: BridgeOwner;
  readonly #maxMessageBytes: number;
  /** Reads the messages that the object sends. They are checked like the messages of any isolate. */
  readonly #reader: RecordReader;
  #isOver = false;
  #isBlocked = false;
  /** The parts of an unfinished message of the far end. */
  readonly #parts: MessageParts;

  /** @param near the object's @param owner the far end's @param work whom it is counted to */
  constructor(
    near: MessageOwner,
    owner: BridgeOwner,
    work: Pick<BridgeWork, 'owner' | 'countBytes'>,
    maxMessageBytes: number,
  ) {
    this.#near = near;
    this.#owner = owner;
    this.#parts = new MessageParts(work.owner, bytes => work.countBytes(bytes));
    this.#maxMessageBytes = maxMessageBytes;
    this.#reader = new RecordReader(maxMessageBytes, {
      message: () => {},
      close: (code, reason) => this.#over(code === 0 ? CloseCode.None : code, reason, ''),
    });
    this.far = this.#createFar();
  }

  #createFar(): OutgoingBridge {
    const reader = new RecordReader(this.#maxMessageBytes, {
      message: (part, isBinary, isLast) => this.#received(part, isBinary, isLast),
      close: (code, reason) => this.#over(code === 0 ? CloseCode.None : code, reason, ''),
    });
    return {
      receive: bytes => {
        if (this.#isOver) return true;
        try {
          reader.read(bytes);
        } catch (error) {
          this.#over(CloseCode.Lost, '', error instanceof Error ? error.message : 'What was sent is no message');
          throw error;
        }
        return !this.#isBlocked;
      },
      resume: () => {},
      deafen: () => {},
      end: (code, reason) => this.#over(code, reason, ''),
    };
  }

  #received(part: Buffer, isBinary: boolean, isLast: boolean): void {
    if (this.#isOver) return;
    if (isLast) {
      if (!this.#near.message(this.#parts.whole(part), isBinary)) this.#isBlocked = true;
    } else if (!this.#parts.keep(part))
      this.#over(CloseCode.Lost, '', 'The account holds too much of messages that are not whole');
  }

  // --- SocketEnd ---

  receive(record: Buffer): boolean {
    if (this.#isOver) return true;
    const kind = record.readUInt8(0);
    this.#reader.read(record);
    // The close of the other end is answered by this one.
    if (kind === RecordKind.Text || kind === RecordKind.Binary) this.#owner.records(record, 1);
    return true;
  }

  /** Always 0: the reader keeps the bytes that it has not read. */
  get unsentBytes(): number {
    return 0;
  }

  resume(): void {
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    this.#owner.drained();
  }

  end(code: number, reason: string): void {
    this.#over(code === 0 ? CloseCode.GoingAway : code, reason, '');
  }

  drop(why: string): void {
    this.#over(CloseCode.Lost, '', why);
  }

  /** Both ends learn of it. */
  #over(code: number, reason: string, failure: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.drop();
    const isClean = code !== CloseCode.Lost;
    this.#owner.records(
      isClean ? closeRecord(code === CloseCode.None ? 0 : code, Buffer.from(reason)) : lostRecord(failure),
      0,
    );
    this.#owner.closed(isClean);
    this.#near.ended(code, reason, failure);
  }
}
