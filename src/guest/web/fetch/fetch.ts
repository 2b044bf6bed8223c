/** fetch(): a call of the fetch service of the host process. @see https://fetch.spec.whatwg.org/#fetch-method */
import type { CalledLoaded } from '../../../bindings/loader/wire.ts';
import type { CalledObject } from '../../../bindings/objects/wire.ts';
import { Op } from '../../../isolate/ops/table.ts';
import { ServiceId } from '../../../quotas/service-calls.ts';
import { goesWhole, takeOutgoing } from '../../body-out.ts';
import { op } from '../../bridge.ts';
import { callOpen, callService } from '../../call-service.ts';
import type { HostBody } from '../../host-body.ts';
import type { CallListener } from '../../open-calls.ts';
import {
  ErrorCtor,
  getOwnPropertyDescriptor,
  hasOwn,
  jsonParse,
  jsonStringify,
  PromiseCtor,
  promiseReject,
  promiseResolve,
  promiseThen,
  stringSlice,
  stringToLowerCase,
  TypeErrorCtor,
} from '../../primordials.ts';
import { rejection } from '../../rejection.ts';
import { requireHandler } from '../../scope.ts';
import { protocolOf } from '../../websockets/connect.ts';
import { fetchedSocket, handedSocket } from '../../websockets/upgrade.ts';
import { defineValue, requireArguments } from '../base/idl.ts';
import { warn } from '../console/warn.ts';
import { addAbortAlgorithm, removeAbortAlgorithm } from '../scheduling/abort.ts';
import { cancel } from '../streams/streams.ts';
import { Body, bodyLength, isUnusable, readBytes } from './body.ts';
import { readDataUrl } from './data-url.ts';
import { appendPair, declaredLength, getValue, type HeaderPairs, hasName } from './header-list.ts';
import { matchesIntegrity } from './integrity.ts';
import { buildRequest, type RequestState } from './request.ts';
import { createResponse, isNullBodyStatus, type Response, ResponseState } from './response.ts';

/** The head of the service's reply. */
interface ReplyHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderPairs;
  readonly url: string;
  readonly redirected: boolean;
  readonly decoded?: boolean;
  /** The answer is a socket that sleeps: the number that it was handed by. */
  readonly w?: number;
}

/** The target of a call, beside its binding: a stateful object, an entrypoint of loaded code, or one of the function itself. */
export type CalledPlace = CalledObject | CalledLoaded | readonly [entrypoint: string, props: string];

export function fetch(input: unknown, init: unknown = undefined): Promise<Response> {
  try {
    requireArguments(arguments.length, 1, 'fetch');
    requireHandler('fetch()');
    // 2: what the Request constructor refuses, fetch rejects with.
    const request = buildRequest(input, init);
    if (request.cf !== undefined && request.cfText === undefined) warnOfCf(request.cf);
    return send(request);
  } catch (error) {
    return promiseReject(error);
  }
}

/** Options of the hosted platform's network, by which fetch() would do something else there. */
const CF_OPTIONS = [
  'cacheEverything',
  'cacheKey',
  'cacheTags',
  'cacheTtl',
  'cacheTtlByStatus',
  'image',
  'minify',
  'mirage',
  'polish',
  'resolveOverride',
  'scrapeShield',
];

let hasWarnedOfCf = false;

/** Once for each isolate. */
function warnOfCf(cf: object): void {
  if (hasWarnedOfCf) return;
  let names = '';
  for (let at = 0; at < CF_OPTIONS.length; at++) {
    const name = CF_OPTIONS[at] ?? '';
    if (hasOwn(cf, name)) names += names === '' ? name : `, ${name}`;
  }
  if (names === '') return;
  hasWarnedOfCf = true;
  warn(`fetch(): these members of the option cf have no effect here: ${names}`);
}

/** fetch() of a service binding, which answers for every URL. `failureOf` finds what the function has thrown in the head of the reply. */
export function fetchFrom(
  service: ServiceId,
  binding: string,
  failureOf: (head: object) => Error | undefined,
  input: unknown,
  init: unknown,
  called?: CalledPlace,
): Promise<Response> {
  try {
    requireHandler(`${binding}.fetch()`);
    return send(buildRequest(input, init), { service, binding, failureOf, called });
  } catch (error) {
    return promiseReject(error);
  }
}

/** The same when the place of the call is known later: the request is made now. */
export function fetchWhen(
  service: ServiceId,
  binding: string,
  failureOf: (head: object) => Error | undefined,
  input: unknown,
  init: unknown,
  called: () => Promise<CalledPlace>,
): Promise<Response> {
  try {
    requireHandler(`${binding}.fetch()`);
    const request = buildRequest(input, init);
    return new PromiseCtor((resolve, reject) => {
      promiseThen(called(), place => resolve(send(request, { service, binding, failureOf, called: place })), reject);
    });
  } catch (error) {
    return promiseReject(error);
  }
}

/** Requests of the function go to the service of this binding, and not to the network. */
export function setOutbound(binding: string, failureOf: (head: object) => Error | undefined): void {
  network = { service: ServiceId.Function, binding, failureOf };
}

/** The receiver of a request. */
interface Target {
  readonly service: ServiceId;
  readonly binding: string;
  readonly failureOf: ((head: object) => Error | undefined) | undefined;
  readonly called?: CalledPlace | undefined;
}

let network: Target = { service: ServiceId.Fetch, binding: '', failureOf: undefined };

function send(request: RequestState, target: Target = network): Promise<Response> {
  const signal = request.activeSignal();
  if (signal?.aborted === true) {
    // 4: aborted already. The body goes with it.
    if (request.body?.stream !== undefined && !isUnusable(request.body)) cancel(request.body.stream, signal.reason);
    return promiseReject(signal.reason);
  }
  const { integrity } = request.extras;
  const isUpgrade = asksForWebSocket(request);
  if (target === network && stringSlice(request.url, 0, 5) === 'data:') return fetchData(request);
  return new PromiseCtor((resolve, reject) => {
    let responseBody: HostBody | null = null;
    const call = start(request, target, {
      onReply: (text, body) => {
        responseBody = body;
        const head: ReplyHead = jsonParse(text); // the service of the host process wrote it
        const failure = target.failureOf?.(head);
        if (failure !== undefined) {
          reject(failure);
          return;
        }
        const state = toState(head, body, request.method);
        if (isUpgrade && head.status === 101 && body !== null) {
          state.webSocket = fetchedSocket(body.exchange, protocolOf(head.headers));
        }
        if (isUpgrade && head.status === 101 && hasOwn(head, 'w') && head.w !== undefined) {
          state.webSocket = handedSocket(head.w, protocolOf(head.headers));
          // The host has the connection: nothing is sent by the call.
          if (call.exchange !== undefined) op(Op.BodyEnd, call.exchange);
        }
        if (integrity === '') resolve(createResponse(state));
        else promiseThen(verified(state, integrity), resolve, error => reject(toNetworkError(error)));
      },
      onFailed: (makeError, site) => {
        if (signal !== undefined) removeAbortAlgorithm(signal, abort);
        resolve(rejection(() => toNetworkError(makeError()), site));
      },
    });
    // 11: abort at any time, also while the answer's body is read.
    const abort = (): void => {
      reject(signal?.reason);
      call.abort(signal?.reason);
      responseBody?.fail(signal?.reason);
    };
    if (signal !== undefined) addAbortAlgorithm(signal, abort);
  });
}

/** Scheme fetch of data: URLs, which needs no call to the host. @see https://fetch.spec.whatwg.org/#scheme-fetch */
function fetchData(request: RequestState): Promise<Response> {
  const resource = readDataUrl(request.url);
  if (resource === undefined) return promiseReject(new TypeErrorCtor('fetch: the data: URL is malformed'));
  const state = new ResponseState();
  state.type = 'basic';
  state.statusText = 'OK';
  state.url = request.url;
  state.isImmutable = true;
  state.pairs = ['content-type', resource.type];
  if (request.method !== 'HEAD') state.body = new Body(resource.bytes);
  if (request.extras.integrity !== '') return verified(state, request.extras.integrity);
  return promiseResolve(createResponse(state));
}

/** Main fetch, 22: the answer, when its whole body is what it should be. @see https://fetch.spec.whatwg.org/#main-fetch */
async function verified(state: ResponseState, integrity: string): Promise<Response> {
  const bytes = state.body === null ? undefined : await readBytes(state);
  if (bytes === undefined || !matchesIntegrity(bytes, integrity)) {
    throw new TypeErrorCtor('fetch: the answer does not have the integrity that was asked for');
  }
  state.body = new Body(bytes);
  return createResponse(state);
}

function start(
  request: RequestState,
  { service, binding, called }: Target,
  reply: CallListener,
): { abort(reason: unknown): void; readonly exchange?: number } {
  const { body } = request;
  const pairs = request.headerPairs();
  if (asksForWebSocket(request)) {
    const to = service === ServiceId.Fetch ? ServiceId.WebSocket : service;
    return callOpen(to, `fetch\n${binding}\n${argumentText(request, pairs, called)}`, reply);
  }
  if (body === null) return callService(service, 'fetch', binding, argumentText(request, pairs, called), null, reply);
  if (isUnusable(body)) throw new TypeErrorCtor('fetch: the body of the request has been read already, or is locked');
  const length = bodyLength(body);
  const outgoing = takeOutgoing(body);
  // The length of a body that goes whole is known where it arrives.
  if (length !== undefined && !goesWhole(outgoing) && !hasName(pairs, 'content-length')) {
    appendPair(pairs, 'content-length', `${length}`);
  }
  return callService(service, 'fetch', binding, argumentText(request, pairs, called), outgoing, reply);
}

/** The bodies of the call then belong to a socket, if the other end agrees. @see https://httpwg.org/specs/rfc6455.html#section-4.1 */
export function asksForWebSocket(request: RequestState): boolean {
  if (request.method !== 'GET') return false;
  const value = getValue(request.headerPairs(), 'upgrade');
  return value !== null && stringToLowerCase(value) === 'websocket';
}

/** The arguments for the service, concatenated from texts, so that no object is involved to which function code could add properties. */
function argumentText(request: RequestState, pairs: HeaderPairs, called: CalledPlace | undefined): string {
  let headers = '';
  for (let i = 0; i < pairs.length; i++) headers += i === 0 ? quote(pairs[i]) : `,${quote(pairs[i])}`;
  const { method, url, redirect } = request;
  const object = called === undefined ? '' : `,"o":${jsonStringify(called)}`;
  return `{"method":${quote(method)},"url":${quote(url)},"redirect":"${redirect}","headers":[${headers}]${object}}`;
}

function quote(text: string | undefined): string {
  return jsonStringify(text ?? '');
}

function toState(head: ReplyHead, body: HostBody | null, method: string): ResponseState {
  const state = new ResponseState();
  state.type = 'basic';
  state.status = head.status;
  state.statusText = head.statusText;
  state.url = head.url;
  state.isRedirected = head.redirected;
  state.isImmutable = true;
  state.pairs = toPairs(head);
  if (body !== null && method !== 'HEAD' && !isNullBodyStatus(head.status)) {
    body.toError = toNetworkError;
    body.expectedSize = declaredLength(state.pairs);
    state.body = new Body(body);
  } else if (head.status !== 101) body?.stop();
  return state;
}

/** "Network error": always a TypeError; the code of the host's errors stays readable. */
function toNetworkError(error: unknown): unknown {
  if (error instanceof TypeErrorCtor || !(error instanceof ErrorCtor)) return error;
  const networkError = new TypeErrorCtor(error.message);
  const code: unknown = getOwnPropertyDescriptor(error, 'code')?.value; // put there by errorFromText
  if (code !== undefined) defineValue(networkError, 'code', code);
  return networkError;
}

/** Without the headers that describe what the body was before its content codings were taken off. */
function toPairs({ headers, decoded }: ReplyHead): HeaderPairs {
  const pairs: HeaderPairs = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = stringToLowerCase(headers[i] ?? '');
    if (decoded === true && (name === 'content-encoding' || name === 'content-length')) continue;
    appendPair(pairs, name, headers[i + 1] ?? '');
  }
  return pairs;
}
