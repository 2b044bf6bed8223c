/** Hashes, HMAC, comparison and the lists of algorithms. */
import crypto from 'node:crypto';
import { type CryptoMethod, checkMost, type MethodTable, memberOf, textIn } from './method.js';
import { nodeFunction } from './node-function.js';

/** The output of functions such as SHAKE is as long as the caller asks for. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

const createHash: CryptoMethod = ([algorithm, options], call) => {
  const outputLength = memberOf(options, 'outputLength');
  checkMost('outputLength', outputLength, MAX_OUTPUT_BYTES);
  const given = outputLength === undefined ? undefined : { outputLength: Number(outputLength) };
  return call.keep({ kind: 'hash', value: crypto.createHash(textIn(algorithm), given) });
};

export const hashMethods: MethodTable = {
  createHash,
  createHmac: ([algorithm, key], call) => {
    const value = nodeFunction('createHmac')(algorithm, key) as crypto.Hmac; // what it returns
    return call.keep({ kind: 'hash', value });
  },
  copyHash: ([id, options], call) => {
    const outputLength = memberOf(options, 'outputLength');
    checkMost('outputLength', outputLength, MAX_OUTPUT_BYTES);
    const hash = call.kept(id, 'hash');
    if (!('copy' in hash)) throw new TypeError('The object is not a hash');
    const given = outputLength === undefined ? undefined : { outputLength: Number(outputLength) };
    return call.keep({ kind: 'hash', value: hash.copy(given) });
  },
  getHashes: () => crypto.getHashes(),
  getCiphers: () => crypto.getCiphers(),
  getCurves: () => crypto.getCurves(),
  getFips: () => crypto.getFips(),
  getCipherInfo: args => nodeFunction('getCipherInfo')(...args),
};
