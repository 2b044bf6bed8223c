/** Key agreement. @see https://nodejs.org/api/crypto.html#class-diffiehellman */

import { isBufferSource } from '../../web/base/buffers.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkString, codeError, invalidArgType } from '../errors.ts';
import { encoded, toBytes } from './bytes.ts';
import { call, callKept, type Kept } from './calls.ts';
import { isKeyObject } from './key-object.ts';
import { later } from './signatures.ts';

type Bytes = NodeBuffer | string;

/** Both kinds have keys that come in and go out, by way of the object of the host realm. */
class Exchange {
  readonly #kept: Kept;
  readonly #method: string;

  constructor(kept: Kept, method: string) {
    this.#kept = kept;
    this.#method = method;
  }

  protected call(name: string, ...args: readonly unknown[]): unknown {
    return call(this.#method, this.#kept.id, name, ...args);
  }

  protected read(name: string, encoding: unknown, ...args: readonly unknown[]): Bytes {
    return encoded(this.call(name, ...args) as NodeBuffer, encoding); // what the call answers
  }

  computeSecret(key: unknown, inputEncoding?: unknown, outputEncoding?: unknown): Bytes {
    const bytes = toBytes(key, 'otherPublicKey', inputEncoding);
    // A text says with its own encoding that the next one is of the output.
    return this.read(
      'computeSecret',
      typeof key === 'string' ? outputEncoding : (outputEncoding ?? inputEncoding),
      bytes,
    );
  }

  getPrivateKey(encoding?: unknown): Bytes {
    return this.read('getPrivateKey', encoding);
  }
}

class Group extends Exchange {
  readonly verifyError: number;

  constructor(kept: Kept & { readonly answer: unknown }) {
    super(kept, 'dhMethod');
    this.verifyError = (kept.answer as { verifyError: number }).verifyError; // the host wrote it
  }

  generateKeys(encoding?: unknown): Bytes {
    return this.read('generateKeys', encoding);
  }

  getPrime(encoding?: unknown): Bytes {
    return this.read('getPrime', encoding);
  }

  getGenerator(encoding?: unknown): Bytes {
    return this.read('getGenerator', encoding);
  }

  getPublicKey(encoding?: unknown): Bytes {
    return this.read('getPublicKey', encoding);
  }
}

export class DiffieHellman extends Group {
  constructor(sizeOrPrime: unknown, keyEncoding?: unknown, generator?: unknown, generatorEncoding?: unknown) {
    if (typeof sizeOrPrime !== 'number' && typeof sizeOrPrime !== 'string' && !isBufferSource(sizeOrPrime)) {
      throw invalidArgType(
        'sizeOrKey',
        ['number', 'string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'],
        sizeOrPrime,
      );
    }
    const isEncoding = typeof keyEncoding === 'string' && (typeof sizeOrPrime === 'string' || generator !== undefined);
    const [given, givenEncoding] =
      isEncoding || keyEncoding === undefined ? [generator, generatorEncoding] : [keyEncoding, generator];
    const prime = typeof sizeOrPrime === 'number' ? sizeOrPrime : toBytes(sizeOrPrime, 'sizeOrKey', keyEncoding);
    const base = given === undefined || typeof given === 'number' ? given : toBytes(given, 'generator', givenEncoding);
    super(callKept('createDiffieHellman', prime, base));
  }

  setPublicKey(key: unknown, encoding?: unknown): void {
    this.call('setPublicKey', toBytes(key, 'key', encoding));
  }

  setPrivateKey(key: unknown, encoding?: unknown): void {
    this.call('setPrivateKey', toBytes(key, 'key', encoding));
  }
}

export class DiffieHellmanGroup extends Group {
  constructor(name: unknown) {
    checkString(name, 'name');
    super(callKept('createDiffieHellmanGroup', name));
  }
}

function formatOf(format: unknown): string {
  if (format === undefined || format === null) return 'uncompressed';
  if (format === 'compressed' || format === 'hybrid' || format === 'uncompressed') return format;
  throw codeError(TypeError, 'ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${String(format)}`);
}

export class ECDH extends Exchange {
  constructor(curve: unknown) {
    checkString(curve, 'curve');
    super(callKept('createECDH', curve), 'ecdhMethod');
  }

  static convertKey(
    key: unknown,
    curve: unknown,
    inputEncoding?: unknown,
    outputEncoding?: unknown,
    format?: unknown,
  ): Bytes {
    checkString(curve, 'curve');
    const bytes = toBytes(key, 'key', inputEncoding);
    return encoded(call('convertKey', bytes, curve, formatOf(format)) as NodeBuffer, outputEncoding); // what the call answers
  }

  generateKeys(encoding?: unknown, format?: unknown): Bytes {
    this.call('generateKeys');
    return this.getPublicKey(encoding, format);
  }

  getPublicKey(encoding?: unknown, format?: unknown): Bytes {
    return this.read('getPublicKey', encoding, undefined, formatOf(format));
  }

  setPrivateKey(key: unknown, encoding?: unknown): void {
    this.call('setPrivateKey', toBytes(key, 'key', encoding));
  }

  setPublicKey(key: unknown, encoding?: unknown): void {
    this.call('setPublicKey', toBytes(key, 'key', encoding));
  }
}

export function diffieHellman(options: unknown, callback?: unknown): unknown {
  if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'object', options);
  const { privateKey, publicKey } = options as { privateKey?: unknown; publicKey?: unknown }; // read as unknown and checked
  if (!isKeyObject(privateKey)) throw invalidArgType('options.privateKey', 'KeyObject', privateKey);
  if (!isKeyObject(publicKey)) throw invalidArgType('options.publicKey', 'KeyObject', publicKey);
  const run = (): unknown => call('diffieHellman', { privateKey, publicKey });
  return callback === undefined ? run() : later(run, callback);
}
