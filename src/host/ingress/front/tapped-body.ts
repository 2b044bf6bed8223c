/**
 * The body of an answer on its way to the client, which the cache gets a copy of. It is read no faster than both take it: while the cache has too much to
 * write, the client waits.
 */
import type { AccountBytes } from '../../../quotas/host/host-bytes.js';
import type { AnswerBody } from '../../invocation/response-sink.js';

/** The most bytes that may wait for the cache to write them. */
const MAX_QUEUED_BYTES = 1024 * 1024;

export class TappedBody implements AnswerBody, AsyncIterableIterator<Uint8Array> {
  readonly #source: AnswerBody;
  readonly #bytes: AccountBytes;
  readonly #resume: () => void;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isEnded = false;
  #failure: Error | undefined;
  /** The cache wants no more of it. */
  #isStopped = false;
  #wake: (() => void) | undefined;

  /** @param resume called when there is more to read, after there was nothing for the reason that the cache was behind */
  constructor(source: AnswerBody, bytes: AccountBytes, resume: () => void) {
    this.#source = source;
    this.#bytes = bytes;
    this.#resume = resume;
  }

  // --- for the client ---

  read(maxBytes: number): Buffer | undefined {
    if (this.#isFull) return undefined;
    const piece = this.#source.read(maxBytes);
    if (piece === undefined || this.#isStopped || this.#failure !== undefined) return piece;
    this.#queue.push(piece);
    this.#count(piece.byteLength);
    this.#move();
    return piece;
  }

  get incoming(): AnswerBody['incoming'] {
    if (this.#isFull) return 'open';
    const { incoming } = this.#source;
    if (incoming === 'ended') {
      this.#isEnded = true;
      this.#move();
    } else if (incoming === 'failed') this.fail('The body of the response has failed');
    return incoming;
  }

  stopReading(reason: string): void {
    this.fail(reason);
    this.#source.stopReading(reason);
  }

  // --- for the cache ---

  /** Nothing more of it will come. Does nothing when all of it has. */
  fail(reason: string): void {
    if (this.#isEnded) return;
    this.#failure ??= new Error(reason);
    this.#drop();
    this.#move();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const wasFull = this.#isFull;
      const piece = this.#queue.shift();
      if (piece !== undefined) {
        this.#count(-piece.byteLength);
        if (wasFull && !this.#isFull) this.#resume();
        return { done: false, value: piece };
      }
      if (this.#isEnded || this.#isStopped) return { done: true, value: undefined };
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    const wasFull = this.#isFull;
    this.#isStopped = true;
    this.#drop();
    if (wasFull) this.#resume();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get #isFull(): boolean {
    return this.#queuedBytes >= MAX_QUEUED_BYTES;
  }

  #drop(): void {
    this.#queue.length = 0;
    this.#count(-this.#queuedBytes);
  }

  #count(bytes: number): void {
    this.#queuedBytes += bytes;
    this.#bytes.countBuffers(bytes);
  }

  #move(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
