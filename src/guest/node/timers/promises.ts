/** node:timers/promises. @see https://nodejs.org/api/timers.html#timers-promises-api */
import { abortError, checkBoolean, checkObject, invalidArgType } from '../errors.ts';
import { Immediate, Timeout } from './timeout.ts';

interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: string, listener: () => void, options?: object): void;
  removeEventListener(type: string, listener: () => void): void;
}

function checkOptions(options: unknown): { readonly signal: Signal | undefined; readonly ref: boolean } {
  checkObject(options, 'options');
  const { signal, ref = true } = options as { signal?: unknown; ref?: unknown }; // read as unknown and checked
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) {
    throw invalidArgType('options.signal', 'AbortSignal', signal);
  }
  checkBoolean(ref, 'options.ref');
  return { signal: signal as Signal | undefined, ref }; // checked above
}

/** Resolves when `start` calls back. The answer of `start` stops it. */
function wait<T>(start: (done: () => void) => () => void, value: T, signal: Signal | undefined): Promise<T> {
  if (signal?.aborted) return Promise.reject(abortError(signal.reason));
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      stop();
      reject(abortError(signal?.reason));
    };
    const stop = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

async function setTimeout(delay?: unknown, value?: unknown, options: unknown = {}): Promise<unknown> {
  const { signal, ref } = checkOptions(options);
  const start = (done: () => void): (() => void) => {
    const timer = new Timeout(done, delay, [], false);
    if (!ref) timer.unref();
    return () => timer.close();
  };
  return wait(start, value, signal);
}

async function setImmediate(value?: unknown, options: unknown = {}): Promise<unknown> {
  const { signal, ref } = checkOptions(options);
  const start = (done: () => void): (() => void) => {
    const immediate = new Immediate(done, []);
    if (!ref) immediate.unref();
    return () => immediate.stop();
  };
  return wait(start, value, signal);
}

async function* setInterval(delay?: unknown, value?: unknown, options: unknown = {}): AsyncGenerator<unknown> {
  const { signal, ref } = checkOptions(options);
  if (signal?.aborted) throw abortError(signal.reason);
  let due = 0;
  let wake = (): void => {};
  const timer = new Timeout(
    () => {
      due++;
      wake();
    },
    delay,
    [],
    true,
  );
  if (!ref) timer.unref();
  const onAbort = (): void => wake();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal?.aborted) {
      if (due === 0) {
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
      for (; due > 0; due--) yield value;
    }
    throw abortError(signal.reason);
  } finally {
    timer.close();
    signal?.removeEventListener('abort', onAbort);
  }
}

class Scheduler {
  wait(delay?: unknown, options?: unknown): Promise<unknown> {
    return setTimeout(delay, undefined, options);
  }

  yield(): Promise<unknown> {
    return setImmediate();
  }
}

export default { setTimeout, setImmediate, setInterval, scheduler: new Scheduler() };
