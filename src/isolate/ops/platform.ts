/** The ops of the web platform and of Node's modules, all of them. */

import type { webcrypto } from 'node:crypto';
import { Handles } from './handles.js';
import { nodeCryptoOps } from './node/crypto/node-crypto.js';
import { nodeZlibOps } from './node/zlib/node-zlib.js';
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

const MAX_CRYPTO_KEYS = 50_000;

export function platformOps(context: OpContext): readonly OpSet[] {
  const cryptoKeys = new Handles<webcrypto.CryptoKey>('CryptoKey', MAX_CRYPTO_KEYS, bytes => context.hold(bytes));
  return [
    base64Ops,
    compressionOps(context),
    cryptoOps(context),
    detachOps(),
    digestOps(context),
    encodingOps(),
    nodeCryptoOps(context, cryptoKeys),
    nodeZlibOps(context),
    stackOps(place => context.placeOf(place)),
    subtleOps(context, cryptoKeys),
    urlOps,
  ];
}
