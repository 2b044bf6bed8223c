/**
 * EventTarget, without a tree: a target is its event's whole path.
 * @see https://dom.spec.whatwg.org/#interface-eventtarget
 */
import {
  arrayIndexOf,
  arrayPush,
  arraySlice,
  arraySplice,
  MapCtor,
  mapGet,
  mapSet,
  TypeErrorCtor,
} from '../../primordials.ts';
import { DOMException } from '../base/dom-exception.ts';
import {
  type Callback,
  defineInterface,
  invoke,
  isCallable,
  isObject,
  requireArguments,
  toDOMString,
} from '../base/idl.ts';
import { AT_TARGET, type Event, eventState, isEvent } from './event.ts';

interface Listener {
  readonly type: string;
  /** A function, an object with handleEvent, or null. */
  callback: object | null;
  readonly isCapture: boolean;
  readonly isOnce: boolean;
  readonly isPassive: boolean;
  /** An event handler attribute such as onabort: its return value counts. */
  readonly isHandler: boolean;
  isRemoved: boolean;
}

/** The state of an EventTarget. The global scope has one without being an instance of the class. */
export interface TargetState {
  readonly target: object;
  listeners: Listener[];
  handlers: Map<string, Listener> | undefined;
  /** Called after a listener was added or removed. */
  onChange: ((type: string) => void) | undefined;
}

/** The part of `addEventListener(…, {signal})` that abort.ts provides. */
export interface SignalHooks {
  isSignal(value: unknown): boolean;
  isAborted(signal: object): boolean;
  onAbort(signal: object, algorithm: () => void): void;
}

let signals: SignalHooks | undefined;
let reportException: (error: unknown) => void = () => {};
let globalState: TargetState | undefined;

export function setSignalHooks(hooks: SignalHooks): void {
  signals = hooks;
}

export function setExceptionReporter(report: (error: unknown) => void): void {
  reportException = report;
}

/** Methods called without a receiver, or on the global object, are about the global scope. */
export function createGlobalTarget(globalObject: object): TargetState {
  globalState = createState(globalObject);
  return globalState;
}

function createState(target: object): TargetState {
  return { target, listeners: [], handlers: undefined, onChange: undefined };
}

export let targetState: (target: unknown) => TargetState;

export class EventTarget {
  readonly #state: TargetState = createState(this);

  addEventListener(type: unknown, callback: unknown, options: unknown = undefined): void {
    const state = targetState(this);
    requireArguments(arguments.length, 2, 'addEventListener');
    const name = toDOMString(type);
    const listenerCallback = toListener(callback);
    let isCapture = false;
    let isOnce = false;
    let isPassive = false;
    let signal: object | undefined;
    if (isObject(options)) {
      const members: { readonly [member: string]: unknown } = options as never; // every object can be read from
      isCapture = !!members.capture;
      isOnce = !!members.once;
      isPassive = !!members.passive;
      const given = members.signal;
      if (given !== undefined) {
        if (!isObject(given) || signals?.isSignal(given) !== true) {
          throw new TypeErrorCtor('The signal of the listener is not an AbortSignal');
        }
        signal = given;
      }
    } else {
      isCapture = !!options;
    }
    if (signal !== undefined && signals?.isAborted(signal) === true) return;
    if (listenerCallback === null) return;
    if (findListener(state, name, listenerCallback, isCapture) !== undefined) return;
    const listener: Listener = {
      type: name,
      callback: listenerCallback,
      isCapture,
      isOnce,
      isPassive,
      isHandler: false,
      isRemoved: false,
    };
    arrayPush(state.listeners, listener);
    if (signal !== undefined) signals?.onAbort(signal, () => removeListener(state, listener));
    state.onChange?.(name);
  }

  removeEventListener(type: unknown, callback: unknown, options: unknown = undefined): void {
    const state = targetState(this);
    requireArguments(arguments.length, 2, 'removeEventListener');
    const name = toDOMString(type);
    const listenerCallback = toListener(callback);
    const isCapture = isObject(options) ? !!(options as { capture?: unknown }).capture : !!options; // read as unknown
    if (listenerCallback === null) return;
    const listener = findListener(state, name, listenerCallback, isCapture);
    if (listener !== undefined) removeListener(state, listener);
  }

  dispatchEvent(event: unknown): boolean {
    const state = targetState(this);
    requireArguments(arguments.length, 1, 'dispatchEvent');
    if (!isEvent(event)) throw new TypeErrorCtor('The event is not an Event');
    const flags = eventState(event);
    if (flags.isDispatching || !flags.isInitialized) {
      throw new DOMException('The event is already being dispatched', 'InvalidStateError');
    }
    flags.isTrusted = false;
    return dispatch(state, event);
  }

  static {
    targetState = target => {
      if (globalState !== undefined && (target === undefined || target === null || target === globalState.target)) {
        return globalState;
      }
      if (!isObject(target) || !(#state in target)) throw new TypeErrorCtor('The receiver is not an EventTarget');
      return target.#state;
    };
  }
}

defineInterface(EventTarget);

/** Fires an event at a target; false when a listener canceled it. */
export function dispatch(state: TargetState, event: Event): boolean {
  const flags = eventState(event);
  flags.isDispatching = true;
  flags.target = state.target;
  flags.currentTarget = state.target;
  flags.phase = AT_TARGET;
  if (state.listeners.length > 0 && !flags.isPropagationStopped) {
    const listeners = arraySlice(state.listeners);
    innerInvoke(state, event, listeners, true);
    if (!flags.isPropagationStopped) innerInvoke(state, event, listeners, false);
  }
  flags.phase = 0;
  flags.currentTarget = null;
  flags.isDispatching = false;
  flags.isPropagationStopped = false;
  flags.isImmediateStopped = false;
  return !flags.isCanceled;
}

/** @see https://dom.spec.whatwg.org/#concept-event-listener-inner-invoke */
function innerInvoke(state: TargetState, event: Event, listeners: readonly Listener[], isCapture: boolean): void {
  const flags = eventState(event);
  const { type } = event;
  for (let i = 0; i < listeners.length; i++) {
    const listener = listeners[i];
    if (listener === undefined || listener.isRemoved || listener.type !== type || listener.isCapture !== isCapture)
      continue;
    if (listener.isOnce) removeListener(state, listener);
    flags.isInPassiveListener = listener.isPassive;
    try {
      callListener(state, listener, event);
    } catch (error) {
      reportException(error);
    }
    flags.isInPassiveListener = false;
    if (flags.isImmediateStopped) return;
  }
}

function callListener(state: TargetState, listener: Listener, event: Event): void {
  const { callback } = listener;
  if (callback === null) return;
  if (listener.isHandler) {
    if (isCallable(callback) && invoke(callback, state.target, [event]) === false) event.preventDefault();
    return;
  }
  if (isCallable(callback)) {
    invoke(callback, state.target, [event]);
    return;
  }
  const method: unknown = (callback as { handleEvent?: unknown }).handleEvent; // read as unknown and checked
  if (!isCallable(method)) throw new TypeErrorCtor('The listener has no handleEvent function');
  invoke(method, callback, [event]);
}

function toListener(callback: unknown): object | null {
  if (callback === undefined || callback === null) return null;
  if (!isObject(callback)) throw new TypeErrorCtor('The listener is neither a function nor an object');
  return callback;
}

function findListener(state: TargetState, type: string, callback: object, isCapture: boolean): Listener | undefined {
  const { listeners } = state;
  for (let i = 0; i < listeners.length; i++) {
    const listener = listeners[i];
    if (
      listener?.callback === callback &&
      listener.type === type &&
      listener.isCapture === isCapture &&
      !listener.isHandler
    ) {
      return listener;
    }
  }
  return undefined;
}

function removeListener(state: TargetState, listener: Listener): void {
  if (listener.isRemoved) return;
  listener.isRemoved = true;
  const index = arrayIndexOf(state.listeners, listener);
  if (index >= 0) arraySplice(state.listeners, index, 1);
  state.onChange?.(listener.type);
}

export function hasListener(state: TargetState, type: string): boolean {
  const { listeners } = state;
  for (let i = 0; i < listeners.length; i++) if (listeners[i]?.type === type) return true;
  return false;
}

/** @see https://html.spec.whatwg.org/multipage/webappapis.html#event-handler-idl-attributes */
export function getHandler(state: TargetState, type: string): object | null {
  return (state.handlers && mapGet(state.handlers, type)?.callback) ?? null;
}

export function setHandler(state: TargetState, type: string, value: unknown): void {
  const callback = isObject(value) ? value : null;
  state.handlers ??= new MapCtor();
  const existing = mapGet(state.handlers, type);
  if (existing !== undefined && !existing.isRemoved) {
    if (callback === null) removeListener(state, existing);
    else existing.callback = callback;
    if (callback !== null) return;
  }
  if (callback === null) {
    mapSet(state.handlers, type, { ...EMPTY_HANDLER, type });
    return;
  }
  const listener: Listener = { ...EMPTY_HANDLER, type, callback, isRemoved: false };
  mapSet(state.handlers, type, listener);
  arrayPush(state.listeners, listener);
  state.onChange?.(type);
}

const EMPTY_HANDLER = {
  callback: null,
  isCapture: false,
  isOnce: false,
  isPassive: false,
  isHandler: true,
  isRemoved: true,
} as const;

/** Adds the attribute `on<type>` to a class of targets, or to the global object. */
export function defineHandler(prototype: object, type: string): void {
  const name = `on${type}`;
  const accessor = {
    get [name](): object | null {
      return getHandler(targetState(this), type);
    },
    set [name](value: unknown) {
      setHandler(targetState(this), type, value);
    },
  };
  const { get, set } = Object.getOwnPropertyDescriptor(accessor, name) ?? {};
  const descriptor = { __proto__: null, get, set, enumerable: true, configurable: true };
  Object.defineProperty(prototype, name, descriptor as PropertyDescriptor);
}

export type { Callback };
