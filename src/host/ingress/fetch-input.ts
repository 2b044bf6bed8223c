/** The arguments of fetch() as what an invocation begins with. */
import type { FetchChain } from '../../bindings/service.js';
import { EdgeError } from '../../quotas/errors.js';
import { headOfRequest, withoutFragment } from './http-head.js';

/** A request before it becomes a frame. */
export interface FetchInput {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly head: string;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly signal: AbortSignal | undefined;
  /** Held for as long as the signal is wanted: the signal of a request that has been collected does not follow its source any more. */
  readonly request: Request | undefined;
  /** The head has them too. */
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** Set for a function's request to another function. */
  readonly chain?: FetchChain | undefined;
}

/**
 * The plain cases without a Request, which costs more to make than all the rest of a small invocation: a URL alone is a GET without
 * headers.
 *
 * @throws TypeError for what `new Request(input, init)` refuses
 * @throws EdgeError EDGE_REQUEST_MALFORMED for a URL that is not of http or https
 */
export function fetchInput(input: Request | string | URL, init: RequestInit | undefined): FetchInput {
  if (init === undefined) {
    const url = typeof input === 'string' ? parsedUrl(input) : input;
    if (url instanceof URL) return bareGet(url);
  }
  const request = input instanceof Request && init === undefined ? input : new Request(input, init);
  const { method, url, headers } = request;
  checkScheme(url);
  return { method, url, headers, head: headOfRequest(request), body: request.body, signal: request.signal, request };
}

/** Routes are those of http and https: a URL without a host would else match a route of any host. */
function checkScheme(url: string): void {
  if (url.startsWith('http://') || url.startsWith('https://')) return;
  throw new EdgeError(
    'EDGE_REQUEST_MALFORMED',
    `Cannot serve the request: its URL is ${JSON.stringify(url.slice(0, 100))}, expected one of http or https`,
  );
}

/** Undefined for an invalid URL; the error of `new Request()` says what is wrong. */
function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
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
  readonly request = undefined;

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
