/** Request. @see https://fetch.spec.whatwg.org/#request-class */
import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import { stringToUpperCase, TypeErrorCtor } from '../../primordials.ts';
import { DOMException } from '../base/dom-exception.ts';
import {
  defineInterface,
  isObject,
  quoted,
  requireArguments,
  toByteString,
  toDictionary,
  toEnum,
  toUSVString,
} from '../base/idl.ts';
import {
  type AbortSignal,
  abortSignal,
  createAbortSignal,
  createDependentSignal,
  isAbortSignal,
} from '../scheduling/abort.ts';
import { parseUrl } from '../url/url-parse.ts';
import { type Body, type BodyHolder, cloneBody, extractBody, isUnusable, takeBody } from './body.ts';
import { defineBody } from './body-mixin.ts';
import { cfOf, clientOf, type RequestClient } from './client.ts';
import { appendPair, getValue, type HeaderPairs, hasName, isToken, parsePairs } from './header-list.ts';
import { createHeaders, fillHeaders, type Headers } from './headers.ts';
import { DEFAULT_EXTRAS, type RequestExtras, readExtras } from './request-extras.ts';

const REDIRECTS = ['follow', 'error', 'manual'] as const;
const PRIORITIES = ['high', 'low', 'auto'] as const;

export type RequestRedirect = (typeof REDIRECTS)[number];

/** A request, with everything that most invocations never look at made when they do. */
export class RequestState implements BodyHolder {
  method = 'GET';
  url = '';
  redirect: RequestRedirect = 'follow';
  body: Body | null = null;
  extras: RequestExtras = DEFAULT_EXTRAS;
  isImmutable = false;
  /** Headers as "name\nvalue\n...", until they are touched. */
  headText = '';
  /** Headers as they came from the client, which say whose request it is. */
  clientText = '';
  client: RequestClient | undefined = undefined;
  /** JSON of the application's facts about the request of an event, '' for none; undefined for all other requests. */
  cfText: string | undefined = undefined;
  cf: object | undefined = undefined;
  pairs: HeaderPairs | undefined = undefined;
  headers: Headers | undefined = undefined;
  signal: AbortSignal | undefined = undefined;
  /** The invocation whose fetch handler gets the request. The signal aborts when its client goes. 0 for all other requests. */
  invocation = 0;
  /** A client that goes while the event waits for its isolate is gone after the handler has begun, when it has listeners. */
  isClientGone = false;
  /** The source that the signal follows, once it is touched. */
  parent: RequestState | AbortSignal | undefined = undefined;

  headerPairs(): HeaderPairs {
    this.pairs ??= parsePairs(this.headText);
    return this.pairs;
  }

  contentType(): string | null {
    return getValue(this.headerPairs(), 'content-type');
  }

  touchSignal(): AbortSignal {
    if (this.signal !== undefined) return this.signal;
    const { parent } = this;
    if (parent === undefined) {
      this.signal = createAbortSignal();
      if (this.isClientGone) abortSignal(this.signal, clientGone());
      else if (this.invocation !== 0) awaitClient(this.invocation);
    } else this.signal = createDependentSignal([parent instanceof RequestState ? parent.touchSignal() : parent]);
    return this.signal;
  }

  /** The members that are not as they are in nearly every request. */
  givenExtras(): object | null {
    return this.extras === DEFAULT_EXTRAS ? null : { ...this.extras };
  }

  /** The signal if anything can ever abort it: no other code has seen it otherwise. */
  activeSignal(): AbortSignal | undefined {
    return this.signal ?? (this.parent === undefined ? undefined : this.touchSignal());
  }
}

/** Keeps the invocation open until the client has its answer, or goes. */
function awaitClient(invocation: number): void {
  try {
    op(Op.AwaitClient, invocation);
  } catch {
    // The invocation is over, and there is no client to wait for: the signal never fires.
  }
}

/** The reason of the signal of a request whose client has gone. */
export function clientGone(): DOMException {
  return new DOMException('The client has disconnected', 'AbortError');
}

const INTERNAL = Symbol('internal');

export let requestState: (request: Request) => RequestState;
export let isRequest: (value: unknown) => value is Request;

/** A Request of a state that is known to be good. */
export function createRequest(state: RequestState): Request {
  return new Request(INTERNAL, state);
}

export class Request {
  #state: RequestState;

  constructor(input: unknown, init?: unknown);
  constructor(input: unknown, init: unknown = undefined) {
    if (input === INTERNAL) {
      this.#state = init as RequestState; // only this module has INTERNAL
      return;
    }
    requireArguments(arguments.length, 1, 'Request constructor');
    this.#state = buildRequest(input, init);
  }

  get method(): string {
    return this.#state.method;
  }

  get url(): string {
    return this.#state.url;
  }

  get headers(): Headers {
    const state = this.#state;
    state.headers ??= createHeaders(state.headerPairs(), state.isImmutable ? 'immutable' : 'none');
    return state.headers;
  }

  /** Not of the standard: whose request it is. Undefined for what did not come over HTTP. */
  get client(): RequestClient | undefined {
    const state = this.#state;
    state.client ??= clientOf(state.clientText);
    return state.client;
  }

  /** Not of the standard: facts about the connection of a request that came in, and whatever the constructor was given. */
  get cf(): object | undefined {
    const state = this.#state;
    if (state.cf === undefined && state.cfText !== undefined) state.cf = cfOf(state.clientText, state.cfText);
    return state.cf;
  }

  get destination(): string {
    this.#state; // a receiver that is no Request throws
    return '';
  }

  get referrer(): string {
    return this.#state.extras.referrer;
  }

  get referrerPolicy(): string {
    return this.#state.extras.referrerPolicy;
  }

  get mode(): string {
    return this.#state.extras.mode;
  }

  get credentials(): string {
    return this.#state.extras.credentials;
  }

  get cache(): string {
    return this.#state.extras.cache;
  }

  get redirect(): string {
    return this.#state.redirect;
  }

  get integrity(): string {
    return this.#state.extras.integrity;
  }

  get keepalive(): boolean {
    return this.#state.extras.keepalive;
  }

  get isReloadNavigation(): boolean {
    this.#state; // a receiver that is no Request throws
    return false;
  }

  get isHistoryNavigation(): boolean {
    this.#state; // likewise
    return false;
  }

  get signal(): AbortSignal {
    return this.#state.touchSignal();
  }

  get duplex(): 'half' {
    this.#state; // likewise
    return 'half';
  }

  clone(): Request {
    const state = this.#state;
    if (state.body !== null && isUnusable(state.body)) {
      throw new TypeErrorCtor('Request.clone: the body has been read already, or is locked');
    }
    const clone = copyState(state);
    if (state.body !== null) clone.body = cloneBody(state.body);
    clone.parent = state;
    clone.isImmutable = state.isImmutable;
    return createRequest(clone);
  }

  static {
    requestState = request => request.#state;
    isRequest = (value): value is Request => typeof value === 'object' && value !== null && #state in value;
  }
}

defineBody(Request, requestState);
defineInterface(Request, 'Request');

/** A state of its own with everything but body and signal. */
function copyState(from: RequestState): RequestState {
  const state = new RequestState();
  state.method = from.method;
  state.url = from.url;
  state.redirect = from.redirect;
  state.extras = from.extras;
  state.clientText = from.clientText;
  state.cfText = from.cfText;
  state.cf = from.cf;
  if (from.pairs === undefined) state.headText = from.headText;
  else {
    const pairs: HeaderPairs = [];
    for (let i = 0; i < from.pairs.length; i++) pairs[i] = from.pairs[i] ?? '';
    state.pairs = pairs;
  }
  return state;
}

/** @see https://fetch.spec.whatwg.org/#dom-request */
export function buildRequest(input: unknown, initValue: unknown): RequestState {
  // 5, 6: the request to start from.
  const source = isRequest(input) ? requestState(input) : undefined;
  const state = source === undefined ? new RequestState() : copyState(source);
  if (source === undefined) state.url = parseRequestUrl(toUSVString(input));
  const init = toDictionary(initValue, 'Request constructor: init');
  if (init === undefined) {
    if (source !== undefined) takeOver(state, source);
    return state;
  }
  // The members in the order in which WebIDL reads them: by name.
  const { body, cache, cf, credentials, duplex, headers, integrity, keepalive, method, mode } = init;
  const { priority, redirect, referrer, referrerPolicy, signal, window } = init;
  const bodyInit = body === undefined || body === null ? undefined : body;
  state.extras = readExtras(state.extras, { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy });
  if (cf !== undefined && cf !== null) {
    if (!isObject(cf)) throw new TypeErrorCtor('Request constructor: cf is not an object');
    state.cf = cf;
    state.cfText = undefined;
  }
  if (duplex !== undefined) toEnum(duplex, ['half'], 'Request constructor: duplex');
  if (priority !== undefined) toEnum(priority, PRIORITIES, 'Request constructor: priority');
  if (window !== undefined && window !== null) throw new TypeErrorCtor('Request constructor: window must be null');
  if (redirect !== undefined) state.redirect = toEnum(redirect, REDIRECTS, 'Request constructor: redirect');
  // 25: the method.
  if (method !== undefined) state.method = normalizeMethod(toByteString(method, 'Request constructor: method'));
  // 26-28: the signal.
  if (signal !== undefined && signal !== null && !isAbortSignal(signal)) {
    throw new TypeErrorCtor('Request constructor: signal is not an AbortSignal');
  }
  if (signal === undefined) state.parent = source;
  else if (signal !== null) state.parent = signal as AbortSignal; // checked just above
  // 33: the headers.
  if (headers !== undefined) {
    state.pairs = [];
    fillHeaders(state.pairs, headers, 'Request constructor: headers');
  }
  // 34-42: the body.
  const hasBody = bodyInit !== undefined || (source !== undefined && source.body !== null);
  if (hasBody && (state.method === 'GET' || state.method === 'HEAD')) {
    throw new TypeErrorCtor(`Request constructor: a request with method ${state.method} cannot have a body`);
  }
  if (bodyInit !== undefined) {
    // The standard wants `duplex` beside a stream. The hosted platform does not, and code that was written for it leaves it out.
    const extracted = extractBody(bodyInit);
    state.body = extracted.body;
    const pairs = state.headerPairs();
    if (extracted.type !== null && !hasName(pairs, 'content-type')) appendPair(pairs, 'content-type', extracted.type);
  } else if (source !== undefined && source.body !== null) {
    state.body = takeBody(source.body, 'Request constructor: the body of the given request');
  }
  return state;
}

function takeOver(state: RequestState, source: RequestState): void {
  state.parent = source;
  if (source.body !== null) state.body = takeBody(source.body, 'Request constructor: the body of the given request');
}

function parseRequestUrl(input: string): string {
  const url = parseUrl(input);
  if (url === undefined) throw new TypeErrorCtor(`Request constructor: ${quoted(input)} is not an absolute URL`);
  if (url.hasCredentials) throw new TypeErrorCtor('Request constructor: the URL includes credentials');
  return url.href;
}

let areMethodsUpper = false;

/** By the flag `upper_case_all_http_methods`: the standard keeps `patch` and other methods as they are written. */
export function upperCaseMethods(): void {
  areMethodsUpper = true;
}

function refuse(method: string): never {
  throw new TypeErrorCtor(`Request constructor: the method ${method} is forbidden`);
}

/** @see https://fetch.spec.whatwg.org/#concept-method-normalize */
function normalizeMethod(method: string): string {
  switch (method) {
    case 'GET':
    case 'POST':
    case 'PUT':
    case 'HEAD':
    case 'DELETE':
    case 'OPTIONS':
    case 'PATCH':
      return method;
  }
  if (!isToken(method)) throw new TypeErrorCtor(`Request constructor: ${quoted(method)} is not a method`);
  const upper = stringToUpperCase(method);
  if (areMethodsUpper) return upper === 'CONNECT' || upper === 'TRACE' || upper === 'TRACK' ? refuse(upper) : upper;
  switch (upper) {
    case 'GET':
    case 'POST':
    case 'PUT':
    case 'HEAD':
    case 'DELETE':
    case 'OPTIONS':
      return upper;
    case 'CONNECT':
    case 'TRACE':
    case 'TRACK':
      return refuse(upper);
    default:
      return method;
  }
}
