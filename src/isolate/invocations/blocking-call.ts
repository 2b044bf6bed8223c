/** A call of a service for whose answer the thread stands still. */
import type { Channel } from '../../protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../protocol/exchange.js';
import { SignalKind } from '../../protocol/messages.js';

/** The longest answer. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export interface BlockingAnswer {
  readonly head: string;
  readonly body: Uint8Array;
}

export class BlockingCall implements ExchangeListener {
  #exchange: Exchange | undefined;
  #head: string | undefined;
  #failure: string | undefined;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  /** Why there is no answer, as text off the wire. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get wasAnswered(): boolean {
    return this.#head !== undefined;
  }

  /** Undefined when the call has failed. @param invocation the one that calls: it may be ended meanwhile */
  run(
    channel: Channel,
    invocation: number,
    service: number,
    head: string,
    body: Uint8Array | string | null,
  ): BlockingAnswer | undefined {
    const exchange = channel.open(service, head, true, body, true, this);
    this.#exchange = exchange;
    channel.block(
      {
        exchange: exchange.id,
        onSignal: (id, kind, payload) => {
          if (id === exchange.id && kind === SignalKind.CallCanceled) exchange.receiveReset(payload.toString('utf8'));
          else if (id === invocation && kind === SignalKind.Close) this.#failure ??= OVER;
        },
      },
      () => this.#isOver,
    );
    if (!this.#isOver) this.#failure = LOST;
    if (this.#failure !== undefined) {
      exchange.fail(this.#failure);
      return undefined;
    }
    return { head: this.#head ?? '', body: this.#bytes === 0 ? EMPTY : Buffer.concat(this.#chunks, this.#bytes) };
  }

  get #isOver(): boolean {
    return this.#failure !== undefined || (this.#head !== undefined && this.#exchange?.incoming === 'ended');
  }

  onReply(_status: number, head: string, body: Buffer, isComplete: boolean): void {
    this.#head = head;
    if (isComplete && body.length > 0) this.#add(Buffer.from(body));
  }

  onData(): void {
    for (let chunk = this.#exchange?.read(CHUNK); chunk !== undefined; chunk = this.#exchange?.read(CHUNK))
      this.#add(chunk);
  }

  onCredit(): void {}
  onSent(): void {}
  onStop(): void {}

  onFail(reason: string): void {
    this.#failure ??= reason;
  }

  #add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_ANSWER_BYTES) this.#failure ??= TOO_LONG;
    else this.#chunks.push(chunk);
  }
}

const CHUNK = 256 * 1024;
const EMPTY = new Uint8Array(0);
const OVER = 'AbortError\nThe request that this belongs to is over\n';
const LOST = 'Error\nThe connection to the host is closed\n';
const TOO_LONG = 'RangeError\nThe answer is too long\n';
