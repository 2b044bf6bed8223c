/** Keys as functions of node:crypto take them. */
import { isBufferSource } from '../../web/base/buffers.ts';
import { isCryptoKey } from '../../web/crypto/crypto-key.ts';
import { Buffer } from '../buffer/buffer.ts';
import { invalidArgType } from '../errors.ts';
import { isKeyObject } from './key-object.ts';

const KEYS = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'KeyObject', 'CryptoKey'];

/** A secret: bytes, a text of UTF-8, or a key object. */
export function keyArgument(key: unknown, name: string): unknown {
  if (isKeyObject(key) || isCryptoKey(key)) return key;
  if (typeof key === 'string') return Buffer.from(key, 'utf8');
  if (isBufferSource(key)) return key;
  throw invalidArgType(name, KEYS, key);
}

/** The key of a pair, which may come with options. Node checks the rest. */
export function pairArgument(key: unknown): unknown {
  if (typeof key === 'string' || isBufferSource(key) || isKeyObject(key) || isCryptoKey(key)) return key;
  if (typeof key === 'object' && key !== null) return key;
  throw invalidArgType('key', KEYS, key);
}
