/**
 * The one guard between Node and this package. Node calls timers, listeners and callbacks with nothing of the host on the stack. An exception in one of them
 * would end the application, or the backend process for all of its applications. Here it becomes a warning, and the end of the connection or process that it
 * concerns.
 */
import process from 'node:process';
import { EdgeError } from './errors.js';

export type FaultListener = (error: EdgeError) => void;

/** The hosts of this process: an exception in a timer of a shared part belongs to each of them. */
const listeners = new Set<FaultListener>();

/** The listener gets each exception from now on, until the returned function is called. */
export function listenToFaults(listener: FaultListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reports an exception that nothing of the host has caught. Never throws. */
export function reportFault(cause: unknown): void {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const error = new EdgeError(
    'EDGE_INTERNAL',
    `A callback of the host has failed, and what it was for was ended: ${text}`,
    {
      cause,
    },
  );
  if (listeners.size === 0) process.emitWarning(error);
  for (const listener of listeners) {
    try {
      listener(error);
    } catch (thrown) {
      rethrowOutside(thrown);
    }
  }
}

/**
 * Makes the function that Node is given in place of `callback`: an exception is reported, and never reaches Node.
 *
 * @param end ends what the callback was for, so that nothing waits for it. It may throw, too
 */
export function guarded<Args extends readonly unknown[]>(
  callback: (...args: Args) => void,
  end?: () => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      callback(...args);
    } catch (error) {
      reportFault(error);
      if (end !== undefined) guarded(end)();
    }
  };
}

/** Takes one step for each of the items. An exception is reported, ends the item that it concerns, and the others have their turn. */
export function guardedEach<Item>(
  items: Iterable<Item>,
  step: (item: Item) => void,
  end: (item: Item) => void = () => {},
): void {
  for (const item of items) {
    guarded(
      () => step(item),
      () => end(item),
    )();
  }
}

/**
 * A promise that nobody waits for: its rejection is reported.
 *
 * @param end ends what the promise was for
 */
export function detached(promise: PromiseLike<unknown>, end: () => void = () => {}): void {
  promise.then(undefined, (error: unknown) => {
    reportFault(error);
    guarded(end)();
  });
}

/** Why something was ended that a callback has failed for: the `warning` event says more. */
export const FAULT = 'a callback of the host failed';

/**
 * Throws an exception of the application's own code where nothing of the host is on the stack: its 'uncaughtException' handlers see it, and the host's work
 * continues.
 */
export function rethrowOutside(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}
