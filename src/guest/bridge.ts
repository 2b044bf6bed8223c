/**
 * The guest's end of the bridge. `hostCall` lives in this module's closure alone and is only ever called directly, as `hostCall(...)`: in an array, a bind or
 * an argument it could be caught by patched code. The catch has no binding, since what the call throws at the edge of the stack belongs to the host realm.
 */
import { Ev, FAILED, Op } from '../isolate/ops/table.ts';
import { type CallSite, callSite, setStackSource } from './errors.ts';
import {
  defineProperty,
  ErrorCtor,
  MapCtor,
  mapDelete,
  mapGet,
  mapSet,
  numberIsNaN,
  PromiseCtor,
  RangeErrorCtor,
  stringIndexOf,
  stringSlice,
  TypeErrorCtor,
  Uint8ArrayCtor,
} from './primordials.ts';
import { rejection } from './rejection.ts';
import { DOMException } from './web/base/dom-exception.ts';

export type BridgeValue = undefined | boolean | number | string | Uint8Array;
export type BridgeResult = number | string | undefined;
type HostCall = (op: number, a?: BridgeValue, b?: BridgeValue, c?: BridgeValue, d?: BridgeValue) => BridgeResult;

let hostCall: HostCall;

export function connect(call: HostCall): void {
  hostCall = call;
  setStackSource(captureStack, stackText);
}

/** The host remembers the stack of the function's code up to here; 0 when it cannot. */
function captureStack(): number {
  let result: BridgeResult;
  try {
    result = hostCall(Op.StackCapture);
  } catch {
    result = 0;
  }
  return typeof result === 'number' && result > 0 ? result : 0;
}

function stackText(number: number): string {
  if (number === 0) return '';
  let result: BridgeResult;
  try {
    result = hostCall(Op.StackText, number);
  } catch {
    result = '';
  }
  return typeof result === 'string' ? result : '';
}

/** One op; throws an error of this realm when it fails. */
export function op(op: Op, a?: BridgeValue, b?: BridgeValue, c?: BridgeValue, d?: BridgeValue): BridgeResult {
  let result: BridgeResult;
  try {
    result = hostCall(op, a, b, c, d);
  } catch {
    // The host function throws nothing else, and `lastError()` belongs to another op.
    throw exhausted();
  }
  if (result === FAILED) throw lastError();
  return result;
}

export function opNumber(number: Op, a?: BridgeValue, b?: BridgeValue, c?: BridgeValue, d?: BridgeValue): number {
  return op(number, a, b, c, d) as number; // the op table says that this op answers with a number
}

export function opString(number: Op, a?: BridgeValue, b?: BridgeValue, c?: BridgeValue, d?: BridgeValue): string {
  return op(number, a, b, c, d) as string; // the op table says that this op answers with a string
}

/** An op whose answer is a number of bytes, fetched at once into a fresh array. */
export function opBytes(number: Op, a?: BridgeValue, b?: BridgeValue, c?: BridgeValue, d?: BridgeValue): Uint8Array {
  return takeBytes(opNumber(number, a, b, c, d));
}

/** Fetches the byte result of the op or event just before. */
export function takeBytes(length: number): Uint8Array {
  const target = new Uint8ArrayCtor(length);
  if (length > 0) op(Op.Take, target);
  return target;
}

type Settled = number | string | undefined | Uint8Array;

interface Waiting {
  readonly resolve: (value: Settled | Promise<never>) => void;
  readonly site: CallSite | undefined;
}

const waiting = new MapCtor<number, Waiting>();

/** An op that starts work in the host realm and settles later, with a number, a string or bytes. */
export function opAsync(
  number: Op,
  a?: BridgeValue,
  b?: BridgeValue,
  c?: BridgeValue,
  d?: BridgeValue,
): Promise<Settled> {
  return new PromiseCtor(resolve => {
    mapSet(waiting, opNumber(number, a, b, c, d), { resolve, site: callSite() });
  });
}

function settle(id: number, ok: number, value: BridgeResult, byteCount: number): void {
  const bytes = byteCount >= 0 ? takeBytes(byteCount) : undefined;
  const entry = mapGet(waiting, id);
  if (entry === undefined) return;
  mapDelete(waiting, id);
  if (ok === 1) entry.resolve(bytes ?? value);
  else entry.resolve(rejection(() => errorFromText(value as string), entry.site)); // a failure carries text
}

/** Builds an error of this realm from "Name\nmessage\ncode". */
export function errorFromText(text: string): Error {
  const nameEnd = stringIndexOf(text, '\n');
  const codeStart = stringIndexOf(text, '\n', nameEnd + 1);
  const name = stringSlice(text, 0, nameEnd);
  const message = codeStart < 0 ? stringSlice(text, nameEnd + 1) : stringSlice(text, nameEnd + 1, codeStart);
  const code = codeStart < 0 ? '' : stringSlice(text, codeStart + 1);
  const error = makeError(name, message);
  if (code !== '') {
    const numeric = +code;
    defineProperty(error, 'code', {
      __proto__: null,
      value: numberIsNaN(numeric) ? code : numeric,
      writable: true,
      configurable: true,
      enumerable: false,
    } as PropertyDescriptor);
  }
  return error;
}

function makeError(name: string, message: string): Error {
  switch (name) {
    case 'TypeError':
      return new TypeErrorCtor(message);
    case 'RangeError':
      return new RangeErrorCtor(message);
    case 'Error':
    case 'EdgeError':
      return new ErrorCtor(message);
    default:
      return new DOMException(message, name) as Error;
  }
}

/** The error for a call that the host function could not even begin. */
function exhausted(): Error {
  return new RangeErrorCtor('Maximum call stack size exceeded');
}

function lastError(): Error {
  let text: BridgeResult;
  try {
    text = hostCall(Op.LastError);
  } catch {
    return exhausted();
  }
  // The text is missing only where the stack has ended.
  return typeof text === 'string' ? errorFromText(text) : exhausted();
}

type EventHandler = (a: never, b: never, c: never, d: never) => void;
const handlers: { [ev: number]: EventHandler } = { __proto__: null } as never; // no inherited names

export function onEvent(ev: Ev, handler: EventHandler): void {
  handlers[ev] = handler;
}

onEvent(Ev.Settle, settle as EventHandler);

/** The one function of this realm that the host holds. */
export function enter(ev: number, a: never, b: never, c: never, d: never): void {
  handlers[ev]?.(a, b, c, d);
}
