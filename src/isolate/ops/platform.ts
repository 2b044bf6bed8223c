/** The ops of the web platform, all of them. */
import { base64Ops } from './base64.js';
import { cryptoOps } from './crypto.js';
import { detachOps } from './detach.js';
import { encodingOps } from './encoding.js';
import type { OpContext, OpSet } from './op-set.js';
import { stackOps } from './stacks.js';
import { urlOps } from './url.js';

export function platformOps(_context: OpContext): readonly OpSet[] {
  return [base64Ops, cryptoOps, detachOps(), encodingOps(), stackOps(), urlOps];
}
