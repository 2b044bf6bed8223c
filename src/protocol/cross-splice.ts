/**
 * A splice of two bodies whose ends are in two processes: the rest of a body that one of them sends to an isolate is the rest of a body that the other one
 * receives from it. Its bytes go over an exchange between the two processes, and the isolate sees their end alone.
 *
 *     one process: writer -> source --> SpliceSender ==exchange==> SpliceReceiver --> target -> reader :the other process
 *
 * The isolate says so to both, each on its connection: behind the last bytes that it has passed on itself. The exchange may come before that.
 */
import type { HostShare } from '../quotas/host/host-share.js';
import type { Exchange, ExchangeListener } from './exchange.js';
import { ProtocolError } from './protocol-error.js';
import type { Splice, SpliceSource, SpliceTarget } from './splice.js';

/** Takes the rest of an outgoing body to the other process. */
class SpliceSender implements SpliceTarget, ExchangeListener {
  readonly #share: HostShare | undefined;
  #splice: Splice | undefined;
  #exchange: Exchange | undefined;
  /** Credit that the source has been given and has not used. */
  #given = 0;
  /** Bytes on their way that are counted to the account: what was sent and has not come back as credit. */
  #sentBytes = 0;
  #isOver = false;

  constructor(share: HostShare | undefined) {
    this.#share = share;
  }

  start(splice: Splice, exchange: Exchange): void {
    this.#splice = splice;
    this.#exchange = exchange;
    this.onCredit();
  }

  receiveSpliced(bytes: Uint8Array): void {
    this.#given -= bytes.length;
    if (this.#isOver) return;
    this.#count(bytes.length);
    // A chunk that the writer keeps may be overwritten when it has been handed on.
    this.#exchange?.write(bytes);
  }

  receiveSplicedEnd(): void {
    this.#exchange?.end();
    this.#over();
  }

  sourceGone(): void {
    this.#exchange?.fail('The body was not sent to its end');
    this.#over();
  }

  onCredit(): void {
    const credit = this.#exchange?.credit ?? 0;
    const more = credit - this.#given;
    if (more <= 0) return;
    this.#given = credit;
    this.#count(-Math.min(more, this.#sentBytes));
    this.#splice?.giveCredit(more);
  }

  onReply(): void {}
  onData(): void {}
  onSent(): void {}

  // The reader is in the other process: the isolate hears of it from there, and stops the source.
  onStop(): void {
    this.#over();
  }

  onFail(): void {
    this.#over();
  }

  #over(): void {
    this.#isOver = true;
    this.#count(-this.#sentBytes);
  }

  #count(bytes: number): void {
    this.#sentBytes += bytes;
    if (bytes !== 0) this.#share?.bytes.countBuffers(bytes);
  }
}

/** Brings the rest of an incoming body from the other process. */
class SpliceReceiver implements SpliceSource, ExchangeListener {
  readonly #exchange: Exchange;
  readonly #share: HostShare | undefined;
  readonly #onOver: (error: string | undefined) => void;
  #splice: Splice | undefined;
  #credit = 0;
  #countedBytes = 0;
  #isPumping = false;
  #isOver = false;

  constructor(exchange: Exchange, share: HostShare | undefined, onOver: (error: string | undefined) => void) {
    this.#exchange = exchange;
    this.#share = share;
    this.#onOver = onOver;
    exchange.listener = this;
  }

  start(splice: Splice): void {
    this.#splice = splice;
    this.#pump();
  }

  takeCredit(bytes: number): void {
    this.#credit += bytes;
    this.#pump();
  }

  targetGone(): void {
    if (this.#isOver) return;
    this.#exchange.fail('The body is not read any more');
    this.#end('');
  }

  onData(): void {
    this.#count();
    this.#pump();
  }

  onFail(reason: string): void {
    this.#end(reason);
  }

  onReply(): void {}
  onCredit(): void {}
  onSent(): void {}
  onStop(): void {}

  #pump(): void {
    const splice = this.#splice;
    if (splice === undefined || this.#isPumping || this.#isOver) return;
    this.#isPumping = true;
    while (this.#credit > 0) {
      const chunk = this.#exchange.read(this.#credit);
      if (chunk === undefined) break;
      this.#credit -= chunk.length;
      splice.deliver(chunk);
    }
    this.#isPumping = false;
    this.#count();
    if (this.#exchange.incoming === 'open' || this.#exchange.queuedBytes > 0 || this.#isOver) return;
    if (this.#exchange.incoming === 'failed') {
      this.#end(this.#exchange.failReason);
      return;
    }
    this.#exchange.reply(200, '', true, null, true);
    splice.end();
    this.#end(undefined);
  }

  #end(error: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#share?.bytes.countBuffers(-this.#countedBytes);
    this.#countedBytes = 0;
    this.#onOver(error);
  }

  #count(): void {
    const bytes = this.#isOver ? 0 : this.#exchange.queuedBytes;
    if (bytes === this.#countedBytes) return;
    this.#share?.bytes.countBuffers(bytes - this.#countedBytes);
    this.#countedBytes = bytes;
  }
}

export interface CrossSplicesOptions {
  /** An exchange of the isolate's connection. */
  readonly find: (id: number) => Exchange | undefined;
  /** The isolate may have opened the exchange, which was not read yet: its account may be held back. @default never */
  readonly mayOpen?: (id: number) => boolean;
  /** Opens an exchange with the other process, for the body of this id there. Undefined when there is no such process any more. */
  readonly open: (target: number, listener: ExchangeListener) => Exchange | undefined;
  readonly share: () => HostShare | undefined;
  /** A body that came from the other process has ended, or will not come to its end. */
  readonly onOver: (id: number) => void;
}

/** An isolate has a few connections and a few bodies on their way. */
const MAX_SPLICES = 1024;

/** The splices across of one isolate, at one of the two processes. */
export class CrossSplices {
  readonly #options: CrossSplicesOptions;
  /** Bodies whose last bytes from the isolate have come: the rest comes from the other process. */
  readonly #marked = new Map<number, Exchange>();
  /** Exchanges of the other process, by the body that they are for. */
  readonly #arrived = new Map<number, Exchange>();
  /** Bodies that come from the other process. */
  readonly #joined = new Map<number, Exchange>();

  constructor(options: CrossSplicesOptions) {
    this.#options = options;
  }

  /** The body of this id is on its way from the other process, or will be. */
  has(id: number): boolean {
    return this.#marked.has(id) || this.#joined.has(id);
  }

  /** The isolate says: the rest of what is sent to it on exchange `id` goes to body `target` of the other process. @throws ProtocolError */
  from(id: number, target: number): void {
    const source = this.#options.find(id);
    if (source === undefined) return;
    const sender = new SpliceSender(this.#options.share());
    const splice = source.spliceOutgoing(sender);
    if (splice === undefined) return;
    const exchange = this.#options.open(target, sender);
    // Else the isolate has lost its connection to the other process, and stops the source.
    if (exchange !== undefined) sender.start(splice, exchange);
  }

  /** The isolate says: the rest of what it sends on exchange `id` comes from the other process. @throws ProtocolError */
  to(id: number): void {
    const target = this.#options.find(id);
    if (target === undefined) return;
    if (this.has(id)) throw new ProtocolError('A body was spliced twice');
    if (this.#marked.size + this.#joined.size >= MAX_SPLICES) throw new ProtocolError('Too many bodies are spliced');
    this.#marked.set(id, target);
    const exchange = this.#arrived.get(id);
    if (exchange !== undefined) this.#join(id, target, exchange);
  }

  /** The other process has opened an exchange for the body of this id. */
  arrived(id: number, exchange: Exchange): void {
    if (this.#arrived.size >= MAX_SPLICES) this.#dropOver();
    if (!this.#isThere(id) || this.#arrived.size >= MAX_SPLICES || this.#arrived.has(id)) {
      exchange.fail('The body is not there');
      return;
    }
    const target = this.#marked.get(id);
    this.#arrived.set(id, exchange);
    if (target !== undefined) this.#join(id, target, exchange);
  }

  /** The connection of the isolate has ended. */
  close(): void {
    for (const exchange of [...this.#arrived.values(), ...this.#joined.values()])
      exchange.fail('The isolate has ended');
    this.#arrived.clear();
    this.#joined.clear();
    this.#marked.clear();
  }

  #isThere(id: number): boolean {
    return this.#options.find(id) !== undefined || this.#options.mayOpen?.(id) === true;
  }

  /** Bodies of exchanges that were over before the isolate said that the rest comes from here. */
  #dropOver(): void {
    for (const [id, exchange] of this.#arrived) {
      if (this.#isThere(id)) continue;
      this.#arrived.delete(id);
      exchange.fail('The body is not there');
    }
  }

  #join(id: number, target: Exchange, exchange: Exchange): void {
    this.#marked.delete(id);
    this.#arrived.delete(id);
    this.#joined.set(id, exchange);
    const receiver = new SpliceReceiver(exchange, this.#options.share(), error => {
      this.#joined.delete(id);
      // The isolate reports it too, but it may have gone on to the end of the invocation.
      if (error !== undefined && error !== '') target.receiveReset(error);
      this.#options.onOver(id);
    });
    const splice = target.spliceIncoming(receiver);
    if (splice === undefined) receiver.targetGone();
    else receiver.start(splice);
  }
}
