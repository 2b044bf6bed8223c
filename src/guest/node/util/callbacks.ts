/** promisify() and callbackify(). @see https://nodejs.org/api/util.html */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { setTimeout, startTimer } from '../../web/scheduling/timers.ts';
import { checkFunction, codeError } from '../errors.ts';

type Call = (this: unknown, ...args: unknown[]) => unknown;

const custom = Symbol.for('nodejs.util.promisify.custom');

function withPropertiesOf(target: Call, source: Call): Call {
  Object.setPrototypeOf(target, Object.getPrototypeOf(source));
  const properties = Object.getOwnPropertyDescriptors(source);
  for (const value of Object.values(properties))
    if (!Reflect.has(value, 'writable')) Object.setPrototypeOf(value, null);
  return Object.defineProperties(target, properties);
}

/** The promise of a timer, which takes its time first. */
const sleep: Call = (ms, value) => new Promise(resolve => void startTimer(Number(ms) || 0, () => resolve(value)));

export function promisify(original: unknown): Call {
  checkFunction(original, 'original');
  const call = original as Call; // checked
  const own: unknown = Reflect.get(call, custom);
  if (own) {
    checkFunction(own, 'util.promisify.custom');
    return Object.defineProperty(own as Call, custom, { value: own, enumerable: false, configurable: true }); // checked
  }
  if (call === (setTimeout as unknown)) return sleep;
  const promised: Call = function (...args) {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, value: unknown): void => {
        if (error) reject(error);
        else resolve(value);
      };
      const result: unknown = Reflect.apply(call, this, [...args, done]);
      if (result instanceof Promise) void result.catch(() => {});
    });
  };
  Object.defineProperty(promised, custom, { value: promised, enumerable: false, configurable: true });
  return withPropertiesOf(promised, call);
}
promisify.custom = custom;

/** Code that follows runs outside of the promise, so that what it throws is no rejection. */
function callLater(callback: Call, args: readonly unknown[]): void {
  queueMicrotask(() => callback(...args));
}

export function callbackify(original: unknown): Call {
  checkFunction(original, 'original');
  const call = original as Call; // checked
  const withCallback: Call = function (...args) {
    const callback = args.pop();
    checkFunction(callback, 'last argument');
    const bound = callback.bind(this as never) as Call; // checked
    const result = Reflect.apply(call, this, args) as Promise<unknown>; // as Node, which calls its then()
    result.then(
      value => callLater(bound, [null, value]),
      reason => callLater(bound, [reason || falsyRejection(reason)]),
    );
  };
  withPropertiesOf(withCallback, call);
  Object.defineProperty(withCallback, 'name', { value: `${call.name}Callbackified`, configurable: true });
  Object.defineProperty(withCallback, 'length', { value: call.length + 1, configurable: true });
  return withCallback;
}

function falsyRejection(reason: unknown): Error {
  const error = codeError(Error, 'ERR_FALSY_VALUE_REJECTION', 'Promise was rejected with falsy value');
  return Object.assign(error, { reason });
}
