/**
 * The endpoint of node:http, and the hottest path of all: from the parsed head straight to a frame, and from the answering frame to the
 * socket, without a Request or Response in between.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Exchange } from '../../protocol/exchange.js';
import { INLINE_BODY_BYTES } from '../../protocol/frame-layout.js';
import { HostOpens } from '../../protocol/messages.js';
import type { AdmissionDecision, RouteMode } from '../../quotas/admission.js';
import { EdgeError } from '../../quotas/errors.js';
import { BodyCounter, checkRequestHead } from '../../quotas/request-checks.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import { refusalOf } from '../invocation/admission-refusal.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import type { Invocation } from '../invocation/invocation.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import type { InvocationStart } from '../invocation/invocation-start.js';
import type { RequestBodySource, ResponseSink } from '../invocation/response-sink.js';
import { sendError } from './error-response.js';
import { headOfRaw, isNullBodyStatus, parseResponseHead } from './http-head.js';
import { firstOf, readTarget } from './request-target.js';

export interface ListenerOptions {
  /**
   * Take scheme and host of the URL that the function sees from X-Forwarded-Proto and X-Forwarded-Host, and the client's address, by which
   * floods are told, from the first of X-Forwarded-For. Only behind a proxy that sets all of them in place of what the client sent: one
   * that adds to X-Forwarded-For leaves the client to choose its address. @default false
   */
  readonly trustProxy?: boolean;
}

type Next = (error?: unknown) => void;
export type NodeListener = (request: IncomingMessage, response: ServerResponse, next?: Next) => void;
/** The function behind a URL, and what happens to its requests beyond the daily limit. */
export type FindRoute = (
  host: string,
  path: string,
) => { readonly target: FunctionRunner; readonly mode: RouteMode } | undefined;

const MAX_PIECE_BYTES = 64 * 1024;
/**
 * Headers of a request that node:http takes unless `server.maxHeadersCount` says otherwise; Node 20 drops the rest without a word, Node 24
 * answers 431. (Its documentation says 2,000, which counts names and values.)
 */
const MAX_HEADERS = 1000;
/** Of the head beside URL, names and values: the method, the version, separators and line ends of two hundred headers. */
const HEAD_OVERHEAD_BYTES = 1024;

/** `onWarning` is told once when the server refuses heads that the limits allow. */
export function createListener(
  find: FindRoute,
  options: ListenerOptions,
  onWarning: (error: Error) => void,
): NodeListener {
  let server: unknown = NO_SERVER;
  let isWarned = false;
  /** Names and values. */
  let maxRawHeaders = 0;
  return (request, response, next) => {
    try {
      const target = readTarget(request, options.trustProxy === true);
      const route = find(target.host, target.path);
      if (route === undefined) {
        leave(request, response, next, `No function is attached to ${target.host}${target.path}`);
        return;
      }
      const { target: runner, mode } = route;
      const { context } = runner;
      const own = serverOf(request);
      if (own !== server) {
        server = own;
        maxRawHeaders = 2 * maxHeadersOf(own);
      }
      // What is left of headers that were dropped may lack the one that matters.
      if (request.rawHeaders.length > maxRawHeaders) throw tooManyHeaders(request, maxRawHeaders);
      if (!isWarned) {
        isWarned = true;
        checkServer(own, context.limits, onWarning);
      }
      checkRequestHead(
        { method: request.method ?? 'GET', url: target.url, headers: request.rawHeaders },
        context.limits,
      );
      const proceed = (decision: AdmissionDecision): void => {
        if (decision.kind === 'admit') serve(runner, request, response, target.url, next);
        else if (decision.kind === 'bypass') leave(request, response, next, refusalOf(context, mode, decision).message);
        else sendError(request, response, refusalOf(context, mode, decision), decision.retryAfterMs);
      };
      const decision = context.admit(mode, clientAddress(request, options));
      if ('then' in decision) void decision.then(proceed).catch(error => sendError(request, response, error));
      else proceed(decision);
    } catch (error) {
      sendError(request, response, error);
    }
  };
}

/** What no server is. */
const NO_SERVER = Symbol('no server');

/** The server that a request came to; undefined when its connection does not tell. */
function serverOf({ socket }: IncomingMessage): unknown {
  return 'server' in socket ? socket.server : undefined;
}

function maxHeadersOf(server: unknown): number {
  const own =
    typeof server === 'object' && server !== null && 'maxHeadersCount' in server ? server.maxHeadersCount : undefined;
  if (typeof own !== 'number') return MAX_HEADERS;
  return own > 0 ? own : Number.POSITIVE_INFINITY;
}

/** node:http has a bound of its own for heads, and answers 431 before anything here is asked. */
function checkServer(server: unknown, limits: ResolvedLimits, onWarning: (error: Error) => void): void {
  const own =
    typeof server === 'object' && server !== null && 'maxHeaderSize' in server ? server.maxHeaderSize : undefined;
  const maxHeaderSize = typeof own === 'number' ? own : http.maxHeaderSize;
  const wanted = limits.urlBytes + limits.headersBytes;
  if (!Number.isFinite(wanted) || maxHeaderSize >= wanted) return;
  onWarning(
    new Error(
      `The server of the listener answers 431 to heads of more than ${maxHeaderSize} bytes by itself, where limits urlBytes and headersBytes allow ${wanted} together: create it with http.createServer({ maxHeaderSize: ${wanted + HEAD_OVERHEAD_BYTES} }, listener)`,
    ),
  );
}

function tooManyHeaders({ method }: IncomingMessage, maxRawHeaders: number): EdgeError {
  return new EdgeError(
    'EDGE_HEADERS_TOO_LARGE',
    `Cannot serve the ${method} request: it has more headers than its server takes, which are ${maxRawHeaders / 2} (maxHeadersCount of the server)`,
  );
}

/** As if no function were attached: on to what is behind the listener, or 404. */
function leave(request: IncomingMessage, response: ServerResponse, next: Next | undefined, message: string): void {
  if (next !== undefined) next();
  else sendError(request, response, new EdgeError('EDGE_NO_ROUTE', message));
}

function clientAddress(request: IncomingMessage, options: ListenerOptions): string | undefined {
  const forwarded = options.trustProxy === true ? firstOf(request.headers['x-forwarded-for']) : undefined;
  return forwarded ?? request.socket.remoteAddress;
}

function serve(
  runner: FunctionRunner,
  request: IncomingMessage,
  response: ServerResponse,
  url: string,
  next: Next | undefined,
): void {
  const head = headOfRaw(request.method ?? 'GET', url, request.rawHeaders);
  const sink = new NodeSink(request, response, runner.context, next);
  const { headers } = request;
  const length = headers['content-length'];
  if ((length === undefined || length === '0') && headers['transfer-encoding'] === undefined) {
    begin(runner, sink, { kind: HostOpens.Fetch, head, isUtf8: false, body: null, isComplete: true });
    return;
  }
  if (Number(length) <= INLINE_BODY_BYTES) {
    // A small body mostly comes with the head, and is there a tick later: then it travels in the same frame.
    process.nextTick(() => {
      const body = request.readableLength === Number(length) ? request.read() : null;
      const isComplete = body instanceof Buffer;
      begin(runner, sink, { kind: HostOpens.Fetch, head, isUtf8: false, body: isComplete ? body : null, isComplete });
    });
    return;
  }
  begin(runner, sink, { kind: HostOpens.Fetch, head, isUtf8: false, body: null, isComplete: false });
}

function begin(runner: FunctionRunner, sink: NodeSink, start: InvocationStart): void {
  const invocation = runner.runNow(start, sink);
  if (invocation !== undefined) sink.started(invocation, start.isComplete);
  else {
    runner.run(start, sink).then(
      started => sink.started(started, start.isComplete),
      (error: unknown) => sink.refuse(error),
    );
  }
}

class NodeSink implements ResponseSink, RequestBodySource {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: InvocationContext;
  readonly #next: Next | undefined;
  /** What the client has not read yet of what was handed to its connection. */
  #unreadBytes = 0;
  #invocation: Invocation | undefined;
  #exchange: Exchange | undefined;
  #counter: BodyCounter | undefined;
  #isStreaming = false;
  #isGone = false;

  constructor(request: IncomingMessage, response: ServerResponse, context: InvocationContext, next: Next | undefined) {
    this.#request = request;
    this.#response = response;
    this.#context = context;
    this.#next = next;
    response.once('close', () => this.#closed());
  }

  started(invocation: Invocation, isComplete: boolean): void {
    this.#invocation = invocation;
    if (this.#isGone) {
      invocation.abort();
      return;
    }
    if (isComplete) return;
    invocation.source = this;
    this.#request.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#request.once('end', () => invocation.exchange.end());
    this.#request.once('error', () => {}); // the response's close event tells
    if (this.#request.readableEnded) invocation.exchange.end();
  }

  /** The function could not be started. */
  refuse(error: unknown): void {
    sendError(this.#request, this.#response, error);
  }

  // --- RequestBodySource ---

  resume(): void {
    this.#request.resume();
  }

  /** The function reads no more: the rest is read and dropped, so that the connection can be used again. */
  stop(): void {
    this.#request.removeAllListeners('data');
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

  respond(status: number, head: string, body: Buffer, isComplete: boolean, exchange: Exchange): void {
    const response = this.#response;
    if (this.#isGone) return;
    try {
      const { statusText, headers } = parseResponseHead(head);
      if (isNullBodyStatus(status) || this.#request.method === 'HEAD') {
        if (!isComplete) exchange.stopReading('The response has no body');
        response.writeHead(
          status,
          statusText,
          this.#request.method === 'HEAD' ? headOnly(headers, isComplete ? body.length : 0) : withoutLength(headers),
        );
        response.end();
        return;
      }
      if (isComplete) {
        const bare = withoutLength(headers);
        bare.push('content-length', String(body.length));
        response.writeHead(status, statusText, bare);
        if (body.length === 0) response.end();
        else {
          response.end(body);
          this.#countUnread(body);
        }
        return;
      }
      // A declared length is kept to by the server: a function cannot desynchronise a connection that others use.
      response.strictContentLength = true;
      response.writeHead(status, statusText, withPlainLength(headers));
      this.#exchange = exchange;
      this.#isStreaming = true;
      this.bodyReady();
    } catch (error) {
      this.fail(
        new EdgeError('EDGE_PROTOCOL', `The response of the function cannot be sent: ${String(error)}`, {
          cause: error,
        }),
      );
      this.#invocation?.abort();
    }
  }

  bodyReady(): void {
    const exchange = this.#exchange;
    const response = this.#response;
    if (exchange === undefined || this.#isGone || response.writableNeedDrain) return;
    try {
      for (;;) {
        const piece = exchange.read(MAX_PIECE_BYTES);
        if (piece === undefined) break;
        if (!response.write(piece)) {
          this.#countUnread(piece);
          response.once('drain', () => {
            this.#countRead();
            this.bodyReady();
          });
          return;
        }
      }
      if (exchange.incoming !== 'ended') return;
      this.#exchange = undefined;
      response.end();
      this.#invocation?.bodyEnded();
    } catch {
      // More bytes than the declared length, or fewer: nobody can tell where the next response begins.
      response.destroy();
    }
  }

  fail(error: EdgeError): void {
    if (this.#isGone) return;
    if (this.#isStreaming || this.#response.headersSent) {
      this.#response.destroy(error);
      return;
    }
    if (this.#invocation?.passesThrough === true && this.#next !== undefined) this.#next();
    else sendError(this.#request, this.#response, error);
  }

  /** Most clients have taken it at once. */
  #countUnread({ buffer }: Buffer): void {
    if (this.#response.writableLength === 0 || this.#isGone) return;
    this.#unreadBytes = buffer.byteLength;
    this.#context.share.bytes.countBuffers(this.#unreadBytes);
  }

  #countRead(): void {
    this.#context.share.bytes.countBuffers(-this.#unreadBytes);
    this.#unreadBytes = 0;
  }

  #closed(): void {
    this.#countRead();
    if (this.#response.writableFinished) return;
    this.#isGone = true;
    this.#invocation?.abort();
  }
}

/** HEAD tells the length that GET would have; a function may give it, or the body itself. */
function headOnly(headers: readonly string[], bodyBytes: number): string[] {
  return bodyBytes === 0 ? withPlainLength(headers) : [...withoutLength(headers), 'content-length', String(bodyBytes)];
}

/**
 * Node writes out whatever Number() takes for a length, `0x10` or `+16` or two of them; a proxy that reads it otherwise takes the rest of
 * the body for the next response of the connection. What is not one row of digits is left out.
 */
function withPlainLength(headers: readonly string[]): string[] {
  let length: string | undefined;
  let count = 0;
  for (let at = 0; at < headers.length; at += 2) {
    if (!isLength(headers[at] ?? '')) continue;
    count++;
    length = headers[at + 1];
  }
  return count === 0 || (count === 1 && /^\d{1,15}$/.test(length ?? '')) ? [...headers] : withoutLength(headers);
}

function isLength(name: string): boolean {
  return name.length === 14 && name.toLowerCase() === 'content-length';
}

function withoutLength(headers: readonly string[]): string[] {
  const bare: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!isLength(name)) bare.push(name, headers[at + 1] ?? '');
  }
  return bare;
}
