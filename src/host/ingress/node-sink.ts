/** Where the answer to one request of node:http goes, and where the body of the request comes from. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { EdgeError } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import {
  cutOff,
  isClosed,
  isDelivered,
  needsDrain,
  onClosed,
  refuseRest,
  whenEnded,
} from '../../quotas/requests/both-protocols.js';
import { BodyCounter } from '../../quotas/requests/request-checks.js';
import type { Invocation } from '../invocation/invocation.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import { type Deadline, TimerList } from '../invocation/limits/timer-list.js';
import type { AnswerBody, RequestBodySource, ResponseSink } from '../invocation/response-sink.js';
import { answerFailure, bodyFailure } from './answer-failures.js';
import type { Coding } from './compression/accepted-coding.js';
import { CompressedBody } from './compression/compressed-body.js';
import { MIN_COMPRESSED_BYTES, withVary } from './compression/compressible.js';
import { planCompression } from './compression/compression.js';
import type { Encoder } from './compression/encoder.js';
import { sendError } from './error-response.js';
import { isNullBodyStatus, parseResponseHead, type ResponseHead } from './http-head.js';
import { bodyIsRead, ReadBody } from './read-body.js';
import {
  checkHeadLength,
  declaredLength,
  headOnly,
  unsendablePart,
  withoutLength,
  withPlainLength,
  writeHead,
} from './response-head.js';
import { sendWhole } from './whole-answer.js';

export type Next = (error?: unknown) => void;

const MAX_PIECE_BYTES = 64 * 1024;
const DISCONNECTED = 'The client disconnected';

const timeouts = new TimerList<NodeSink>(sink => sink.timeOut());

export class NodeSink implements ResponseSink, RequestBodySource {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: InvocationContext;
  readonly #next: Next | undefined;
  /** The bytes that were handed to the connection and that the client has not read yet. */
  #unreadBytes = 0;
  #invocation: Invocation | undefined;
  #exchange: AnswerBody | undefined;
  #counter: BodyCounter | undefined;
  #deadline: Deadline<NodeSink> | undefined;
  #timeoutMs = 0;
  #isStreaming = false;
  #compressed: CompressedBody | undefined;
  /** The codings that the answer may be compressed with. */
  readonly #codings: readonly Coding[];
  #isGone = false;
  /** Inside the loop of `bodyReady`. */
  #isMoving = false;
  #isHandedOver = false;
  #isUpgraded = false;
  /** Listens for a body that comes as a stream. */
  #onData: ((chunk: Buffer) => void) | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    context: InvocationContext,
    next: Next | undefined,
    codings: readonly Coding[],
  ) {
    this.#codings = codings;
    this.#request = request;
    this.#response = response;
    this.#context = context;
    this.#next = next;
    onClosed(
      response,
      guarded(() => this.#closed()),
    );
  }

  /** The answer must begin within this time, which begins now. */
  limit(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
    this.#deadline = timeouts.add(this, timeoutMs);
  }

  /** `read`: the body, when the application has read it before. */
  started(invocation: Invocation, isComplete: boolean, read: Buffer | undefined): void {
    this.#invocation = invocation;
    if (this.#isGone) {
      invocation.abort();
      return;
    }
    if (isComplete) return;
    if (read !== undefined) {
      invocation.source = new ReadBody(read, invocation);
      invocation.source.resume();
      return;
    }
    if (this.#request.readableDidRead) {
      this.refuse(bodyIsRead(this.#request));
      invocation.abort();
      return;
    }
    invocation.source = this;
    this.#onData = guarded(
      chunk => this.#receive(chunk),
      () => refuseRest(this.#request),
    );
    this.#request.on('data', this.#onData);
    this.#request.once(
      'end',
      guarded(() => this.#bodyEnded(invocation)),
    );
    this.#request.once(
      'error',
      guarded(() => this.#bodyBroken(invocation)),
    );
    if (this.#request.readableEnded) this.#bodyEnded(invocation);
    // It was paused while the function was started, in case that other code was reading it.
    else if (this.#request.isPaused()) this.#request.resume();
  }

  #bodyEnded(invocation: Invocation): void {
    whenEnded(this.#request, isWhole => {
      if (isWhole) invocation.exchange.end();
      else this.#bodyBroken(invocation);
    });
  }

  /** The close of the response reports it, unless all of that was sent before. */
  #bodyBroken(invocation: Invocation): void {
    if (isDelivered(this.#response)) invocation.exchange.fail(DISCONNECTED);
  }

  /** The connection is given to something else, which reports its end. False when it is gone already. */
  handOver(): boolean {
    this.#settle();
    this.#isUpgraded = true;
    return !this.#isGone;
  }

  /** The function could not be started. */
  refuse(error: unknown): void {
    this.#settle();
    if (!this.#isGone) sendError(this.#request, this.#response, error);
  }

  timeOut(): void {
    const { account, function: name } = this.#context;
    const error = new EdgeError(
      'EDGE_TIMEOUT',
      `Function "${name}" of account "${account}" has not begun to answer within ${this.#timeoutMs} ms (option timeoutMs of host.listener())`,
    );
    if (this.#invocation !== undefined) {
      this.#invocation.refuseAnswer(error, 'exceededWallTime');
      return;
    }
    // It still waits for its isolate; the result of that has no response to go to.
    this.refuse(error);
    this.#isGone = true;
  }

  // --- RequestBodySource ---

  resume(): void {
    this.#request.resume();
  }

  /** The function reads no more: the rest is read and dropped, so that the connection can be used again. */
  stop(): void {
    if (this.#onData !== undefined) this.#request.removeListener('data', this.#onData);
    this.#request.resume();
  }

  #receive(chunk: Buffer): void {
    const exchange = this.#invocation?.exchange;
    if (exchange === undefined || exchange.isOutgoingOver) return;
    this.#counter ??= new BodyCounter(this.#context.limits);
    try {
      this.#counter.add(chunk.length);
      if (this.#invocation !== undefined) this.#invocation.bodyBytes = this.#counter.bytes;
    } catch (error) {
      this.stop();
      this.refuse(error);
      this.#invocation?.abort();
      return;
    }
    if (exchange.write(chunk) <= 0) this.#request.pause();
  }

  // --- ResponseSink ---

  respond(status: number, head: string, body: Buffer, isComplete: boolean, exchange: AnswerBody): void {
    this.#settle();
    if (this.#isGone) return;
    let parsed: ResponseHead;
    try {
      parsed = parseResponseHead(head);
    } catch (error) {
      this.refuseAnswer(answerFailure(this.#context.function, error, undefined));
      return;
    }
    this.answer(status, parsed, body, isComplete, exchange);
  }

  /** As `respond`, with a head that was read before. */
  answer(status: number, head: ResponseHead, body: Buffer, isComplete: boolean, exchange: AnswerBody): void {
    try {
      this.#send(status, head, body, isComplete, exchange);
    } catch (error) {
      this.refuseAnswer(answerFailure(this.#context.function, error, head));
    }
  }

  /** The answer cannot be given: the client gets an error page. */
  refuseAnswer(failure: EdgeError): void {
    if (this.#invocation === undefined) this.fail(failure);
    else this.#invocation.refuseAnswer(failure, 'exception');
  }

  #send(status: number, head: ResponseHead, body: Buffer, isComplete: boolean, exchange: AnswerBody): void {
    const response = this.#response;
    const { statusText } = head;
    checkHeadLength(response, head.headers);
    const plan =
      this.#codings.length > 0 && !(isComplete && body.length < MIN_COMPRESSED_BYTES)
        ? planCompression(
            this.#request,
            this.#context.share,
            status,
            head.headers,
            this.#codings,
            isComplete ? body.length : undefined,
          )
        : undefined;
    const headers = plan?.headers ?? head.headers;
    const encoder = plan?.encoder;
    const isHead = this.#request.method === 'HEAD';
    if (isNullBodyStatus(status) || isHead) {
      if (!isComplete) exchange.stopReading('The response has no body');
      const own = isHead ? headOnly(headers, isComplete ? body.length : 0) : withoutLength(headers);
      writeHead(response, status, statusText, own);
      response.end();
      return;
    }
    // A head that cannot be sent is refused below.
    if (encoder !== undefined && unsendablePart(statusText, headers) !== undefined) encoder.destroy();
    else if (encoder !== undefined) {
      if (isComplete) detached(this.#sendEncoded(status, head, headers, encoder, Buffer.from(body)));
      else this.#streamEncoded(status, head, headers, encoder, exchange);
      return;
    }
    if (isComplete) {
      sendWhole(response, this.#context.share, status, statusText, withoutLength(headers), body);
      return;
    }
    // A declared length is kept to by the server: a function cannot desynchronise a connection that others use.
    response.strictContentLength = true;
    writeHead(response, status, statusText, withPlainLength(headers));
    this.#exchange = exchange;
    this.#isStreaming = true;
    this.bodyReady();
  }

  /** All of the body is here: nothing that happens to the invocation from here on changes it. */
  async #sendEncoded(
    status: number,
    { statusText, headers: plain }: ResponseHead,
    headers: readonly string[],
    encoder: Encoder,
    body: Buffer,
  ): Promise<void> {
    this.#isHandedOver = true;
    const response = this.#response;
    response.once('close', () => encoder.destroy());
    let encoded: Buffer | undefined;
    try {
      encoded = Buffer.concat(await encoder.end(body));
    } catch {
      // The encoder has no memory or no place on a thread: the body goes out as it is.
    }
    if (this.#isGone || isClosed(response)) return;
    try {
      const own = encoded === undefined ? withVary(withoutLength(plain)) : [...headers];
      own.push('content-length', String((encoded ?? body).length));
      writeHead(response, status, statusText, own);
      response.end(encoded ?? body);
    } catch (error) {
      sendError(this.#request, response, answerFailure(this.#context.function, error, { statusText, headers: plain }));
    }
  }

  #streamEncoded(
    status: number,
    head: ResponseHead,
    headers: readonly string[],
    encoder: Encoder,
    exchange: AnswerBody,
  ): void {
    try {
      writeHead(this.#response, status, head.statusText, [...headers]);
    } catch (error) {
      encoder.destroy();
      throw error;
    }
    this.#compressed = new CompressedBody(encoder, this.#response, declaredLength(head.headers));
    this.#exchange = exchange;
    this.#isStreaming = true;
    this.bodyReady();
  }

  bodyReady(): void {
    const exchange = this.#exchange;
    const response = this.#response;
    const compressed = this.#compressed;
    const target = compressed ?? response;
    // Reading gives credit, by which more may arrive inside the call: the loop below comes to it, in order.
    if (
      exchange === undefined ||
      this.#isGone ||
      this.#isMoving ||
      (compressed?.writableNeedDrain ?? needsDrain(response))
    )
      return;
    this.#isMoving = true;
    try {
      for (;;) {
        const piece = exchange.read(MAX_PIECE_BYTES);
        if (piece === undefined) break;
        if (compressed === undefined ? !response.write(piece) : !compressed.writeChecked(piece)) {
          if (compressed === undefined) this.#countUnread(piece);
          target.once(
            'drain',
            guarded(() => {
              this.#countRead();
              this.bodyReady();
            }),
          );
          return;
        }
      }
      if (exchange.incoming !== 'ended') return;
      this.#exchange = undefined;
      if (compressed === undefined) response.end();
      else compressed.endChecked();
      this.#invocation?.bodyEnded();
    } catch (error) {
      // With more bytes than the declared length, or fewer, the client cannot know where the next response begins.
      this.#invocation?.refuseAnswer(bodyFailure(this.#context.function, error), 'exception');
      cutOff(response);
    } finally {
      this.#isMoving = false;
    }
  }

  fail(error: EdgeError): void {
    this.#settle();
    if (this.#isGone || this.#isHandedOver) return;
    if (this.#isStreaming || this.#response.headersSent) {
      cutOff(this.#response, error);
      return;
    }
    if (this.#invocation?.passesThrough === true && this.#next !== undefined) this.#next();
    else sendError(this.#request, this.#response, error);
  }

  /** The answer begins, or there will be none. */
  #settle(): void {
    if (this.#deadline !== undefined) timeouts.cancel(this.#deadline);
  }

  #countUnread({ buffer }: Buffer): void {
    if (this.#isGone) return;
    this.#unreadBytes = buffer.byteLength;
    this.#context.share.bytes.countBuffers(this.#unreadBytes);
  }

  #countRead(): void {
    this.#context.share.bytes.countBuffers(-this.#unreadBytes);
    this.#unreadBytes = 0;
  }

  #closed(): void {
    this.#settle();
    this.#countRead();
    if (this.#isGone || this.#isUpgraded || isDelivered(this.#response)) return;
    this.#isGone = true;
    this.#invocation?.abort();
  }
}
