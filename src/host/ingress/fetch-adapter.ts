/** The endpoint of fetch(): a standard Request in, a standard Response out, bodies streamed with backpressure both ways. */

import type { ReadableStream } from 'node:stream/web';
import type { GivenBody } from '../../bindings/bodies/given-body.js';
import { headerOf } from '../../bindings/cache/header-values.js';
import type { Exchange } from '../../protocol/exchange.js';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { AdmissionDecision, RouteMode } from '../../quotas/requests/admission.js';
import { BodyCounter, checkRequestHead } from '../../quotas/requests/request-checks.js';
import { assetRequest } from '../assets/serve/asset-answer.js';
import type { SleepingSocket } from '../hibernation/hibernatable-socket.js';
import { refusalOf } from '../invocation/failures/admission-refusal.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import type { Invocation } from '../invocation/invocation.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import { FetchStart, UpgradeStart } from '../invocation/invocation-start.js';
import type { ResponseSink } from '../invocation/response-sink.js';
import { assetResponse } from './assets/asset-response.js';
import { BufferedResponse } from './buffered-response.js';
import type { FetchInput } from './fetch-input.js';
import { isNullBodyStatus, pairsOf, parseResponseHead } from './http-head.js';
import { RequestBody } from './request-body.js';
import { applicationSocket } from './websocket/application-socket.js';
import { FunctionSocket, UpgradedResponse } from './websocket/function-socket.js';

/** Chunks of a response body handed to the reader are at most this long. */
const MAX_PIECE_BYTES = 64 * 1024;

/**
 * The limits of requests (URL, headers, body) hold at this endpoint as at the endpoint of node:http: a function gets the same requests over either way. An
 * application that wants to hand over more says so with `limits`.
 *
 * Rejects with the EdgeError that refused the request or ended the invocation, or with the reason of the request's signal. A request
 * that a fail-open route lets pass beyond the daily limit has no function to go to: EDGE_NO_ROUTE.
 */
export function fetchThrough(
  runner: InvocationTarget,
  input: FetchInput,
  mode: RouteMode,
  timeoutMs?: number,
): Promise<Response> {
  try {
    const { contentLength } = checkRequestHead(input, runner.context.limits);
    const start = { contentLength, timeoutMs };
    const { assets } = runner;
    if (assets !== undefined && !isUpgradeInput(input)) {
      const answer = assets.route(assetRequest(input.method, input.url, input.headers));
      if (answer !== undefined) return assetResponse(runner.context, assets, answer, input);
    }
    const decision = runner.context.admit(mode, undefined);
    if ('then' in decision) return decision.then(known => run(runner, input, mode, known, start));
    return run(runner, input, mode, decision, start);
  } catch (error) {
    return Promise.reject(error);
  }
}

function run(
  runner: InvocationTarget,
  input: FetchInput,
  mode: RouteMode,
  decision: AdmissionDecision,
  { contentLength, timeoutMs }: { readonly contentLength: number | undefined; readonly timeoutMs: number | undefined },
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (decision.kind !== 'admit') {
      reject(refusalOf(runner.context, mode, decision));
      return;
    }
    if (input.signal?.aborted === true) {
      reject(input.signal.reason);
      return;
    }
    const isUpgrade = isUpgradeInput(input);
    const Start = isUpgrade ? UpgradeStart : FetchStart;
    const start = new Start(input.head, null, !isUpgrade && input.body === null, input.props, input.chain, timeoutMs);
    const sink = new FetchSink(input, contentLength, runner.context, resolve, reject);
    const invocation = runner.runNow(start, sink);
    if (invocation !== undefined) sink.started(invocation);
    else {
      runner.run(start, sink).then(
        started => sink.started(started),
        (error: unknown) => reject(error),
      );
    }
  });
}

class FetchSink implements ResponseSink {
  readonly callsApplication = false;
  readonly #input: FetchInput;
  readonly #contentLength: number | undefined;
  readonly #context: InvocationContext;
  /** Both refer to the promise of the response, and by it to the response: they go when it is settled, so that the response can be collected. */
  #resolve: ((response: Response) => void) | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #invocation: Invocation | undefined;
  #exchange: Exchange | undefined;
  /** It refers to the stream weakly, and nothing else here refers to it: see there. */
  #body: GivenBody | undefined;
  #wake: (() => void) | undefined;
  #isFinished = false;
  #socket: FunctionSocket | undefined;
  #onAbort: (() => void) | undefined;

  constructor(
    input: FetchInput,
    contentLength: number | undefined,
    context: InvocationContext,
    resolve: (response: Response) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#input = input;
    this.#contentLength = contentLength;
    this.#context = context;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  started(invocation: Invocation): void {
    this.#invocation = invocation;
    if (this.#isFinished) return;
    const { signal, body } = this.#input;
    if (signal !== undefined) {
      this.#onAbort = guarded(() => this.#abort(signal.reason));
      signal.addEventListener('abort', this.#onAbort);
    }
    if (body !== null) {
      const counter = new BodyCounter(this.#context.limits, this.#contentLength);
      invocation.source = new RequestBody(body, invocation, counter, error => {
        this.#refuse(error);
        this.#end(error);
      });
    }
  }

  #abort(reason: unknown): void {
    this.#refuse(reason);
    this.#end(reason);
    this.#invocation?.abort();
  }

  respond(
    status: number,
    head: string,
    body: Buffer,
    isComplete: boolean,
    exchange: Exchange,
    sleeping?: SleepingSocket,
  ): void {
    this.#exchange = exchange;
    try {
      const { statusText, headers } = parseResponseHead(head);
      if (status === 101) {
        if (sleeping === undefined) this.#switch(headers, exchange);
        else {
          this.#finish();
          this.#answer(
            new UpgradedResponse(applicationSocket(sleeping, headers), { headers: pairsOf(headers) }) as Response,
          );
        }
        return;
      }
      const init = new FetchedInit(status, statusText, headers);
      let response: Response;
      if (isNullBodyStatus(status)) {
        if (!isComplete) exchange.stopReading('The status has no body');
        response = new Response(null, init);
      } else if (!isComplete) response = new Response(this.#stream(), init);
      else if (body.length > 0) response = new BufferedResponse(new Uint8Array(body), init);
      else response = new Response(null, init);
      this.#answer(response);
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

  /** The function has answered with a WebSocket. The signal of the request ends it no more: its close does. */
  #switch(headers: readonly string[], exchange: Exchange): void {
    const invocation = this.#invocation;
    if (invocation === undefined) throw new TypeError('it came before its invocation');
    const protocol = headerOf(headers, 'sec-websocket-protocol') ?? '';
    const { webSocketMessageBytes } = this.#context.limits;
    const socket = new FunctionSocket(invocation, exchange, protocol, webSocketMessageBytes, () => this.#finish());
    this.#socket = socket;
    this.#answer(new UpgradedResponse(socket, { headers: pairsOf(headers) }) as Response);
  }

  bodyReady(): void {
    if (this.#socket !== undefined) {
      this.#socket.bodyReady();
      return;
    }
    // The application alone decides when the body is read, if ever, so it no longer counts. A response to another function counts until that one has read it.
    if (this.#exchange?.hasWholeBody === true && this.#input.chain === undefined) {
      this.#exchange.giveAway();
      if (this.#body !== undefined) this.#context.bodies.keep(this.#body);
    }
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  fail(error: EdgeError): void {
    this.#socket?.fail(error);
    this.#refuse(error);
    this.#end(error);
  }

  #stream(): ReadableStream<Uint8Array> {
    const { account, function: name, share, bodies } = this.#context;
    const { stream, body } = bodies.give(
      `function "${name}" of account "${account}"`,
      {
        next: () => this.#next(),
        cancel: () => {
          this.#finish();
          this.#invocation?.abort();
        },
      },
      share,
    );
    this.#body = body;
    return stream;
  }

  async #next(): Promise<Uint8Array | undefined> {
    const exchange = this.#exchange;
    while (exchange !== undefined && !this.#isFinished) {
      const piece = exchange.read(MAX_PIECE_BYTES);
      if (piece !== undefined) return ownBytes(piece);
      if (exchange.incoming === 'ended') {
        this.#finish();
        this.#invocation?.bodyEnded();
        return undefined;
      }
      // When the exchange has failed, the invocation calls `fail` with the reason.
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
    return undefined;
  }

  #end(reason: unknown): void {
    if (this.#isFinished) return;
    this.#finish();
    this.#body?.fail(reason);
    this.bodyReady();
  }

  #answer(response: Response): void {
    this.#resolve?.(response);
    this.#settled();
  }

  #refuse(reason: unknown): void {
    this.#reject?.(reason);
    this.#settled();
  }

  #settled(): void {
    this.#resolve = undefined;
    this.#reject = undefined;
  }

  #finish(): void {
    this.#isFinished = true;
    if (this.#onAbort !== undefined) this.#input.signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** Its GET has no body: what follows it are messages, once the function has answered with a WebSocket. */
function isUpgradeInput({ method, body, headers }: FetchInput): boolean {
  if (method !== 'GET' || body !== null) return false;
  for (const [name, value] of headers) {
    if (name.toLowerCase() === 'upgrade') return value.toLowerCase() === 'websocket';
  }
  return false;
}

/**
 * The stream detaches the buffer of a chunk from all other views, so a buffer that holds other data as well is copied. Most of a large body
 * was read into buffers that hold nothing else.
 */
function ownBytes(piece: Buffer): Uint8Array {
  const { buffer, byteLength } = piece;
  return buffer.byteLength === byteLength ? new Uint8Array(buffer) : new Uint8Array(piece);
}

/** Not an object literal, for the reason of FetchStart. */
class FetchedInit {
  readonly status: number;
  readonly statusText: string;
  readonly headers?: [string, string][];

  constructor(status: number, statusText: string, headers: readonly string[]) {
    this.status = status;
    this.statusText = statusText;
    if (headers.length > 0) this.headers = pairsOf(headers);
  }
}
