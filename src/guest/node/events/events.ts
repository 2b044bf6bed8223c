/** node:events. */
import type { EventTarget } from '../../web/events/event-target.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { abortError, checkFunction, checkNumber, invalidArgType } from '../errors.ts';
import {
  type Emitter,
  type EmitterOptions,
  EventEmitter,
  errorMonitor,
  type Key,
  type Listener,
  rejection,
} from './emitter.ts';

type Source = Emitter | EventTarget;

interface SignalOptions {
  readonly signal?: AbortSignalLike | undefined;
  readonly close?: readonly Key[];
}

interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: string, listener: () => void, options?: object): void;
  removeEventListener(type: string, listener: () => void): void;
}

function isEmitter(value: unknown): value is Emitter {
  return typeof value === 'object' && value !== null && 'on' in value && typeof value.on === 'function';
}

function isTarget(value: unknown): value is EventTarget {
  return (
    typeof value === 'object' &&
    value !== null &&
    'addEventListener' in value &&
    typeof value.addEventListener === 'function'
  );
}

function checkSignal(signal: unknown): AbortSignalLike | undefined {
  if (signal === undefined) return undefined;
  if (typeof signal !== 'object' || signal === null || !('aborted' in signal)) {
    throw invalidArgType('options.signal', 'AbortSignal', signal);
  }
  return signal as AbortSignalLike; // as Node, which asks for no more
}

/** Listens once to an emitter or to a target; answers what ends that. */
function listenOnce(source: Source, type: Key, listener: Listener): () => void {
  if (isEmitter(source)) {
    source.once(type, listener);
    return () => void source.removeListener(type, listener);
  }
  if (!isTarget(source)) throw invalidArgType('emitter', 'EventEmitter', source);
  source.addEventListener(type as string, listener as never, { once: true });
  return () => source.removeEventListener(type as string, listener as never);
}

export async function once(source: Source, type: Key, options: SignalOptions = {}): Promise<unknown[]> {
  const signal = checkSignal(options?.signal);
  if (signal?.aborted) throw abortError(signal.reason);
  return new Promise((resolve, reject) => {
    const ends: (() => void)[] = [];
    const end = (): void => {
      for (const each of ends) each();
    };
    ends.push(
      listenOnce(source, type, (...args) => {
        end();
        resolve(args);
      }),
    );
    if (type !== 'error' && isEmitter(source)) {
      ends.push(
        listenOnce(source, 'error', error => {
          end();
          reject(error);
        }),
      );
    }
    if (signal !== undefined) {
      const onAbort = (): void => {
        end();
        reject(abortError(signal.reason));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      ends.push(() => signal.removeEventListener('abort', onAbort));
    }
  });
}

interface Waiting {
  resolve(result: IteratorResult<unknown[]>): void;
  reject(error: unknown): void;
}

/** An async iterator of the events of an emitter or a target. */
export function on(source: Source, type: Key, options: SignalOptions = {}): AsyncIterableIterator<unknown[]> {
  const signal = checkSignal(options?.signal);
  if (signal?.aborted) throw abortError(signal.reason);
  const events: unknown[][] = [];
  const waiting: Waiting[] = [];
  let failure: { readonly error: unknown } | undefined;
  let isOver = false;
  const ends: (() => void)[] = [];
  const onEvent: Listener = (...args) => {
    const next = waiting.shift();
    if (next === undefined) events.push(args);
    else next.resolve({ value: args, done: false });
  };
  const fail = (error: unknown): void => {
    const next = waiting.shift();
    if (next === undefined) failure = { error };
    else next.reject(error);
    close();
  };
  const close = (): Promise<IteratorResult<unknown[]>> => {
    for (const end of ends.splice(0)) end();
    isOver = true;
    for (const each of waiting.splice(0)) each.resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  const listen = (key: Key, listener: Listener): void => {
    if (isEmitter(source)) {
      source.on(key, listener);
      ends.push(() => void source.removeListener(key, listener));
    } else if (isTarget(source)) {
      source.addEventListener(key as string, listener as never);
      ends.push(() => source.removeEventListener(key as string, listener as never));
    } else throw invalidArgType('emitter', 'EventEmitter', source);
  };
  listen(type, onEvent);
  if (type !== 'error' && isEmitter(source)) listen('error', fail);
  for (const key of options?.close ?? []) listen(key, () => void close());
  if (signal !== undefined) {
    const onAbort = (): void => fail(abortError(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    ends.push(() => signal.removeEventListener('abort', onAbort));
  }
  return {
    next() {
      const value = events.shift();
      if (value !== undefined) return Promise.resolve({ value, done: false });
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (isOver) return close();
      return new Promise((resolve, reject) => void waiting.push({ resolve, reject }));
    },
    return: close,
    throw(error: unknown) {
      if (!(error instanceof Error)) throw invalidArgType('EventEmitter.AsyncIterator', 'Error', error);
      fail(error);
      return undefined as never; // as Node's
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function listenerCount(emitter: Emitter, type: Key): number {
  return isEmitter(emitter) ? emitter.listenerCount(type) : 0;
}

function getEventListeners(source: Source, type: Key): Listener[] {
  if (isEmitter(source)) return (source as Emitter & { listeners(key: Key): Listener[] }).listeners(type);
  throw invalidArgType('emitter', 'EventEmitter', source);
}

function getMaxListeners(source: Source): number {
  return isEmitter(source) ? source.getMaxListeners() : EventEmitter.defaultMaxListeners;
}

function setMaxListeners(count = EventEmitter.defaultMaxListeners, ...sources: Source[]): void {
  checkNumber(count, 'setMaxListeners', 0);
  if (sources.length === 0) EventEmitter.defaultMaxListeners = count;
  for (const source of sources) {
    if (isEmitter(source)) (source as Emitter & { setMaxListeners(n: number): void }).setMaxListeners(count);
    else if (!isTarget(source)) throw invalidArgType('eventTargets', ['EventEmitter', 'EventTarget'], source);
  }
}

function addAbortListener(signal: AbortSignalLike, listener: () => void): object {
  if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal);
  checkSignal(signal);
  checkFunction(listener, 'listener');
  let remove = (): void => {};
  if (signal.aborted) queueMicrotask(() => listener());
  else {
    signal.addEventListener('abort', listener, { once: true });
    remove = () => signal.removeEventListener('abort', listener);
  }
  return { [dispose]: remove };
}

/** The language's own symbol, where it has one. */
const dispose: symbol = (Symbol as { readonly dispose?: symbol }).dispose ?? Symbol('Symbol.dispose'); // absent in ES2023

Object.assign(EventEmitter, {
  addAbortListener,
  once,
  on,
  getEventListeners,
  getMaxListeners,
  setMaxListeners,
  listenerCount,
  EventEmitter,
  usingDomains: false,
  captureRejectionSymbol: rejection,
  errorMonitor,
});

export type { EmitterOptions };
export { EventEmitter, errorMonitor };
export default EventEmitter;
