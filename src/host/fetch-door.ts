/** The door of fetch(): a standard Request in, a standard Response out, bodies streamed with backpressure both ways. */
import type { Exchange } from '../isolate/protocol/channel.js';
import { HostOpens } from '../isolate/protocol/messages.js';
import { EdgeError } from '../quotas/errors.js';
import type { FunctionRunner } from './function-runner.js';
import { headOfRequest, isNullBodyStatus, parseResponseHead } from './http-head.js';
import type { Invocation, InvocationStart, RequestBodySource, ResponseSink } from './invocation.js';

/** Chunks of a response body handed to the reader are at most this long. */
const MAX_PIECE_BYTES = 64 * 1024;

/** Rejects with the EdgeError that ended the invocation, or with the reason of the request's signal. */
export function fetchThrough(runner: FunctionRunner, request: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { signal, body } = request;
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const start: InvocationStart = {
      kind: HostOpens.Fetch,
      head: headOfRequest(request),
      isUtf8: false,
      body: null,
      isComplete: body === null,
    };
    const sink = new FetchSink(request, resolve, reject);
    runner.run(start, sink).then(
      invocation => sink.started(invocation),
      (error: unknown) => reject(error),
    );
  });
}

class FetchSink implements ResponseSink {
  readonly #request: Request;
  readonly #resolve: (response: Response) => void;
  readonly #reject: (reason: unknown) => void;
  #invocation: Invocation | undefined;
  #exchange: Exchange | undefined;
  #controller: ReadableByteStreamController | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  readonly #onAbort = (): void => {
    this.#reject(this.#request.signal.reason);
    this.#end(this.#request.signal.reason);
    this.#invocation?.abort();
  };

  constructor(request: Request, resolve: (response: Response) => void, reject: (reason: unknown) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  started(invocation: Invocation): void {
    this.#invocation = invocation;
    if (this.#isOver) return;
    this.#request.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#request.body !== null) invocation.source = new RequestBody(this.#request.body, invocation);
  }

  respond(status: number, head: string, body: Buffer, isComplete: boolean, exchange: Exchange): void {
    this.#exchange = exchange;
    try {
      const { statusText, headers } = parseResponseHead(head);
      const pairs: [string, string][] = [];
      for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at] ?? '', headers[at + 1] ?? '']);
      let content: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null = null;
      if (isNullBodyStatus(status)) {
        if (!isComplete) exchange.stopReading('The status has no body');
      } else if (!isComplete) content = this.#stream();
      else if (body.length > 0) content = Uint8Array.from(body);
      this.#resolve(new Response(content, { status, statusText, headers: pairs }));
      if (isComplete) this.#finish();
    } catch (error) {
      this.fail(
        new EdgeError('EDGE_PROTOCOL', `The response of the function cannot be passed on: ${String(error)}`, {
          cause: error,
        }),
      );
      this.#invocation?.abort();
    }
  }

  bodyReady(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  fail(error: EdgeError): void {
    this.#reject(error);
    this.#end(error);
  }

  #stream(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      type: 'bytes',
      start: controller => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => {
        this.#finish();
        this.#invocation?.abort();
      },
    });
  }

  async #pull(): Promise<void> {
    const exchange = this.#exchange;
    while (exchange !== undefined && !this.#isOver) {
      const piece = exchange.read(MAX_PIECE_BYTES);
      if (piece !== undefined) {
        this.#controller?.enqueue(Uint8Array.from(piece));
        return;
      }
      if (exchange.incoming !== 'open') {
        if (exchange.incoming === 'failed') return; // the invocation says why, through `fail`
        this.#controller?.close();
        this.#controller?.byobRequest?.respond(0);
        this.#finish();
        this.#invocation?.bodyEnded();
        return;
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  #end(reason: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    this.#controller?.error(reason);
    this.bodyReady();
  }

  #finish(): void {
    this.#isOver = true;
    this.#request.signal.removeEventListener('abort', this.#onAbort);
  }
}

/** Pumps a request's body into the invocation, as fast as the function reads it. */
class RequestBody implements RequestBodySource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #invocation: Invocation;
  #isReading = false;
  #isOver = false;

  constructor(body: ReadableStream<Uint8Array>, invocation: Invocation) {
    this.#reader = body.getReader();
    this.#invocation = invocation;
    this.resume();
  }

  resume(): void {
    if (this.#isReading || this.#isOver) return;
    this.#isReading = true;
    void this.#pump();
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader.cancel().catch(() => {});
  }

  async #pump(): Promise<void> {
    const { exchange } = this.#invocation;
    try {
      while (exchange.credit > 0 && !this.#isOver) {
        const { value, done } = await this.#reader.read();
        if (this.#isOver) return;
        if (done) {
          this.#isOver = true;
          exchange.end();
          return;
        }
        if (!(value instanceof Uint8Array)) throw new TypeError('The request body is not a stream of bytes');
        // The bytes are on their way when write returns; a caller may use its buffer again.
        exchange.write(Uint8Array.from(value));
      }
    } catch {
      this.#isOver = true;
      this.#invocation.abort();
    } finally {
      this.#isReading = false;
    }
  }
}
