/**
 * An isolate that passes a body on between two processes, and the three connections between them, whose wires the test carries one by one: nothing else
 * decides which frame comes first.
 */
import { BodyPipe, type PipeSource, type PipeTarget } from '../../src/isolate/body-pipe.js';
import { CrossSplices } from '../../src/protocol/bodies/cross-splice.js';
import { Channel, type ChannelOwner } from '../../src/protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../src/protocol/exchange.js';
import { SignalKind } from '../../src/protocol/messages.js';
import type { TransportReader } from '../../src/protocol/transports/transport.js';
import { SILENT_TRANSPORT } from './silent-transport.js';

/** The side that opens the exchange of the source: the process that sends, or the isolate, to whose call it is the answer. */
export type Direction = 'upload' | 'download';

export const WIRES = [
  'senderToIsolate',
  'isolateToSender',
  'isolateToReceiver',
  'receiverToIsolate',
  'senderToReceiver',
  'receiverToSender',
] as const;
export type WireName = (typeof WIRES)[number];

/** One direction of a connection: what was written waits until it is carried over. */
class Wire {
  readonly #parts: Buffer[] = [];
  reader: TransportReader | undefined;

  write(parts: readonly Buffer[]): void {
    this.#parts.push(Buffer.concat(parts));
  }

  carry(): boolean {
    const part = this.#parts.shift();
    if (part !== undefined) this.reader?.onRead(part);
    return part !== undefined;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }
}

const LISTENER: ExchangeListener = { onReply() {}, onData() {}, onCredit() {}, onSent() {}, onStop() {}, onFail() {} };

/** The host realm's end of the pipe, as GuestExchange is one. */
class PipedExchange implements PipeSource, PipeTarget, ExchangeListener {
  readonly exchange: Exchange;
  pipe: BodyPipe | undefined;
  readonly #isSource: boolean;

  constructor(exchange: Exchange, isSource: boolean) {
    this.exchange = exchange;
    this.#isSource = isSource;
    exchange.listener = this;
  }

  onPipedOut(): void {}
  onPipedIn(): void {}
  noteRead(): void {}
  failOutgoing(reason: string): void {
    this.exchange.fail(reason);
  }

  onReply(): void {}
  onSent(): void {}
  onData(): void {
    if (this.#isSource) this.pipe?.pump();
  }
  onCredit(): void {
    if (!this.#isSource) this.pipe?.pump();
  }
  onStop(reason: string): void {
    if (!this.#isSource) this.pipe?.stop(reason);
  }
  onFail(reason: string): void {
    if (this.#isSource) this.pipe?.pump();
    else this.pipe?.stop(reason);
  }
}

export class ThreeProcesses {
  readonly wires: Readonly<Record<WireName, Wire>> = {
    senderToIsolate: new Wire(),
    isolateToSender: new Wire(),
    isolateToReceiver: new Wire(),
    receiverToIsolate: new Wire(),
    senderToReceiver: new Wire(),
    receiverToSender: new Wire(),
  };
  /** The texts of protocol errors. */
  readonly errors: string[] = [];
  /** The body, at the process that sends it. */
  readonly source: Exchange;
  /** The same, at the process that receives it. */
  readonly target: Exchange;
  readonly receiving: CrossSplices;
  /** Bodies that came from the other process and are over. */
  readonly over: number[] = [];
  readonly #channels: Channel[] = [];
  readonly #pipe: BodyPipe;
  readonly #isolateSource: PipedExchange;
  readonly #isolateTarget: PipedExchange;

  constructor(direction: Direction) {
    const opened: { source?: Exchange; target?: Exchange } = {};
    const splices: { from?: CrossSplices; to?: CrossSplices } = {};
    const control = this.#channel('host', 'senderToReceiver', 'receiverToSender', {});
    this.#channel('isolate', 'receiverToSender', 'senderToReceiver', {
      onOpen: (exchange, _kind, head) => splices.to?.arrived(Number(head), exchange),
      onClose: () => splices.to?.lose(),
    });
    const sender = this.#channel('host', 'senderToIsolate', 'isolateToSender', {
      onOpen: exchange => {
        opened.source = exchange;
      },
      onSignal: (id, kind, payload) => {
        if (kind === SignalKind.SpliceFrom) splices.from?.from(id, payload.readUInt32LE(0));
      },
    });
    const receiver = this.#channel('host', 'receiverToIsolate', 'isolateToReceiver', {
      onOpen: exchange => {
        opened.target = exchange;
      },
      onSignal: (id, kind) => {
        if (kind === SignalKind.SpliceTo) splices.to?.to(id);
      },
    });
    const isolateSender = this.#channel('isolate', 'isolateToSender', 'senderToIsolate', {
      onOpen: exchange => {
        opened.source = exchange;
      },
    });
    const isolateReceiver = this.#channel('isolate', 'isolateToReceiver', 'receiverToIsolate', {
      onOpen: exchange => {
        opened.target = exchange;
      },
    });
    const options = { share: () => undefined, mayOpen: () => false };
    splices.from = new CrossSplices({
      ...options,
      find: id => sender.find(id),
      open: (target, listener) => control.open(1, String(target), true, null, false, listener),
      onOver: () => {},
    });
    this.receiving = new CrossSplices({
      ...options,
      find: id => receiver.find(id),
      open: () => undefined,
      isConnected: () => !control.isClosed,
      onOver: id => this.over.push(id),
    });
    splices.to = this.receiving;
    const isUpload = direction === 'upload';
    const ownSource = (isUpload ? sender : isolateSender).open(1, '', true, null, false, LISTENER);
    const ownTarget = (isUpload ? isolateReceiver : receiver).open(1, '', true, null, false, LISTENER);
    this.carryAll();
    const { source: otherSource, target: otherTarget } = opened;
    if (otherSource === undefined || otherTarget === undefined) throw new Error('Nothing was opened');
    this.source = isUpload ? ownSource : otherSource;
    this.target = isUpload ? otherTarget : ownTarget;
    this.source.listener = LISTENER;
    this.target.listener = LISTENER;
    this.#isolateSource = new PipedExchange(isUpload ? otherSource : ownSource, true);
    this.#isolateTarget = new PipedExchange(isUpload ? ownTarget : otherTarget, false);
    if (!isUpload) {
      otherSource.reply(200, '', true, null, false);
      otherTarget.reply(200, '', true, null, false);
      this.carryAll();
    }
    this.#pipe = new BodyPipe(this.#isolateSource, this.#isolateTarget);
    this.#isolateSource.pipe = this.#pipe;
    this.#isolateTarget.pipe = this.#pipe;
    this.#flush();
  }

  /** Moves the oldest write of one wire. False when there is none. */
  carry(name: WireName): boolean {
    const carried = this.wires[name].carry();
    this.#flush();
    return carried;
  }

  /** Moves all that there is, and what comes of it, but for what the held wires have. `step` runs between. */
  carryAll(held: readonly WireName[] = [], step: () => void = () => {}): void {
    for (let isMoving = true; isMoving; ) {
      step();
      this.#flush();
      isMoving = false;
      for (const name of WIRES) if (!held.includes(name) && this.carry(name)) isMoving = true;
    }
  }

  /** Writes the next piece of `bytes` when the source takes one, and the end; answers how much was written of them. */
  write(bytes: Buffer, from: number, pieceBytes: number): number {
    if (this.source.isOutgoingOver || this.source.credit <= 0) return from;
    const piece = bytes.subarray(from, from + pieceBytes);
    this.source.write(piece);
    if (from + piece.length === bytes.length) this.source.end();
    this.#flush();
    return from + piece.length;
  }

  /** The isolate gives the body up. */
  abort(): void {
    this.#isolateTarget.exchange.fail('given up');
    this.#pipe.stop('given up');
    this.#flush();
  }

  /** The connection between the two processes ends; what is on its way there is lost. */
  cut(): void {
    for (const name of ['senderToReceiver', 'receiverToSender'] as const) {
      const { reader } = this.wires[name];
      this.wires[name].reader = undefined;
      reader?.onClose();
    }
    this.#flush();
  }

  #channel(side: 'host' | 'isolate', out: WireName, back: WireName, owner: Partial<ChannelOwner>): Channel {
    const transport = {
      ...SILENT_TRANSPORT,
      start: (reader: TransportReader) => {
        this.wires[back].reader = reader;
      },
      write: (parts: readonly Buffer[]) => this.wires[out].write(parts),
    };
    const channel = new Channel(transport, side, {
      onOpen() {},
      onSignal() {},
      ...owner,
      onClose: error => {
        if (error !== undefined) this.errors.push(error.message);
        owner.onClose?.(error);
      },
    });
    this.#channels.push(channel);
    return channel;
  }

  #flush(): void {
    for (const channel of this.#channels) channel.flushNow();
  }
}
