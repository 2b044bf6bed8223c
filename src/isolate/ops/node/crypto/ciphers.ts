/** Ciphers: block and stream ciphers, and encryption with a key pair. */
import crypto from 'node:crypto';
import { OpError } from '../../arguments.js';
import { checkKey } from './key-bounds.js';
import {
  type Cipher,
  type CryptoMethod,
  type Decipher,
  type MethodTable,
  memberOf,
  numberIn,
  textIn,
} from './method.js';
import { nodeFunction } from './node-function.js';

/** The modes that authenticate. */
const SEALING_MODES: readonly unknown[] = ['ccm', 'gcm', 'ocb'];
const TAG_BYTES = 16;

function isSealing(algorithm: string): boolean {
  return (
    algorithm.toLowerCase() === 'chacha20-poly1305' || SEALING_MODES.includes(crypto.getCipherInfo(algorithm)?.mode)
  );
}

/** The answer has the length of the tag that encryption ends with, 0 for modes without a tag. */
function opened(name: 'createCipheriv' | 'createDecipheriv'): CryptoMethod {
  return ([algorithm, key, iv, options], call) => {
    const authTagLength = memberOf(options, 'authTagLength');
    const given = authTagLength === undefined ? undefined : { authTagLength };
    const value = nodeFunction(name)(algorithm, key, iv, given) as Cipher | Decipher; // what both return
    const tagLength =
      name === 'createCipheriv' && isSealing(textIn(algorithm)) ? numberIn(authTagLength, TAG_BYTES) : 0;
    return { id: call.keep({ kind: 'cipher', value, tagLength }), tagLength };
  };
}

/** A method that only some ciphers have, on an object that the call names. */
function method(name: string): CryptoMethod {
  return ([id, ...args], call) => {
    const cipher = call.kept(id, 'cipher');
    const found: unknown = Reflect.get(cipher, name);
    if (typeof found !== 'function') throw new OpError('TypeError', `The cipher has no method ${name}()`);
    const result: unknown = Reflect.apply(found, cipher, args);
    return result === cipher ? undefined : result;
  };
}

function withKeyPair(name: string): CryptoMethod {
  return ([key, data]) => {
    checkKey(key);
    return nodeFunction(name)(key, data);
  };
}

export const cipherMethods: MethodTable = {
  createCipheriv: opened('createCipheriv'),
  createDecipheriv: opened('createDecipheriv'),
  setAutoPadding: method('setAutoPadding'),
  setAuthTag: method('setAuthTag'),
  setAAD: method('setAAD'),
  publicEncrypt: withKeyPair('publicEncrypt'),
  publicDecrypt: withKeyPair('publicDecrypt'),
  privateEncrypt: withKeyPair('privateEncrypt'),
  privateDecrypt: withKeyPair('privateDecrypt'),
};
