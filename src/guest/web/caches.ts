/**
 * `caches`: the default cache of the account, and those that are opened by name. The service in the host process decides which responses are stored, and for
 * how long. @see https://w3c.github.io/ServiceWorker/#cache-interface
 */
import { ServiceId } from '../../quotas/service-calls.ts';
import { type BodyToSend, takeOutgoing } from '../body-out.ts';
import { callService } from '../call-service.ts';
import type { HostBody } from '../host-body.ts';
import {
  jsonParse,
  jsonStringify,
  PromiseCtor,
  promiseReject,
  promiseResolve,
  stringSlice,
  stringSplit,
  TypeErrorCtor,
} from '../primordials.ts';
import { rejection } from '../rejection.ts';
import { requireHandler } from '../scope.ts';
import { defineInterface, requireArguments, toDictionary, toUSVString } from './base/idl.ts';
import { warn } from './console/warn.ts';
import { Body, bodyLength, isUnusable } from './fetch/body.ts';
import { appendPair, declaredLength, getValue, type HeaderPairs, normalizeValue } from './fetch/header-list.ts';
import { isRequest, requestState } from './fetch/request.ts';
import {
  createResponse,
  isNullBodyStatus,
  isResponse,
  type Response,
  ResponseState,
  responseState,
} from './fetch/response.ts';
import { parseUrl } from './url/url-parse.ts';

const INTERNAL = Symbol('internal');
const MAX_NAME_LENGTH = 1023;
const NO_HEADERS: HeaderPairs = [];
/** The headers of a request that say how much of a response it wants. */
const CONDITIONS = ['if-none-match', 'if-modified-since', 'range', 'if-range'] as const;

/** The key of a response. */
interface Key {
  readonly method: string;
  readonly url: string;
  readonly pairs: HeaderPairs;
}

export class Cache {
  /** undefined: the default cache. */
  #name: string | undefined;

  constructor(internal?: unknown, name?: string) {
    if (internal !== INTERNAL) throw new TypeErrorCtor('Illegal constructor');
    this.#name = name;
  }

  match(request: unknown, options: unknown = undefined): Promise<Response | undefined> {
    try {
      const name = this.#name;
      requireArguments(arguments.length, 1, 'Cache.match');
      requireHandler('caches.match()');
      const key = keyOf(request);
      if (key.method !== 'GET' && !ignoresMethod(options, 'match')) return promiseResolve(undefined);
      const text = `{${nameText(name)}"url":${quote(key.url)},"headers":[${conditionsText(key.pairs)}]}`;
      return call('match', text, null, found);
    } catch (error) {
      return promiseReject(error);
    }
  }

  put(request: unknown, response: unknown): Promise<undefined> {
    try {
      const name = this.#name;
      requireArguments(arguments.length, 2, 'Cache.put');
      requireHandler('caches.put()');
      const { method, url } = keyOf(request);
      if (!isResponse(response)) throw new TypeErrorCtor('Cache.put: the second argument is not a Response');
      const state = responseState(response);
      const pairs = state.headerPairs();
      checkStorable(method, state, pairs);
      const { body, status, statusText } = state;
      if (body !== null && isUnusable(body))
        throw new TypeErrorCtor('Cache.put: the body of the response has been read already, or is locked');
      if (status === 304) {
        warn('Cache.put: a response of status 304 was not kept, since it has no body');
        return promiseResolve(undefined);
      }
      const size = body === null ? undefined : bodyLength(body);
      const sizeText = size === undefined ? '' : `"size":${size},`;
      const headers = pairsText(pairs);
      const text = `{${nameText(name)}${sizeText}"url":${quote(url)},"status":${status},"statusText":${quote(statusText)},"headers":[${headers}]}`;
      return call('put', text, body === null ? null : takeOutgoing(body), nothing);
    } catch (error) {
      return promiseReject(error);
    }
  }

  delete(request: unknown, options: unknown = undefined): Promise<boolean> {
    try {
      const name = this.#name;
      requireArguments(arguments.length, 1, 'Cache.delete');
      requireHandler('caches.delete()');
      const { method, url } = keyOf(request);
      if (method !== 'GET' && !ignoresMethod(options, 'delete')) return promiseResolve(false);
      return call('delete', `{${nameText(name)}"url":${quote(url)}}`, null, wasThere);
    } catch (error) {
      return promiseReject(error);
    }
  }
}

export class CacheStorage {
  #default: Cache;

  constructor(internal?: unknown) {
    if (internal !== INTERNAL) throw new TypeErrorCtor('Illegal constructor');
    this.#default = new Cache(INTERNAL);
  }

  get default(): Cache {
    return this.#default;
  }

  open(name: unknown): Promise<Cache> {
    try {
      this.#default; // a receiver that is no CacheStorage throws
      requireArguments(arguments.length, 1, 'CacheStorage.open');
      const text = toUSVString(name);
      if (text.length > MAX_NAME_LENGTH) throw new TypeErrorCtor('Cache name is too long.');
      return promiseResolve(new Cache(INTERNAL, text));
    } catch (error) {
      return promiseReject(error);
    }
  }
}

defineInterface(Cache);
defineInterface(CacheStorage);

export const caches = new CacheStorage(INTERNAL);

function keyOf(request: unknown): Key {
  if (isRequest(request)) {
    const state = requestState(request);
    const { method, url, headText, pairs } = state;
    checkScheme(url);
    return { method, url, pairs: pairs === undefined && headText === '' ? NO_HEADERS : state.headerPairs() };
  }
  const url = parseUrl(toUSVString(request));
  if (url === undefined) throw invalidUrl();
  checkScheme(url.href);
  return { method: 'GET', url: url.href, pairs: NO_HEADERS };
}

function checkScheme(url: string): void {
  if (stringSlice(url, 0, 7) !== 'http://' && stringSlice(url, 0, 8) !== 'https://') throw invalidUrl();
}

function invalidUrl(): TypeError {
  return new TypeErrorCtor('Invalid URL. Cache API keys must be fully-qualified, valid URLs.');
}

function ignoresMethod(options: unknown, method: string): boolean {
  return Boolean(toDictionary(options, `Cache.${method}: options`)?.ignoreMethod);
}

function checkStorable(method: string, { type, status }: ResponseState, pairs: HeaderPairs): void {
  if (method !== 'GET') throw new TypeErrorCtor('Cannot cache response to non-GET request.');
  if (type === 'error') throw new TypeErrorCtor('Cache is unable to store an error response');
  if (status === 206) throw new TypeErrorCtor('Cannot cache response to a range request (206 Partial Content).');
  const varies = getValue(pairs, 'vary');
  if (varies === null) return;
  const names = stringSplit(varies, ',');
  for (let i = 0; i < names.length; i++) {
    if (normalizeValue(names[i] ?? '') === '*') throw new TypeErrorCtor("Cannot cache response with 'Vary: *' header.");
  }
}

// Arguments are concatenated from texts, so that no object is involved to which function code could add properties.

function nameText(name: string | undefined): string {
  return name === undefined ? '' : `"cache":${quote(name)},`;
}

function conditionsText(pairs: HeaderPairs): string {
  let text = '';
  if (pairs.length === 0) return text;
  for (let i = 0; i < CONDITIONS.length; i++) {
    const name = CONDITIONS[i] ?? '';
    const value = getValue(pairs, name);
    if (value !== null) text += `${text === '' ? '' : ','}${quote(name)},${quote(value)}`;
  }
  return text;
}

function pairsText(pairs: HeaderPairs): string {
  let text = '';
  for (let i = 0; i < pairs.length; i++) text += i === 0 ? quote(pairs[i]) : `,${quote(pairs[i])}`;
  return text;
}

function quote(text: string | undefined): string {
  return jsonStringify(text ?? '');
}

function call<Result>(
  method: string,
  argumentText: string,
  body: BodyToSend | null,
  read: (head: unknown, body: HostBody | null) => Result,
): Promise<Result> {
  return new PromiseCtor(resolve => {
    callService(ServiceId.Cache, method, '', argumentText, body, {
      onReply: (head, replyBody) => resolve(read(jsonParse(head), replyBody)),
      onFailed: (makeError, site) => resolve(rejection(makeError, site)),
    });
  });
}

/** The head of a hit, which the service of the host process wrote. */
interface FoundHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
}

function found(value: unknown, body: HostBody | null): Response | undefined {
  const head = value as FoundHead | null; // see above
  if (head === null) {
    body?.stop();
    return undefined;
  }
  const state = new ResponseState();
  state.status = head.status;
  state.statusText = head.statusText;
  state.isImmutable = true;
  const pairs: HeaderPairs = [];
  for (let i = 0; i < head.headers.length; i += 2) appendPair(pairs, head.headers[i] ?? '', head.headers[i + 1] ?? '');
  state.pairs = pairs;
  if (body !== null && !isNullBodyStatus(head.status)) {
    body.expectedSize = declaredLength(pairs);
    state.body = new Body(body);
  } else body?.stop();
  return createResponse(state);
}

function nothing(_head: unknown, body: HostBody | null): undefined {
  body?.stop();
}

function wasThere(head: unknown, body: HostBody | null): boolean {
  body?.stop();
  return head === true;
}
