/**
 * SubtleCrypto over Node's own. The keys stay here: the guest has their numbers. An operation comes as JSON in which bytes are
 * ranges of one copied array, and keys are numbers; see guest/web/crypto/subtle-arguments.ts for the other end.
 */
import { createHash, webcrypto } from 'node:crypto';
import { checkedText, copyIn, OpError, withoutNegativeZero } from '../arguments.js';
import type { Handles } from '../handles.js';
import type { OpContext, OpSet } from '../op-set.js';
import { Op } from '../table.js';
import { cryptoCostMs, isCryptoKey, keyBytes } from './crypto-cost.js';

const { subtle } = webcrypto;

const MAX_JSON = 1024 * 1024;
const MAX_BYTES = 0x7fff_ffff;
/** A single operation that costs more is always refused, because it cannot be stopped once it has begun. */
const MAX_OPERATION_MS = 60_000;
/** The deepest nesting of objects: an algorithm, its hash, a key's algorithm. */
const MAX_DEPTH = 4;

/** Members of algorithms, and the most that they may be. `memory` is in KiB, `length` and `outputLength` in bits. */
const MOST: { readonly [member: string]: number | undefined } = {
  iterations: 1_000_000,
  length: 8 * 1024 * 1024,
  memory: 65_536,
  modulusLength: 8192,
  outputLength: 8 * 1024 * 1024,
  parallelism: 16,
  passes: 64,
};

function checkAmount(member: string, value: unknown): void {
  const most = Object.hasOwn(MOST, member) ? MOST[member] : undefined;
  if (most === undefined || typeof value !== 'number' || value <= most) return;
  throw new OpError('OperationError', `The ${member} is ${value}, at most ${most} is allowed`);
}

type Settled = number | string | undefined | Uint8Array;

/** The methods of SubtleCrypto that the guest may name; each takes what the standard says and is checked by Node. */
const METHODS: ReadonlySet<string> = new Set([
  'decapsulateBits',
  'decapsulateKey',
  'decrypt',
  'deriveBits',
  'deriveKey',
  'digest',
  'encapsulateBits',
  'encapsulateKey',
  'encrypt',
  'exportKey',
  'generateKey',
  'getPublicKey',
  'importKey',
  'sign',
  'unwrapKey',
  'verify',
  'wrapKey',
]);

export function subtleOps(context: OpContext, keys: Handles<webcrypto.CryptoKey>): OpSet {
  function decode(value: unknown, bytes: Uint8Array, depth: number): unknown {
    if (typeof value === 'number') return withoutNegativeZero(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) throw new OpError('DataError', 'The argument is nested too deep');
    if (Array.isArray(value)) return value.map(item => decode(item, bytes, depth + 1));
    if ('k' in value) return keys.get(value.k);
    if ('b' in value && Array.isArray(value.b)) {
      const [start, length]: unknown[] = value.b;
      return bytes.subarray(Number(start), Number(start) + Number(length));
    }
    if ('n' in value) return Number(value.n);
    if ('u' in value) return undefined;
    // Stands for an unusable value, so that Node reports the mistake.
    if ('x' in value) return {};
    // The function chooses the names: `__proto__` would set the prototype of a plain object.
    const members: { [name: string]: unknown } = Object.create(null);
    if ('o' in value && typeof value.o === 'object' && value.o !== null) {
      for (const [name, member] of Object.entries(value.o)) {
        checkAmount(name, member);
        members[name] = decode(member, bytes, depth + 1);
      }
    }
    return members;
  }

  function describeKey(key: webcrypto.CryptoKey, token: unknown, bytes: number): object {
    const { type, extractable, usages } = key;
    return { id: keys.add(key, token, bytes), type, extractable, usages, algorithm: describeAlgorithm(key.algorithm) };
  }

  function encode(result: unknown, token: unknown, bytes: number): Settled {
    if (typeof result === 'boolean') return result ? 1 : 0;
    if (result instanceof ArrayBuffer) return new Uint8Array(result);
    if (isCryptoKey(result)) return JSON.stringify({ key: describeKey(result, token, bytes) });
    if (typeof result !== 'object' || result === null) return undefined;
    if ('publicKey' in result && isCryptoKey(result.publicKey)) {
      const pair = { publicKey: describeKey(result.publicKey, token, bytes), privateKey: {} };
      if ('privateKey' in result && isCryptoKey(result.privateKey)) {
        pair.privateKey = describeKey(result.privateKey, token, bytes);
      }
      return JSON.stringify({ pair });
    }
    return JSON.stringify({ jwk: result });
  }

  async function run(method: string, args: readonly unknown[], token: unknown, bytes: number): Promise<Settled> {
    const implementation: unknown = Reflect.get(subtle, method);
    if (!METHODS.has(method) || typeof implementation !== 'function') {
      throw new OpError('NotSupportedError', `crypto.subtle.${method} is not supported`);
    }
    try {
      return encode(await Reflect.apply(implementation, subtle, args), token, bytes);
    } catch (error) {
      throw toOpError(error);
    }
  }

  return {
    [Op.CryptoOp]: (method, json, bytes, token) => {
      const name = checkedText(method, 32);
      const given: unknown = JSON.parse(checkedText(json, MAX_JSON));
      const copy = bytes === undefined ? new Uint8Array(0) : copyIn(bytes, MAX_BYTES);
      if (!Array.isArray(given)) throw new OpError('DataError', 'The arguments are not a list');
      if (name === 'deriveBits') checkAmount('length', given[2]);
      const args = given.map(value => decode(value, copy, 0));
      const data = name === 'digest' && isMd5(args[0]) ? args[1] : undefined;
      // Computed in this thread, whose time the clock of the isolate shows.
      if (data instanceof Uint8Array) return context.begin(Promise.resolve(createHash('md5').update(data).digest()));
      const costMs = cryptoCostMs(name, args, copy.length);
      if (costMs > MAX_OPERATION_MS) {
        throw new OpError(
          'OperationError',
          `The operation would take about ${Math.round(costMs / 1000)} s of CPU time`,
        );
      }
      context.charge(costMs);
      return context.begin(run(name, args, token, keyBytes(args, copy.length)));
    },
  };
}

/** MD5 is no digest of the standard, but of the hosted platform. */
function isMd5(algorithm: unknown): boolean {
  const name = typeof algorithm === 'object' && algorithm !== null && 'name' in algorithm ? algorithm.name : algorithm;
  return typeof name === 'string' && name.toUpperCase() === 'MD5';
}

/** Numbers and strings, `hash`, and `publicExponent` as a list of its bytes. */
function describeAlgorithm(algorithm: object): object {
  const described: { [name: string]: unknown } = {};
  for (const [name, value] of Object.entries(algorithm)) {
    if (value instanceof Uint8Array) described[name] = [...value];
    else if (typeof value === 'object' && value !== null) described[name] = describeAlgorithm(value);
    else described[name] = value;
  }
  return described;
}

/** Node's messages about arguments are useful to the function's author; no other part of the error crosses to the guest. */
function toOpError(error: unknown): OpError {
  if (error instanceof OpError) return error;
  if (error instanceof DOMException) return new OpError(error.name, oneLine(error.message));
  if (error instanceof TypeError) return new OpError('TypeError', oneLine(error.message));
  return new OpError('OperationError', 'The operation failed for an operation-specific reason');
}

function oneLine(message: string): string {
  return message.replaceAll('\n', ' ').slice(0, 500);
}
