/** Key objects: made from what a function has, generated, exported and compared. */
import crypto, { KeyObject, type webcrypto } from 'node:crypto';
import { types } from 'node:util';
import { OpError } from '../../arguments.js';
import { dsaGenerateMs, primeMs, rsaGenerateMs } from './costs.js';
import { checkDetails, checkKey, MAX_MODULUS_BITS } from './key-bounds.js';
import { type CryptoCall, checkMost, type MethodTable, memberOf, numberIn, textIn } from './method.js';
import { nodeAsync, nodeFunction } from './node-function.js';
import { MAX_PRIME_BITS } from './primes.js';

const MAX_SECRET_BITS = 8 * 64 * 1024;
const OTHER_PAIR_MS = 8;

function keyIn(value: unknown): KeyObject {
  if (value instanceof KeyObject) return value;
  throw new OpError('TypeError', 'The argument is not a KeyObject', 'ERR_INVALID_ARG_TYPE');
}

function made(name: string): (args: readonly unknown[]) => KeyObject {
  return ([given]) => {
    checkKey(given);
    const key = keyIn(nodeFunction(name)(given));
    checkDetails(key);
    return key;
  };
}

function boundPair([type, options]: readonly unknown[], call: CryptoCall): void {
  call.requireInvocation('A key pair');
  const bits = memberOf(options, 'modulusLength');
  checkMost('options.modulusLength', bits, MAX_MODULUS_BITS);
  checkMost('options.primeLength', memberOf(options, 'primeLength'), MAX_PRIME_BITS);
  const exponent = memberOf(options, 'publicExponent');
  if (typeof exponent === 'number' && (exponent < 3 || exponent % 2 === 0)) {
    throw new OpError(
      'RangeError',
      `The public exponent is ${exponent}, expected an odd number from 3 on`,
      'ERR_OUT_OF_RANGE',
    );
  }
  const kind = textIn(type);
  if (kind.startsWith('rsa')) call.charge(rsaGenerateMs(numberIn(bits)));
  else if (kind === 'dsa') call.charge(dsaGenerateMs(numberIn(bits)));
  else if (kind === 'dh') call.charge(primeMs(numberIn(memberOf(options, 'primeLength')), true));
  else call.charge(OTHER_PAIR_MS);
}

function boundSecret([, options]: readonly unknown[], call: CryptoCall): void {
  call.requireInvocation('A key');
  checkMost('options.length', memberOf(options, 'length'), MAX_SECRET_BITS);
}

/** The KeyObject of a CryptoKey. */
function fromCryptoKey(value: unknown): KeyObject {
  if (!types.isCryptoKey(value))
    throw new OpError('TypeError', 'The argument is not a CryptoKey', 'ERR_INVALID_ARG_TYPE');
  return KeyObject.from(value as webcrypto.CryptoKey); // as checked
}

function exported([key, options]: readonly unknown[]): unknown {
  const object = keyIn(key);
  // The classes of each type of key have it, and their common class has not.
  const method: unknown = Reflect.get(object, 'export');
  if (typeof method !== 'function') throw new OpError('TypeError', 'The key cannot be exported');
  return Reflect.apply(method, object, options === undefined ? [] : [options]);
}

export const keyMethods: MethodTable = {
  createSecretKey: ([bytes]) => crypto.createSecretKey(bytes as Uint8Array), // Node checks it
  createPublicKey: made('createPublicKey'),
  createPrivateKey: made('createPrivateKey'),
  fromCryptoKey: ([key]) => fromCryptoKey(key),
  exportKeyObject: exported,
  keyObjectEquals: ([first, second]) => {
    const equals: unknown = Reflect.get(KeyObject.prototype, 'equals');
    return typeof equals === 'function' && Reflect.apply(equals, keyIn(first), [keyIn(second)]) === true;
  },
  generateKeySync: (args, call) => {
    boundSecret(args, call);
    return nodeFunction('generateKeySync')(...args);
  },
  generateKeyPairSync: (args, call) => {
    boundPair(args, call);
    return nodeFunction('generateKeyPairSync')(...args);
  },
};

export const asyncKeyMethods: MethodTable = {
  generateKey: async (args, call) => {
    boundSecret(args, call);
    return (await nodeAsync('generateKey', args))[0];
  },
  generateKeyPair: async (args, call) => {
    boundPair(args, call);
    const [publicKey, privateKey] = await nodeAsync('generateKeyPair', args);
    return { publicKey, privateKey };
  },
};
