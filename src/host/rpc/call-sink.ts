/** Takes the answer of a function for the function that has called it. */
import type { Cancellation, ServiceBody } from '../../bindings/service.js';
import type { Exchange } from '../../protocol/exchange.js';
import { errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { SleepingSocket } from '../hibernation/hibernatable-socket.js';
import type { Invocation } from '../invocation/invocation.js';
import type { ResponseSink } from '../invocation/response-sink.js';

/** The answer of a function, as its isolate has sent it. */
export interface CalleeAnswer {
  readonly status: number;
  /** Written by the function called. */
  readonly head: string;
  readonly body: ServiceBody | null;
  /** The answer is a WebSocket that sleeps: the caller is handed it. */
  readonly socket?: SleepingSocket | undefined;
}

const MAX_CHUNK_BYTES = 64 * 1024;

export class CallSink implements ResponseSink {
  readonly callsApplication = false;
  readonly #signal: Cancellation | undefined;
  readonly #resolve: (answer: CalleeAnswer) => void;
  readonly #reject: (error: unknown) => void;
  #invocation: Invocation | undefined;
  #exchange: Exchange | undefined;
  #wake: (() => void) | undefined;
  #error: Error | undefined;
  #isFinished = false;
  readonly #onAbort = guarded((): void => {
    const reason: unknown = this.#signal?.reason;
    const error = reason instanceof Error ? reason : new Error('The call was given up', { cause: reason });
    this.fail(error);
    this.#invocation?.abort();
  });

  constructor(
    signal: Cancellation | undefined,
    resolve: (answer: CalleeAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  started(invocation: Invocation): void {
    this.#invocation = invocation;
    if (this.#isFinished) return;
    if (this.#signal?.aborted === true) this.#onAbort();
    else this.#signal?.addEventListener('abort', this.#onAbort);
  }

  /** It could not be started. */
  refused(error: unknown): void {
    this.#reject(error);
    this.#finish();
  }

  respond(
    status: number,
    head: string,
    body: Buffer,
    isComplete: boolean,
    exchange: Exchange,
    socket?: SleepingSocket,
  ): void {
    this.#exchange = exchange;
    if (!isComplete) {
      this.#resolve({ status, head, body: this.#chunks() });
      return;
    }
    if (socket !== undefined) {
      // A caller that has given the call up gets nothing: the exchange is closed.
      if (this.#isFinished) return;
      socket.take();
      this.#resolve({ status, head, body: null, socket });
      this.#finish();
      return;
    }
    // A copy: the view is valid during this call, and the answer may wait.
    this.#resolve({ status, head, body: body.length === 0 ? null : Buffer.from(body) });
    this.#finish();
  }

  bodyReady(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Rejects the answer, and wakes the reader of the body. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#reject(error);
    this.#finish();
    this.bodyReady();
  }

  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #chunks(): AsyncIterable<Uint8Array> {
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => this.#next(),
      // The caller wants no more of it.
      return: async () => {
        if (!this.#isFinished) {
          this.#finish();
          this.#invocation?.abort();
          this.bodyReady();
        }
        return { done: true, value: undefined };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const exchange = this.#exchange;
      if (exchange === undefined || (this.#isFinished && this.#error === undefined)) break;
      const piece = exchange.read(MAX_CHUNK_BYTES);
      if (piece !== undefined) return { done: false, value: piece };
      if (this.#error !== undefined) throw this.#error;
      if (exchange.incoming === 'ended') {
        this.#finish();
        this.#invocation?.bodyEnded();
        break;
      }
      // When the body has failed, the invocation calls `fail` with the reason.
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
    return { done: true, value: undefined };
  }
}

const THROWN: ReadonlySet<string> = new Set(['EDGE_HANDLER_THREW', 'EDGE_OBJECT_RESET']);

/** The name and message of an error that a function has thrown; undefined for every other error. */
export function thrownBy(error: unknown): readonly [name: string, message: string] | undefined {
  if (!(error instanceof Error) || !THROWN.has(errorCode(error) ?? '')) return undefined;
  const { cause } = error;
  return cause instanceof Error ? [cause.name, cause.message] : undefined;
}
