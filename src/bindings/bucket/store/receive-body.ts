import { createHash, type Hash } from 'node:crypto';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { heldByChunks } from '../../../quotas/host/chunk-bytes.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { BodyReservation } from '../../../storage/accounts/account-sum.js';
import type { BlobStore, BlobWriter } from '../../../storage/blobs/blob-store.js';
import type { ServiceBody } from '../../service.js';
import type { HashName, PutOptions, TransferChecksum } from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import { HASH_NAMES } from '../hash-names.js';
import { BUCKET_LIMITS, INLINE_BYTES } from '../limits.js';

/** A received body: small, or in a file that waits for its record. */
export interface ReceivedBody {
  readonly size: number;
  readonly md5: string;
  /** Computed for the given ones. Hex. */
  readonly hashes: Readonly<Partial<Record<HashName, string>>>;
  readonly transferChecksum: TransferChecksum | undefined;
  readonly content:
    | { readonly kind: 'small'; readonly bytes: Uint8Array }
    | { readonly kind: 'file'; readonly writer: BlobWriter };
}

/**
 * Reads a body, hashes it as it arrives and verifies the given hashes. A body above INLINE_BYTES goes to a file, in bounded memory. When it rejects,
 * nothing is left behind and the body is cancelled: 10037 (checksum), 100100 (too large), EDGE_STORAGE_QUOTA, the reason of `signal`, or the error of the body itself.
 */
export async function receiveBody(
  method: BucketMethod,
  body: ServiceBody,
  options: {
    readonly blobs: BlobStore;
    readonly hashes: Readonly<Partial<Record<HashName, string>>> | undefined;
    readonly transferChecksum: PutOptions['transferChecksum'];
    readonly signal: AbortSignal | undefined;
    /** Called before a body goes to a file: what its bytes are reserved with. The caller releases it. */
    readonly reserve?: () => Promise<BodyReservation>;
    readonly work: CallWork;
  },
): Promise<ReceivedBody> {
  const { signal } = options;
  signal?.throwIfAborted();
  const receiver = new BodyReceiver(method, options);
  if (body instanceof Uint8Array) {
    if (body.byteLength <= INLINE_BYTES) return receiver.small(body);
    return receiver.all(slices(body), signal);
  }
  return receiver.all(body, signal);
}

/** At this number small chunks are joined, because each costs memory beside its bytes. */
const MAX_CHUNKS = 512;

class BodyReceiver {
  readonly #method: BucketMethod;
  readonly #blobs: BlobStore;
  readonly #work: CallWork;
  readonly #expected: readonly (readonly [HashName, string])[];
  readonly #hashers: Map<HashName, Hash>;
  readonly #transferChecksum: PutOptions['transferChecksum'];
  readonly #reserve: Parameters<typeof receiveBody>[2]['reserve'];
  #reservation: BodyReservation | undefined;
  #size = 0;
  #small: Uint8Array[] = [];
  /** The bytes of `small` that have been counted. */
  #heldBytes = 0;
  #writer: BlobWriter | undefined;

  constructor(
    method: BucketMethod,
    options: Pick<Parameters<typeof receiveBody>[2], 'blobs' | 'hashes' | 'transferChecksum' | 'reserve' | 'work'>,
  ) {
    this.#method = method;
    this.#blobs = options.blobs;
    this.#work = options.work;
    this.#transferChecksum = options.transferChecksum;
    this.#reserve = options.reserve;
    const { hashes } = options;
    this.#expected = hashes === undefined ? [] : HASH_NAMES.flatMap(name => pair(name, hashes[name]));
    this.#hashers = new Map([['md5', createHash('md5')]]);
    for (const [name] of this.#expected) {
      if (name !== 'md5') this.#hashers.set(name, createHash(name));
    }
  }

  async small(bytes: Uint8Array): Promise<ReceivedBody> {
    this.#count(bytes);
    this.#hash(bytes);
    return await this.#received({ kind: 'small', bytes });
  }

  async all(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<ReceivedBody> {
    // An error that leaves the loop cancels the body.
    try {
      for await (const chunk of body) {
        signal?.throwIfAborted();
        this.#count(chunk);
        const wait = this.#writer === undefined ? this.#gather(chunk) : this.#writer.write(chunk);
        // The chunk is hashed while it is written.
        this.#hash(chunk);
        if (wait !== undefined) await wait;
        this.#work.charge(HOST_COSTS.chunkMs);
        const turn = this.#work.turn();
        if (turn !== undefined) await turn;
      }
      signal?.throwIfAborted();
      if (this.#writer === undefined) return await this.#received({ kind: 'small', bytes: Buffer.concat(this.#small) });
      await this.#writer.finish();
      return await this.#received({ kind: 'file', writer: this.#writer });
    } catch (error) {
      await this.#writer?.abandon();
      throw error;
    } finally {
      this.#hold(0);
    }
  }

  #gather(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#small.push(chunk) >= MAX_CHUNKS) this.#small = [Buffer.concat(this.#small)];
    this.#hold(heldByChunks(this.#small.length, this.#size));
    return this.#size > INLINE_BYTES ? this.#toFile() : undefined;
  }

  async #toFile(): Promise<void> {
    this.#reservation = await this.#reserve?.();
    this.#reservation?.add(this.#size);
    this.#writer = await this.#blobs.create(this.#work);
    const gathered = this.#small;
    this.#small = [];
    this.#hold(0);
    for (const chunk of gathered) await this.#writer.write(chunk);
  }

  /** Counts what is gathered. */
  #hold(bytes: number): void {
    this.#work.countBytes(bytes - this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #count(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    this.#reservation?.add(chunk.byteLength);
    if (this.#size > BUCKET_LIMITS.uploadBytes) {
      throw new BucketError(
        this.#method,
        100100,
        `the value is larger than the limit of one upload, ${BUCKET_LIMITS.uploadBytes} bytes`,
      );
    }
  }

  #hash(chunk: Uint8Array): void {
    this.#work.charge(this.#hashers.size * costOf(chunk.byteLength, HOST_COSTS.hashedMbMs));
    for (const hasher of this.#hashers.values()) hasher.update(chunk);
  }

  async #received(content: ReceivedBody['content']): Promise<ReceivedBody> {
    const digests = new Map([...this.#hashers].map(([name, hasher]) => [name, hasher.digest('hex')]));
    const hashes: Partial<Record<HashName, string>> = {};
    for (const [name, expected] of this.#expected) {
      const computed = digests.get(name) ?? '';
      if (expected !== computed) {
        throw new BucketError(
          this.#method,
          10037,
          `the ${HASH_TITLES[name]} checksum given, ${expected}, is not that of the value received, ${computed}`,
        );
      }
      hashes[name] = computed;
    }
    const transferChecksum = await this.#transferChecksum?.();
    return { size: this.#size, md5: digests.get('md5') ?? '', hashes, transferChecksum, content };
  }
}

function pair(name: HashName, value: string | undefined): (readonly [HashName, string])[] {
  return value === undefined ? [] : [[name, value]];
}

const HASH_TITLES: Readonly<Record<HashName, string>> = {
  md5: 'MD5',
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
};

/** A large value in chunks, so that hashing and writing take turns. */
async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += INLINE_BYTES) yield bytes.subarray(at, at + INLINE_BYTES);
}
