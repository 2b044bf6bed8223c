/** The ops of the web platform, all of them. */

import type { OpContext, OpSet } from './op-set.js';
import { base64Ops } from './web/base64.js';
import { compressionOps } from './web/compression.js';
import { cryptoOps } from './web/crypto.js';
import { detachOps } from './web/detach.js';
import { digestOps } from './web/digest.js';
import { encodingOps } from './web/encoding.js';
import { stackOps } from './web/stacks.js';
import { subtleOps } from './web/subtle.js';
import { urlOps } from './web/url.js';

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
