/**
 * The target of a request of node:http, read once: the URL that the router matches is the very URL that the function sees. A target is refused rather than
 * corrected when a URL parser and a proxy that compares text would read it differently: dot segments, backslashes, a Host with a path in it.
 */
import { type IncomingMessage, METHODS } from 'node:http';
import { LRUCache } from 'lru-cache';
import { EdgeError } from '../../quotas/errors.js';
import { forwardedValue, type TrustProxy } from './client-address.js';

export interface RequestTarget {
  /** The URL as `new URL(url).href` gives it, without a fragment. */
  readonly url: string;
  /** Its host: lower case, with the port where it differs from the default of the scheme. */
  readonly host: string;
  /** Its path, without the query. */
  readonly path: string;
}

type Scheme = 'http' | 'https';

/** A name or an address, and a port. The URL parser then says whether it is one. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** A name of DNS, its final dot, a colon and a port. */
const MAX_HOST_LENGTH = 253 + 1 + 6;
/** Hosts that were checked, by their text: almost all requests come for the same few. */
const CHECKED_HOSTS = {
  http: new LRUCache<string, string>({ max: 1000 }),
  https: new LRUCache<string, string>({ max: 1000 }),
};

/**
 * A target that the URL parser leaves as it is, the only kind that most clients send. A segment that begins with "." or "%" may be a
 * dot segment and is looked at more closely, as is everything that the parser may encode.
 */
const NORMAL_TARGET =
  /^(?:\/(?:[\w\-~!$&'()*+,;=:@[\]][\w\-~!$&'()*+,;=:@[\]%.]*)?)+(?:\?[\w\-~!$&()*+,;=:@[\]%./?]*)?$/;
/** The methods that the parser of HTTP/1.1 takes. Over HTTP/2 a client may send any word, of any length. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** The parser would drop tabs, line feeds and spaces at the end, and take the rest of the target for a fragment after "#". */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const FORBIDDEN = /[\0-\x1f\x7f#]| $/;
/** The parser resolves these, also written in percent codes, and takes a backslash for a slash. */
const RESOLVED_PATH = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;
/** Bytes beyond ASCII, which node:http gives as one character each. */
const BYTE_BEYOND_ASCII = /[\x80-\xff]/g;

/**
 * The URL of a request, also where a framework has cut the mount path off `request.url`. With `trustProxy`, scheme and host come from X-Forwarded-Proto and
 * X-Forwarded-Host where these are given.
 *
 * @throws EdgeError EDGE_REQUEST_MALFORMED: a method that node:http does not take, not exactly one Host, or one that is no host name or address. Also an
 * absolute target that is not of http or https or has another host than Host, and a target with a fragment, control characters, backslashes or dot segments
 */
export function readTarget(request: IncomingMessage, trustProxy: TrustProxy): RequestTarget {
  const original =
    'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : undefined;
  const target = original ?? request.url ?? '/';
  const { headers } = request;
  if (request.method === 'CONNECT')
    throw malformed('it is CONNECT, by which neither tunnels nor WebSockets over HTTP/2 are opened here');
  if (request.httpVersionMajor > 1 && !KNOWN_METHODS.has(request.method ?? ''))
    throw malformed(
      `its method is ${shown(request.method ?? '')}, expected one that HTTP/1.1 has here, such as GET or POST`,
    );
  const scheme = schemeOf(request, trustProxy);
  const own = hostOf(request, scheme);
  const relative = target.charCodeAt(0) === 47 ? target : withoutOrigin(target, own);
  const forwarded = forwardedValue(headers['x-forwarded-host'], trustProxy);
  const host = forwarded === undefined ? own : checkHost(forwarded, scheme, 'X-Forwarded-Host');
  if (NORMAL_TARGET.test(relative)) {
    const query = relative.indexOf('?');
    const path = query < 0 ? relative : relative.slice(0, query);
    return { url: `${scheme}://${host}${relative}`, host, path };
  }
  return parsedTarget(`${scheme}://${host}`, host, relative);
}

function schemeOf({ headers, socket }: IncomingMessage, trustProxy: TrustProxy): Scheme {
  const forwarded = forwardedValue(headers['x-forwarded-proto'], trustProxy);
  if (forwarded !== undefined) return forwarded === 'https' ? 'https' : 'http';
  return 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http';
}

/** The host that the request names. HTTP/1.0 allows requests without one: those are for the address that they came to, which only routes of any host match. */
function hostOf(request: IncomingMessage, scheme: Scheme): string {
  const { headers, rawHeaders } = request;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name === 'Host' || (name.length === 4 && name.toLowerCase() === 'host')) hosts++;
  }
  if (hosts > 1) throw malformed(`it has ${hosts} Host headers, expected one`);
  // HTTP/2 has the host in a field of its own, and may have the header besides.
  const authority: unknown = headers[':authority'];
  if (typeof authority === 'string') {
    const host = checkHost(authority, scheme, ':authority');
    if (headers.host !== undefined && checkHost(headers.host, scheme, 'Host') !== host)
      throw malformed(`its :authority is ${shown(authority)} and its Host ${shown(headers.host)}`);
    return host;
  }
  // The parser of HTTP/1 takes any version in a request line.
  if (request.httpVersionMajor > 1 && !('stream' in request))
    throw malformed(`it says HTTP/${request.httpVersion} over a connection of HTTP/1`);
  if (headers.host !== undefined) return checkHost(headers.host, scheme, 'Host');
  if (request.httpVersion !== '1.0') throw malformed('it has no Host header');
  const { localAddress, localPort } = request.socket;
  if (localAddress === undefined) return 'localhost';
  return checkHost(
    `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort ?? 0}`,
    scheme,
    'address',
  );
}

/** The host as the URL parser writes it. */
function checkHost(text: string, scheme: Scheme, from: string): string {
  const known = CHECKED_HOSTS[scheme].get(text);
  if (known !== undefined) return known;
  if (text.length > MAX_HOST_LENGTH || !HOST.test(text)) throw badHost(from, text);
  let host: string;
  try {
    ({ host } = new URL(`${scheme}://${text}/`));
  } catch {
    throw badHost(from, text);
  }
  CHECKED_HOSTS[scheme].set(text, host);
  return host;
}

/** `GET http://host/path`, as clients ask proxies: path and query are what `GET /path` with the same Host would have. */
function withoutOrigin(target: string, host: string): string {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#\\]*)(.*)$/is.exec(target) ?? [];
  // `OPTIONS *` is a request to the server, which no function answers.
  if (scheme === undefined || authority === undefined || rest === undefined) {
    throw malformed(`its target is ${shown(target)}, expected a path, or a URL of http or https`);
  }
  const named = checkHost(authority, scheme.toLowerCase() === 'https' ? 'https' : 'http', 'target');
  if (withoutDefaultPort(named) !== withoutDefaultPort(host)) {
    throw malformed(`its target is ${shown(target)} and its Host ${shown(host)}`);
  }
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The scheme of the target may differ from the connection's, behind a proxy that ends TLS; so may an implied port. */
function withoutDefaultPort(host: string): string {
  return host.replace(/:(?:80|443)$/, '');
}

function parsedTarget(origin: string, host: string, target: string): RequestTarget {
  const query = target.indexOf('?');
  if (FORBIDDEN.test(target))
    throw malformed(`its target is ${shown(target)}, with a fragment, a control character or a space at its end`);
  if (RESOLVED_PATH.test(query < 0 ? target : target.slice(0, query))) {
    throw malformed(`its target is ${shown(target)}, with a dot segment or a backslash in the path`);
  }
  // Escaped as bytes: the parser would take each byte for a character, and write the UTF-8 bytes of that character.
  const ascii = target.replace(BYTE_BEYOND_ASCII, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const { href, pathname } = new URL(`${origin}${ascii}`);
  return { url: href, host, path: pathname };
}

function badHost(from: string, text: string): EdgeError {
  return malformed(`its ${from} names the host ${shown(text)}, expected a name or an address, and a port up to 65535`);
}

function malformed(why: string): EdgeError {
  return new EdgeError('EDGE_REQUEST_MALFORMED', `Cannot serve the request: ${why}`);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
