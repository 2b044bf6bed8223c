/** The third argument of handlers. */
import { defineProperty, TypeErrorCtor } from '../primordials.ts';
import { defineInterface, requireArguments } from '../web/base/idl.ts';

/** What a context does for function code; the invocation behind it. */
export interface ContextOwner {
  waitUntil(promise: unknown): void;
  passThroughOnException(): void;
}

let token: ContextOwner | undefined;

export class ExecutionContext {
  readonly #owner: ContextOwner;

  constructor() {
    if (token === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#owner = token;
    token = undefined;
  }

  /** Keeps the invocation open until the promise settles, also when the answer has been sent. */
  waitUntil(promise: unknown): void {
    requireArguments(arguments.length, 1, 'waitUntil');
    this.#owner.waitUntil(promise);
  }

  /** When the handler fails, the request goes on to the origin instead of becoming an error. */
  passThroughOnException(): void {
    this.#owner.passThroughOnException();
  }

  /** What whoever deployed the function passes along: nothing, but an object of its own for each event. */
  get props(): object {
    void this.#owner;
    const props = {};
    defineProperty(this, 'props', {
      __proto__: null,
      value: props,
      writable: true,
      enumerable: true,
      configurable: true,
    } as PropertyDescriptor);
    return props;
  }
}

defineInterface(ExecutionContext);

export function createContext(owner: ContextOwner): ExecutionContext {
  token = owner;
  return new ExecutionContext();
}
