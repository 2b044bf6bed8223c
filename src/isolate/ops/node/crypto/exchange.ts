/** Key agreement: Diffie-Hellman, its elliptic form, and the exchange of key objects. */
import crypto, { type DiffieHellman, type ECDH } from 'node:crypto';
import { OpError } from '../../arguments.js';
import { powerMs, primalityMs, primeMs } from './costs.js';
import { checkKey } from './key-bounds.js';
import { type CryptoMethod, checkMost, type MethodTable, memberOf, numberIn, textIn } from './method.js';
import { nodeFunction } from './node-function.js';
import { MAX_PRIME_BITS } from './primes.js';

/** The group of RFC 3526 with the longest prime. */
const MAX_GROUP_BITS = 8192;

const createDiffieHellman: CryptoMethod = ([prime, generator], call) => {
  if (typeof prime === 'number') {
    call.requireInvocation('A prime number');
    checkMost('sizeOrKey', prime, MAX_PRIME_BITS);
    call.charge(primeMs(numberIn(prime), true));
  } else if (prime instanceof Uint8Array) {
    checkMost('the length of the prime in bits', prime.length * 8, MAX_GROUP_BITS);
    // OpenSSL checks that it is a safe prime. Most numbers fail in the first rounds.
    call.charge(primalityMs(prime.length * 8, 4));
  }
  const args = generator === undefined ? [prime] : [prime, generator];
  const value = nodeFunction('createDiffieHellman')(...args) as DiffieHellman; // what it returns
  return { id: call.keep({ kind: 'dh', value }), verifyError: value.verifyError };
};

/** Methods that take and answer bytes, or nothing. */
const DH_METHODS = [
  'computeSecret',
  'generateKeys',
  'getGenerator',
  'getPrime',
  'getPrivateKey',
  'getPublicKey',
  'setPrivateKey',
  'setPublicKey',
] as const;
const ECDH_METHODS = [
  'computeSecret',
  'generateKeys',
  'getPrivateKey',
  'getPublicKey',
  'setPrivateKey',
  'setPublicKey',
] as const;

function isIn<const T extends string>(names: readonly T[], name: unknown): name is T {
  return names.some(each => each === name);
}

function callMethod(target: object, name: string, args: readonly unknown[]): unknown {
  const found: unknown = Reflect.get(target, name);
  if (typeof found !== 'function') throw new OpError('TypeError', `The key exchange has no method ${name}()`);
  const result: unknown = Reflect.apply(found, target, args);
  return result === target ? undefined : result;
}

export const exchangeMethods: MethodTable = {
  createDiffieHellman,
  createDiffieHellmanGroup: ([name], call) => {
    const value = crypto.getDiffieHellman(textIn(name));
    return { id: call.keep({ kind: 'dh', value }), verifyError: value.verifyError };
  },
  dhMethod: ([id, name, ...args], call) => {
    const dh = call.kept(id, 'dh');
    if (!isIn(DH_METHODS, name)) throw new OpError('TypeError', 'There is no such method of DiffieHellman');
    if (name === 'generateKeys') call.requireInvocation('A key pair');
    if (name === 'generateKeys' || name === 'computeSecret') call.charge(powerMs(dh.getPrime().length * 8));
    return callMethod(dh, name, args);
  },
  createECDH: ([curve], call) => call.keep({ kind: 'ecdh', value: crypto.createECDH(textIn(curve)) }),
  ecdhMethod: ([id, name, ...args], call) => {
    const ecdh: ECDH = call.kept(id, 'ecdh');
    if (!isIn(ECDH_METHODS, name)) throw new OpError('TypeError', 'There is no such method of ECDH');
    if (name === 'generateKeys') call.requireInvocation('A key pair');
    return callMethod(ecdh, name, args);
  },
  convertKey: ([key, curve, format]) =>
    Reflect.apply(crypto.ECDH.convertKey, crypto.ECDH, [key, curve, undefined, undefined, format]),
  diffieHellman: ([options]) => {
    checkKey(memberOf(options, 'privateKey'));
    checkKey(memberOf(options, 'publicKey'));
    return nodeFunction('diffieHellman')(options);
  },
};
