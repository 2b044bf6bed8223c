/** Calls that this realm makes of other functions: over a service binding, and of stubs. */
import { type BodyForm, CALL, MAX_CALL_BYTES, type ReceivedAnswer } from '../../bindings/function/wire.ts';
import { ServiceId } from '../../quotas/service-calls.ts';
import { callService } from '../call-service.ts';
import { concat, Source } from '../callbacks/body.ts';
import { makeError, type Parts } from '../callbacks/decode.ts';
import { currentInvocation, type GuestInvocation } from '../events/invocation.ts';
import type { HostBody } from '../host-body.ts';
import {
  arrayIndexOf,
  arrayPush,
  arraySlice,
  defineProperty,
  ErrorCtor,
  jsonParse,
  jsonStringify,
  PromiseCtor,
  promiseReject,
  RangeErrorCtor,
  TypeErrorCtor,
  typedArrayLength,
} from '../primordials.ts';
import { rejection } from '../rejection.ts';
import { requireHandler } from '../scope.ts';
import { decodeUtf8 } from '../utf8.ts';
import { isObject } from '../web/base/idl.ts';
import { type CalledPlace, fetchFrom } from '../web/fetch/fetch.ts';
import { disposeSymbol } from './dispose.ts';
import { dropExport, forgetExport } from './exports.ts';
import { markService } from './passed-services.ts';
import {
  callLocal,
  createBindingStub,
  createStub,
  disposeStub,
  Remote,
  type Send,
  type Sent,
  stubState,
  unsent,
} from './stubs.ts';
import { receiveValue, sendValue } from './values.ts';

/** The object that the function finds in its environment. */
export function createServiceBinding(name: string): object {
  const own: { readonly [method: string]: unknown } = {
    __proto__: null,
    fetch: (input: unknown, init?: unknown) => fetchFrom(ServiceId.Function, name, failureOf, input, init),
    connect: () => {
      throw new TypeErrorCtor(`${name}.connect() is not supported: call ${name}.fetch() or a method`);
    },
  } as never; // without inherited names
  const stub = createBindingStub(
    (path, args) => callMethod(ServiceId.Function, name, path, args, NOTHING),
    method => (method in own ? { value: own[method] } : undefined),
  );
  markService(stub, { b: name });
  return stub;
}

/** The error in the head of a reply, where the function has thrown. */
export function failureOf(head: object): Error | undefined {
  const { e } = head as { e?: readonly [string, string] }; // the host's
  return e === undefined ? undefined : makeError(e[0], e[1]);
}

export function callStub(remote: Remote, path: readonly string[], args: readonly unknown[] | undefined): Sent {
  return callMethod(ServiceId.Stub, '', path, args, { stub: remote.number });
}

/** The target of a call: the entrypoint of a binding when no property is set. */
interface Called {
  readonly stub?: number;
  /** An earlier call on whose result this one continues. */
  readonly earlier?: MethodCall;
  /** A stateful object, or an entrypoint of loaded code or of the function itself. */
  readonly object?: CalledPlace;
  /** The error in the head of a reply, unless a function's error is in it. */
  failureOf?(head: object): Error | undefined;
}

export function callMethod(
  service: ServiceId,
  binding: string,
  path: readonly string[],
  args: readonly unknown[] | undefined,
  called: Called,
): Sent {
  try {
    return new MethodCall(service, binding, path, args, called);
  } catch (error) {
    return unsent(error);
  }
}

const NOTHING: Called = {};
/** The number of the next call. */
let nextNumber = 1;

class MethodCall implements Sent {
  readonly result: Promise<unknown>;
  readonly #number: number | undefined;
  #isHere = false;

  constructor(
    service: ServiceId,
    binding: string,
    path: readonly string[],
    args: readonly unknown[] | undefined,
    { stub, earlier, object, failureOf }: Called,
  ) {
    requireHandler(binding === '' ? 'A call of a stub' : `${binding}.${path[path.length - 1] ?? ''}()`);
    const sent = sendValue(args, openInvocation, false);
    const { exports, references } = sent;
    // A value that is read is all that there is of it.
    this.#number = args === undefined ? undefined : nextNumber++;
    // Put together by hand, which is faster than an object of what there is.
    let head = `{"p":${jsonStringify(path)}`;
    if (stub !== undefined) head += `,"i":${stub}`;
    if (earlier !== undefined) head += `,"q":${earlier.#number}`;
    if (this.#number !== undefined) head += `,"n":${this.#number}`;
    if (object !== undefined) head += `,"o":${jsonStringify(object)}`;
    if (args === undefined) head += ',"g":true';
    if (sent.form.b !== undefined) head += `,"b":${jsonStringify(sent.form.b)}`;
    if (sent.form.s === true) head += ',"s":true';
    if (references.length > 0) head += `,"f":${jsonStringify(references)}`;
    head += '}';
    this.result = new PromiseCtor(resolve => {
      callService(service, CALL, binding, head, sent.body, {
        onReply: (text, body) => {
          this.#isHere = true;
          if (text === '{}' && body !== null && body.isComplete) {
            drop(exports, undefined);
            resolve(plainValue(body.text()));
            return;
          }
          const answer: ReceivedAnswer = jsonParse(text); // the host's
          if ('l' in answer && earlier !== undefined) resolve(earlier.#goOnHere(path, args, exports));
          else resolve(receive(answer, body, exports, failureOf));
        },
        onFailed: (error, site) => {
          this.#isHere = true;
          drop(exports, undefined);
          resolve(rejection(error, site));
        },
      });
    });
  }

  onward(): Send | undefined {
    if (this.#isHere || this.#number === undefined) return undefined;
    return (path, args) => callMethod(ServiceId.Stub, '', path, args, { earlier: this });
  }

  /** Calls on the result of this call, which arrived while the next call was being made. */
  async #goOnHere(
    path: readonly string[],
    args: readonly unknown[] | undefined,
    exports: readonly number[],
  ): Promise<unknown> {
    let isSent = false;
    try {
      return await callLocal(this.result, path, args, () => {
        // They are sent again.
        isSent = true;
        for (let i = 0; i < exports.length; i++) forgetExport(exports[i] ?? 0);
      });
    } finally {
      if (!isSent) drop(exports, undefined);
    }
  }
}

/** A value without anything beside it. */
function plainValue(json: string): unknown {
  try {
    return receiveValue(json, NO_PARTS, noStub);
  } catch (error) {
    return promiseReject(error);
  }
}

function noStub(): never {
  throw new TypeErrorCtor('The value is malformed');
}

function drop(exports: readonly number[], kept: readonly number[] | undefined): void {
  for (let i = 0; i < exports.length; i++) {
    const number = exports[i] ?? 0;
    if (kept === undefined || arrayIndexOf(kept, number) < 0) dropExport(number);
  }
}

async function receive(
  head: ReceivedAnswer,
  body: HostBody | null,
  exports: readonly number[],
  failure: (head: object) => Error | undefined = failureOf,
): Promise<unknown> {
  if ('e' in head || 'l' in head) {
    drop(exports, undefined);
    throw failure(head);
  }
  const { f, k, ...form } = head;
  drop(exports, k);
  const stubs = new ReceivedStubs(f, () => body?.stop());
  const { json, parts } = await takeValue(body, form, f !== undefined);
  const value = receiveValue(json, parts, index => stubs.stub(index));
  stubs.dropUnused();
  if (f !== undefined && isObject(value) && stubState(value) === undefined) {
    const dispose = (): void => stubs.dispose();
    defineProperty(value, disposeSymbol, {
      __proto__: null,
      value: dispose,
      configurable: true,
      writable: true,
    } as PropertyDescriptor);
  }
  return value;
}

/** The JSON of a value and what it refers to. `isHeld`: the body continues behind the value. */
export async function takeValue(
  body: HostBody | null,
  { b: lengths, s: hasStream = false }: BodyForm,
  isHeld: boolean,
): Promise<{ readonly json: string; readonly parts: Parts }> {
  if (lengths === undefined || body === null) {
    const json = body === null ? '["u"]' : body.isComplete ? body.text() : await wholeText(body);
    return { json, parts: NO_PARTS };
  }
  const reader = { next: () => body.next(), cancel: () => body.stop() };
  const source = body.isComplete ? new Source(body.bytes(), undefined) : new Source(null, reader);
  const bytes: Uint8Array[] = [];
  for (let i = 0; i < lengths.length; i++) arrayPush(bytes, await source.take(lengths[i] ?? 0));
  const text = bytes[0];
  if (text === undefined) throw new TypeErrorCtor('The value is malformed');
  const sequences = arraySlice(bytes, 1);
  const stream = hasStream && !isHeld ? source.rest() : undefined;
  // Nothing follows the value: a sender that sends more is not read.
  if (stream === undefined && !isHeld && !body.isComplete) body.stop();
  return { json: decodeUtf8(text), parts: { bytes: sequences, stream } };
}

export const NO_PARTS: Parts = { bytes: [], stream: undefined };

async function wholeText(body: HostBody): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
    bytes += typedArrayLength(chunk);
    if (bytes > MAX_CALL_BYTES) {
      body.stop();
      throw new RangeErrorCtor(`The value has more than ${MAX_CALL_BYTES} bytes: pass a stream`);
    }
    arrayPush(chunks, chunk);
  }
  const whole = concat(chunks);
  return whole === null ? '' : decodeUtf8(whole);
}

function openInvocation(): GuestInvocation {
  const invocation = currentInvocation();
  if (invocation === undefined) throw new ErrorCtor('The request that this belongs to is over');
  return invocation;
}

/** The stubs that came with a value. */
export class ReceivedStubs {
  readonly #numbers: readonly number[];
  readonly #remotes: (Remote | undefined)[] = [];
  readonly #stubs: object[] = [];
  readonly #onUnused: () => void;
  #used = 0;

  /** @param onUnused called when all of them have been disposed of */
  constructor(numbers: readonly number[] = NO_NUMBERS, onUnused: () => void) {
    this.#numbers = numbers;
    this.#onUnused = onUnused;
  }

  stub(index: number): object {
    const number = this.#numbers[index];
    if (number === undefined) throw new TypeErrorCtor('The value is malformed');
    let remote = this.#remotes[index];
    if (remote === undefined) {
      this.#used++;
      remote = new Remote(number, () => {
        if (--this.#used === 0) this.#onUnused();
      });
      this.#remotes[index] = remote;
    }
    const stub = createStub(remote, callStub);
    arrayPush(this.#stubs, stub);
    return stub;
  }

  /** Called when the value is decoded: releases the objects that came with it if none of them became a stub. */
  dropUnused(): void {
    if (this.#numbers.length > 0 && this.#used === 0) this.#onUnused();
  }

  /** Disposes of those that came with the value, not of what `dup()` has made of them. */
  dispose(): void {
    for (let i = 0; i < this.#stubs.length; i++) {
      const stub = this.#stubs[i];
      const state = stub === undefined ? undefined : stubState(stub);
      if (state !== undefined) disposeStub(state);
    }
  }

  /** Numbers of those that are still in use. */
  get kept(): number[] {
    const kept: number[] = [];
    for (let i = 0; i < this.#numbers.length; i++) {
      if (this.#remotes[i]?.isUsed === true) arrayPush(kept, this.#numbers[i] ?? 0);
    }
    return kept;
  }
}

const NO_NUMBERS: readonly number[] = [];
