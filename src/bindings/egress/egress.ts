/**
 * Outgoing fetch, a service of the host process: it makes the requests of functions, which have no network of their own. It checks every value from a function;
 * the address policy, or the application, decides which destinations are allowed.
 */
import type { Readable } from 'node:stream';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { LIMITS } from '../../quotas/limits.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import { cancelBody } from '../bodies/cancel-body.js';
import { chargedBody } from '../bodies/charged-body.js';
import type { CallOrigin, ServiceBody } from '../service.js';
import { AddressPolicy, type AddressPolicyOptions } from './address-policy.js';
import { bodyStream, destroyQuietly } from './body-stream.js';
import { ACCEPT_ENCODING, decodedBody } from './content-decoding.js';
import { PASSED_ON, reasonOf } from './fetch-failures.js';
import { LazyTransport } from './lazy-transport.js';
import type { NetworkOptions } from './network-transport.js';
import { type OutboundHandler, OutboundTransport } from './outbound-transport.js';
import type { ResolveHost } from './policed-lookup.js';
import { type Hop, isBadPort, isRedirect, networkError, nextHop } from './redirect.js';
import { checkHead, headerValue } from './request-head.js';
import type { EgressPolicy } from './rules/egress-policy.js';
import type { SubstitutedRequest } from './rules/substituted-request.js';
import type { EgressTransport, HopAnswer, HopRequest, LocalSend } from './transport.js';

const MAX_REDIRECTS = LIMITS.redirects.values.standard;
const MAX_DISCARDED_BYTES = 16 * 1024;

export interface EgressSettings extends AddressPolicyOptions {
  /** Asked about every request before anything else. Its answer is final, and no address policy applies to it. */
  readonly outbound?: OutboundHandler;
  /** Finds the addresses of a host name. @default DNS, without /etc/hosts */
  readonly resolve?: ResolveHost;
  /** Certificates to trust in place of the usual ones, PEM. */
  readonly ca?: string | readonly string[];
  /** @default 10,000 */
  readonly connectTimeoutMs?: number;
  /** How long a server may take to begin its answer. @default 300,000 */
  readonly headersTimeoutMs?: number;
  /** How long a server may pause within a body. @default 300,000 */
  readonly bodyTimeoutMs?: number;
  /** Largest head of an answer. @default 65,536 */
  readonly maxHeaderBytes?: number;
  /** Sockets of one account to one origin; more requests wait. @default 100 */
  readonly connectionsPerOrigin?: number;
  /** Origins of one account whose sockets are kept for later requests; the least recently used are closed. @default 100 */
  readonly originsPerAccount?: number;
  /** Sockets of one account; more requests fail. @default 1,000 */
  readonly socketsPerAccount?: number;
  /** How long an idle socket is kept. @default 4,000 */
  readonly keepAliveMs?: number;
  /** Sent when the function names none. @default 'edgehost' */
  readonly userAgent?: string;
  /**
   * Whether functions may open TCP sockets, under the same policy of addresses. Each account may have `socketsPerAccount` of them, counted apart from
   * the sockets of requests. @default true; false with `outbound`, which sockets do not ask
   */
  readonly sockets?: boolean;
}

export interface EgressRequest {
  readonly account: string;
  readonly function: string;
  /** A `RequestHead`, as the function wrote it: checked here. */
  readonly head: unknown;
  /** Bytes can be sent again after a redirect; a stream cannot, as in the Fetch standard. Ended here in every case. */
  readonly body: ServiceBody | null;
  /** Ends the request, or the body of its answer. */
  readonly signal: AbortSignal;
  /** How many redirects are followed, `redirects` of the limits: 0 to 20. @default 20 */
  readonly redirects?: number;
  /**
   * Called before each hop, the first is number 0. An error that it throws ends the request and reaches the caller: the place to count subrequests, and to
   * refuse URLs that are routes of the same host.
   */
  readonly onHop?: (url: URL, hop: number) => Promise<void> | undefined;
  /** Sent where the function has not set them: names in lower case and values in turn. @default none */
  readonly traceHeaders?: readonly string[] | undefined;
  /** The transport that answers the URL in place of the network; undefined for the network. Called before each hop. */
  readonly localOf?: ((url: URL) => LocalSend | undefined) | undefined;
  /** The rules of the function's option `egress`, asked before each hop. @default none */
  readonly policy?: EgressPolicy | undefined;
  /** The invocation, for reports of the policy. */
  readonly origin?: CallOrigin | undefined;
  /** The host's work for the request is counted here. @default not counted, for the application's own requests */
  readonly work?: CallWork;
}

export interface EgressResponse {
  readonly status: number;
  readonly statusText: string;
  /** Names and values in turn, as received: also Content-Encoding and Content-Length of a body that is decoded now. */
  readonly headers: readonly string[];
  /** The URL of the last hop. */
  readonly url: string;
  readonly redirected: boolean;
  /** Whether content codings were removed: a caller that forwards the body must then leave out Content-Encoding and Content-Length. */
  readonly decoded: boolean;
  /** To be read to its end, or ended by `return()` on its iterator: until then it holds a socket. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

export interface Egress {
  /**
   * Makes a request of a function. Follows up to 20 redirects when the head says so (the default), each under the same policy.
   *
   * @throws TypeError when the head is not one that `fetch` could make
   * @throws EdgeError EDGE_EGRESS_DENIED when a host has no address that the policy allows, or the rules of the function refuse it; EDGE_EGRESS_FAILED when no
   * answer arrives, EDGE_OVERLOADED when the account has too many sockets and files open
   * @throws the error of `onHop`, or the reason of `signal` when it fires
   */
  fetch(request: EgressRequest): Promise<EgressResponse>;
  /** Ends all sockets. Requests in flight fail. */
  close(): Promise<void>;
}

/**
 * Outgoing fetch for functions.
 *
 * @throws TypeError or RangeError for an option that is not what it must be
 */
export function createEgress(options: EgressSettings = {}): Egress {
  const outbound = options.outbound === undefined ? undefined : new OutboundTransport(options.outbound);
  const transport = network(options);
  const defaults = ['accept', '*/*', 'accept-encoding', ACCEPT_ENCODING, 'user-agent', options.userAgent ?? 'edgehost'];
  let isClosed = false;
  return {
    async fetch(request) {
      if (isClosed) throw new EdgeError('EDGE_CLOSED', 'Cannot fetch: the host is closed');
      return new OutgoingRequest(outbound, transport, request, defaults).run();
    },
    async close() {
      isClosed = true;
      await transport.close();
    },
  };
}

/** One call of fetch, through all its hops. */
class OutgoingRequest {
  readonly #outbound: OutboundTransport | undefined;
  readonly #transport: EgressTransport;
  readonly #request: EgressRequest;
  readonly #work: CallWork;
  readonly #defaults: readonly string[];
  /** Bodies of redirects: small ones are read to their end so that their sockets can be used again. */
  readonly #leftovers: Readable[] = [];
  #isBodyTaken = false;
  /** A function of this host answers: no byte of it leaves. */
  #isLocal = false;

  constructor(
    outbound: OutboundTransport | undefined,
    transport: EgressTransport,
    request: EgressRequest,
    defaults: readonly string[],
  ) {
    this.#outbound = outbound;
    this.#transport = transport;
    this.#request = request;
    this.#work = request.work ?? OWN_WORK;
    this.#defaults = defaults;
  }

  async run(): Promise<EgressResponse> {
    try {
      this.#request.signal.throwIfAborted();
      return await this.#follow();
    } catch (error) {
      this.#endLeftovers();
      if (!this.#isBodyTaken) cancelBody(this.#request.body);
      throw this.#toError(error);
    }
  }

  async #follow(): Promise<EgressResponse> {
    const { redirect, ...head } = checkHead(this.#request.head);
    let hop: Hop = { ...head, headers: this.#headers(head.headers), body: this.#request.body };
    const maxRedirects = Math.min(this.#request.redirects ?? MAX_REDIRECTS, MAX_REDIRECTS);
    for (let count = 0; ; count++) {
      // Counting comes before the check of redirects, because its error names the limit that was passed.
      const counted = this.#request.onHop?.(hop.url, count);
      if (counted !== undefined) await counted;
      if (count > maxRedirects) throw networkError(hop.url, `it redirects more than ${maxRedirects} times`);
      this.#request.policy?.checkRequest(hop, this.#request.origin);
      const answer = await this.#send(hop);
      if (redirect === 'error' && isRedirect(answer.status)) {
        this.#discard(answer);
        throw networkError(hop.url, 'it answered with a redirect, and the redirect mode is error');
      }
      const next = redirect === 'follow' ? this.#next(hop, answer) : undefined;
      if (next === undefined) return this.#response(hop, answer, count > 0);
      this.#discard(answer);
      hop = next;
    }
  }

  #headers(own: string[]): string[] {
    const { traceHeaders } = this.#request;
    const headers = withDefaults(own, this.#defaults);
    return traceHeaders === undefined ? headers : withDefaults(headers, traceHeaders);
  }

  #next(hop: Hop, answer: HopAnswer): Hop | undefined {
    try {
      const next = nextHop(hop, answer);
      const { policy } = this.#request;
      if (policy === undefined || next === undefined || next.url.origin === hop.url.origin) return next;
      return { ...next, headers: policy.withoutSecrets(next.headers) };
    } catch (error) {
      this.#discard(answer);
      throw error;
    }
  }

  async #send(hop: Hop): Promise<HopAnswer> {
    const { account, function: name, signal, policy, origin } = this.#request;
    if (isBadPort(hop.url)) {
      throw networkError(hop.url, `port ${hop.url.port} is not one for HTTP (Fetch standard, bad port)`);
    }
    const isGetOrHead = hop.method === 'GET' || hop.method === 'HEAD';
    if (isGetOrHead && hop.body !== null) throw new TypeError(`Cannot fetch: a ${hop.method} request has no body`);
    const substituted = policy?.substitute(hop, origin);
    this.#isBodyTaken ||= hop.body !== null;
    this.#work.charge(HOST_COSTS.hopMs);
    this.#isLocal = false;
    const body = this.#upload(hop.body);
    try {
      const request = { ...hop, body, account, function: name, signal, work: this.#work };
      const sent = substituted === undefined ? request : withSecrets(request, substituted);
      const answer = await this.#outbound?.send(sent);
      if (answer !== undefined) {
        this.#countSent(body);
        return withoutSecrets(answer, substituted);
      }
      // A function of this host gets the placeholders: its author may be the one whom the secrets are kept from.
      const local = this.#request.localOf?.(hop.url);
      this.#isLocal = local !== undefined;
      const answered = await local?.(request);
      if (answered !== undefined) return answered;
      this.#isLocal = false;
      this.#countSent(body);
      return withoutSecrets(await this.#transport.send(sent), substituted);
    } catch (error) {
      if (errorCode(error) === 'EDGE_EGRESS_DENIED') policy?.refusedAddress(hop, origin);
      // The policy does not know the URL, and a function must not learn what a name resolves to inside: no cause text.
      if (PASSED_ON.has(errorCode(error))) throw error;
      throw networkError(hop.url, reasonOf(error), error);
    }
  }

  #upload(body: ServiceBody | null): ServiceBody | null {
    if (body === null) return null;
    if (!(body instanceof Uint8Array)) {
      return chargedBody(body, this.#work, HOST_COSTS.sentMbMs, bytes => this.#countEgress(bytes, 0));
    }
    this.#work.charge(costOf(body.byteLength, HOST_COSTS.sentMbMs));
    return body;
  }

  /** A body that is a stream is counted chunk by chunk. */
  #countSent(body: ServiceBody | null): void {
    if (body instanceof Uint8Array) this.#countEgress(body.byteLength, 0);
  }

  #countEgress(sentBytes: number, receivedBytes: number): void {
    if (!this.#isLocal) this.#work.countEgress(sentBytes, receivedBytes);
  }

  #response(hop: Hop, answer: HopAnswer, redirected: boolean): EgressResponse {
    const { status, statusText, headers, body } = answer;
    if (body === null) this.#endLeftovers();
    else if (this.#leftovers.length > 0)
      body.once(
        'close',
        guarded(() => this.#endLeftovers()),
      );
    const content = body === null ? undefined : this.#content(hop, body, answer);
    return {
      status,
      statusText,
      headers,
      url: hop.url.href,
      redirected,
      decoded: content?.isDecoded ?? false,
      body: content?.chunks ?? null,
    };
  }

  #content(hop: Hop, body: Readable, answer: HopAnswer): { chunks: AsyncIterable<Uint8Array>; isDecoded: boolean } {
    const toError = (error: unknown): Error =>
      errorCode(error) === 'EDGE_EGRESS_FAILED' || errorCode(error) === 'EDGE_OVERLOADED'
        ? this.#toError(error)
        : this.#toError(networkError(hop.url, `the body of the answer broke off (${reasonOf(error)})`, error));
    const raw = chargedBody(bodyStream(body, toError), this.#work, HOST_COSTS.movedMbMs, bytes =>
      this.#countEgress(0, bytes),
    );
    try {
      const decoded = answer.isEncoded
        ? decodedBody(raw, contentEncoding(answer.headers), this.#work, toError)
        : undefined;
      return { chunks: decoded ?? raw, isDecoded: decoded !== undefined };
    } catch (error) {
      this.#discard(answer);
      throw networkError(hop.url, reasonOf(error), error);
    }
  }

  #discard({ body, headers }: HopAnswer): void {
    if (body === null) return;
    const length = Number(headerValue(headers, 'content-length') ?? Number.NaN);
    if (length <= MAX_DISCARDED_BYTES) {
      this.#leftovers.push(body);
      body.on('error', () => {}).resume();
    } else {
      destroyQuietly(body);
    }
  }

  #endLeftovers(): void {
    for (const leftover of this.#leftovers) destroyQuietly(leftover);
  }

  /** The error for the caller: the reason of its own signal when that fired, else the error itself. */
  #toError(error: unknown): Error {
    const { signal } = this.#request;
    const cause = signal.aborted ? signal.reason : error;
    return cause instanceof Error ? cause : new EdgeError('EDGE_CANCELED', 'Cannot fetch: the request was canceled');
  }
}

function network(options: EgressSettings): EgressTransport {
  const policy = new AddressPolicy(options);
  const number = (name: NumberOption, byDefault: number, max: number): number =>
    checkNumber(name, options[name] ?? byDefault, max);
  const connectTimeoutMs = number('connectTimeoutMs', 10_000, MAX_TIMER_MS);
  const settings: Omit<NetworkOptions, 'connect'> = {
    connectionsPerOrigin: number('connectionsPerOrigin', 100, 65_535),
    originsPerAccount: number('originsPerAccount', 100, 65_535),
    socketsPerAccount: number('socketsPerAccount', 1000, 1_000_000),
    maxHeaderBytes: number('maxHeaderBytes', 64 * 1024, 2 ** 24),
    keepAliveMs: number('keepAliveMs', 4000, MAX_TIMER_MS),
    headersTimeoutMs: number('headersTimeoutMs', 300_000, MAX_TIMER_MS),
    bodyTimeoutMs: number('bodyTimeoutMs', 300_000, MAX_TIMER_MS),
  };
  return new LazyTransport(async () => {
    const [{ createConnector }, { createResolver }, { NetworkTransport }] = await Promise.all([
      import('./connector.js'),
      import('./policed-lookup.js'),
      import('./network-transport.js'),
    ]);
    const resolve = options.resolve ?? createResolver();
    const connect = createConnector({ policy, resolve, connectTimeoutMs, ca: options.ca });
    return new NetworkTransport({ ...settings, connect });
  });
}

type NumberOption = {
  [K in keyof EgressSettings]-?: number extends EgressSettings[K] ? K : never;
}[keyof EgressSettings];

function checkNumber(name: string, value: unknown, max: number): number {
  if (typeof value !== 'number') throw new TypeError(`Option egress.${name} is ${typeof value}, expected a number`);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new RangeError(`Option egress.${name} is ${value}, expected a whole number from 1 to ${max}`);
}

function withDefaults(headers: string[], defaults: readonly string[]): string[] {
  const result = [...headers];
  for (let i = 0; i + 1 < defaults.length; i += 2) {
    const name = defaults[i] ?? '';
    if (headerValue(headers, name) === undefined) result.push(name, defaults[i + 1] ?? '');
  }
  return result;
}

function withSecrets(request: HopRequest, { urlWithSecrets, headersWithSecrets }: SubstitutedRequest): HopRequest {
  return { ...request, url: urlWithSecrets, headers: headersWithSecrets };
}

/** The answer as the function may see it: servers repeat what they were sent. */
function withoutSecrets(answer: HopAnswer, substituted: SubstitutedRequest | undefined): HopAnswer {
  if (substituted === undefined) return answer;
  return {
    ...answer,
    statusText: substituted.hidden(answer.statusText),
    headers: answer.headers.map((text, at) => (at % 2 === 1 ? substituted.hidden(text) : text)),
  };
}

function contentEncoding(headers: readonly string[]): string {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1]?.toLowerCase() === 'content-encoding').join(',');
}
