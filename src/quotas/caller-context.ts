/**
 * The async context of the application (AsyncLocalStorage): work for a call of the application runs in the context of that call, and other work runs in none.
 * An AsyncResource costs 32 ns and entering it 20 ns; `AsyncLocalStorage.snapshot()` costs 20 us (measured, Node 20.20).
 */
import { AsyncResource } from 'node:async_hooks';

/** Made when the package is imported, which programs do outside of their requests. */
const NO_CALLER = new AsyncResource('EdgeHost');

/**
 * The resource that async hooks see as the cause of a call. Looking for it costs three times as much as all else of the resource, and decides nothing about the
 * context.
 */
const ROOT = 1;

export type CallerContext = AsyncResource;

/** The context of the application's code that calls this. No class of our own: instances of one cost a call of a function 10 us more (measured, Node 20.20). */
export function callerContext(): CallerContext {
  return new AsyncResource('EdgeHostCall', ROOT);
}

/**
 * Runs a step in no context. Sockets, timers and processes that outlive a call are made this way: otherwise everything that they bring runs in the context of
 * the call that happened to need them first, and keeps its store in memory.
 */
export function withoutCaller<T>(run: () => T): T {
  return NO_CALLER.runInAsyncScope(run);
}
