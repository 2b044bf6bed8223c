import type { QueueConsumerOptions } from '../../../src/index.js';

/** A consumer that gets what there is at once. */
export function consumer(queue: string, options: Omit<QueueConsumerOptions, 'queue'> = {}): QueueConsumerOptions {
  return { queue, maxBatchTimeoutSeconds: 0, ...options };
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}
