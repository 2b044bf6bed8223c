/** crypto.randomUUID; random bytes are in basics.ts. */
import { randomUUID } from 'node:crypto';
import { OpError } from '../arguments.js';
import type { OpContext, OpSet } from '../op-set.js';
import { Op } from '../table.js';

export function cryptoOps(context: OpContext): OpSet {
  return {
    [Op.RandomUuid]: () => {
      if (context.currentInvocation() === 0) {
        throw new OpError(
          'Error',
          'A random UUID cannot be made in the global scope; make it while a request is being handled',
        );
      }
      return randomUUID();
    },
  };
}
