/** crypto.randomUUID; random bytes are in basics.ts. */
import { randomUUID } from 'node:crypto';
import type { OpSet } from './op-set.js';
import { Op } from './table.js';

export const cryptoOps: OpSet = {
  [Op.RandomUuid]: () => randomUUID(),
};
