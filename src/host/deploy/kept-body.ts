/**
 * The modules of a function on the host's side: the bytes as they are while an isolate has the function, compressed while none has. A host with
 * ten thousand functions of which few run keeps a third of their text.
 */
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, inflateRawSync } from 'node:zlib';
import { detached } from '../../quotas/guarded.js';
import { costOf } from '../../quotas/host/host-costs.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { threadQueue } from '../../quotas/host/threads.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';

/** Shorter ones would save less than the record of their compression takes. */
const MIN_BYTES = 1024;
/** Up to this length it is quicker to decompress at once than to ask a thread: 0.1 ms for 20 KB. */
const SYNC_BYTES = 64 * 1024;
/** CPU milliseconds for a megabyte of script (measured, Node 20.20). */
const COMPRESSED_MB_MS = 30;
const DECOMPRESSED_MB_MS = 5;

const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);

export class KeptBody {
  readonly #share: Pick<HostShare, 'charge'>;
  readonly #length: number;
  #bytes: Uint8Array | undefined;
  #packed: Buffer | undefined;
  /** The number of users that have the bytes now. */
  #users = 0;
  #isPacking = false;

  /** @param share of the account, which pays for compression */
  constructor(bytes: Uint8Array, share: Pick<HostShare, 'charge'>) {
    this.#bytes = bytes;
    this.#length = bytes.length;
    this.#share = share;
  }

  /** Bytes that are held. */
  get heldBytes(): number {
    return (this.#bytes?.length ?? 0) + (this.#packed?.length ?? 0);
  }

  /** The bytes, for a caller that calls {@link release} once. */
  async use(): Promise<Uint8Array> {
    this.#users++;
    const packed = this.#packed;
    if (this.#bytes !== undefined || packed === undefined) return this.#bytes ?? NO_BYTES;
    this.#share.charge(costOf(this.#length, DECOMPRESSED_MB_MS));
    const bytes =
      this.#length <= SYNC_BYTES
        ? inflateRawSync(packed)
        : await threadQueue.run(this.#share, costOf(this.#length, DECOMPRESSED_MB_MS), () => decompress(packed));
    this.#bytes = bytes;
    return bytes;
  }

  /** Nobody may need the bytes any more: they are compressed in the background. */
  release(): void {
    this.#users--;
    if (this.#users > 0 || this.#bytes === undefined) return;
    if (this.#packed !== undefined) this.#bytes = undefined;
    else if (this.#length >= MIN_BYTES && !this.#isPacking) detached(this.#pack(this.#bytes));
  }

  async #pack(bytes: Uint8Array): Promise<void> {
    this.#isPacking = true;
    try {
      const costMs = costOf(this.#length, COMPRESSED_MB_MS);
      this.#share.charge(costMs);
      const packed = await threadQueue.run(this.#share, costMs, () => compress(bytes));
      // A copy: the result is a part of a larger buffer.
      if (packed.length < bytes.length) this.#packed = Buffer.from(packed);
      if (this.#packed !== undefined && this.#users <= 0) this.#bytes = undefined;
    } catch {
      // The account has too many tasks waiting: the bytes stay as they are, until the next time.
    } finally {
      this.#isPacking = false;
    }
  }
}
