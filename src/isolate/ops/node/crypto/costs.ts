/**
 * Estimates of CPU time, as in web/crypto-cost.ts: each is at least as expensive as its measurement there. They matter for work of tens of milliseconds and
 * more, which must be refused before it begins, because nothing can interrupt it.
 */

const ITERATION_MS = 0.00025;
/** Hashes of 64-bit words, and everything that OpenSSL has no fast code for. */
const LONG_ITERATION_MS = 0.00055;
const SHORT_DIGESTS: Readonly<Record<string, number | undefined>> = {
  sha1: 20,
  sha256: 32,
  'sha-1': 20,
  'sha-256': 32,
};
/** One round of the mix of 128 bytes. Measured on Node 20.20: N 16,384, r 8, p 1 takes 38 to 60 ms. */
const SCRYPT_BLOCK_MS = 0.0005;
const RSA_2048_GENERATE_MS = 150;
/** A search for primes of both parameters. */
const DSA_2048_GENERATE_MS = 600;
const PRIME_1024_MS = 60;
/** One of some 200 such primes is safe. */
const SAFE_PRIME_FACTOR = 60;
/** One power with an exponent as long as the modulus. */
const POWER_2048_MS = 3;
const PRIMALITY_ROUNDS = 64;

export function pbkdf2Ms(digest: string, iterations: number, keyLength: number): number {
  const short = SHORT_DIGESTS[digest.toLowerCase()];
  // The shortest digest that is not of this list has 16 bytes, and the blocks of others are longer.
  const blocks = Math.max(1, Math.ceil(keyLength / (short ?? 16)));
  return blocks * iterations * (short === undefined ? LONG_ITERATION_MS : ITERATION_MS);
}

export function scryptMs(cost: number, blockSize: number, parallelization: number): number {
  return cost * blockSize * parallelization * SCRYPT_BLOCK_MS;
}

export function rsaGenerateMs(bits: number): number {
  return RSA_2048_GENERATE_MS * (bits / 2048) ** 4;
}

export function dsaGenerateMs(bits: number): number {
  return DSA_2048_GENERATE_MS * (bits / 2048) ** 4;
}

export function primeMs(bits: number, isSafe: boolean): number {
  return PRIME_1024_MS * (bits / 1024) ** 4 * (isSafe ? SAFE_PRIME_FACTOR : 1);
}

export function powerMs(bits: number): number {
  return POWER_2048_MS * (bits / 2048) ** 3;
}

export function primalityMs(bits: number, rounds = PRIMALITY_ROUNDS): number {
  return powerMs(bits) * rounds;
}
