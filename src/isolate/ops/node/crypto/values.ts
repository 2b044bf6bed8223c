/**
 * Arguments and results of node:crypto between the realms. Arguments are JSON in which bytes are ranges of one copied array, and keys are numbers. A result is
 * bytes, or JSON with bytes in Base64 and descriptions of keys. See src/guest/node/crypto/calls.ts for the other end.
 */
import { KeyObject, type webcrypto } from 'node:crypto';
import { OpError, withoutNegativeZero } from '../../arguments.js';
import type { Handles } from '../../handles.js';

/** Options, the key in them, and its JWK or the encoding of a key. */
const MAX_DEPTH = 5;
/** Beside the bytes that made it. */
const KEY_BYTES = 2048;

export interface KeyTables {
  readonly keys: Handles<KeyObject>;
  readonly cryptoKeys: Handles<webcrypto.CryptoKey>;
}

export function decodeArguments(list: unknown, bytes: Uint8Array, tables: KeyTables): unknown[] {
  if (!Array.isArray(list)) throw new OpError('TypeError', 'The arguments are not a list');
  return list.map(value => decode(value, bytes, tables, 0));
}

function decode(value: unknown, bytes: Uint8Array, tables: KeyTables, depth: number): unknown {
  if (typeof value === 'number') return withoutNegativeZero(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw new OpError('TypeError', 'The argument is nested too deep');
  if (Array.isArray(value)) return value.map(item => decode(item, bytes, tables, depth + 1));
  if ('k' in value) return tables.keys.get(value.k);
  if ('c' in value) return tables.cryptoKeys.get(value.c);
  if ('b' in value && Array.isArray(value.b)) {
    const [start, length]: unknown[] = value.b;
    return bytes.subarray(Number(start), Number(start) + Number(length));
  }
  if ('n' in value) return withoutNegativeZero(Number(value.n));
  if ('i' in value) return BigInt(typeof value.i === 'string' ? value.i : 0);
  if ('u' in value) return undefined;
  // The function chooses the names: `__proto__` would set the prototype of a plain object.
  const members: { [name: string]: unknown } = Object.create(null);
  if ('o' in value && typeof value.o === 'object' && value.o !== null) {
    for (const [name, member] of Object.entries(value.o)) members[name] = decode(member, bytes, tables, depth + 1);
  }
  return members;
}

/** @param token lives as long as the guest's objects for the keys of the result */
export function encodeResult(result: unknown, tables: KeyTables, token: unknown): string {
  return JSON.stringify(encode(result, tables, token)) ?? 'null';
}

function encode(value: unknown, tables: KeyTables, token: unknown): unknown {
  if (typeof value === 'bigint') return { i: String(value) };
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return { b: Buffer.from(value).toString('base64') };
  if (value instanceof ArrayBuffer) return { b: Buffer.from(value).toString('base64') };
  if (value instanceof KeyObject) return { k: describeKey(value, tables, token) };
  if (Array.isArray(value)) return value.map(item => encode(item, tables, token));
  const members: { [name: string]: unknown } = Object.create(null);
  for (const [name, member] of Object.entries(value)) members[name] = encode(member, tables, token);
  return { o: members };
}

function describeKey(key: KeyObject, tables: KeyTables, token: unknown): object {
  const isSecret = key.type === 'secret';
  return {
    id: tables.keys.add(key, token, KEY_BYTES + (key.symmetricKeySize ?? 0)),
    type: key.type,
    size: key.symmetricKeySize,
    kind: isSecret ? undefined : key.asymmetricKeyType,
    details: isSecret ? undefined : encode(key.asymmetricKeyDetails, tables, undefined),
  };
}
