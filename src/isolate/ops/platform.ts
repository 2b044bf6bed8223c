/** The ops of the web platform, all of them. */
import { base64Ops } from './base64.js';
import { compressionOps } from './compression.js';
import { cryptoOps } from './crypto.js';
import { detachOps } from './detach.js';
import { digestOps } from './digest.js';
import { encodingOps } from './encoding.js';
import type { OpContext, OpSet } from './op-set.js';
import { stackOps } from './stacks.js';
import { subtleOps } from './subtle.js';
import { urlOps } from './url.js';

export function platformOps(context: OpContext): readonly OpSet[] {
  return [
    base64Ops,
    compressionOps(context),
    cryptoOps(context),
    detachOps(),
    digestOps(context),
    encodingOps(),
    stackOps(place => context.placeOf(place)),
    subtleOps(context),
    urlOps,
  ];
}
