/** The views of requests, responses, headers and URLs in console.log(). Function code may replace their getters, so these are captured. */
import { arrayPush, getOwnPropertyDescriptor, getPrototypeOf } from '../primordials.ts';
import { setView } from '../web/console/inspect.ts';
import { type Headers, headersPairs, isHeaders } from '../web/fetch/headers.ts';
import { isRequest, Request } from '../web/fetch/request.ts';
import { isResponse, Response } from '../web/fetch/response.ts';
import { URL } from '../web/url/url.ts';

type Entries = readonly (readonly [key: string, value: unknown])[];
type Getters = readonly (readonly [key: string, get: () => unknown])[];

const REQUEST = gettersOf(Request, ['method', 'url', 'headers']);
const RESPONSE = gettersOf(Response, ['status', 'statusText', 'url', 'headers']);
const LOCATOR = gettersOf(URL, ['href', 'origin', 'protocol', 'host', 'pathname', 'search', 'hash']);
const urlPrototype: object = URL.prototype;

function gettersOf(constructor: { readonly prototype: object }, names: readonly string[]): Getters {
  return names.map(name => {
    const get = getOwnPropertyDescriptor(constructor.prototype, name)?.get;
    return [name, get ?? (() => undefined)];
  });
}

function read(value: object, getters: Getters): Entries {
  const entries: (readonly [string, unknown])[] = [];
  for (let i = 0; i < getters.length; i++) {
    const getter = getters[i];
    if (getter !== undefined) arrayPush(entries, [getter[0], Reflect.apply(getter[1], value, [])] as const);
  }
  return entries;
}

function pairsOf(headers: Headers): Entries {
  const pairs = headersPairs(headers);
  const entries: (readonly [string, unknown])[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) arrayPush(entries, [pairs[i] ?? '', pairs[i + 1]] as const);
  return entries;
}

setView(value => {
  if (isRequest(value)) return read(value, REQUEST);
  if (isResponse(value)) return read(value, RESPONSE);
  if (isHeaders(value)) return pairsOf(value);
  return getPrototypeOf(value) === urlPrototype ? read(value, LOCATOR) : undefined;
});
