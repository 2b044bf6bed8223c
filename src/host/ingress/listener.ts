/**
 * The endpoint of node:http, and the hottest path of all: from the parsed head straight to a frame, and from the answering frame to the
 * socket, without a Request or Response in between.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Algorithms } from '../../hostnames/zone-compression.js';
import { INLINE_BODY_BYTES } from '../../protocol/frames/frame-layout.js';
import { EdgeError, errorCode, isEdgeErrorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { AdmissionDecision, RouteMode } from '../../quotas/requests/admission.js';
import { followsAmbiguousFraming } from '../../quotas/requests/ambiguous-framing.js';
import { endsWithHead, fieldsOf, isClosed } from '../../quotas/requests/both-protocols.js';
import { closeWithConnection } from '../../quotas/requests/pipelined-responses.js';
import { BodyCounter, checkRequestHead } from '../../quotas/requests/request-checks.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { AssetSite } from '../assets/asset-site.js';
import { refusalOf } from '../invocation/failures/admission-refusal.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import { FetchStart, type InvocationStart, UpgradeStart } from '../invocation/invocation-start.js';
import { sendAsset } from './assets/send-asset.js';
import { clientAddress, comesOverUnknownProxy, type TrustProxy } from './client-address.js';
import { clientHeaders } from './client-headers.js';
import { CODINGS, type Coding, codingsOf, NO_CODINGS } from './compression/accepted-coding.js';
import { endToEndHeaders } from './end-to-end-headers.js';
import { sendError } from './error-response.js';
import type { Fill, ListenerSink } from './front/fill.js';
import type { FrontCache } from './front/front-cache.js';
import { headOfRaw } from './http-head.js';
import { type Next, NodeSink } from './node-sink.js';
import { bodyIsRead, bodyReadBefore } from './read-body.js';
import { readTarget } from './request-target.js';
import { checkServer, maxHeadersOf, serverOf, tooManyHeaders } from './server-bounds.js';
import { checkHandshake, isWebSocketRequest, loadWs } from './websocket/handshake.js';
import { UpgradeConnection } from './websocket/upgrade-connection.js';
import { UpgradeSink } from './websocket/upgrade-sink.js';

export interface ListenerOptions {
  /**
   * Take scheme and host of the URL that the function sees from X-Forwarded-Proto and X-Forwarded-Host, and the client's address from X-Forwarded-For. `true`
   * takes the first value of each: only behind a proxy that sets all of them in place of what the client sent, because with one that only appends to
   * X-Forwarded-For the client can choose its address. A number (1 to 100) counts the proxies in front of the server, each of which appends its client's
   * address: the value that the outermost of them has appended is taken. @default false
   */
  readonly trustProxy?: TrustProxy;
  /**
   * The time within which the function must begin its answer, its start included; else the request is answered with 504 (EDGE_TIMEOUT) and the invocation
   * canceled. Reading the answer's body is not bounded by it. 1 or more, in milliseconds; `Infinity` for none. @default Infinity
   */
  readonly timeoutMs?: number;
  /**
   * Compress bodies of 1 KiB and more by Brotli, Zstandard (where Node has it) or gzip, as the client prefers. The type must be one that becomes shorter, and
   * the response can forbid it. `false` for a server behind a proxy that does it. @default true
   */
  readonly compression?: boolean;
}

export interface NodeListener {
  (request: IncomingMessage, response: ServerResponse, next?: Next): void;
  /**
   * Serves WebSockets: `server.on('upgrade', listener.upgrade)`. Requests for anything else than a WebSocket that come by this event are served as if
   * they had not asked for it. `next` is called for what no function is attached to; without it such a request is answered with 404.
   */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, next?: Next) => void;
}
/** The function behind a URL, and what happens to its requests beyond the daily limit. */
export type FindRoute = (
  host: string,
  path: string,
) => { readonly target: FunctionRunner; readonly mode: RouteMode } | undefined;

/**
 * `onWarning` is called once for each probable mistake: heads that the server refuses, a proxy that the options do not name, bodies that were read before.
 * `algorithmsOf` finds the algorithms for answers under a URL; undefined when all codings may be used.
 */
export function createListener(
  find: FindRoute,
  options: ListenerOptions,
  onWarning: (error: Error) => void,
  front?: FrontCache,
  algorithmsOf: (host: string, path: string) => Algorithms | undefined = () => undefined,
): NodeListener {
  const listener = new RequestListener(find, options, onWarning, front, algorithmsOf);
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse, next?: Next) => listener.listen(request, response, next),
    {
      upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer, next?: Next) =>
        listener.upgrade(request, socket, head, next),
    },
  );
}

/** A request whose function is known and whose head is in order, before it is admitted. */
interface RoutedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly next: Next | undefined;
  /** Where the client asks for a WebSocket. */
  readonly connection: UpgradeConnection | undefined;
  readonly runner: FunctionRunner;
  readonly mode: RouteMode;
  readonly url: string;
  readonly codings: readonly Coding[];
  /** The addresses of the other end of the connection, and of the client behind it. */
  readonly peer: string | undefined;
  readonly address: string | undefined;
}

class RequestListener {
  readonly #find: FindRoute;
  readonly #onWarning: (error: Error) => void;
  readonly #front: FrontCache | undefined;
  readonly #algorithmsOf: (host: string, path: string) => Algorithms | undefined;
  readonly #trustProxy: TrustProxy;
  readonly #timeoutMs: number;
  readonly #compression: boolean;
  /** The server of the last request. */
  #server: unknown = NO_SERVER;
  /** The names and values of headers that it keeps. */
  #maxRawHeaders = 0;
  #isServerChecked = false;
  #isProxyWarned: boolean;
  #isBodyWarned = false;

  constructor(
    find: FindRoute,
    options: ListenerOptions,
    onWarning: (error: Error) => void,
    front: FrontCache | undefined,
    algorithmsOf: (host: string, path: string) => Algorithms | undefined,
  ) {
    const { trustProxy = false, timeoutMs = Number.POSITIVE_INFINITY, compression = true } = options;
    this.#find = find;
    this.#onWarning = onWarning;
    this.#front = front;
    this.#algorithmsOf = algorithmsOf;
    this.#trustProxy = trustProxy;
    this.#timeoutMs = timeoutMs;
    this.#compression = compression;
    this.#isProxyWarned = options.trustProxy !== undefined;
  }

  listen(request: IncomingMessage, response: ServerResponse, next?: Next, connection?: UpgradeConnection): void {
    if (followsAmbiguousFraming(request, response)) return;
    closeWithConnection(request, response);
    try {
      const target = readTarget(request, this.#trustProxy);
      const { host, path, url } = target;
      const route = this.#find(host, path);
      if (route === undefined) {
        leave(request, response, next, `No function is attached to ${host}${path}`);
        return;
      }
      const { target: runner, mode } = route;
      this.#checkHead(request, url, runner.context.limits);
      if (connection !== undefined) checkHandshake(request);
      const peer = request.socket.remoteAddress;
      const address = clientAddress(request, this.#trustProxy, peer);
      const codings = this.#codingsFor(host, path);
      const routed = { request, response, next, connection, runner, mode, url, codings, peer, address };
      if (runner.assets !== undefined && connection === undefined && this.#sendAsset(runner.assets, routed)) return;
      this.#admit(routed);
    } catch (error) {
      this.#refuse(request, response, error);
    }
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, next?: Next): void {
    const connection = new UpgradeConnection(request, socket, head);
    const { response } = connection;
    const leaveOn =
      next &&
      ((error?: unknown) => {
        connection.giveBack();
        next(error);
      });
    if (!isWebSocketRequest(request)) this.listen(request, response, leaveOn);
    else
      loadWs().then(
        () => this.listen(request, response, leaveOn, connection),
        error => this.#refuse(request, response, error),
      );
  }

  /** @throws EdgeError for a head that is too large, or that the server has shortened */
  #checkHead(request: IncomingMessage, url: string, limits: ResolvedLimits): void {
    const fields = fieldsOf(request);
    // An HTTP/2 server resets a request with more headers than it takes, and drops none.
    if (request.httpVersionMajor < 2) {
      const server = serverOf(request);
      if (server !== this.#server) {
        this.#server = server;
        this.#maxRawHeaders = 2 * maxHeadersOf(server);
      }
      // When headers were dropped, the missing ones may be the ones that matter.
      if (fields.length > this.#maxRawHeaders) throw tooManyHeaders(request, this.#maxRawHeaders);
      if (!this.#isServerChecked) {
        this.#isServerChecked = true;
        checkServer(server, limits, this.#onWarning);
      }
    }
    checkRequestHead({ method: request.method ?? 'GET', url, headers: fields }, limits);
    if (!this.#isProxyWarned && limits.addressRequestsPerSecond !== Number.POSITIVE_INFINITY) {
      this.#isProxyWarned = comesOverUnknownProxy(request);
      if (this.#isProxyWarned) this.#onWarning(unknownProxy(request));
    }
  }

  /** Whether the static files of the function have answered. */
  #sendAsset(site: AssetSite, { request, response, next, runner, url, codings, address }: RoutedRequest): boolean {
    const { context } = runner;
    const answer = site.route({ method: request.method ?? 'GET', url, headers: request.headers });
    if (answer === undefined) return false;
    const flood = address === undefined ? undefined : context.admitAsset?.(address);
    if (flood === undefined) sendAsset({ request, response, next, codings, context }, site, answer);
    else sendError(request, response, refusalOf(context, 'fail-closed', flood), flood.retryAfterMs);
    return true;
  }

  #codingsFor(host: string, path: string): readonly Coding[] {
    if (!this.#compression) return NO_CODINGS;
    const algorithms = this.#algorithmsOf(host, path);
    return algorithms === undefined ? CODINGS : codingsOf(algorithms);
  }

  #admit(routed: RoutedRequest): void {
    const { request, response, connection, runner, mode, address } = routed;
    if (connection === undefined && this.#front?.takes(request, runner) === true) {
      this.#serveFromFront(this.#front, routed);
      return;
    }
    const decision = runner.context.admit(mode, address);
    if (!('then' in decision)) {
      this.#proceed(routed, decision);
      return;
    }
    const isFlowing = request.readableFlowing === true;
    if (isFlowing) request.pause();
    void decision
      .then(known => {
        if (isFlowing) request.resume();
        this.#proceed(routed, known);
      })
      .catch(error => this.#refuse(request, response, error));
  }

  /** The answer may be in the cache; the function is admitted and runs where it is not. */
  #serveFromFront(front: FrontCache, routed: RoutedRequest): void {
    const { request, response, next, runner, mode, url, codings, peer, address } = routed;
    const headOf = (headers: readonly string[]): string =>
      headOfRaw('GET', url, headers, clientHeaders(request, address, peer));
    const run = (fill?: Fill): void => {
      admitted(
        () => runner.context.admit(mode, address),
        known => this.#proceed(routed, known, fill),
        error => {
          fill?.fail('The function is not admitted');
          this.#refuse(request, response, error);
        },
      );
    };
    front.serve({ request, response, next, url, runner, codings, mode, run, headOf });
  }

  #proceed(routed: RoutedRequest, decision: AdmissionDecision, fill?: Fill): void {
    const { request, response, next, connection, runner, mode, url, codings, peer, address } = routed;
    const { context } = runner;
    if (decision.kind !== 'admit') {
      fill?.fail('The function is not admitted');
      const refusal = refusalOf(context, mode, decision);
      if (decision.kind === 'bypass') leave(request, response, next, refusal.message);
      else sendError(request, response, refusal, decision.retryAfterMs);
      return;
    }
    // The client has left during a hook of the framework, or before the decision.
    if (isClosed(response)) {
      fill?.fail('The client is gone');
      return;
    }
    const sink = new NodeSink(request, response, context, next, codings);
    if (this.#timeoutMs !== Number.POSITIVE_INFINITY) sink.limit(this.#timeoutMs);
    const head = headOfRaw(
      request.method ?? 'GET',
      url,
      endToEndHeaders(request),
      clientHeaders(request, address, peer),
    );
    if (connection === undefined) {
      serve(runner, request, fill === undefined ? sink : fill.around(sink), head);
      return;
    }
    connection.countTo(context.share);
    begin(runner, new UpgradeSink(sink, request, connection, context), new UpgradeStart(head, null, false));
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (!this.#isBodyWarned && error instanceof Error && errorCode(error) === 'EDGE_BODY_READ') {
      this.#isBodyWarned = true;
      this.#onWarning(error);
    }
    // An error of the application, such as from a property that it has defined on the request: the client gets only an internal error.
    if (error instanceof Error && !isEdgeErrorCode(errorCode(error) ?? '')) this.#onWarning(error);
    sendError(request, response, error);
  }
}

/** For a request without a body, which needs no pause meanwhile. */
function admitted(
  admit: () => AdmissionDecision | Promise<AdmissionDecision>,
  proceed: (decision: AdmissionDecision) => void,
  fail: (error: unknown) => void,
): void {
  try {
    const decision = admit();
    if ('then' in decision) decision.then(proceed).catch(fail);
    else proceed(decision);
  } catch (error) {
    fail(error);
  }
}

/** Differs from every server. */
const NO_SERVER = Symbol('no server');

function unknownProxy({ socket, headers }: IncomingMessage): Error {
  const from = headers['x-forwarded-for'] === undefined ? 'Forwarded' : 'X-Forwarded-For';
  return new Error(
    `The anti-abuse limit (addressRequestsPerSecond) counts the requests of ${socket.remoteAddress}, which come with ${from}: that is the address of a proxy, and all of its visitors count as one. Create the listener with host.listener({ trustProxy: true }) where the proxy sets that header, or with the number of proxies that add to it; with trustProxy: false where no proxy exists`,
  );
}

/** Treats the request as if no function were attached: it goes to the next handler, or is answered with 404. */
function leave(request: IncomingMessage, response: ServerResponse, next: Next | undefined, message: string): void {
  if (next !== undefined) next();
  else sendError(request, response, new EdgeError('EDGE_NO_ROUTE', message));
}

function serve(runner: FunctionRunner, request: IncomingMessage, sink: ListenerSink, head: string): void {
  const { headers } = request;
  const length = headers['content-length'];
  const isBare =
    (length === undefined || length === '0') &&
    headers['transfer-encoding'] === undefined &&
    (request.httpVersionMajor < 2 || length === '0' || endsWithHead(request));
  const read = isBare ? undefined : bodyReadBefore(request);
  if (read !== undefined) new BodyCounter(runner.context.limits).add(read.length);
  if (isBare) {
    begin(runner, sink, new FetchStart(head, null, true));
    return;
  }
  if (read !== undefined) {
    const isComplete = read.length <= INLINE_BODY_BYTES;
    const body = isComplete ? read : null;
    begin(runner, sink, new FetchStart(head, body, isComplete), read);
    return;
  }
  // The application reads the body as well, so it is paused until the function can receive it.
  if (request.readableFlowing === true) request.pause();
  if (Number(length) <= INLINE_BODY_BYTES) {
    // A small body mostly comes with the head, and is there a tick later: then it travels in the same frame.
    process.nextTick(
      guarded(() => {
        const body = request.readableLength === Number(length) ? request.read() : null;
        if (body === null && request.readableDidRead) {
          // By other code, in this very tick.
          sink.refuse(bodyIsRead(request));
          return;
        }
        const isComplete = body instanceof Buffer;
        begin(runner, sink, new FetchStart(head, isComplete ? body : null, isComplete));
      }),
    );
    return;
  }
  begin(runner, sink, new FetchStart(head, null, false));
}

function begin(runner: FunctionRunner, sink: ListenerSink, start: InvocationStart, read?: Buffer): void {
  const invocation = runner.runNow(start, sink);
  if (invocation !== undefined) sink.started(invocation, start.isComplete, read);
  else {
    runner.run(start, sink).then(
      started => sink.started(started, start.isComplete, read),
      (error: unknown) => sink.refuse(error),
    );
  }
}
