/** An exchange as async iteration: what services read from a call and write back. One object is the listener of the exchange for its whole life. */
import { type CallerContext, callerContext } from '../quotas/caller-context.js';
import type { Exchange, ExchangeListener } from './exchange.js';

/** Chunks handed on are at most this long. */
const MAX_CHUNK_BYTES = 64 * 1024;

/** Called for each chunk of a body that is moved; a promise holds the next one back. */
export interface Pace {
  sent(bytes: number): Promise<void> | undefined;
  received(bytes: number): void;
}

/** Whether the peer has given the exchange up, for code that needs no AbortSignal. */
class GivenUp {
  reason: Error | undefined;
  #listeners: (() => void)[] = [];

  get aborted(): boolean {
    return this.reason !== undefined;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter(each => each !== listener);
  }

  abort(reason: string): void {
    this.reason ??= new Error(reason);
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}

export class ExchangeIo implements ExchangeListener {
  readonly #exchange: Exchange;
  readonly #pace: Pace | undefined;
  #wakeReader: (() => void) | undefined;
  #hasStoppedReading = false;
  #wakeWriter: (() => void) | undefined;
  #controller: AbortController | undefined;
  /** The context in which the signal or the body was asked for: both may be the application's, and frames from the socket have no context. */
  #caller: CallerContext | undefined;
  #givenUp: GivenUp | undefined;
  #failReason: string | undefined;
  /** Credit has come since the last chunk was written. It may come before it is awaited. */
  #hasNewCredit = false;
  /** The source of the body that is being sent. */
  #source: AsyncIterator<Uint8Array> | undefined;
  /** The length of its last chunk. */
  #chunkBytes = 0;

  constructor(exchange: Exchange, pace?: Pace) {
    this.#exchange = exchange;
    this.#pace = pace;
    exchange.listener = this;
  }

  /** Fires when the peer gives the exchange up. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#caller ??= callerContext();
      if (this.#failReason !== undefined) this.#controller.abort(new Error(this.#failReason));
    }
    return this.#controller.signal;
  }

  /** The same without a signal, which takes ten times as long to make. */
  get cancellation(): GivenUp {
    if (this.#givenUp === undefined) {
      this.#givenUp = new GivenUp();
      if (this.#failReason !== undefined) this.#givenUp.abort(this.#failReason);
    }
    return this.#givenUp;
  }

  /** The peer has given the exchange up. */
  get isFailed(): boolean {
    return this.#failReason !== undefined;
  }

  /**
   * The incoming body. Leaving the iteration early asks the peer to stop, also while a chunk is awaited: no generator, whose `return()` would wait
   * for the chunk.
   */
  chunks(): AsyncIterableIterator<Uint8Array> {
    const body: AsyncIterableIterator<Uint8Array> = {
      next: () => this.#nextChunk(),
      return: async () => {
        this.#stopReading();
        return END_OF_BODY;
      },
      [Symbol.asyncIterator]: () => body,
    };
    return body;
  }

  async #nextChunk(): Promise<IteratorResult<Uint8Array, undefined>> {
    const exchange = this.#exchange;
    for (;;) {
      if (this.#hasStoppedReading) return END_OF_BODY;
      const chunk = exchange.read(MAX_CHUNK_BYTES);
      if (chunk !== undefined) {
        this.#pace?.received(chunk.length);
        return { done: false, value: chunk };
      }
      const { incoming } = exchange;
      if (incoming !== 'open') {
        this.#stopReading();
        if (incoming === 'ended') return END_OF_BODY;
        throw new Error(exchange.failReason);
      }
      await new Promise<void>(resolve => {
        this.#wakeReader = resolve;
      });
    }
  }

  #stopReading(): void {
    if (this.#hasStoppedReading) return;
    this.#hasStoppedReading = true;
    this.#exchange.stopReading('No more is read');
    this.onData();
  }

  /**
   * Sends a body as the outgoing one, as fast as the peer reads it, and ends it. Failing to read it fails the exchange. When the peer wants
   * no more its source is ended at once, also while a chunk of it is awaited. Never rejects.
   */
  async send(body: AsyncIterable<Uint8Array>): Promise<void> {
    const exchange = this.#exchange;
    try {
      const source = body[Symbol.asyncIterator]();
      this.#source = source;
      this.#caller ??= callerContext();
      for (;;) {
        const left = await this.#sendNext(source);
        if (left === undefined) break;
        if (left <= 0 && !this.#hasNewCredit && !exchange.isOutgoingOver) {
          await new Promise<void>(resolve => {
            this.#wakeWriter = resolve;
          });
        }
        const turn = this.#pace?.sent(this.#chunkBytes);
        if (turn !== undefined && !exchange.isOutgoingOver) await turn;
        if (exchange.isOutgoingOver) return;
      }
      exchange.end();
    } catch (error) {
      exchange.fail(failureText(error));
    } finally {
      this.#endSource();
    }
  }

  /**
   * Sends one chunk; answers the credit that is left, undefined at the end of the body. In a function of its own: one that waits for credit
   * while it has the chunk in a variable keeps it in memory, and nothing counts it.
   */
  async #sendNext(source: AsyncIterator<Uint8Array>): Promise<number | undefined> {
    const { value, done } = await source.next();
    if (done === true) return undefined;
    this.#chunkBytes = value.length;
    const left = this.#exchange.write(value);
    this.#hasNewCredit = false;
    return left;
  }

  /** Ends the exchange from this side. */
  cancel(error: unknown): void {
    this.#exchange.fail(failureText(error));
    this.onFail(error instanceof Error ? error.message : '');
  }

  onReply(_status: number, _head: string, _body: Buffer, _isComplete: boolean): void {}

  onData(): void {
    const wake = this.#wakeReader;
    this.#wakeReader = undefined;
    wake?.();
  }

  onCredit(): void {
    this.#hasNewCredit = true;
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
  }

  onSent(): void {}

  onStop(): void {
    this.#endSource();
    this.onCredit();
  }

  onFail(reason: string): void {
    this.#failReason = reason;
    this.#within(() => this.#controller?.abort(new Error(reason)));
    this.#givenUp?.abort(reason);
    this.#endSource();
    this.onData();
    this.onCredit();
  }

  #within(run: () => void): void {
    if (this.#caller === undefined) run();
    else this.#caller.runInAsyncScope(run);
  }

  /** The result of ending it is not needed. Iterators may be the application's: one that throws must not keep the rest from being notified. */
  #endSource(): void {
    const source = this.#source;
    this.#source = undefined;
    try {
      this.#within(() => source?.return?.()?.catch(() => {}));
    } catch {
      // It is not read any more, so its result is ignored.
    }
  }
}

/**
 * "Name\nmessage\ncode", the form in which errors travel to a guest: without stack, path or cause. Errors that were not made for a
 * guest to see (no code of ours, no plain TypeError or RangeError) say nothing.
 */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return INTERNAL;
  const code = 'code' in error ? error.code : undefined;
  const isMeant =
    typeof code === 'number' ||
    (typeof code === 'string' && code.startsWith('EDGE_')) ||
    (code === undefined && (error.name === 'TypeError' || error.name === 'RangeError'));
  return isMeant ? `${error.name}\n${error.message.replaceAll('\n', ' ')}\n${code ?? ''}` : INTERNAL;
}

const END_OF_BODY: IteratorReturnResult<undefined> = { done: true, value: undefined };

const INTERNAL = 'Error\nInternal error\n';
