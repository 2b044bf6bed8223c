/** Values that functions pass to each other: the values that callbacks take, and functions, `RpcTarget`s, stubs, streams, and the objects of fetch(). */
import type { BodyForm, SentReference } from '../../bindings/function/wire.ts';
import { MAX_REFERENCES } from '../../bindings/function/wire.ts';
import { takeOutgoing } from '../body-out.ts';
import { brandOf, isError } from '../brands.ts';
import { type CallbackPayload, valueBody } from '../callbacks/body.ts';
import { decodeValue, type Parts } from '../callbacks/decode.ts';
import { encodeValue } from '../callbacks/encode.ts';
import type { GuestInvocation } from '../events/invocation.ts';
import { HostBody } from '../host-body.ts';
import {
  arrayPush,
  getPrototypeOf,
  isArray,
  jsonParse,
  jsonStringify,
  MapCtor,
  mapGet,
  mapSet,
  RangeErrorCtor,
  TypeErrorCtor,
} from '../primordials.ts';
import { Body, isUnusable, streamOf } from '../web/fetch/body.ts';
import { Headers, headersPairs, isHeaders } from '../web/fetch/headers.ts';
import { isRequest, Request, requestState } from '../web/fetch/request.ts';
import { isResponse, Response, responseState } from '../web/fetch/response.ts';
import { dataCloneError } from '../web/messaging/structured-clone.ts';
import { isReadableStream, type ReadableStream } from '../web/streams/streams.ts';
import { RpcTarget } from './entrypoint.ts';
import { exportObject } from './exports.ts';
import { isWritableStream, readableFrom, readableTarget, writableFrom, writableTarget } from './stream-targets.ts';
import { remoteOf, stubState } from './stubs.ts';

export interface SentValue {
  readonly form: BodyForm;
  readonly references: readonly SentReference[];
  /** Numbers of the objects that were exported for it. */
  readonly exports: readonly number[];
  readonly body: string | CallbackPayload;
}

/**
 * @param invocation the one that sends it, and keeps its objects
 * @param isAnswer an answer whose body stays open for its references can only carry a stream as its whole value, without references
 * @throws DOMException DataCloneError for a value that cannot be passed, RangeError for one that is too large
 */
export function sendValue(value: unknown, invocation: () => GuestInvocation, isAnswer: boolean): SentValue {
  const references: SentReference[] = [];
  const exports: number[] = [];
  const known = new MapCtor<object, number>();
  let hasStream = false;
  const refer = (object: object): number => {
    const before = mapGet(known, object);
    if (before !== undefined) return before;
    if (references.length >= MAX_REFERENCES) {
      throw new RangeErrorCtor(
        `A value with more than ${MAX_REFERENCES} functions and objects to call cannot be passed`,
      );
    }
    const stub = stubState(object);
    if (stub !== undefined) arrayPush(references, { i: remoteOf(stub).number });
    else {
      const number = exportObject(object, invocation());
      arrayPush(exports, number);
      arrayPush(references, { x: number });
    }
    mapSet(known, object, references.length - 1);
    return references.length - 1;
  };
  const stream = (readable: ReadableStream, isWhole: boolean): unknown => {
    if (!hasStream && (isWhole || !isAnswer)) {
      hasStream = true;
      return undefined;
    }
    return ['rs', refer(readableTarget(readable))];
  };
  const encoded = encodeValue(value, (object, inner, depth) => {
    // The body of an object that is the whole answer is its whole stream.
    const isWhole = depth === 0 || (depth === 1 && isAnswer && isBodied(value));
    if (typeof object === 'function' || stubState(object) !== undefined || object instanceof RpcTarget) {
      return ['f', refer(object)];
    }
    if (isReadableStream(object)) return stream(object, isWhole);
    if (isWritableStream(object)) return ['ws', refer(writableTarget(object))];
    if (isHeaders(object)) return ['H', inner(headersPairs(object))];
    if (isResponse(object)) {
      const state = responseState(object);
      const { status, statusText, body, type, webSocket, url, isRedirected } = state;
      if (type === 'error') throw dataCloneError('A Response of type "error" cannot be passed to another function');
      if (webSocket !== null) {
        throw dataCloneError('A Response with a WebSocket cannot be passed by a method: answer a fetch() with it');
      }
      return ['P', status, statusText, inner(state.headerPairs()), inner(bodyValue(body)), url, isRedirected];
    }
    if (isRequest(object)) {
      const state = requestState(object);
      const { method, url, redirect } = state;
      const headers = inner(state.headerPairs());
      return ['Q', method, url, redirect, headers, inner(bodyValue(state.body)), inner(state.givenExtras())];
    }
    if (!isError(object) && brandOf(object) === 'Object') {
      const prototype = getPrototypeOf(object);
      if (prototype !== null && prototype !== ObjectPrototype) {
        throw dataCloneError(
          'An instance of a class cannot be passed to another function: extend RpcTarget to pass it by reference',
        );
      }
    }
    return undefined;
  });
  const text = jsonStringify(encoded.json);
  if (encoded.bytes.length === 0 && encoded.stream === undefined && references.length === 0) {
    return { form: {}, references, exports, body: text };
  }
  const { form, body } = valueBody(text, encoded.bytes, encoded.stream);
  return { form, references, exports, body };
}

function isBodied(value: unknown): boolean {
  return isResponse(value) || isRequest(value);
}

function bodyValue(body: Body | null): unknown {
  if (body === null) return null;
  if (isUnusable(body)) throw dataCloneError('A body that has been read already, or is locked, cannot be passed');
  const outgoing = takeOutgoing(body);
  return outgoing instanceof HostBody ? streamOf(new Body(outgoing)) : outgoing;
}

const ObjectPrototype: object = Object.prototype;

/** @param stubOf makes the stub of the reference with this index */
export function receiveValue(text: string, parts: Parts, stubOf: (index: number) => object): unknown {
  return decodeValue(jsonParse(text), parts, (list, inner) => {
    const first = list[1];
    switch (list[0]) {
      case 'f':
        return stubOf(first as number); // checked by its callee
      case 'rs':
        return readableFrom(stubOf(first as number));
      case 'ws':
        return writableFrom(stubOf(first as number));
      case 'H':
        return new Headers(pairsOf(inner(first)));
      case 'P': {
        const init = { __proto__: null, status: first, statusText: list[2], headers: pairsOf(inner(list[3])) };
        const response = new Response(inner(list[4]), init);
        const state = responseState(response);
        state.url = `${list[5]}`;
        state.isRedirected = list[6] === true;
        return response;
      }
      case 'Q': {
        const headers = pairsOf(inner(list[4]));
        const body = inner(list[5]);
        // The constructor checks all members, and takes none that a sender has made up.
        const extras = inner(list[6]) as object | null;
        return new Request(list[2], { __proto__: null, ...extras, method: first, redirect: list[3], headers, body });
      }
      default:
        return undefined;
    }
  });
}

/** As the constructors take them, which check names and values. */
function pairsOf(value: unknown): string[][] {
  const pairs: string[][] = [];
  if (!isArray(value)) throw new TypeErrorCtor('The value is malformed');
  for (let i = 0; i + 1 < value.length; i += 2) arrayPush(pairs, [`${value[i]}`, `${value[i + 1]}`]);
  return pairs;
}
