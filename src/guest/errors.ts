/**
 * Errors of function code get a `stack` back, as text (rule R4 (a)). The engine captures none in this realm (harden.ts), so each
 * Error constructor is wrapped: it has the host realm remember where it was called, and `stack` is an accessor of
 * Error.prototype that asks for the text when somebody reads it. What the engine itself throws has a name and a message only.
 *
 * Evaluated before everything that captures an Error constructor, so that the errors of the bundle have stacks as well.
 */

const { apply, construct, defineProperty, deleteProperty, ownKeys, getOwnPropertyDescriptor, setPrototypeOf } = Reflect;
const remembered = new WeakMap<object, number>();
const { get: weakMapGet, set: weakMapSet } = WeakMap.prototype;
const NativeError = Error;
const NativeTypeError = TypeError;

/** Asks the host realm to remember the present stack; answers its number, 0 when there is none. Set by bridge.ts. */
let remember: () => number = () => 0;
/** The frames of a remembered stack, "\n    at ..." each; empty when they are gone. */
let framesOf: (number: number) => string = () => '';

export function setStackSource(capture: typeof remember, frames: typeof framesOf): void {
  remember = capture;
  framesOf = frames;
}

/** Gives an object its stack: for errors that are not made by a wrapped constructor, such as DOMException. */
export function rememberStack(error: object): void {
  const number = remember();
  if (number > 0) apply(weakMapSet, remembered, [error, number]);
}

/**
 * Of a longer text only the length is told. To read from one that was put together of others makes the engine write it out whole, and a
 * text of hundreds of megabytes then ends the process.
 */
const MAX_TEXT = 1_048_576;

/** The text, or what is told in place of one that is too long. */
export function shortened(text: string): string {
  return text.length > MAX_TEXT ? `(a text of ${text.length} characters)` : text;
}

/** "Name: message", as Error.prototype.toString has it, for anything. Never throws. */
export function headline(error: object): string {
  try {
    const { name, message } = error as Error; // both are read as unknown: the template makes text of whatever they are
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

function setOwn(target: object, key: PropertyKey, value: unknown): void {
  defineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  } as PropertyDescriptor);
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
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

function captureStackTrace(target: unknown): void {
  if (!isObject(target)) throw new NativeTypeError('Error.captureStackTrace needs an object');
  setOwn(target, 'stack', headline(target) + framesOf(remember()));
}

function wrap(Native: ErrorConstructor, parent: object | undefined): ErrorConstructor {
  function Wrapped(...args: unknown[]): object {
    const error: object = construct(Native, args, new.target ?? Wrapped);
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
