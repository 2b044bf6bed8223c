/** Incremental digests, for DigestStream, and comparison in constant time. */
import { createHash, type Hash, timingSafeEqual } from 'node:crypto';
import { checkedText, copyIn, OpError } from '../arguments.js';
import { Handles } from '../handles.js';
import type { OpContext, OpSet } from '../op-set.js';
import { Op } from '../table.js';

const MAX_BYTES = 0x7fff_ffff;
const MAX_OPEN = 1000;

const ALGORITHMS: { readonly [name: string]: string | undefined } = {
  MD5: 'md5',
  'SHA-1': 'sha1',
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
};

export function digestOps(context: OpContext): OpSet {
  const hashes = new Handles<Hash>('digest', MAX_OPEN);
  return {
    [Op.DigestOpen]: (name, token) => {
      const text = checkedText(name, 64).toUpperCase();
      const algorithm = Object.hasOwn(ALGORITHMS, text) ? ALGORITHMS[text] : undefined;
      if (algorithm === undefined) {
        throw new OpError(
          'NotSupportedError',
          `A digest "${text}" is not supported; there are ${Object.keys(ALGORITHMS).join(', ')}`,
        );
      }
      return hashes.add(createHash(algorithm), token);
    },
    [Op.DigestUpdate]: (id, bytes) => {
      hashes.get(id).update(copyIn(bytes, MAX_BYTES));
      return undefined;
    },
    [Op.DigestFinish]: id => {
      const hash = hashes.get(id);
      hashes.delete(id);
      return context.leaveBytes(hash.digest());
    },
    [Op.DigestClose]: id => {
      hashes.delete(id);
      return undefined;
    },
    [Op.TimingSafeEqual]: (a, b) => {
      const first = copyIn(a, MAX_BYTES);
      const second = copyIn(b, MAX_BYTES);
      if (first.length !== second.length) throw new OpError('TypeError', 'The two byte arrays differ in length');
      return timingSafeEqual(first, second) ? 1 : 0;
    },
  };
}
