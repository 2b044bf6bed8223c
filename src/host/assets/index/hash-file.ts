/** The tag of a file: a hash of its content, made by threads of the host, in pieces, with the account's turn before each. */
import { createHash, webcrypto } from 'node:crypto';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { threadQueue } from '../../../quotas/host/threads.js';
import type { AssetEntry } from './asset-entry.js';
import { readChunk } from './read-asset.js';

const PIECE_BYTES = 1024 * 1024;
/** Shorter pieces are hashed at once, in at most 0.1 ms: a folder may have 20,000 of them, and a thread is a detour for each. */
const SYNC_BYTES = 32 * 1024;
const TAG_BYTES = 16;
const DIGEST_BYTES = 32;

/**
 * 32 hexadecimal digits: of the SHA-256 of the content or, where that is longer than a piece, of the hashes of its pieces. Rejects as `readChunk` does.
 */
export async function hashFile(root: string, entry: AssetEntry, share: HostShare): Promise<string> {
  const digests: Buffer[] = [];
  for (let at = 0; at < entry.bytes || at === 0; at += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, entry.bytes - at);
    const turn = share.turn();
    if (turn !== undefined) await turn;
    share.bytes.countBuffers(length);
    try {
      digests.push(await digest(length === 0 ? EMPTY : await readChunk({ root, share }, entry, at, length), share));
    } finally {
      share.bytes.countBuffers(-length);
    }
  }
  const [first = EMPTY] = digests;
  const whole =
    digests.length === 1 ? first : await digest(Buffer.concat(digests, digests.length * DIGEST_BYTES), share);
  return whole.subarray(0, TAG_BYTES).toString('hex');
}

const EMPTY = Buffer.alloc(0);

async function digest(bytes: Buffer, share: HostShare): Promise<Buffer> {
  const costMs = costOf(bytes.length, HOST_COSTS.hashedMbMs);
  share.charge(costMs);
  if (bytes.length <= SYNC_BYTES) return createHash('sha256').update(bytes).digest();
  return Buffer.from(await threadQueue.run(share, costMs, () => webcrypto.subtle.digest('SHA-256', bytes)));
}
