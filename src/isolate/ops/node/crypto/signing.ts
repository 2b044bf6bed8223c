/** Signatures and MACs with keys, in one call or piece by piece. */
import crypto from 'node:crypto';
import { checkKey } from './key-bounds.js';
import { type MethodTable, textIn } from './method.js';
import { nodeFunction } from './node-function.js';

export const signingMethods: MethodTable = {
  createSign: ([algorithm], call) => call.keep({ kind: 'sign', value: crypto.createSign(textIn(algorithm)) }),
  createVerify: ([algorithm], call) => call.keep({ kind: 'verify', value: crypto.createVerify(textIn(algorithm)) }),
  finishSign: ([id, key], call) => {
    checkKey(key);
    const sign = call.kept(id, 'sign');
    return Reflect.apply(sign.sign, sign, [key]);
  },
  finishVerify: ([id, key, signature], call) => {
    checkKey(key);
    const verify = call.kept(id, 'verify');
    return Reflect.apply(verify.verify, verify, [key, signature]);
  },
  sign: ([algorithm, data, key]) => {
    checkKey(key);
    return nodeFunction('sign')(algorithm, data, key);
  },
  verify: ([algorithm, data, key, signature]) => {
    checkKey(key);
    return nodeFunction('verify')(algorithm, data, key, signature);
  },
};
