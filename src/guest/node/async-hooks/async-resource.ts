/** AsyncResource: the context in which it was created, for callbacks that run later. @see https://nodejs.org/api/async_context.html#class-asyncresource */
import { currentFrame, type Frame, runInFrame } from '../../web/base/async-context.ts';
import { type AnyFunction, checkFunction, checkString } from '../errors.ts';

type Bound = (this: unknown, ...args: unknown[]) => unknown;

let lastId = 1;

export class AsyncResource {
  readonly #frame: Frame | undefined;
  readonly #id: number;
  readonly #triggerId: number;

  constructor(type: unknown, options: unknown = {}) {
    checkString(type, 'type');
    const given =
      typeof options === 'object' && options !== null
        ? (options as { triggerAsyncId?: unknown }).triggerAsyncId // read as unknown and checked
        : options;
    this.#triggerId = typeof given === 'number' ? given : 0;
    this.#frame = currentFrame();
    this.#id = ++lastId;
  }

  runInAsyncScope(callback: unknown, receiver?: unknown, ...args: unknown[]): unknown {
    checkFunction(callback, 'fn');
    return runInFrame(this.#frame, callback, receiver, args);
  }

  /** Hooks, which could notice, are not supported. */
  emitDestroy(): this {
    void this.#id;
    return this;
  }

  asyncId(): number {
    return this.#id;
  }

  triggerAsyncId(): number {
    return this.#triggerId;
  }

  bind(callback: unknown, receiver?: unknown): Bound {
    return bindTo(this.#frame, callback, receiver);
  }

  static bind(callback: unknown, _type?: unknown, receiver?: unknown): Bound {
    return bindTo(currentFrame(), callback, receiver);
  }
}

function bindTo(frame: Frame | undefined, callback: unknown, receiver: unknown): Bound {
  checkFunction(callback, 'fn');
  const bound: AnyFunction = callback;
  const run: Bound = function (...args) {
    return runInFrame(frame, bound, receiver === undefined ? this : receiver, args);
  };
  Object.defineProperty(run, 'length', { value: bound.length, configurable: true });
  return run;
}
