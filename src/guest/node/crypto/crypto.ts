/** node:crypto. The work is done by Node in the host realm, with bounds; see src/isolate/ops/node/crypto. */
import { Op } from '../../../isolate/ops/table.ts';
import { opNumber } from '../../bridge.ts';
import { isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { crypto as webcrypto } from '../../web/crypto/crypto.ts';
import { codeError, invalidArgType } from '../errors.ts';
import { notSupported } from '../unsupported.ts';
import { call } from './calls.ts';
import { Certificate, X509Certificate } from './certificates.ts';
import {
  Cipheriv,
  Decipheriv,
  getCipherInfo,
  getCiphers,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
} from './ciphers.ts';
import { hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync } from './derivation.ts';
import { DiffieHellman, DiffieHellmanGroup, diffieHellman, ECDH } from './exchange.ts';
import {
  checkPrime,
  checkPrimeSync,
  generateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  generatePrime,
  generatePrimeSync,
} from './generation.ts';
import { getHashes, Hash, Hmac, hash } from './hash.ts';
import { createPrivateKey, createPublicKey, createSecretKey, KeyObject } from './key-object.ts';
import { randomBytes, randomFill, randomFillSync, randomInt, randomUUID } from './random.ts';
import { Sign, sign, Verify, verify } from './signatures.ts';

const VIEWS = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];

function timingSafeEqual(first: unknown, second: unknown): boolean {
  if (!isBufferSource(first)) throw invalidArgType('buf1', VIEWS, first);
  if (!isBufferSource(second)) throw invalidArgType('buf2', VIEWS, second);
  const a = viewOf(first);
  const b = viewOf(second);
  if (a.byteLength !== b.byteLength) {
    throw codeError(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
  }
  return opNumber(Op.TimingSafeEqual, a, b) === 1;
}

/** The classes can be called without `new`. */
function callable<C extends new (...args: never[]) => object>(Class: C): C {
  return new Proxy(Class, { apply: (target, _receiver, args) => Reflect.construct(target, args) });
}

/** A function that creates an instance. */
function creating(Class: new (...args: never[]) => object): (...args: unknown[]) => object {
  return (...args) => Reflect.construct(Class, args);
}

let curveNames: readonly string[] | undefined;

function getCurves(): string[] {
  curveNames ??= call('getCurves') as string[]; // a list of names
  return [...curveNames];
}

const createDiffieHellmanGroup = creating(DiffieHellmanGroup);

export default {
  Certificate: callable(Certificate),
  Cipheriv: callable(Cipheriv),
  Decipheriv: callable(Decipheriv),
  DiffieHellman: callable(DiffieHellman),
  DiffieHellmanGroup: callable(DiffieHellmanGroup),
  ECDH: callable(ECDH),
  Hash: callable(Hash),
  Hmac: callable(Hmac),
  KeyObject,
  Sign: callable(Sign),
  Verify: callable(Verify),
  X509Certificate,
  checkPrime,
  checkPrimeSync,
  createCipheriv: creating(Cipheriv),
  createDecipheriv: creating(Decipheriv),
  createDiffieHellman: creating(DiffieHellman),
  createDiffieHellmanGroup,
  createECDH: creating(ECDH),
  createHash: creating(Hash),
  createHmac: creating(Hmac),
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign: creating(Sign),
  createVerify: creating(Verify),
  diffieHellman,
  generateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  generatePrime,
  generatePrimeSync,
  getCipherInfo,
  getCiphers,
  getCurves,
  getDiffieHellman: createDiffieHellmanGroup,
  getFips: () => call('getFips'),
  getHashes,
  getRandomValues: (array: unknown) => webcrypto.getRandomValues(array),
  hash,
  hkdf,
  hkdfSync,
  pbkdf2,
  pbkdf2Sync,
  privateDecrypt,
  privateEncrypt,
  prng: randomBytes,
  pseudoRandomBytes: randomBytes,
  publicDecrypt,
  publicEncrypt,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  rng: randomBytes,
  scrypt,
  scryptSync,
  secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  setEngine: () => {
    throw notSupported('crypto', 'setEngine()', 'Engines of OpenSSL are native code, which functions cannot load');
  },
  setFips: () => {
    throw notSupported('crypto', 'setFips()', 'The process of the host decides about FIPS');
  },
  sign,
  subtle: webcrypto.subtle,
  timingSafeEqual,
  verify,
  webcrypto,
};
