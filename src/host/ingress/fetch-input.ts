/** The arguments of fetch() as what an invocation begins with. */
import type { FetchChain } from '../../bindings/service.js';
import { EdgeError } from '../../quotas/errors.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import { headOfRequest, withoutFragment } from './http-head.js';

/** A request before it becomes a frame. */
export interface FetchInput {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly head: string;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly signal: AbortSignal | undefined;
  /** Held while the signal is used: the signal of a Request stops following its source when the Request is collected. */
  readonly source: unknown;
  /** The head has them too. */
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** Set for a function's request to another function. */
  readonly chain?: FetchChain | undefined;
}

/**
 * A URL alone is a GET without headers, and needs no Request, which costs more to make than the rest of a small invocation.
 *
 * The caller's signal is used itself. A Request that was made with it would listen to it until it is collected, so an application that passes one
 * signal to many calls would gather listeners.
 *
 * @throws TypeError for an invalid request, and for anything that `new Request(input, init)` refuses
 * @throws EdgeError EDGE_REQUEST_MALFORMED for a URL that is not of http or https
 */
export function fetchInput(input: Request | string | URL, init?: RequestInit): FetchInput {
  if (init === undefined) {
    if (typeof input === 'string') return bareGet(parsedUrl(input));
    if (input instanceof URL) return bareGet(input);
    if (input instanceof Request) return inputOf(input, input.signal, input);
  }
  const given = requestParts(input, init?.body != null);
  const { signal = given.signal, ...rest } = init ?? {};
  if (!isSignal(signal))
    throw new TypeError(`Option signal of fetch() is ${describe(signal)}, expected an AbortSignal`);
  const request = new Request(given.source, { ...given.init, ...rest, signal: null });
  return inputOf(request, signal ?? undefined, input);
}

function inputOf(request: Request, signal: AbortSignal | undefined, source: unknown): FetchInput {
  const { method, url, headers } = request;
  checkUnread(url, request.bodyUsed);
  checkScheme(url);
  return { method, url, headers, head: headOfRequest(request), body: request.body, signal, source };
}

function checkUnread(url: string, isRead: unknown): void {
  if (isRead !== true) return;
  throw new TypeError(
    `Cannot fetch ${url}: the body of the request was already read. Pass request.clone(), made before the body is read, or a new Request`,
  );
}

interface RequestParts {
  readonly source: Request | string | URL;
  readonly init?: RequestInit & { readonly duplex?: 'half' };
  readonly signal?: unknown;
}

/** A request of another class, of the package undici or of a framework, is read by its members. */
function requestParts(input: unknown, hasOtherBody: boolean): RequestParts {
  if (input instanceof Request) {
    if (!hasOtherBody) checkUnread(input.url, input.bodyUsed);
    return { source: input, signal: input.signal };
  }
  if (input instanceof URL) return { source: input };
  if (typeof input === 'string') return { source: parsedUrl(input) };
  if (!isObject(input)) throw new TypeError(`The request of fetch() is ${describe(input)}, ${EXPECTED}`);
  if ('httpVersion' in input) {
    throw new TypeError(
      'The request of fetch() is the IncomingMessage of a server: serve it with host.listener({ function }), or build a Request from it',
    );
  }
  const { url, method, headers, body, bodyUsed, signal } = input;
  if (typeof url !== 'string' || typeof method !== 'string' || !isIterable(headers))
    throw new TypeError(`The request of fetch() is ${describe(input)} without url, method and headers, ${EXPECTED}`);
  if (!hasOtherBody) checkUnread(url, bodyUsed);
  const pairs: [string, string][] = [];
  for (const pair of headers) {
    if (Array.isArray(pair)) pairs.push([String(pair[0]), String(pair[1])]);
  }
  const init: RequestInit = { method, headers: pairs };
  if (!isObject(body)) return { source: parsedUrl(url), init, signal };
  // Whatever it is: `new Request()` refuses what it cannot send.
  return { source: parsedUrl(url), init: { ...init, body: body as unknown as ReadableStream, duplex: 'half' }, signal };
}

const EXPECTED = 'expected a Request, or an absolute URL such as "https://example.com/path"';

function isIterable(value: unknown): value is Iterable<unknown> {
  return isObject(value) && Symbol.iterator in value;
}

/** Also one of another realm or class. */
function isSignal(value: unknown): value is AbortSignal | null | undefined {
  return (
    value === undefined || value === null || (isObject(value) && 'aborted' in value && 'addEventListener' in value)
  );
}

/** Routes are for http and https: a URL without a host would else match a route of any host. */
function checkScheme(url: string): void {
  if (url.startsWith('http://') || url.startsWith('https://')) return;
  throw new EdgeError(
    'EDGE_REQUEST_MALFORMED',
    `Cannot serve the request: its URL is ${JSON.stringify(url.slice(0, 100))}, expected one of http or https`,
  );
}

/** @throws TypeError */
function parsedUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    const shown = describe(text);
    throw new TypeError(
      text.startsWith('/')
        ? `The URL of fetch() is ${shown}, which has no host: pass an absolute URL such as "https://example.com${text.slice(0, 60)}"`
        : `The URL of fetch() is ${shown}, ${EXPECTED}`,
    );
  }
}

const NO_HEADERS: readonly [string, string][] = [];

/** Not an object literal, for the reason of FetchStart. */
class BareGet implements FetchInput {
  readonly method = 'GET';
  readonly url: string;
  readonly headers = NO_HEADERS;
  readonly head: string;
  readonly body = null;
  readonly signal = undefined;
  readonly source = undefined;

  constructor(url: string) {
    this.url = url;
    this.head = `GET\n${url}`;
  }
}

function bareGet(url: URL): FetchInput {
  if (url.username !== '' || url.password !== '')
    throw new TypeError(`A request cannot be made from a URL with credentials: ${url.href}`);
  const bare = withoutFragment(url.href);
  checkScheme(bare);
  return new BareGet(bare);
}
