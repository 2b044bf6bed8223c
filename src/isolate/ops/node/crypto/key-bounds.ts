/**
 * Bounds of keys that a function brings along, before Node reads them. An encrypted key names the iterations of its own derivation, and a key of RSA its
 * length. Either can ask for minutes of a thread that nobody can interrupt.
 */
import { KeyObject } from 'node:crypto';
import { OpError } from '../../arguments.js';
import { memberOf, outOfRange } from './method.js';

export const MAX_MODULUS_BITS = 8192;
export const MAX_ITERATIONS = 1_000_000;
const MAX_KEY_BYTES = 256 * 1024;
const MAX_PRODUCT = 64 * MAX_ITERATIONS;

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const INDEFINITE = 0x80;

/** A key as node:crypto takes it: a text, bytes, a KeyObject, or an object with a member `key`. */
export function checkKey(given: unknown): void {
  const isWrapped =
    !(given instanceof KeyObject) && !(given instanceof Uint8Array) && memberOf(given, 'key') !== undefined;
  const key = isWrapped ? memberOf(given, 'key') : given;
  if (key instanceof KeyObject) {
    checkDetails(key);
    return;
  }
  const length = typeof key === 'string' || key instanceof Uint8Array ? key.length : 0;
  if (length > MAX_KEY_BYTES) throw outOfRange('key', `at most ${MAX_KEY_BYTES} bytes in a function`, length);
  const modulus = memberOf(key, 'n');
  if (typeof modulus === 'string' && modulus.length * 6 > MAX_MODULUS_BITS + 64) {
    throw outOfRange('key.n', `at most ${MAX_MODULUS_BITS} bits in a function`, modulus.length * 6);
  }
  if (typeof key === 'string') checkPem(key);
  else if (key instanceof Uint8Array) {
    checkEncrypted(key);
    const text = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
    if (text.includes('-----BEGIN')) checkPem(text);
  }
}

export function checkDetails(key: KeyObject): void {
  if (key.type === 'secret') return;
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits > MAX_MODULUS_BITS) {
    throw outOfRange('modulusLength', `at most ${MAX_MODULUS_BITS} in a function`, bits);
  }
}

function checkPem(text: string): void {
  for (const [, body = ''] of text.matchAll(/-----BEGIN ENCRYPTED PRIVATE KEY-----([\s\S]*?)(?:-----END|$)/g)) {
    checkEncrypted(Buffer.from(body, 'base64'));
  }
}

/** EncryptedPrivateKeyInfo: an algorithm and an octet string. @see https://www.rfc-editor.org/rfc/rfc5958#section-3 */
function checkEncrypted(der: Uint8Array): void {
  if (der[0] !== SEQUENCE) return;
  const outer = elementAt(der, 0);
  if (der[outer.start] !== SEQUENCE) return;
  const algorithm = elementAt(der, outer.start);
  // A public key has a bit string in its place, and may have long integers in its algorithm.
  if (der[algorithm.end] === BIT_STRING) return;
  let product = 1;
  for (const value of integersIn(der, algorithm.start, algorithm.end, 0)) {
    if (value > MAX_ITERATIONS) {
      throw outOfRange('key', `encrypted with at most ${MAX_ITERATIONS} iterations in a function`, value);
    }
    product *= Math.max(1, value);
  }
  // PBKDF2 has iterations and a length of at most 64, and scrypt N, r, p and a length.
  if (product > MAX_PRODUCT) {
    throw outOfRange('key', 'encrypted with less memory and fewer iterations in a function', product);
  }
}

function integersIn(der: Uint8Array, from: number, to: number, depth: number): number[] {
  const found: number[] = [];
  for (let at = from; at < to && found.length < 16; ) {
    const element = elementAt(der, at);
    if (element.tag === SEQUENCE && depth < 6) found.push(...integersIn(der, element.start, element.end, depth + 1));
    else if (element.tag === INTEGER) found.push(integerOf(der, element.start, element.end));
    at = element.end;
  }
  return found;
}

function integerOf(der: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 256 + (der[at] ?? 0);
  return value;
}

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/** @throws OpError for lengths that DER does not have: OpenSSL would read them, and the iterations behind them would not be seen here */
function elementAt(der: Uint8Array, at: number): Element {
  const tag = der[at] ?? 0;
  const first = der[at + 1] ?? INDEFINITE;
  if (first < INDEFINITE) return { tag, start: at + 2, end: at + 2 + first };
  const count = first & 0x7f;
  if (count === 0 || count > 4) {
    throw new OpError(
      'Error',
      'The key is not in the encoding DER: it has an element without a length',
      'ERR_INVALID_ARG_VALUE',
    );
  }
  const start = at + 2 + count;
  return { tag, start, end: start + integerOf(der, at + 2, start) };
}
