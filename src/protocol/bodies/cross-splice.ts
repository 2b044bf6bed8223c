/**
 * A splice of two bodies whose ends are in two processes: the rest of a body that one of them sends to an isolate is the rest of a body that the other one
 * receives from it. Its bytes go over an exchange between the two processes, and the isolate sees their end alone.
 *
 *     one process: writer -> source --> SpliceSender ==exchange==> SpliceReceiver --> target -> reader :the other process
 *
 * The isolate says so to both, each on its connection, behind the last bytes that it has passed on itself: `SpliceFrom` to the process that sends,
 * `SpliceTo` to the one that receives. Nothing orders frames of two connections, so the receiver takes them in any order:
 *
 *     isolate's connection    connection of the processes    rule at the receiver
 *     SpliceTo                the exchange opens             Either comes first. The exchange waits for `SpliceTo`, the body for the exchange.
 *     End of the target       the rest, and its end          `End` ends nothing after `SpliceTo`: the end of the exchange does.
 *     Reset of the target     the rest, its end or failure   The first failure counts, and later frames are refused.
 *     Done of an invocation   the rest of its answer         `Done` waits until the answer is over here: see `has`.
 *     the call itself         the exchange opens             Either comes first: `mayOpen` says that the call may still come.
 *     SpliceTo, End           the connection is lost         The body fails: an exchange that has not come by then never comes.
 */
import type { HostShare } from '../../quotas/host/host-share.js';
import type { Exchange, ExchangeListener } from '../exchange.js';
import { ProtocolError } from '../frames/protocol-error.js';
import { SERVICES_LOST_REASON } from '../messages.js';
import type { Splice, SpliceSource, SpliceTarget } from './splice.js';

/** Takes the rest of an outgoing body to the other process. */
class SpliceSender implements SpliceTarget, ExchangeListener {
  readonly #share: HostShare | undefined;
  #splice: Splice | undefined;
  #exchange: Exchange | undefined;
  /** Credit that the source has been given and has not used. */
  #given = 0;
  /** Bytes on their way that are counted to the account: sent bytes that were not returned as credit yet. */
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

/** Brings the rest of an incoming body from the other process. It takes the place of the isolate at once, and waits for the exchange. */
class SpliceReceiver implements SpliceSource, ExchangeListener {
  readonly #share: HostShare | undefined;
  readonly #onOver: (error: string | undefined) => void;
  #exchange: Exchange | undefined;
  #splice: Splice | undefined;
  #credit = 0;
  #countedBytes = 0;
  #isPumping = false;
  #isOver = false;

  constructor(share: HostShare | undefined, onOver: (error: string | undefined) => void) {
    this.#share = share;
    this.#onOver = onOver;
  }

  start(splice: Splice): void {
    this.#splice = splice;
  }

  /** The exchange with the other process. False when there is one already. */
  join(exchange: Exchange): boolean {
    if (this.#exchange !== undefined) return false;
    this.#exchange = exchange;
    exchange.listener = this;
    this.#pump();
    return true;
  }

  takeCredit(bytes: number): void {
    this.#credit += bytes;
    this.#pump();
  }

  targetGone(): void {
    if (this.#isOver) return;
    this.#exchange?.fail(NOT_READ);
    this.#end('');
  }

  /** The connection to the other process has ended: an exchange that has not come does not come any more. */
  lose(): void {
    if (this.#exchange === undefined) this.#end(SERVICES_LOST_REASON);
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
    const exchange = this.#exchange;
    if (splice === undefined || exchange === undefined || this.#isPumping || this.#isOver) return;
    this.#isPumping = true;
    while (this.#credit > 0) {
      const chunk = exchange.read(this.#credit);
      if (chunk === undefined) break;
      this.#credit -= chunk.length;
      splice.deliver(chunk);
    }
    this.#isPumping = false;
    this.#count();
    if (exchange.incoming === 'open' || exchange.queuedBytes > 0 || this.#isOver) return;
    if (exchange.incoming === 'failed') {
      this.#end(exchange.failReason);
      return;
    }
    exchange.reply(200, '', true, null, true);
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
    const bytes = this.#isOver ? 0 : (this.#exchange?.queuedBytes ?? 0);
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
  /** Whether the other process can still open exchanges. @default it can */
  readonly isConnected?: () => boolean;
  readonly share: () => HostShare | undefined;
  /** A body that came from the other process has ended, or will not come to its end. */
  readonly onOver: (id: number) => void;
}

/** Bodies of one isolate that are spliced at once: as many as exchanges may be open. */
const MAX_SPLICES = 16_384;
const NOT_READ = 'The body is not read any more';
const NOT_THERE = 'The body is not there';

/** The splices across of one isolate, at one of the two processes. */
export class CrossSplices {
  readonly #options: CrossSplicesOptions;
  /** Bodies whose last bytes from the isolate have come: the rest comes from the other process. */
  readonly #receivers = new Map<number, SpliceReceiver>();
  /** Exchanges of the other process that the isolate has not announced yet, by the body that they are for. */
  readonly #arrived = new Map<number, Exchange>();

  constructor(options: CrossSplicesOptions) {
    this.#options = options;
  }

  /** The body of this id is on its way from the other process, or will be. */
  has(id: number): boolean {
    return this.#receivers.has(id);
  }

  /** The isolate's request: all further bytes to it on exchange `id` go to body `target` of the other process. @throws ProtocolError */
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
    if (this.#receivers.size >= MAX_SPLICES) throw new ProtocolError('Too many bodies are spliced');
    const receiver = new SpliceReceiver(this.#options.share(), error => {
      this.#receivers.delete(id);
      // The isolate reports it too, but it may have gone on to the end of the invocation.
      if (error !== undefined && error !== '') target.receiveReset(error);
      this.#options.onOver(id);
    });
    const splice = target.spliceIncoming(receiver);
    const exchange = this.#arrived.get(id);
    this.#arrived.delete(id);
    if (splice === undefined) {
      exchange?.fail(NOT_READ);
      return;
    }
    this.#receivers.set(id, receiver);
    receiver.start(splice);
    if (exchange !== undefined) receiver.join(exchange);
    else if (this.#options.isConnected?.() === false) receiver.lose();
  }

  /** The other process has opened an exchange for the body of this id. */
  arrived(id: number, exchange: Exchange): void {
    const receiver = this.#receivers.get(id);
    if (receiver !== undefined) {
      if (!receiver.join(exchange)) exchange.fail(NOT_THERE);
      return;
    }
    if (this.#arrived.size >= MAX_SPLICES) this.#dropOver();
    if (!this.#isAwaited(id) || this.#arrived.size >= MAX_SPLICES || this.#arrived.has(id)) exchange.fail(NOT_THERE);
    else this.#arrived.set(id, exchange);
  }

  /** The connection between the two processes has ended. Exchanges that have come fail with it. */
  lose(): void {
    for (const receiver of [...this.#receivers.values()]) receiver.lose();
  }

  /** The connection of the isolate has ended, and its bodies have failed with it. */
  close(): void {
    for (const exchange of this.#arrived.values()) exchange.fail('The isolate has ended');
    this.#arrived.clear();
  }

  /** There is such a body, which is not at its end, or it may still come. */
  #isAwaited(id: number): boolean {
    const target = this.#options.find(id);
    return target === undefined ? this.#options.mayOpen?.(id) === true : !target.isIncomingOver;
  }

  /** Bodies that were over before the isolate said that the rest comes from here. */
  #dropOver(): void {
    for (const [id, exchange] of this.#arrived) {
      if (this.#isAwaited(id)) continue;
      this.#arrived.delete(id);
      exchange.fail(NOT_THERE);
    }
  }
}
