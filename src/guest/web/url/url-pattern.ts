/**
 * URLPattern. The matching is urlpattern-polyfill's, which is evaluated when the first pattern is created, so that functions without
 * patterns do not pay for it.
 * @see https://urlpattern.spec.whatwg.org/
 */
import { objectCreate, TypeErrorCtor } from '../../primordials.ts';
import { defineInterface, isObject, toDictionary, toUSVString } from '../base/idl.ts';

/** A pattern of the library. */
interface Matcher {
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly hostname: string;
  readonly port: string;
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
  readonly hasRegExpGroups: boolean;
  test(input: string | object, baseURL?: string): boolean;
  exec(input: string | object, baseURL?: string): object | null;
}

interface Library {
  readonly URLPattern: new (input: string | object, baseURL?: string | object, options?: object) => Matcher;
}

// The bundler makes of this a function that evaluates the module once (see .scripts/guest-bundle.mjs).
declare function require(name: 'urlpattern-polyfill/urlpattern'): Library;

const MEMBERS = [
  'baseURL',
  'hash',
  'hostname',
  'password',
  'pathname',
  'port',
  'protocol',
  'search',
  'username',
] as const;

export class URLPattern {
  readonly #matcher: Matcher;

  constructor(input: unknown = {}, baseURLOrOptions: unknown = undefined, options: unknown = undefined) {
    const hasBase =
      arguments.length > 2 ||
      (baseURLOrOptions !== undefined && !isObject(baseURLOrOptions) && baseURLOrOptions !== null);
    const pattern = toInput(input);
    const ignoreCase = !!toDictionary(hasBase ? options : baseURLOrOptions, 'The options of the pattern')?.ignoreCase;
    const { URLPattern: Pattern } = require('urlpattern-polyfill/urlpattern');
    this.#matcher = hasBase
      ? new Pattern(pattern, toUSVString(baseURLOrOptions), { ignoreCase })
      : new Pattern(pattern, { ignoreCase });
  }

  test(input: unknown = {}, baseURL: unknown = undefined): boolean {
    const matcher = this.#matcher;
    const text = toInput(input);
    return baseURL === undefined ? matcher.test(text) : matcher.test(text, toUSVString(baseURL));
  }

  exec(input: unknown = {}, baseURL: unknown = undefined): object | null {
    const matcher = this.#matcher;
    const text = toInput(input);
    return baseURL === undefined ? matcher.exec(text) : matcher.exec(text, toUSVString(baseURL));
  }

  get protocol(): string {
    return this.#matcher.protocol;
  }

  get username(): string {
    return this.#matcher.username;
  }

  get password(): string {
    return this.#matcher.password;
  }

  get hostname(): string {
    return this.#matcher.hostname;
  }

  get port(): string {
    return this.#matcher.port;
  }

  get pathname(): string {
    return this.#matcher.pathname;
  }

  get search(): string {
    return this.#matcher.search;
  }

  get hash(): string {
    return this.#matcher.hash;
  }

  get hasRegExpGroups(): boolean {
    return this.#matcher.hasRegExpGroups;
  }
}

defineInterface(URLPattern);

/** `(USVString or URLPatternInit)` */
function toInput(input: unknown): string | object {
  if (input !== undefined && input !== null && !isObject(input)) return toUSVString(input);
  const source = toDictionary(input, 'The pattern') ?? {};
  const init: { [member: string]: string } = objectCreate(Object.prototype);
  for (let i = 0; i < MEMBERS.length; i++) {
    const member = MEMBERS[i];
    if (member === undefined) throw new TypeErrorCtor('No such member');
    const value = source[member];
    if (value !== undefined) init[member] = toUSVString(value);
  }
  return init;
}
