/** Sign and Verify. @see https://nodejs.org/api/crypto.html#class-sign */

import { isBufferSource } from '../../web/base/buffers.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkString, codeError, invalidArgType } from '../errors.ts';
import stream from '../stream/stream.ts';
import { callBack, checkCallback, encoded, toBytes, VIEWS } from './bytes.ts';
import { call, callKept, type Kept, update } from './calls.ts';
import { pairArgument } from './key-arguments.ts';

interface Writable {
  end(chunk?: unknown): unknown;
}
const Writable = stream.Writable as unknown as new (options?: unknown) => Writable; // a function of old style

class Signing extends Writable {
  #kept: Kept | undefined;

  constructor(method: string, algorithm: unknown, options: unknown) {
    super(options);
    checkString(algorithm, 'algorithm');
    this.#kept = callKept(method, algorithm);
  }

  update(data: unknown, encoding?: unknown): this {
    update(this.#live('update'), toBytes(data, 'data', encoding, VIEWS));
    return this;
  }

  _write(chunk: unknown, encoding: unknown, callback: () => void): void {
    this.update(chunk, encoding);
    callback();
  }

  /** The object, for its last use. */
  protected take(operation: string): Kept {
    const kept = this.#live(operation);
    this.#kept = undefined;
    return kept;
  }

  #live(operation: string): Kept {
    if (this.#kept !== undefined) return this.#kept;
    throw codeError(Error, 'ERR_CRYPTO_INVALID_STATE', `Invalid state for operation ${operation}`);
  }
}

export class Sign extends Signing {
  constructor(algorithm: unknown, options?: unknown) {
    super('createSign', algorithm, options);
  }

  sign(key: unknown, encoding?: unknown): unknown {
    if (key === undefined || key === null)
      throw codeError(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
    const { id } = this.take('sign');
    return encoded(call('finishSign', id, pairArgument(key)) as NodeBuffer, encoding); // what the call answers
  }
}

export class Verify extends Signing {
  constructor(algorithm: unknown, options?: unknown) {
    super('createVerify', algorithm, options);
  }

  verify(key: unknown, signature: unknown, encoding?: unknown): boolean {
    const bytes = toBytes(signature, 'signature', encoding);
    const { id } = this.take('verify');
    return call('finishVerify', id, pairArgument(key), bytes) === true;
  }
}

export function sign(algorithm: unknown, data: unknown, key: unknown, callback?: unknown): unknown {
  checkAlgorithm(algorithm);
  if (!isBufferSource(data)) throw invalidArgType('data', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], data);
  if (key === undefined || key === null)
    throw codeError(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
  const run = (): unknown => call('sign', algorithm ?? null, data, pairArgument(key));
  return callback === undefined ? run() : later(run, callback);
}

export function verify(
  algorithm: unknown,
  data: unknown,
  key: unknown,
  signature: unknown,
  callback?: unknown,
): unknown {
  checkAlgorithm(algorithm);
  if (!isBufferSource(data)) throw invalidArgType('data', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], data);
  if (!isBufferSource(signature))
    throw invalidArgType('signature', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], signature);
  const run = (): unknown => call('verify', algorithm ?? null, data, pairArgument(key), signature);
  return callback === undefined ? run() : later(run, callback);
}

function checkAlgorithm(algorithm: unknown): void {
  if (algorithm !== undefined && algorithm !== null) checkString(algorithm, 'algorithm');
}

/** Work of microseconds, whose result a caller wants in a callback. */
export function later(run: () => unknown, callback: unknown): undefined {
  checkCallback(callback);
  callBack(callback, Promise.resolve().then(run));
  return undefined;
}
