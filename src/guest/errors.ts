/**
 * The stacks of errors (rule R4). Where a function of the neutral realm writes them (isolate/stacks/stack-formatter.ts) the engine keeps the frames,
 * and all that is done here is to say how many.
 *
 * Where that is not possible the engine captures none in this realm, or Node's own function would write them. Each Error constructor then has the host realm
 * remember where it was called, and `stack` is an accessor of Error.prototype that asks for the text when it is read. An error that the engine itself throws
 * has a name and a message only.
 *
 * Evaluated before everything that captures an Error constructor, so that the errors of the bundle have stacks as well.
 */
import { isObject } from './is-object.ts';

const { apply, construct, defineProperty, deleteProperty, ownKeys, getOwnPropertyDescriptor, setPrototypeOf } = Reflect;
const remembered = new WeakMap<object, number>();
const { get: weakMapGet, set: weakMapSet } = WeakMap.prototype;
/** The properties that V8 adds to the constructor. */
interface StackApi {
  stackTraceLimit: number;
  captureStackTrace(target: object, above?: (...args: never[]) => unknown): void;
}
const NativeError = Error as ErrorConstructor & StackApi; // this engine is V8
const NativeTypeError = TypeError;

/** Asks the host realm to remember the present stack; answers its number, or 0 when none was taken. Set by bridge.ts. */
let remember: () => number = () => 0;
/** The frames of a remembered stack, "\n    at ..." each; empty when they are gone. */
let framesOf: (number: number) => string = () => '';

export function setStackSource(capture: typeof remember, frames: typeof framesOf): void {
  remember = capture;
  framesOf = frames;
}

/** Frames that the engine keeps of an error that is made by a constructor. Some may be of the bundle, and are not shown. */
const MADE_FRAMES = 16;
/**
 * Frames that the engine keeps of an error that it throws itself. Only the limit at that moment distinguishes the two cases, and a loop that catches such
 * errors pays for each frame. Two frames are enough: the engine's own function, if one threw, and the place that called it.
 */
const THROWN_FRAMES = 2;
const nativeCapture = NativeError.captureStackTrace;
let isNative = false;

/** Before function code runs. From then on nothing changes it but the function that the limit is for. */
export function chooseStacks(hasNativeStacks: boolean): void {
  isNative = hasNativeStacks;
  defineProperty(NativeError, 'stackTraceLimit', {
    __proto__: null,
    value: hasNativeStacks ? THROWN_FRAMES : undefined,
    writable: hasNativeStacks,
    configurable: false,
    enumerable: false,
  } as PropertyDescriptor);
}

function withFrames<T>(make: () => T): T {
  NativeError.stackTraceLimit = MADE_FRAMES;
  try {
    return make();
  } finally {
    NativeError.stackTraceLimit = THROWN_FRAMES;
  }
}

/** Gives an object its stack: for errors that are not made by a wrapped constructor, such as DOMException. */
export function rememberStack(error: object): void {
  if (isNative) {
    withFrames(() => nativeCapture(error, rememberStack));
    return;
  }
  const number = remember();
  if (number > 0) apply(weakMapSet, remembered, [error, number]);
}

/** Where a call was made, see {@link callSite}. */
export interface CallSite {
  readonly stack?: string;
}

/** Remembering the place of a call takes some 5 us (Node 20.20), a twentieth of a call: this many are remembered, and as many after a failure. */
const SITES = 16;
let sitesLeft = SITES;

/**
 * The place of a call whose rejection nothing may wait for when it fails, as in `return fetch(url)`; undefined for most calls, and where the
 * engine keeps no stacks.
 */
export function callSite(): CallSite | undefined {
  if (sitesLeft === 0 || !isNative) return undefined;
  sitesLeft--;
  const site: CallSite & object = { __proto__: null } as object;
  withFrames(() => nativeCapture(site, callSite));
  return site;
}

const { indexOf, slice } = String.prototype;
const FRAME = '\n    at ';

/** Gives an error of this bundle, which function code has not seen yet, the place of the call, unless it says where it was waited for. */
export function addSite(error: Error, site: CallSite | undefined): void {
  sitesLeft = SITES;
  const { stack } = error;
  const place = site?.stack;
  if (stack === undefined || place === undefined || apply(indexOf, stack, [FRAME]) >= 0) return;
  const at: number = apply(indexOf, place, [FRAME]);
  if (at >= 0) setOwn(error, 'stack', stack + (apply(slice, place, [at]) as string)); // what slice() answers
}

/**
 * Only the length of a longer text is reported. Reading from a concatenated text makes the engine flatten it, and a text of hundreds of
 * megabytes then ends the process.
 */
const MAX_TEXT = 1_048_576;

/** The text, or its length in words when it is too long. */
export function shortened(text: string): string {
  return text.length > MAX_TEXT ? `(a text of ${text.length} characters)` : text;
}

/** "Name: message", as Error.prototype.toString has it, for anything. Never throws. */
export function headline(error: object): string {
  try {
    const { name, message } = error as Error; // both are read as unknown: the template makes them text
    const title = name === undefined ? 'Error' : shortened(`${name}`);
    const text = message === undefined ? '' : shortened(`${message}`);
    if (title === '') return text;
    return text === '' ? title : `${title}: ${text}`;
  } catch {
    return 'Error';
  }
}

function stackOf(error: object): string {
  const number = apply(weakMapGet, remembered, [error]) as number | undefined; // only numbers are put in
  return headline(error) + (number === undefined ? '' : framesOf(number));
}

function isFunction(value: unknown): value is (...args: never[]) => unknown {
  return typeof value === 'function';
}

function setOwn(target: object, key: PropertyKey, value: unknown): void {
  defineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  } as PropertyDescriptor);
}

const stackAccessor = {
  get stack(): string | undefined {
    if (!isObject(this)) return undefined;
    const text = stackOf(this);
    // Asked once, kept: the host realm remembers only the latest.
    if (apply(weakMapGet, remembered, [this]) !== undefined) setOwn(this, 'stack', text);
    return text;
  },
  set stack(value: unknown) {
    if (isObject(this)) setOwn(this, 'stack', value);
  },
};

function captureStackTrace(target: unknown, above?: unknown): void {
  if (!isObject(target)) throw new NativeTypeError('Error.captureStackTrace needs an object');
  if (isNative) {
    withFrames(() => nativeCapture(target, isFunction(above) ? above : captureStackTrace));
    return;
  }
  setOwn(target, 'stack', headline(target) + framesOf(remember()));
}

function wrap(Native: ErrorConstructor, parent: object | undefined): ErrorConstructor {
  function Wrapped(...args: unknown[]): object {
    const made = new.target ?? Wrapped;
    if (isNative) {
      NativeError.stackTraceLimit = MADE_FRAMES;
      try {
        return construct(Native, args, made);
      } finally {
        NativeError.stackTraceLimit = THROWN_FRAMES;
      }
    }
    const error: object = construct(Native, args, made);
    deleteProperty(error, 'stack'); // the engine's, undefined for want of a capture
    const number = remember();
    if (number > 0) apply(weakMapSet, remembered, [error, number]);
    return error;
  }
  for (const key of ownKeys(Native)) {
    const descriptor = getOwnPropertyDescriptor(Native, key);
    if (descriptor !== undefined && key !== 'stackTraceLimit' && key !== 'captureStackTrace') {
      defineProperty(Wrapped, key, descriptor);
    }
  }
  setOwn(Native.prototype, 'constructor', Wrapped);
  if (parent !== undefined) setPrototypeOf(Wrapped, parent);
  const WrappedError: unknown = Wrapped;
  return WrappedError as ErrorConstructor; // it has the own properties of Native and makes what Native makes
}

const WrappedError = wrap(NativeError, undefined);
setOwn(WrappedError, 'captureStackTrace', captureStackTrace);
// Libraries set it; the number of frames is the host's affair.
defineProperty(WrappedError, 'stackTraceLimit', { value: 10, writable: true, enumerable: true, configurable: true });
defineProperty(NativeError.prototype, 'stack', {
  ...Object.getOwnPropertyDescriptor(stackAccessor, 'stack'),
  enumerable: false,
});
setOwn(globalThis, 'Error', WrappedError);

for (const name of [
  'AggregateError',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  'SuppressedError',
]) {
  const native: unknown = Reflect.get(globalThis, name);
  // The names above are constructors of errors wherever the engine has them.
  if (typeof native === 'function') setOwn(globalThis, name, wrap(native as ErrorConstructor, WrappedError));
}
