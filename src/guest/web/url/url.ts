/**
 * URL. The host realm parses; what crosses is the serialized URL alone, and its components are found in it by their delimiters,
 * which a serialized URL cannot hold anywhere else.
 * @see https://url.spec.whatwg.org/#url-class
 */
import { Op, UrlField } from '../../../isolate/ops/table.ts';
import { op, opNumber, opString } from '../../bridge.ts';
import { stringIndexOf, stringSlice, stringStartsWith, TypeErrorCtor } from '../../primordials.ts';
import { defineInterface, quoted, requireArguments, toUSVString } from '../base/idl.ts';
import { createQueryOf, replaceQuery, type URLSearchParams } from './url-search-params.ts';

/** Offsets in the href. Each component ends where its successor begins. */
interface Components {
  /** After "scheme:". */
  readonly schemeEnd: number;
  readonly hasHost: boolean;
  readonly usernameEnd: number;
  readonly passwordStart: number;
  readonly passwordEnd: number;
  readonly hostStart: number;
  readonly hostnameEnd: number;
  readonly hostEnd: number;
  readonly pathStart: number;
  readonly searchStart: number;
  readonly hashStart: number;
}

function parse(url: string, base: string | undefined): string | undefined {
  const href = op(Op.UrlParse, url, base);
  return typeof href === 'string' ? href : undefined;
}

function requireHref(url: string, base: string | undefined): string {
  const href = parse(url, base);
  if (href === undefined) throw invalid(url, base);
  return href;
}

function invalid(url: string, base?: string): Error {
  return new TypeErrorCtor(`Invalid URL: ${quoted(url)}${base === undefined ? '' : ' with its base'}`);
}

/** Where `text` is in `href` from `start` on, or `end` when it is not before that. */
function find(href: string, text: string, start: number, end: number): number {
  const index = stringIndexOf(href, text, start);
  return index < 0 || index > end ? end : index;
}

function split(href: string): Components {
  const schemeEnd = stringIndexOf(href, ':') + 1;
  const hashStart = find(href, '#', schemeEnd, href.length);
  const searchStart = find(href, '?', schemeEnd, hashStart);
  if (!stringStartsWith(href, '//', schemeEnd)) {
    // "/." stands between the scheme and a path that would look like a host.
    const pathStart = stringStartsWith(href, '/.//', schemeEnd) ? schemeEnd + 2 : schemeEnd;
    return {
      schemeEnd,
      hasHost: false,
      usernameEnd: schemeEnd,
      passwordStart: schemeEnd,
      passwordEnd: schemeEnd,
      hostStart: schemeEnd,
      hostnameEnd: schemeEnd,
      hostEnd: schemeEnd,
      pathStart,
      searchStart,
      hashStart,
    };
  }
  const start = schemeEnd + 2;
  const hostEnd = find(href, '/', start, searchStart);
  const at = find(href, '@', start, hostEnd);
  const hasCredentials = at < hostEnd;
  const usernameEnd = hasCredentials ? find(href, ':', start, at) : start;
  const hostStart = hasCredentials ? at + 1 : start;
  const bracket = href[hostStart] === '[' ? find(href, ']', hostStart, hostEnd) : hostStart;
  return {
    schemeEnd,
    hasHost: true,
    usernameEnd,
    passwordStart: hasCredentials && usernameEnd < at ? usernameEnd + 1 : usernameEnd,
    passwordEnd: hasCredentials ? at : start,
    hostStart,
    hostnameEnd: find(href, ':', bracket, hostEnd),
    hostEnd,
    pathStart: hostEnd,
    searchStart,
    hashStart,
  };
}

let createURL: (href: string) => URL;

/** The href of a URL object, undefined for anything else. */
export let hrefOf: (value: unknown) => string | undefined;

export class URL {
  #href: string;
  #components: Components | undefined;
  #searchParams: URLSearchParams | undefined;

  constructor(url: unknown, base: unknown = undefined) {
    requireArguments(arguments.length, 1, 'URL constructor');
    const text = toUSVString(url);
    this.#href = requireHref(text, base === undefined ? undefined : toUSVString(base));
  }

  static canParse(url: unknown, base: unknown = undefined): boolean {
    requireArguments(arguments.length, 1, 'URL.canParse');
    const text = toUSVString(url);
    return opNumber(Op.UrlCanParse, text, base === undefined ? undefined : toUSVString(base)) === 1;
  }

  static parse(url: unknown, base: unknown = undefined): URL | null {
    requireArguments(arguments.length, 1, 'URL.parse');
    const text = toUSVString(url);
    const href = parse(text, base === undefined ? undefined : toUSVString(base));
    return href === undefined ? null : createURL(href);
  }

  get href(): string {
    return this.#href;
  }

  set href(value: unknown) {
    const text = toUSVString(value);
    const href = parse(text, undefined);
    if (href === undefined) throw invalid(text);
    this.#setHref(href);
  }

  get origin(): string {
    const { schemeEnd, hostStart, hostEnd } = this.#split();
    const protocol = stringSlice(this.#href, 0, schemeEnd);
    switch (protocol) {
      case 'http:':
      case 'https:':
      case 'ws:':
      case 'wss:':
      case 'ftp:':
        return `${protocol}//${stringSlice(this.#href, hostStart, hostEnd)}`;
      case 'blob:': {
        const inner = parse(this.pathname, undefined);
        if (inner === undefined) return 'null';
        const url = createURL(inner);
        return url.protocol === 'http:' || url.protocol === 'https:' ? url.origin : 'null';
      }
      default:
        return 'null';
    }
  }

  get protocol(): string {
    return stringSlice(this.#href, 0, this.#split().schemeEnd);
  }

  set protocol(value: unknown) {
    this.#update(UrlField.Protocol, value);
  }

  get username(): string {
    const { hasHost, schemeEnd, usernameEnd } = this.#split();
    return hasHost ? stringSlice(this.#href, schemeEnd + 2, usernameEnd) : '';
  }

  set username(value: unknown) {
    this.#update(UrlField.Username, value);
  }

  get password(): string {
    const { passwordStart, passwordEnd } = this.#split();
    return stringSlice(this.#href, passwordStart, passwordEnd);
  }

  set password(value: unknown) {
    this.#update(UrlField.Password, value);
  }

  get host(): string {
    const { hostStart, hostEnd } = this.#split();
    return stringSlice(this.#href, hostStart, hostEnd);
  }

  set host(value: unknown) {
    this.#update(UrlField.Host, value);
  }

  get hostname(): string {
    const { hostStart, hostnameEnd } = this.#split();
    return stringSlice(this.#href, hostStart, hostnameEnd);
  }

  set hostname(value: unknown) {
    this.#update(UrlField.Hostname, value);
  }

  get port(): string {
    const { hostnameEnd, hostEnd } = this.#split();
    return stringSlice(this.#href, hostnameEnd + 1, hostEnd);
  }

  set port(value: unknown) {
    this.#update(UrlField.Port, value);
  }

  get pathname(): string {
    const { pathStart, searchStart } = this.#split();
    return stringSlice(this.#href, pathStart, searchStart);
  }

  set pathname(value: unknown) {
    this.#update(UrlField.Pathname, value);
  }

  get search(): string {
    const { searchStart, hashStart } = this.#split();
    return hashStart - searchStart > 1 ? stringSlice(this.#href, searchStart, hashStart) : '';
  }

  set search(value: unknown) {
    this.#update(UrlField.Search, value);
  }

  get searchParams(): URLSearchParams {
    this.#searchParams ??= createQueryOf(this.search, query => {
      this.#href = opString(Op.UrlUpdate, this.#href, UrlField.Search, query);
      this.#components = undefined;
    });
    return this.#searchParams;
  }

  get hash(): string {
    const { hashStart } = this.#split();
    return this.#href.length - hashStart > 1 ? stringSlice(this.#href, hashStart) : '';
  }

  set hash(value: unknown) {
    this.#update(UrlField.Hash, value);
  }

  toJSON(): string {
    return this.#href;
  }

  toString(): string {
    return this.#href;
  }

  #split(): Components {
    this.#components ??= split(this.#href);
    return this.#components;
  }

  #update(field: UrlField, value: unknown): void {
    const text = toUSVString(value);
    this.#setHref(opString(Op.UrlUpdate, this.#href, field, text));
  }

  #setHref(href: string): void {
    this.#href = href;
    this.#components = undefined;
    if (this.#searchParams !== undefined) replaceQuery(this.#searchParams, this.search);
  }

  static {
    createURL = href => {
      const url = new URL('about:blank');
      url.#href = href;
      return url;
    };
    hrefOf = value => (typeof value === 'object' && value !== null && #href in value ? value.#href : undefined);
  }
}

defineInterface(URL);
