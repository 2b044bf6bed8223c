/** node:url. @see https://nodejs.org/api/url.html */
import { type LegacyUrl, Url } from 'url/url.js';
import { URL } from '../../web/url/url.ts';
import { URLPattern } from '../../web/url/url-pattern.ts';
import { URLSearchParams } from '../../web/url/url-search-params.ts';
import { checkObject, checkString, codeError, invalidArgType } from '../errors.ts';
import { fileURLToPath, pathToFileURL } from './files.ts';
import punycode from './punycode.ts';

function parse(url: unknown, parseQuery?: boolean, slashesDenoteHost?: boolean): LegacyUrl {
  if (url instanceof Url) return url;
  checkString(url, 'url');
  const parsed = new Url();
  parsed.parse(url, parseQuery, slashesDenoteHost);
  if (parsed.port !== null && Number(parsed.port) > 65_535) throw invalidUrl(url);
  return parsed;
}

function invalidUrl(input: string): TypeError {
  return Object.assign(codeError(TypeError, 'ERR_INVALID_URL', 'Invalid URL'), { input });
}

function resolve(from: unknown, to: string): string {
  return parse(from, false, true).resolve(to);
}

function resolveObject(from: unknown, to: unknown): unknown {
  return from ? parse(from, false, true).resolveObject(to) : to;
}

interface FormatOptions {
  readonly auth?: boolean;
  readonly fragment?: boolean;
  readonly search?: boolean;
  readonly unicode?: boolean;
}

function format(url: unknown, options?: FormatOptions): string {
  if (typeof url === 'string') return parse(url).format();
  if (typeof url !== 'object' || url === null) throw invalidArgType('urlObject', ['Object', 'string'], url);
  if (!(url instanceof URL)) return Url.prototype.format.call(url);
  if (options) checkObject(options, 'options');
  const copy = new URL(url.href);
  if (options?.fragment === false) copy.hash = '';
  if (options?.search === false) copy.search = '';
  if (options?.auth === false) {
    copy.username = '';
    copy.password = '';
  }
  if (options?.unicode !== true || copy.hostname === '') return copy.href;
  // A URL keeps its host in ASCII.
  return copy.href.replace(copy.hostname, () => domainToUnicode(copy.hostname));
}

function domainToASCII(domain: unknown): string {
  try {
    return new URL(`ws://${String(domain)}`).hostname;
  } catch {
    return '';
  }
}

function domainToUnicode(domain: unknown): string {
  return punycode.toUnicode(domainToASCII(domain));
}

/** The options of `http.request()` for a URL. */
function urlToHttpOptions(url: URL): object {
  const { protocol, hostname, hash, search, pathname, href, port, username, password } = url;
  const options: { [name: string]: unknown } = {
    __proto__: null,
    ...url,
    protocol,
    hostname: hostname?.startsWith('[') ? hostname.slice(1, -1) : hostname,
    hash,
    search,
    pathname,
    path: `${pathname || ''}${search || ''}`,
    href,
  };
  if (port !== '') options.port = Number(port);
  if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return options;
}

export { urlToHttpOptions };
export default {
  Url,
  parse,
  resolve,
  resolveObject,
  format,
  URL,
  URLSearchParams,
  URLPattern,
  domainToASCII,
  domainToUnicode,
  pathToFileURL,
  fileURLToPath,
  urlToHttpOptions,
};
