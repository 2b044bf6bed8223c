/** The ops of the web platform, all of them. */
import type { OpContext, OpSet } from './op-set.js';

export function platformOps(_context: OpContext): readonly OpSet[] {
  return [];
}
