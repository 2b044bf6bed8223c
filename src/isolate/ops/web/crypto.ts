/** crypto.randomUUID; random bytes are in basics.ts. */
import { randomUUID } from 'node:crypto';
import { OpError } from '../arguments.js';
import type { OpContext, OpSet } from '../op-set.js';
import type { RandomSource } from '../random-source.js';
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
      return context.keyedRandom === undefined ? randomUUID() : uuidOf(context.keyedRandom);
    },
  };
}

/** @see https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-4 */
function uuidOf(random: RandomSource): string {
  const bytes = Buffer.alloc(16);
  random(bytes);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => hex.slice(from, to))
    .join('-');
}
