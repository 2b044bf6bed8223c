/**
 * The cost of an operation of SubtleCrypto, computed before it begins. It runs in a thread of libuv's pool, whose time no clock of the
 * isolate shows and which cannot be stopped, so it is charged beforehand.
 *
 * Measured on Node 20.20 (OpenSSL 3.0, x64 of 2.x GHz) by the process's CPU time over 10 to 1,000 runs, in ms; each rate here is at least as expensive as its
 * measurement:
 * - per iteration and block of PBKDF2: SHA-1 0.00022, SHA-256 0.00021, SHA-384 and SHA-512 0.00049
 * - bytes a ms: HMAC with SHA-512 564,000, AES-CBC 676,000, SHA-512 770,000, AES-GCM 1,011,000, SHA-256 1,540,000
 * - RSA private: 1,024 bits 0.13, 2,048 0.34, 4,096 4.2; public: 0.03, 0.05, 0.09
 * - generating RSA: 1,024 bits 7.8, 2,048 138, 4,096 1,150
 * - curves: P-256 0.25, P-384 3.2, P-521 7.7, 25519 0.17; the most expensive of sign, verify, generate and derive
 * - 255 blocks of HKDF: 0.16; with 1 KiB of info 0.71
 */
import type { webcrypto } from 'node:crypto';
import { types } from 'node:util';

/** The cost of any operation in the other thread, beside the work of the isolate's own thread. */
const BASE_MS = 0.015;
const BYTES_PER_MS = 500_000;
const PBKDF2_ITERATION_MS = 0.00025;
/** The hashes of 64-bit words. */
const PBKDF2_LONG_ITERATION_MS = 0.00055;
const HKDF_BLOCK_MS = 0.001;
/** One block of one pass of Argon2, which is 1 KiB. */
const ARGON2_BLOCK_MS = 0.002;
const RSA_1024_PRIVATE_MS = 0.15;
const RSA_2048_GENERATE_MS = 150;
const CURVE_MS: { readonly [name: string]: number | undefined } = {
  'P-256': 0.3,
  'P-384': 3.5,
  'P-521': 8,
  ED25519: 0.2,
  X25519: 0.2,
};
/** All other algorithms with key pairs: Ed448, X448, and the lattice-based ones of newer versions of Node. */
const OTHER_PAIR_MS = 2;
/** A derived key that does not say how long it is has at most the length of a hash's block. */
const DERIVED_KEY_BITS = 1024;
/** The memory of a key outside of the heap beside its own bytes. Measured: 1.7 KB for one of RSA with 4,096 bits. */
const KEY_OVERHEAD_BYTES = 2048;

/** CPU milliseconds of a call of `crypto.subtle`; `byteLength` is the length of all byte arrays among the arguments. */
export function cryptoCostMs(method: string, args: readonly unknown[], byteLength: number): number {
  let ms = BASE_MS + byteLength / BYTES_PER_MS;
  for (const arg of args) if (isCryptoKey(arg)) ms += keyMs(arg);
  const [algorithm] = args;
  if (method === 'generateKey') ms += generateMs(algorithm);
  if (method === 'deriveBits') ms += deriveMs(algorithm, numberOf(args[2]));
  if (method === 'deriveKey') ms += deriveMs(algorithm, numberOf(member(args[2], 'length'), DERIVED_KEY_BITS));
  return ms;
}

/** Bytes outside of the heap that the key made by a call holds. */
export function keyBytes(args: readonly unknown[], byteLength: number): number {
  const bits = args.map(arg => numberOf(member(arg, 'length'))).reduce((most, length) => Math.max(most, length), 0);
  return KEY_OVERHEAD_BYTES + byteLength + bits / 8;
}

/** One use of a key, as the most expensive operation that it can do. */
function keyMs({ algorithm, type }: webcrypto.CryptoKey): number {
  const name = algorithm.name.toUpperCase();
  if (name.startsWith('RSA')) {
    const privateMs = RSA_1024_PRIVATE_MS * (numberOf(member(algorithm, 'modulusLength')) / 1024) ** 3;
    if (type === 'private') return privateMs;
    const exponent = member(algorithm, 'publicExponent');
    // A public exponent as long as the modulus costs more than the private one, for which there are short cuts.
    return exponent instanceof Uint8Array && exponent.length > 8 ? 4 * privateMs : privateMs / 10;
  }
  return type === 'secret' ? 0 : curveMs(name, algorithm);
}

function generateMs(algorithm: unknown): number {
  const name = nameOf(algorithm);
  if (name.startsWith('RSA')) {
    return RSA_2048_GENERATE_MS * (numberOf(member(algorithm, 'modulusLength')) / 2048) ** 4;
  }
  const isSecret = name.startsWith('AES') || name === 'HMAC' || name === 'CHACHA20-POLY1305';
  return isSecret ? 0 : curveMs(name, algorithm);
}

function curveMs(name: string, algorithm: unknown): number {
  const curve = member(algorithm, 'namedCurve');
  return CURVE_MS[typeof curve === 'string' ? curve.toUpperCase() : name] ?? OTHER_PAIR_MS;
}

function deriveMs(algorithm: unknown, bits: number): number {
  const name = nameOf(algorithm);
  const hash = nameOf(member(algorithm, 'hash'));
  const blocks = Math.max(1, Math.ceil(bits / (HASH_BITS[hash] ?? 160)));
  if (name === 'PBKDF2') {
    const iterationMs = hash === 'SHA-1' || hash === 'SHA-256' ? PBKDF2_ITERATION_MS : PBKDF2_LONG_ITERATION_MS;
    // The salt is hashed once for each block.
    return (
      blocks * (numberOf(member(algorithm, 'iterations')) * iterationMs + lengthOf(algorithm, 'salt') / BYTES_PER_MS)
    );
  }
  if (name === 'HKDF') return blocks * (HKDF_BLOCK_MS + lengthOf(algorithm, 'info') / BYTES_PER_MS);
  if (name.startsWith('ARGON2')) {
    return numberOf(member(algorithm, 'memory')) * numberOf(member(algorithm, 'passes'), 1) * ARGON2_BLOCK_MS;
  }
  return 0; // the key's own cost
}

const HASH_BITS: { readonly [name: string]: number | undefined } = {
  'SHA-1': 160,
  'SHA-256': 256,
  'SHA-384': 384,
  'SHA-512': 512,
};

/** An algorithm is its name, or an object that has it. */
function nameOf(algorithm: unknown): string {
  const name = typeof algorithm === 'string' ? algorithm : member(algorithm, 'name');
  return typeof name === 'string' ? name.toUpperCase() : '';
}

/** Decoded arguments are plain data of the host realm, and keys, which have no members that are asked for. */
function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function numberOf(value: unknown, otherwise = 0): number {
  return typeof value === 'number' && value > 0 ? value : otherwise;
}

function lengthOf(algorithm: unknown, name: string): number {
  const bytes = member(algorithm, name);
  return bytes instanceof Uint8Array ? bytes.length : 0;
}

export function isCryptoKey(value: unknown): value is webcrypto.CryptoKey {
  return types.isCryptoKey(value);
}
