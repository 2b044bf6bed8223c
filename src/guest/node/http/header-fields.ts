/** The header fields of a message that is being written. */
import { codeError, invalidArgType } from '../errors.ts';

export type HeaderValue = string | number | readonly (string | number)[];

const NOT_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
const NOT_VALUE = /[^\t\u0020-~\u0080-\u00FF]/;

export function isToken(text: string): boolean {
  return text !== '' && !NOT_TOKEN.test(text);
}

export function hasInvalidChar(text: unknown): boolean {
  return NOT_VALUE.test(String(text));
}

export function validateHeaderName(name: unknown, label = 'Header name'): asserts name is string {
  if (typeof name === 'string' && isToken(name)) return;
  throw codeError(TypeError, 'ERR_INVALID_HTTP_TOKEN', `${label} must be a valid HTTP token ["${String(name)}"]`);
}

export function validateHeaderValue(name: string, value: unknown): asserts value is HeaderValue {
  if (value === undefined) {
    throw codeError(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "${value}" for header "${name}"`);
  }
  if (hasInvalidChar(value)) {
    throw codeError(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
  }
}

/** Fields by their lower-case names, in the order in which they were set. */
export class HeaderFields {
  readonly #fields = new Map<string, readonly [name: string, value: HeaderValue]>();

  set(name: unknown, value: unknown): void {
    validateHeaderName(name);
    if (Array.isArray(value)) for (const item of value) validateHeaderValue(name, item);
    else validateHeaderValue(name, value);
    this.#fields.set(name.toLowerCase(), [name, value as HeaderValue]); // validated
  }

  append(name: unknown, value: unknown): void {
    validateHeaderName(name);
    const existing = this.get(name);
    if (existing === undefined) this.set(name, value);
    else this.set(name, [existing, value].flat());
  }

  get(name: string): HeaderValue | undefined {
    return this.#fields.get(name.toLowerCase())?.[1];
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  delete(name: string): void {
    this.#fields.delete(name.toLowerCase());
  }

  /** `setHeaders()`, the headers of `writeHead()` or the ones of a request: an object, a list of names and values, or pairs. */
  setAll(given: unknown): void {
    if (given === undefined || given === null) return;
    if (typeof given !== 'object') throw invalidArgType('headers', ['Object', 'Array'], given);
    if (Array.isArray(given) && !Array.isArray(given[0])) {
      if (given.length % 2 !== 0)
        throw codeError(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'headers' is invalid");
      // A name may stand there more than once.
      for (let at = 0; at < given.length; at += 2) this.delete(String(given[at]));
      for (let at = 0; at < given.length; at += 2) this.append(given[at], given[at + 1]);
      return;
    }
    const pairs = Symbol.iterator in given ? (given as Iterable<[string, unknown]>) : Object.entries(given);
    for (const [name, value] of pairs) if (value !== undefined) this.set(name, value);
  }

  names(): string[] {
    return [...this.#fields.keys()];
  }

  rawNames(): string[] {
    return [...this.#fields.values()].map(([name]) => name);
  }

  toObject(): { [name: string]: HeaderValue } {
    const object = Object.create(null);
    for (const [key, [, value]] of this.#fields) object[key] = value;
    return object;
  }

  /** One pair for each value. */
  pairs(): [name: string, value: string][] {
    return [...this.#fields.values()].flatMap(([name, value]): [string, string][] =>
      Array.isArray(value) ? value.map(item => [name, String(item)]) : [[name, String(value)]],
    );
  }
}
