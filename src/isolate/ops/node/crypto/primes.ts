/** Prime numbers. */
import { primalityMs, primeMs } from './costs.js';
import { type CryptoCall, checkMost, type MethodTable, memberOf, numberIn } from './method.js';
import { nodeAsync, nodeFunction } from './node-function.js';

export const MAX_PRIME_BITS = 4096;
const MAX_ROUNDS = 64;

function boundGenerate([bits, options]: readonly unknown[], call: CryptoCall): void {
  call.requireInvocation('A prime number');
  checkMost('size', bits, MAX_PRIME_BITS);
  // A condition on the prime leaves only some of them, or none.
  const isRare = memberOf(options, 'safe') === true || memberOf(options, 'add') !== undefined;
  call.charge(primeMs(numberIn(bits), isRare));
}

function boundCheck([candidate, options]: readonly unknown[], call: CryptoCall): void {
  const bits = bitsOf(candidate);
  checkMost('the length of the candidate in bits', bits, MAX_PRIME_BITS);
  const rounds = memberOf(options, 'checks');
  checkMost('options.checks', rounds, MAX_ROUNDS);
  call.charge(primalityMs(bits, numberIn(rounds, MAX_ROUNDS)));
}

function bitsOf(candidate: unknown): number {
  if (typeof candidate === 'bigint') return candidate.toString(16).length * 4;
  return candidate instanceof Uint8Array ? candidate.length * 8 : 0;
}

export const primeMethods: MethodTable = {
  generatePrimeSync: (args, call) => {
    boundGenerate(args, call);
    return nodeFunction('generatePrimeSync')(...args);
  },
  checkPrimeSync: (args, call) => {
    boundCheck(args, call);
    return nodeFunction('checkPrimeSync')(...args);
  },
};

export const asyncPrimeMethods: MethodTable = {
  generatePrime: async (args, call) => {
    boundGenerate(args, call);
    return (await nodeAsync('generatePrime', args))[0];
  },
  checkPrime: async (args, call) => {
    boundCheck(args, call);
    return (await nodeAsync('checkPrime', args))[0];
  },
};
