/**
 * Stubs: what a function gets for an object of another. Each is a proxy, which can be called and read from by any name; every name makes another proxy
 * for the path so far, and a call or an `await` sends it.
 */
import {
  arrayPush,
  arraySlice,
  getPrototypeOf,
  hasOwn,
  isArray,
  promiseReject,
  promiseThen,
  setPrototypeOf,
  TypeErrorCtor,
  WeakMapCtor,
  weakMapGet,
  weakMapSet,
} from '../primordials.ts';
import { isCallable, isObject } from '../web/base/idl.ts';
import { disposeSymbol } from './dispose.ts';

/** Calls the method at the path or, without arguments, reads the property there. */
export type Send = (path: readonly string[], args: readonly unknown[] | undefined) => Sent;

/** A call that was made. */
export interface Sent {
  readonly result: Promise<unknown>;
  /** Calls on the pending result; undefined when the result is there, and for a call that was not sent. */
  onward(): Send | undefined;
}

/** One that could not be made. */
export function unsent(error: unknown): Sent {
  return { result: promiseReject(error), onward: () => undefined };
}

/** An object of another realm. Several stubs may refer to it. */
export class Remote {
  readonly number: number;
  readonly #onUnused: () => void;
  #references = 0;

  constructor(number: number, onUnused: () => void) {
    this.number = number;
    this.#onUnused = onUnused;
  }

  get isUsed(): boolean {
    return this.#references > 0;
  }

  refer(): void {
    this.#references++;
  }

  release(): void {
    if (--this.#references === 0) this.#onUnused();
  }
}

/** The state behind a proxy that is a stub. */
export interface StubState {
  readonly remote: Remote;
  isDisposed: boolean;
}

const states = new WeakMapCtor<object, StubState>();

export function stubState(value: object): StubState | undefined {
  return weakMapGet(states, value);
}

export function disposeStub(state: StubState): void {
  if (state.isDisposed) return;
  state.isDisposed = true;
  state.remote.release();
}

/** @throws Error when the stub is used after it was disposed */
export function remoteOf({ isDisposed, remote }: StubState): Remote {
  if (isDisposed) throw new TypeErrorCtor('RPC stub used after being disposed.');
  return remote;
}

export function createStub(remote: Remote, send: (remote: Remote, ...call: Parameters<Send>) => Sent): object {
  const state: StubState = { remote, isDisposed: false };
  remote.refer();
  const sendChecked: Send = (path, args) => {
    try {
      return send(remoteOf(state), path, args);
    } catch (error) {
      return unsent(error);
    }
  };
  const stub = createProxy({
    get: name => (name === 'then' ? undefined : property(sendChecked, [name])),
    symbol: key => (key === disposeSymbol ? () => disposeStub(state) : undefined),
    dup: () => createStub(remoteOf(state), send),
    call: args => callOf(sendChecked, [], args),
  });
  weakMapSet(states, stub, state);
  return stub;
}

/**
 * The object of a service binding, or a stateful object. `own` finds the properties that are no methods of the other end.
 * @param call the result of a call of the stub itself. @default it cannot be called
 */
export function createBindingStub(
  send: Send,
  own: (name: string) => { readonly value: unknown } | undefined,
  call?: (args: readonly unknown[]) => object,
): object {
  const stub: object = createProxy({
    get: name => {
      const found = own(name);
      if (found !== undefined) return found.value;
      return name === 'then' ? undefined : property(send, [name]);
    },
    symbol: key => (key === disposeSymbol ? () => {} : undefined),
    dup: () => stub,
    call,
  });
  return stub;
}

/** A property of another realm's object at a path: to be called, or awaited for its value. */
function property(send: Send, path: readonly string[]): object {
  let value: Promise<unknown> | undefined;
  const read = (): Promise<unknown> => {
    value ??= send(path, undefined).result;
    return value;
  };
  return createProxy({
    get: name => promiseMethod(read, name) ?? property(send, longer(path, name)),
    symbol: () => undefined,
    dup: undefined,
    call: args => callOf(send, path, args),
  });
}

/** The promise of a result: its methods and properties can be called before it is there. */
function callOf(sendFirst: Send, firstPath: readonly string[], firstArgs: readonly unknown[]): object {
  const first = sendFirst(firstPath, firstArgs);
  const { result } = first;
  const send: Send = (path, args) => {
    const sendNow = path.length === 1 && path[0] === 'dup' ? undefined : first.onward();
    if (sendNow === undefined) return { result: callLocal(result, path, args), onward: () => undefined };
    // A call that builds on the result gets the failure of the first call.
    promiseThen(result, undefined, () => {});
    return sendNow(path, args);
  };
  return createProxy({
    get: name => promiseMethod(() => result, name) ?? property(send, [name]),
    symbol: key => (key === disposeSymbol ? () => promiseThen(result, disposeResult, () => {}) : undefined),
    dup: undefined,
    call: args => callOf(send, [], args),
  });
}

/** The same for a result that is here, or comes before anything that is sent now: what it has are values, and stubs. @param onFound before a stub is called */
export async function callLocal(
  result: Promise<unknown>,
  path: readonly string[],
  args: readonly unknown[] | undefined,
  onFound: () => void = () => {},
): Promise<unknown> {
  let value = await result;
  let isStub = false;
  for (let i = 0; i < path.length; i++) {
    const name = path[i] ?? '';
    // A property of a stub behaves as the stub does.
    if (isObject(value)) isStub ||= stubState(value) !== undefined;
    if (!isObject(value) || !(isStub || hasPlain(value, name))) throw missing(name);
    value = (value as { [name: string]: unknown })[name]; // every object can be read from
  }
  if (args === undefined) return value;
  if (!isCallable(value)) throw new TypeErrorCtor(`"${path[path.length - 1] ?? ''}" is not a function.`);
  onFound();
  return reflectCall(value, undefined, args);
}

/** Whether others may read this property of an object that is passed by value. */
export function hasPlain(object: object, name: string): boolean {
  const prototype = getPrototypeOf(object);
  return (prototype === null || prototype === ObjectPrototype || isArray(object)) && hasOwn(object, name);
}

const ObjectPrototype: object = Object.prototype;

export function missing(name: string): Error {
  return new TypeErrorCtor(`The RPC receiver does not implement the method "${name}".`);
}

const { apply: reflectCall } = Reflect as unknown as {
  apply(target: object, receiver: unknown, args: readonly unknown[]): unknown;
};

function disposeResult(value: unknown): void {
  if (!isObject(value)) return;
  const dispose: unknown = (value as { [key: symbol]: unknown })[disposeSymbol]; // every object can be read from
  if (isCallable(dispose)) reflectCall(dispose, value, []);
}

function longer(path: readonly string[], name: string): string[] {
  const copy = arraySlice(path);
  arrayPush(copy, name);
  return copy;
}

const promiseMethods = Promise.prototype;
const { then: promiseThenMethod, catch: promiseCatch, finally: promiseFinally } = promiseMethods;

function promiseMethod(promise: () => Promise<unknown>, name: string): unknown {
  switch (name) {
    case 'then':
      return (...args: unknown[]) => reflectCall(promiseThenMethod, promise(), args);
    case 'catch':
      return (...args: unknown[]) => reflectCall(promiseCatch, promise(), args);
    case 'finally':
      return (...args: unknown[]) => reflectCall(promiseFinally, promise(), args);
    default:
      return undefined;
  }
}

interface ProxyParts {
  get(name: string): unknown;
  symbol(key: symbol): unknown;
  readonly dup: (() => object) | undefined;
  readonly call: ((args: readonly unknown[]) => object) | undefined;
}

const ProxyCtor = Proxy;

/** One class for all: an object literal of as many functions takes longer to make than the call that it is for. */
class Handler {
  readonly #parts: ProxyParts;

  constructor(parts: ProxyParts) {
    this.#parts = parts;
  }

  get(_target: object, key: string | symbol): unknown {
    const { dup } = this.#parts;
    if (typeof key === 'symbol') return this.#parts.symbol(key);
    return key === 'dup' && dup !== undefined ? dup : this.#parts.get(key);
  }

  apply(_target: object, _receiver: unknown, args: readonly unknown[]): unknown {
    return this.#parts.call?.(args);
  }

  has(): boolean {
    return false;
  }

  ownKeys(): string[] {
    return [];
  }

  getOwnPropertyDescriptor(): undefined {
    return undefined;
  }

  getPrototypeOf(): null {
    return null;
  }

  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }
}

// Without inherited traps.
setPrototypeOf(Handler.prototype, null);

function createProxy(parts: ProxyParts): object {
  return new ProxyCtor(parts.call === undefined ? {} : () => {}, new Handler(parts) as ProxyHandler<object>);
}
