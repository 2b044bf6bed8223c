/** EventEmitter. It is a function and no class: old code calls it with `EventEmitter.call(this)`. */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { checkFunction, checkNumber, codeError, invalidArgType } from '../errors.ts';
import { inspect } from '../util/inspect.ts';
import { onUncaught } from './uncaught.ts';

export type Key = string | symbol;
export type Listener = ((this: unknown, ...args: unknown[]) => unknown) & { listener?: Listener };
type Listeners = Listener | (Listener[] & { warned?: boolean });

export interface Emitter {
  _events?: { [key: Key]: Listeners | undefined } | undefined;
  _eventsCount: number;
  _maxListeners: number | undefined;
  [captures]?: boolean;
  on(type: Key, listener: Listener): Emitter;
  once(type: Key, listener: Listener): Emitter;
  off(type: Key, listener: Listener): Emitter;
  addListener(type: Key, listener: Listener): Emitter;
  prependListener(type: Key, listener: Listener): Emitter;
  removeListener(type: Key, listener: Listener): Emitter;
  emit(type: Key, ...args: unknown[]): boolean;
  listenerCount(type: Key): number;
  getMaxListeners(): number;
  removeAllListeners(type?: Key): Emitter;
  [rejection]?: (error: unknown, type: Key, ...args: unknown[]) => void;
}

export const captures = Symbol('kCapture');
export const rejection = Symbol.for('nodejs.rejection');
export const errorMonitor = Symbol('events.errorMonitor');

export interface EmitterOptions {
  readonly captureRejections?: boolean;
}

let defaultMaxListeners = 10;
/** Warnings of emitters with many listeners go to the console and to listeners of `warning`. */
let warnOf: (error: Error) => void = () => {};

export function setEmitterWarnings(warn: typeof warnOf): void {
  warnOf = warn;
}

interface EmitterConstructor {
  new (options?: EmitterOptions): Emitter;
  (this: unknown, options?: EmitterOptions): void;
  prototype: Emitter & { [captures]: boolean };
  init(this: Emitter, options?: EmitterOptions): void;
  captureRejections: boolean;
  defaultMaxListeners: number;
}

function construct(this: Emitter, options?: EmitterOptions): void {
  init.call(this, options);
}
/** Functions of the language are callable and constructors, which TypeScript has no form for. */
export const EventEmitter = construct as unknown as EmitterConstructor;
Object.defineProperty(EventEmitter, 'name', { value: 'EventEmitter', configurable: true });

function init(this: Emitter, options?: EmitterOptions): void {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
  }
  this._maxListeners = this._maxListeners || undefined;
  if (options?.captureRejections) {
    if (typeof options.captureRejections !== 'boolean') {
      throw invalidArgType('options.captureRejections', 'boolean', options.captureRejections);
    }
    this[captures] = Boolean(options.captureRejections);
  } else this[captures] = EventEmitter.prototype[captures];
}
EventEmitter.init = init;

const proto = EventEmitter.prototype;
proto._events = undefined;
proto._eventsCount = 0;
proto._maxListeners = undefined;
Object.defineProperty(proto, captures, { value: false, writable: true, enumerable: false });

Object.defineProperties(EventEmitter, {
  captureRejections: {
    get: () => proto[captures],
    set(value: unknown) {
      if (typeof value !== 'boolean') throw invalidArgType('EventEmitter.captureRejections', 'boolean', value);
      proto[captures] = value;
    },
    enumerable: true,
    configurable: true,
  },
  defaultMaxListeners: {
    get: () => defaultMaxListeners,
    set(value: unknown) {
      checkNumber(value, 'defaultMaxListeners', 0);
      defaultMaxListeners = value;
    },
    enumerable: true,
    configurable: true,
  },
});

/** Emits what a listener's promise is rejected with. */
function catchRejection(emitter: Emitter, result: unknown, type: Key, args: unknown[]): void {
  if (!emitter[captures]) return;
  try {
    const { then } = result as PromiseLike<unknown>; // read as unknown and checked
    if (typeof then !== 'function') return;
    then.call(result as PromiseLike<unknown>, undefined, (error: unknown) => {
      queueMicrotask(() => handleRejection(emitter, error, type, args));
    });
  } catch (error) {
    emitter.emit('error', error);
  }
}

function handleRejection(emitter: Emitter, error: unknown, type: Key, args: unknown[]): void {
  const own = emitter[rejection];
  if (typeof own === 'function') {
    own.call(emitter, error, type, ...args);
    return;
  }
  const before = emitter[captures] === true;
  try {
    emitter[captures] = false;
    emitter.emit('error', error);
  } catch (thrown) {
    onUncaught(thrown);
  } finally {
    emitter[captures] = before;
  }
}

function throwUnhandled(args: unknown[]): never {
  const [error] = args;
  if (error instanceof Error) throw error;
  let text: string;
  try {
    text = inspect(error);
  } catch {
    text = String(error);
  }
  const unhandled = codeError(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${text})`);
  Object.defineProperty(unhandled, 'context', { value: error, enumerable: true, writable: true, configurable: true });
  throw unhandled;
}

function define(methods: object): void {
  for (const name of Reflect.ownKeys(methods)) {
    const value: unknown = Reflect.get(methods, name);
    Object.defineProperty(proto, name, { value, enumerable: true, writable: true, configurable: true });
  }
}

function add(target: Emitter, type: Key, listener: Listener, prepend: boolean): Emitter {
  checkFunction(listener, 'listener');
  let events = target._events;
  if (events === undefined) {
    events = Object.create(null) as NonNullable<Emitter['_events']>;
    target._events = events;
    target._eventsCount = 0;
  } else if (events.newListener !== undefined) {
    target.emit('newListener', type, listener.listener ?? listener);
    events = target._events ?? events;
  }
  const existing = events[type];
  if (existing === undefined) {
    events[type] = listener;
    ++target._eventsCount;
    return target;
  }
  const list: Listener[] & { warned?: boolean } =
    typeof existing === 'function' ? (prepend ? [listener, existing] : [existing, listener]) : existing;
  if (typeof existing === 'function') events[type] = list;
  else if (prepend) list.unshift(listener);
  else list.push(listener);
  const max = target.getMaxListeners();
  if (max > 0 && list.length > max && list.warned !== true) {
    list.warned = true;
    const warning = new Error(
      `Possible EventEmitter memory leak detected. ${list.length} ${String(type)} listeners added to ${inspect(target, { depth: -1 })}. ` +
        `MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`,
    );
    Object.assign(warning, { name: 'MaxListenersExceededWarning', emitter: target, type, count: list.length });
    warnOf(warning);
  }
  return target;
}

function onceWrapper(target: Emitter, type: Key, listener: Listener): Listener {
  let isFired = false;
  const wrapped: Listener = (...args) => {
    if (isFired) return undefined;
    target.removeListener(type, wrapped);
    isFired = true;
    return listener.apply(target, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

function listenersOf(target: Emitter, type: Key, unwrap: boolean): Listener[] {
  const list = target._events?.[type];
  if (list === undefined) return [];
  const all = typeof list === 'function' ? [list] : [...list];
  return unwrap ? all.map(listener => listener.listener ?? listener) : all;
}

define({
  setMaxListeners(this: Emitter, count: number) {
    checkNumber(count, 'setMaxListeners', 0);
    this._maxListeners = count;
    return this;
  },
  getMaxListeners(this: Emitter) {
    return this._maxListeners ?? defaultMaxListeners;
  },
  emit(this: Emitter, type: Key, ...args: unknown[]): boolean {
    const events = this._events;
    if (type === 'error') {
      if (events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
      if (events?.error === undefined) throwUnhandled(args);
    }
    const handler = events?.[type];
    if (handler === undefined) return false;
    if (typeof handler === 'function') {
      const result = handler.apply(this, args);
      if (result !== undefined && result !== null) catchRejection(this, result, type, args);
      return true;
    }
    for (const listener of handler.slice()) {
      const result = listener.apply(this, args);
      if (result !== undefined && result !== null) catchRejection(this, result, type, args);
    }
    return true;
  },
  addListener(this: Emitter, type: Key, listener: Listener) {
    return add(this, type, listener, false);
  },
  prependListener(this: Emitter, type: Key, listener: Listener) {
    return add(this, type, listener, true);
  },
  once(this: Emitter, type: Key, listener: Listener) {
    checkFunction(listener, 'listener');
    return this.on(type, onceWrapper(this, type, listener));
  },
  prependOnceListener(this: Emitter, type: Key, listener: Listener) {
    checkFunction(listener, 'listener');
    return this.prependListener(type, onceWrapper(this, type, listener));
  },
  removeListener(this: Emitter, type: Key, listener: Listener) {
    checkFunction(listener, 'listener');
    const events = this._events;
    const list = events?.[type];
    if (events === undefined || list === undefined) return this;
    if (typeof list === 'function') {
      if (list !== listener && list.listener !== listener) return this;
      drop(this, type);
    } else {
      const at = list.findLastIndex(item => item === listener || item.listener === listener);
      if (at < 0) return this;
      list.splice(at, 1);
      if (list.length === 1 && list[0] !== undefined) events[type] = list[0];
    }
    if (events.removeListener !== undefined) this.emit('removeListener', type, listener.listener ?? listener);
    return this;
  },
  removeAllListeners(this: Emitter, type?: Key) {
    const events = this._events;
    if (events === undefined) return this;
    if (events.removeListener === undefined) {
      if (arguments.length === 0) {
        this._events = Object.create(null);
        this._eventsCount = 0;
      } else if (type !== undefined && events[type] !== undefined) drop(this, type);
      return this;
    }
    if (type === undefined) {
      for (const key of Reflect.ownKeys(events)) {
        if (key !== 'removeListener') proto.removeAllListeners.call(this, key);
      }
      proto.removeAllListeners.call(this, 'removeListener');
      this._events = Object.create(null);
      this._eventsCount = 0;
      return this;
    }
    for (const listener of listenersOf(this, type, false).reverse()) this.removeListener(type, listener);
    return this;
  },
  listeners(this: Emitter, type: Key) {
    return listenersOf(this, type, true);
  },
  rawListeners(this: Emitter, type: Key) {
    return listenersOf(this, type, false);
  },
  listenerCount(this: Emitter, type: Key, listener?: Listener) {
    const all = listenersOf(this, type, false);
    if (listener === undefined) return all.length;
    return all.filter(item => item === listener || item.listener === listener).length;
  },
  eventNames(this: Emitter) {
    return this._eventsCount > 0 ? Reflect.ownKeys(this._events ?? {}) : [];
  },
});
proto.on = proto.addListener;
proto.off = proto.removeListener;

function drop(target: Emitter, type: Key): void {
  if (--target._eventsCount === 0) target._events = Object.create(null);
  else delete target._events?.[type];
}
