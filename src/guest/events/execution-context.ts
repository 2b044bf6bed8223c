/** The third argument of handlers. */
import { defineProperty, jsonParse, TypeErrorCtor } from '../primordials.ts';
import { defineInterface, requireArguments } from '../web/base/idl.ts';

/** A context's operations for function code; the invocation behind it. */
export interface ContextOwner {
  waitUntil(promise: unknown): void;
  passThroughOnException(): void;
  /** JSON of the props of this event; undefined to use the function's props. */
  readonly propsText: string | undefined;
}

let functionProps = '{}';

/** JSON of what handlers find as `ctx.props` unless their event has its own; '' for nothing. */
export function setProps(text: string): void {
  if (text !== '') functionProps = text;
}

let ownExports: object = {};

/** The entrypoints of the function itself, which handlers find as `ctx.exports`. */
export function setExports(exports: object): void {
  ownExports = exports;
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

  /** When the handler fails, the request continues to the origin instead of becoming an error. */
  passThroughOnException(): void {
    this.#owner.passThroughOnException();
  }

  /** The entrypoints of the function itself, as services. */
  get exports(): object {
    return ownExports;
  }

  /** The props that the application passes: an object of its own for each event. */
  get props(): object {
    const props: object = jsonParse(this.#owner.propsText ?? functionProps);
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
