/** Generated keys and prime numbers. */
import { isBufferSource } from '../../web/base/buffers.ts';
import { checkFunction, checkInteger, checkObject, checkString, invalidArgType } from '../errors.ts';
import { callBack } from './bytes.ts';
import { call, callAsync } from './calls.ts';

interface Pair {
  readonly publicKey: unknown;
  readonly privateKey: unknown;
}

export function generateKeyPairSync(type: unknown, options?: unknown): unknown {
  checkString(type, 'type');
  return call('generateKeyPairSync', type, options);
}

export function generateKeyPair(type: unknown, options: unknown, callback?: unknown): void {
  const [given, done] = typeof options === 'function' ? [undefined, options] : [options, callback];
  checkString(type, 'type');
  checkFunction(done, 'callback');
  const spread = ({ publicKey, privateKey }: Pair): readonly unknown[] => [publicKey, privateKey];
  callBack(done as never, pair(type, given), spread); // as checked
}

/** `util.promisify()` answers the promise of both keys. */
function pair(type: unknown, options: unknown): Promise<unknown> {
  return callAsync('generateKeyPair', type, options ?? {});
}

Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), { value: pair, configurable: true });

export function generateKeySync(type: unknown, options: unknown): unknown {
  checkString(type, 'type');
  checkObject(options, 'options');
  return call('generateKeySync', type, options);
}

export function generateKey(type: unknown, options: unknown, callback: unknown): void {
  checkString(type, 'type');
  checkObject(options, 'options');
  checkFunction(callback, 'callback');
  callBack(callback as never, callAsync('generateKey', type, options)); // as checked
}

const MOST = 2 ** 31 - 1;

export function generatePrimeSync(size: unknown, options: unknown = {}): unknown {
  checkInteger(size, 'size', 1, MOST);
  checkObject(options, 'options');
  return prime(call('generatePrimeSync', size, options));
}

export function generatePrime(size: unknown, options: unknown, callback?: unknown): void {
  const [given, done] = typeof options === 'function' ? [{}, options] : [options, callback];
  checkInteger(size, 'size', 1, MOST);
  checkObject(given, 'options');
  checkFunction(done, 'callback');
  callBack(done as never, callAsync('generatePrime', size, given).then(prime)); // as checked
}

/** Bytes come as an ArrayBuffer. */
function prime(value: unknown): unknown {
  return value instanceof Uint8Array ? Uint8Array.from(value).buffer : value;
}

function checkCandidate(candidate: unknown): void {
  if (typeof candidate === 'bigint' || isBufferSource(candidate)) return;
  throw invalidArgType('candidate', ['ArrayBuffer', 'TypedArray', 'Buffer', 'DataView', 'bigint'], candidate);
}

export function checkPrimeSync(candidate: unknown, options: unknown = {}): unknown {
  checkCandidate(candidate);
  checkObject(options, 'options');
  return call('checkPrimeSync', candidate, options);
}

export function checkPrime(candidate: unknown, options: unknown, callback?: unknown): void {
  const [given, done] = typeof options === 'function' ? [{}, options] : [options, callback];
  checkCandidate(candidate);
  checkObject(given, 'options');
  checkFunction(done, 'callback');
  callBack(done as never, callAsync('checkPrime', candidate, given)); // as checked
}
