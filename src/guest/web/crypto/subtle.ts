/**
 * SubtleCrypto. The work is done by Node in the host realm; here arguments become bytes and JSON, and results become objects of this realm.
 * @see https://w3c.github.io/webcrypto/#subtlecrypto-interface
 */
import { Op } from '../../../isolate/ops/table.ts';
import { opAsync, opNumber } from '../../bridge.ts';
import {
  jsonParse,
  promiseReject,
  promiseThen,
  TypeErrorCtor,
  typedArrayBuffer,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { bytesOf } from '../base/buffer-source.ts';
import { defineInterface, requireArguments, toDOMString } from '../base/idl.ts';
import { type CryptoKey, createCryptoKey, type KeyDescription } from './crypto-key.ts';
import { SubtleArguments } from './subtle-arguments.ts';

interface KeyPair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** An answer of the host that is neither bytes nor a number. */
interface Answer {
  readonly key?: KeyDescription;
  readonly pair?: { readonly privateKey: KeyDescription; readonly publicKey: KeyDescription };
  readonly jwk?: object;
}

type Settled = ArrayBuffer | CryptoKey | KeyPair | boolean | object | undefined;

let isConstructing = false;
let isSubtleCrypto: (value: unknown) => boolean;

export class SubtleCrypto {
  readonly #isSubtle = true;

  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  encrypt(algorithm: unknown, key: unknown, data: unknown): Promise<unknown> {
    return run(this, 'encrypt', arguments.length, 3, args => addCipher(args, algorithm, key, data));
  }

  decrypt(algorithm: unknown, key: unknown, data: unknown): Promise<unknown> {
    return run(this, 'decrypt', arguments.length, 3, args => addCipher(args, algorithm, key, data));
  }

  sign(algorithm: unknown, key: unknown, data: unknown): Promise<unknown> {
    return run(this, 'sign', arguments.length, 3, args => addCipher(args, algorithm, key, data));
  }

  verify(algorithm: unknown, key: unknown, signature: unknown, data: unknown): Promise<unknown> {
    return run(this, 'verify', arguments.length, 4, args => {
      args.addAlgorithm(algorithm);
      args.addKey(key, 'The key');
      args.addBytes(signature, 'The signature');
      args.addBytes(data, 'The data');
    });
  }

  digest(algorithm: unknown, data: unknown): Promise<unknown> {
    return run(this, 'digest', arguments.length, 2, args => {
      args.addAlgorithm(algorithm);
      args.addBytes(data, 'The data');
    });
  }

  generateKey(algorithm: unknown, extractable: unknown, keyUsages: unknown): Promise<unknown> {
    return run(this, 'generateKey', arguments.length, 3, args => {
      args.addAlgorithm(algorithm);
      args.add(!!extractable);
      args.addUsages(keyUsages);
    });
  }

  deriveKey(
    algorithm: unknown,
    baseKey: unknown,
    derivedKeyType: unknown,
    extractable: unknown,
    keyUsages: unknown,
  ): Promise<unknown> {
    return run(this, 'deriveKey', arguments.length, 5, args => {
      args.addAlgorithm(algorithm);
      args.addKey(baseKey, 'The base key');
      args.addAlgorithm(derivedKeyType);
      args.add(!!extractable);
      args.addUsages(keyUsages);
    });
  }

  deriveBits(algorithm: unknown, baseKey: unknown, length: unknown = null): Promise<unknown> {
    return run(this, 'deriveBits', arguments.length, 2, args => {
      args.addAlgorithm(algorithm);
      args.addKey(baseKey, 'The base key');
      args.addNumber(length);
    });
  }

  importKey(
    format: unknown,
    keyData: unknown,
    algorithm: unknown,
    extractable: unknown,
    keyUsages: unknown,
  ): Promise<unknown> {
    return run(this, 'importKey', arguments.length, 5, args => {
      const name = toDOMString(format);
      args.add(name);
      args.addKeyData(name, keyData);
      args.addAlgorithm(algorithm);
      args.add(!!extractable);
      args.addUsages(keyUsages);
    });
  }

  exportKey(format: unknown, key: unknown): Promise<unknown> {
    return run(this, 'exportKey', arguments.length, 2, args => {
      args.addText(format);
      args.addKey(key, 'The key');
    });
  }

  wrapKey(format: unknown, key: unknown, wrappingKey: unknown, wrapAlgorithm: unknown): Promise<unknown> {
    return run(this, 'wrapKey', arguments.length, 4, args => {
      args.addText(format);
      args.addKey(key, 'The key');
      args.addKey(wrappingKey, 'The wrapping key');
      args.addAlgorithm(wrapAlgorithm);
    });
  }

  unwrapKey(
    format: unknown,
    wrappedKey: unknown,
    unwrappingKey: unknown,
    unwrapAlgorithm: unknown,
    unwrappedKeyAlgorithm: unknown,
    extractable: unknown,
    keyUsages: unknown,
  ): Promise<unknown> {
    return run(this, 'unwrapKey', arguments.length, 7, args => {
      args.addText(format);
      args.addBytes(wrappedKey, 'The wrapped key');
      args.addKey(unwrappingKey, 'The unwrapping key');
      args.addAlgorithm(unwrapAlgorithm);
      args.addAlgorithm(unwrappedKeyAlgorithm);
      args.add(!!extractable);
      args.addUsages(keyUsages);
    });
  }

  /** Whether two byte arrays of one length are equal, in a time that does not depend on where they differ. */
  timingSafeEqual(a: unknown, b: unknown): boolean {
    requireArguments(arguments.length, 2, 'crypto.subtle.timingSafeEqual');
    void this.#isSubtle;
    return opNumber(Op.TimingSafeEqual, bytesOf(a, 'The first value'), bytesOf(b, 'The second value')) === 1;
  }

  static {
    isSubtleCrypto = value => typeof value === 'object' && value !== null && #isSubtle in value;
  }
}

defineInterface(SubtleCrypto);

isConstructing = true;
export const subtle = new SubtleCrypto();
isConstructing = false;

function addCipher(args: SubtleArguments, algorithm: unknown, key: unknown, data: unknown): void {
  args.addAlgorithm(algorithm);
  args.addKey(key, 'The key');
  args.addBytes(data, 'The data');
}

/** A promise-returning operation of Web IDL: every error rejects its promise. */
function run(
  receiver: unknown,
  method: string,
  given: number,
  required: number,
  collect: (args: SubtleArguments) => void,
): Promise<Settled> {
  try {
    if (!isSubtleCrypto(receiver)) throw new TypeErrorCtor('The receiver is not a SubtleCrypto');
    requireArguments(given, required, `crypto.subtle.${method}`);
    const args = new SubtleArguments();
    collect(args);
    const token = new Uint8ArrayCtor(0);
    const settled = opAsync(Op.CryptoOp, method, args.json, args.bytes, token);
    return promiseThen(settled, value => toResult(method, value, token));
  } catch (error) {
    return promiseReject(error);
  }
}

function toResult(method: string, value: number | string | undefined | Uint8Array, token: Uint8Array): Settled {
  if (typeof value === 'number') return method === 'verify' ? value === 1 : undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return typedArrayBuffer(value);
  const { key, pair, jwk }: Answer = jsonParse(value);
  if (key !== undefined) return createCryptoKey(key, token);
  if (pair === undefined) return jwk;
  return {
    publicKey: createCryptoKey(pair.publicKey, token),
    privateKey: createCryptoKey(pair.privateKey, token),
  };
}
