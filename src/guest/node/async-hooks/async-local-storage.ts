/** AsyncLocalStorage. @see https://nodejs.org/api/async_context.html#class-asynclocalstorage */
import { currentFrame, enterFrame, findInFrame, frameWith, runInFrame } from '../../web/base/async-context.ts';
import { checkFunction, checkObject, checkString } from '../errors.ts';
import { AsyncResource } from './async-resource.ts';

type Bound = (this: unknown, ...args: unknown[]) => unknown;

export class AsyncLocalStorage {
  /** No value is seen between disable() and the next run() or enterWith(). */
  #isEnabled = true;
  readonly #name: string;
  readonly #defaultValue: unknown;

  constructor(options: unknown = {}) {
    checkObject(options, 'options');
    const { defaultValue, name = '' } = options as { defaultValue?: unknown; name?: unknown }; // read as unknown and checked
    checkString(name, 'options.name');
    this.#name = name;
    this.#defaultValue = defaultValue;
  }

  /** The context of this call, for later calls of `callback`. */
  static bind(callback: unknown): Bound {
    return AsyncResource.bind(callback);
  }

  /** A function that calls others in the context of this call. */
  static snapshot(): Bound {
    const frame = currentFrame();
    return (callback, ...args) => {
      checkFunction(callback, 'cb');
      return runInFrame(frame, callback, undefined, args);
    };
  }

  get name(): string {
    return this.#name;
  }

  disable(): void {
    this.#isEnabled = false;
  }

  enterWith(store: unknown): void {
    this.#isEnabled = true;
    enterFrame(frameWith(currentFrame(), this, store));
  }

  run(store: unknown, callback: unknown, ...args: unknown[]): unknown {
    checkFunction(callback, 'callback');
    this.#isEnabled = true;
    return runInFrame(frameWith(currentFrame(), this, store), callback, null, args);
  }

  exit(callback: unknown, ...args: unknown[]): unknown {
    checkFunction(callback, 'callback');
    return runInFrame(frameWith(currentFrame(), this, undefined), callback, null, args);
  }

  getStore(): unknown {
    if (!this.#isEnabled) return undefined;
    const entry = findInFrame(currentFrame(), this);
    return entry === undefined ? this.#defaultValue : entry.value;
  }
}
