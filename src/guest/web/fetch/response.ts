/** Response. @see https://fetch.spec.whatwg.org/#response-class */
import { jsonStringify, RangeErrorCtor, stringCharCodeAt, TypeErrorCtor } from '../../primordials.ts';
import { isWebSocket, type WebSocket } from '../../websockets/web-socket.ts';
import {
  defineInterface,
  quoted,
  requireArguments,
  toByteString,
  toDictionary,
  toUnsignedShort,
  toUSVString,
} from '../base/idl.ts';
import { parseUrl } from '../url/url-parse.ts';
import { Body, type BodyHolder, cloneBody, extractBody, isUnusable } from './body.ts';
import { defineBody } from './body-mixin.ts';
import { appendPair, getValue, type HeaderPairs, hasName, joinPairs, parsePairs } from './header-list.ts';
import { createHeaders, fillHeaders, type Headers } from './headers.ts';

export type ResponseType = 'basic' | 'default' | 'error';

export class ResponseState implements BodyHolder {
  status = 200;
  statusText = '';
  type: ResponseType = 'default';
  url = '';
  isRedirected = false;
  isImmutable = false;
  webSocket: WebSocket | null = null;
  body: Body | null = null;
  /** Headers as "name\nvalue\n...", until they are touched. */
  headText = '';
  pairs: HeaderPairs | undefined = undefined;
  headers: Headers | undefined = undefined;

  headerPairs(): HeaderPairs {
    this.pairs ??= parsePairs(this.headText);
    return this.pairs;
  }

  contentType(): string | null {
    return getValue(this.headerPairs(), 'content-type');
  }

  /** "name\nvalue\n..." */
  headerText(): string {
    return this.pairs === undefined ? this.headText : joinPairs(this.pairs);
  }

  /** Adds content-type where the response has none. */
  addContentType(type: string): void {
    if (this.pairs === undefined && this.headText === '') this.headText = `content-type\n${type}`;
    else {
      const pairs = this.headerPairs();
      if (!hasName(pairs, 'content-type')) appendPair(pairs, 'content-type', type);
    }
  }
}

const INTERNAL = Symbol('internal');

export let responseState: (response: Response) => ResponseState;
export let isResponse: (value: unknown) => value is Response;

/** A Response of a state that is known to be good. */
export function createResponse(state: ResponseState): Response {
  return new Response(INTERNAL, state);
}

export class Response {
  #state: ResponseState;

  constructor(body?: unknown, init?: unknown);
  constructor(body: unknown = null, init: unknown = undefined) {
    if (body === INTERNAL) {
      this.#state = init as ResponseState; // only this module has INTERNAL
      return;
    }
    const state = new ResponseState();
    this.#state = state;
    if (init !== undefined) initialize(state, init, 'Response constructor');
    if (body === null || body === undefined) return;
    if (isNullBodyStatus(state.status)) {
      throw new TypeErrorCtor(`Response constructor: a response of status ${state.status} cannot have a body`);
    }
    if (typeof body === 'string') {
      // The most frequent response, kept short.
      state.body = new Body(toUSVString(body));
      state.addContentType('text/plain;charset=UTF-8');
      return;
    }
    const extracted = extractBody(body);
    state.body = extracted.body;
    if (extracted.type !== null) state.addContentType(extracted.type);
  }

  static error(): Response {
    const state = new ResponseState();
    state.type = 'error';
    state.status = 0;
    state.isImmutable = true;
    return createResponse(state);
  }

  static redirect(url: unknown, status: unknown = 302): Response {
    requireArguments(arguments.length, 1, 'Response.redirect');
    const text = toUSVString(url);
    const code = toUnsignedShort(status);
    const parsed = parseUrl(text);
    if (parsed === undefined) throw new TypeErrorCtor(`Response.redirect: ${quoted(text)} is not an absolute URL`);
    if (code !== 301 && code !== 302 && code !== 303 && code !== 307 && code !== 308) {
      throw new RangeErrorCtor(`Response.redirect: the status must be 301, 302, 303, 307 or 308, given ${code}`);
    }
    const state = new ResponseState();
    state.status = code;
    state.isImmutable = true;
    state.pairs = ['location', parsed.href];
    return createResponse(state);
  }

  static json(data: unknown, init: unknown = undefined): Response {
    requireArguments(arguments.length, 1, 'Response.json');
    const text: string | undefined = jsonStringify(data);
    if (text === undefined) throw new TypeErrorCtor('Response.json: the data cannot be made into JSON');
    const state = new ResponseState();
    if (init !== undefined) initialize(state, init, 'Response.json');
    if (isNullBodyStatus(state.status)) {
      throw new TypeErrorCtor(`Response.json: a response of status ${state.status} cannot have a body`);
    }
    state.body = new Body(toUSVString(text));
    state.addContentType('application/json');
    return createResponse(state);
  }

  get type(): ResponseType {
    return this.#state.type;
  }

  get url(): string {
    return this.#state.url;
  }

  get redirected(): boolean {
    return this.#state.isRedirected;
  }

  get status(): number {
    return this.#state.status;
  }

  get ok(): boolean {
    const { status } = this.#state;
    return status >= 200 && status <= 299;
  }

  get statusText(): string {
    return this.#state.statusText;
  }

  get headers(): Headers {
    const state = this.#state;
    state.headers ??= createHeaders(state.headerPairs(), state.isImmutable ? 'immutable' : 'none');
    return state.headers;
  }

  /** The socket of an answer that switches to a WebSocket; null for all others. */
  get webSocket(): WebSocket | null {
    return this.#state.webSocket;
  }

  clone(): Response {
    const from = this.#state;
    if (from.webSocket !== null)
      throw new TypeErrorCtor('Response.clone: a response with a WebSocket cannot be cloned');
    if (from.body !== null && isUnusable(from.body)) {
      throw new TypeErrorCtor('Response.clone: the body has been read already, or is locked');
    }
    const state = new ResponseState();
    state.status = from.status;
    state.statusText = from.statusText;
    state.type = from.type;
    state.url = from.url;
    state.isRedirected = from.isRedirected;
    state.isImmutable = from.isImmutable;
    state.headText = from.headerText();
    if (from.body !== null) state.body = cloneBody(from.body);
    return createResponse(state);
  }

  static {
    responseState = response => response.#state;
    isResponse = (value): value is Response => typeof value === 'object' && value !== null && #state in value;
  }
}

defineBody(Response, responseState);
defineInterface(Response, 'Response');

/** @see https://fetch.spec.whatwg.org/#null-body-status */
export function isNullBodyStatus(status: number): boolean {
  return status === 204 || status === 205 || status === 304 || status === 101 || status === 103;
}

/** "Initialize a response". @see https://fetch.spec.whatwg.org/#initialize-a-response */
function initialize(state: ResponseState, value: unknown, what: string): void {
  const init = toDictionary(value, `${what}: init`);
  if (init === undefined) return;
  const { headers, status, statusText, webSocket } = init;
  if (webSocket !== undefined && webSocket !== null) setWebSocket(state, webSocket, status, what);
  else if (status !== undefined) {
    const code = toUnsignedShort(status);
    if (code < 200 || code > 599) {
      throw new RangeErrorCtor(`${what}: the status must be from 200 to 599, given ${code}`);
    }
    state.status = code;
  }
  if (statusText !== undefined) state.statusText = toReasonPhrase(statusText, what);
  if (headers !== undefined) {
    state.pairs = [];
    fillHeaders(state.pairs, headers, `${what}: headers`);
  }
}

function setWebSocket(state: ResponseState, socket: unknown, status: unknown, what: string): void {
  if (!isWebSocket(socket)) throw new TypeErrorCtor(`${what}: the webSocket is not a WebSocket`);
  const code = status === undefined ? 200 : toUnsignedShort(status);
  if (code !== 101)
    throw new RangeErrorCtor(`${what}: a response with a WebSocket must have status 101, given ${code}`);
  state.status = code;
  state.webSocket = socket;
}

/** @see https://httpwg.org/specs/rfc9112.html#status.line */
function toReasonPhrase(value: unknown, what: string): string {
  const text = toByteString(value, `${what}: statusText`);
  for (let i = 0; i < text.length; i++) {
    const code = stringCharCodeAt(text, i);
    if (code !== 9 && (code < 0x20 || code === 0x7f)) {
      throw new TypeErrorCtor(`${what}: the statusText has a control character at position ${i}`);
    }
  }
  return text;
}
