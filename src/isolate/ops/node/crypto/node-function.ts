/** Functions of node:crypto by name, with arguments that Node itself checks. */
import crypto from 'node:crypto';
import { OpError } from '../../arguments.js';

/** @throws OpError where this version of Node does not have it */
export function nodeFunction(name: string): (...args: unknown[]) => unknown {
  const found: unknown = Reflect.get(crypto, name);
  if (typeof found === 'function') return (...args) => Reflect.apply(found, crypto, args);
  throw new OpError(
    'Error',
    `node:crypto: ${name}() is not available with this version of Node`,
    'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
  );
}

/** The same with a callback, as a promise. */
export function nodeAsync(name: string, args: readonly unknown[]): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    nodeFunction(name)(...args, (error: unknown, ...values: unknown[]) => {
      if (error === null || error === undefined) resolve(values);
      else reject(error);
    });
  });
}
