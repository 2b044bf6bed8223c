/** Keys and bytes derived from passwords and secrets. */
import { pbkdf2Ms, scryptMs } from './costs.js';
import { MAX_ITERATIONS } from './key-bounds.js';
import { type CryptoCall, checkMost, type MethodTable, memberOf, numberIn, outOfRange, textIn } from './method.js';
import { nodeAsync, nodeFunction } from './node-function.js';

const MAX_DERIVED_BYTES = 1024 * 1024;
const MAX_SCRYPT_BYTES = 64 * 1024 * 1024;
const MAX_HKDF_INFO_BYTES = 1024;

/** The bounds of `argon2`: memory is in KiB. */
const MAX_ARGON2_KIB = 65_536;
const MAX_ARGON2_PASSES = 64;
const MAX_ARGON2_PARALLELISM = 16;
const ARGON2_BLOCK_MS = 0.002;

function boundPbkdf2([, , iterations, keyLength, digest]: readonly unknown[], call: CryptoCall): void {
  checkMost('iterations', iterations, MAX_ITERATIONS);
  checkMost('keylen', keyLength, MAX_DERIVED_BYTES);
  call.charge(pbkdf2Ms(textIn(digest), numberIn(iterations), numberIn(keyLength)));
}

function boundScrypt([, , keyLength, options]: readonly unknown[], call: CryptoCall): void {
  checkMost('keylen', keyLength, MAX_DERIVED_BYTES);
  const cost = numberIn(memberOf(options, 'N') ?? memberOf(options, 'cost'), 16_384);
  const blockSize = numberIn(memberOf(options, 'r') ?? memberOf(options, 'blockSize'), 8);
  const parallelization = numberIn(memberOf(options, 'p') ?? memberOf(options, 'parallelization'), 1);
  const bytes = 128 * blockSize * (cost + parallelization);
  if (bytes > MAX_SCRYPT_BYTES) {
    throw outOfRange('128 * r * (N + p)', `at most ${MAX_SCRYPT_BYTES} bytes in a function`, bytes);
  }
  call.charge(scryptMs(cost, blockSize, parallelization));
  call.reserve(bytes);
}

function boundHkdf([, , , info, keyLength]: readonly unknown[], call: CryptoCall): void {
  checkMost('keylen', keyLength, MAX_DERIVED_BYTES);
  const length = info instanceof Uint8Array ? info.length : textIn(info).length;
  // Node's own bound and its error.
  if (length <= MAX_HKDF_INFO_BYTES) call.charge(numberIn(keyLength) / 10_000);
}

function boundArgon2([, parameters]: readonly unknown[], call: CryptoCall): void {
  const memory = memberOf(parameters, 'memory');
  const passes = memberOf(parameters, 'passes');
  checkMost('parameters.memory', memory, MAX_ARGON2_KIB);
  checkMost('parameters.passes', passes, MAX_ARGON2_PASSES);
  checkMost('parameters.parallelism', memberOf(parameters, 'parallelism'), MAX_ARGON2_PARALLELISM);
  checkMost('parameters.tagLength', memberOf(parameters, 'tagLength'), MAX_DERIVED_BYTES);
  call.charge(numberIn(memory) * numberIn(passes, 1) * ARGON2_BLOCK_MS);
  call.reserve(numberIn(memory) * 1024);
}

export const derivationMethods: MethodTable = {
  pbkdf2Sync: (args, call) => {
    boundPbkdf2(args, call);
    return nodeFunction('pbkdf2Sync')(...args);
  },
  scryptSync: (args, call) => {
    boundScrypt(args, call);
    return nodeFunction('scryptSync')(...args);
  },
  hkdfSync: (args, call) => {
    boundHkdf(args, call);
    return nodeFunction('hkdfSync')(...args);
  },
  argon2Sync: (args, call) => {
    boundArgon2(args, call);
    return nodeFunction('argon2Sync')(...args);
  },
};

export const asyncDerivationMethods: MethodTable = {
  pbkdf2: async (args, call) => {
    boundPbkdf2(args, call);
    return (await nodeAsync('pbkdf2', args))[0];
  },
  scrypt: async (args, call) => {
    boundScrypt(args, call);
    return (await nodeAsync('scrypt', args))[0];
  },
  hkdf: async (args, call) => {
    boundHkdf(args, call);
    return (await nodeAsync('hkdf', args))[0];
  },
  argon2: async (args, call) => {
    boundArgon2(args, call);
    return (await nodeAsync('argon2', args))[0];
  },
};
