/** The arguments of `http.request()`. @see https://nodejs.org/api/http.html#httprequestoptions-callback */
import { btoa } from '../../web/encoding/base64.ts';
import { URL } from '../../web/url/url.ts';
import { codeError, invalidArgType } from '../errors.ts';
import { notSupported } from '../unsupported.ts';
import { urlToHttpOptions } from '../url/url.ts';
import { isToken } from './header-fields.ts';

export interface RequestOptions {
  readonly protocol?: string | null;
  readonly host?: string | null;
  readonly hostname?: string | null;
  readonly port?: number | string | null;
  readonly defaultPort?: number;
  readonly path?: string | null;
  readonly method?: string;
  readonly headers?: object;
  readonly auth?: string | null;
  readonly timeout?: number;
  readonly signal?: AbortSignalLike;
  readonly agent?: unknown;
  readonly setHost?: boolean;
  readonly [name: string]: unknown;
}

export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: object): void;
}

/** Where a request goes, as fetch() takes it. */
export interface HttpTarget {
  readonly url: string;
  readonly method: string;
  readonly protocol: string;
  readonly host: string;
  readonly hostHeader: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

/** Options about the connection, which the host makes: silence about them would be unsafe. */
const UNAVAILABLE = [
  'createConnection',
  'socketPath',
  'localAddress',
  'localPort',
  'lookup',
  'ca',
  'cert',
  'key',
  'pfx',
  'checkServerIdentity',
];

export function optionsOf(args: readonly unknown[]): { options: RequestOptions; callback: unknown } {
  const [first, second, third] = args;
  let options: RequestOptions = {};
  let rest: unknown = second;
  if (typeof first === 'string')
    options = urlToHttpOptions(new URL(first)) as RequestOptions; // as it says
  else if (first instanceof URL)
    options = urlToHttpOptions(first) as RequestOptions; // as it says
  else if (typeof first === 'object' && first !== null) {
    options = first as RequestOptions; // checked where its members are used
    return { options, callback: second };
  } else throw invalidArgType('url', ['string', 'Object', 'URL'], first);
  if (typeof rest === 'function') return { options, callback: rest };
  rest ??= {};
  return { options: { ...options, ...(rest as object) }, callback: third };
}

/** @throws Error where an option asks for what functions have not */
export function targetOf(options: RequestOptions, protocolHere: string): HttpTarget {
  const module = protocolHere === 'https:' ? 'https' : 'http';
  for (const name of UNAVAILABLE) {
    if (options[name] === undefined || options[name] === null) continue;
    throw notSupported(module, `request() with the option "${name}"`, 'The host makes the connections of requests');
  }
  if (options.rejectUnauthorized === false) {
    throw notSupported(module, 'request({ rejectUnauthorized: false })', 'The host checks certificates');
  }
  const agentProtocol = (options.agent as { protocol?: unknown } | undefined)?.protocol;
  const expected = typeof agentProtocol === 'string' ? agentProtocol : protocolHere;
  const protocol = options.protocol || expected;
  if (protocol !== expected) {
    const message = `Protocol "${protocol}" not supported. Expected "${expected}"`;
    throw codeError(TypeError, 'ERR_INVALID_PROTOCOL', message);
  }
  const path = options.path || '/';
  if (/[^\u0021-\u00ff]/.test(path)) {
    throw codeError(TypeError, 'ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters');
  }
  const method = options.method === undefined || options.method === null ? 'GET' : options.method;
  if (typeof method !== 'string') throw invalidArgType('options.method', 'string', method);
  if (!isToken(method)) {
    throw codeError(TypeError, 'ERR_INVALID_HTTP_TOKEN', `Method must be a valid HTTP token ["${method}"]`);
  }
  const host = options.hostname || options.host || 'localhost';
  if (typeof host !== 'string') throw invalidArgType('options.hostname', ['string', 'undefined', 'null'], host);
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const usual = protocol === 'https:' ? 443 : 80;
  const port = Number(options.port || options.defaultPort || usual);
  const authority = port === usual ? name : `${name}:${port}`;
  return {
    url: `${protocol}//${authority}${path.startsWith('/') ? '' : '/'}${path}`,
    method: method.toUpperCase(),
    protocol,
    host,
    hostHeader: authority,
    path,
    authorization: options.auth ? `Basic ${btoa(options.auth)}` : undefined,
  };
}
