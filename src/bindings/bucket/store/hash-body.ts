/** Hashes the value of an object or part as it arrives, and verifies the checksums that were given with it. */
import { createHash, type Hash } from 'node:crypto';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { BodyObserver, BodyRules } from '../../stored-values/receive-body.js';
import type { HashName, PutOptions, TransferChecksum } from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import { HASH_NAMES } from '../hash-names.js';
import { BUCKET_LIMITS } from '../limits.js';

export interface BodyHashes {
  readonly md5: string;
  /** Computed for the given ones. Hex. */
  readonly hashes: Readonly<Partial<Record<HashName, string>>>;
  readonly transferChecksum: TransferChecksum | undefined;
}

/** The rules for the body of one put or part: 100100 when it is too large, 10037 when a checksum does not match the received bytes. */
export function bucketBody(
  method: BucketMethod,
  options: Pick<PutOptions, 'hashes' | 'transferChecksum'>,
  work: CallWork,
): BodyRules<BodyHashes> {
  return {
    maxBytes: BUCKET_LIMITS.uploadBytes,
    tooLarge: () =>
      new BucketError(
        method,
        100100,
        `the value is larger than the limit of one upload, ${BUCKET_LIMITS.uploadBytes} bytes`,
      ),
    observer: new BodyHasher(method, options, work),
  };
}

class BodyHasher implements BodyObserver<BodyHashes> {
  readonly #method: BucketMethod;
  readonly #work: CallWork;
  readonly #expected: readonly (readonly [HashName, string])[];
  readonly #hashers: Map<HashName, Hash>;
  readonly #transferChecksum: PutOptions['transferChecksum'];

  constructor(
    method: BucketMethod,
    { hashes, transferChecksum }: Pick<PutOptions, 'hashes' | 'transferChecksum'>,
    work: CallWork,
  ) {
    this.#method = method;
    this.#work = work;
    this.#transferChecksum = transferChecksum;
    this.#expected = hashes === undefined ? [] : HASH_NAMES.flatMap(name => pair(name, hashes[name]));
    this.#hashers = new Map([['md5', createHash('md5')]]);
    for (const [name] of this.#expected) {
      if (name !== 'md5') this.#hashers.set(name, createHash(name));
    }
  }

  chunk(bytes: Uint8Array): void {
    this.#work.charge(this.#hashers.size * costOf(bytes.byteLength, HOST_COSTS.hashedMbMs));
    for (const hasher of this.#hashers.values()) hasher.update(bytes);
  }

  async end(): Promise<BodyHashes> {
    const digests = new Map([...this.#hashers].map(([name, hasher]) => [name, hasher.digest('hex')]));
    const hashes: Partial<Record<HashName, string>> = {};
    for (const [name, expected] of this.#expected) {
      const computed = digests.get(name) ?? '';
      if (expected !== computed) {
        throw new BucketError(
          this.#method,
          10037,
          `the ${HASH_TITLES[name]} checksum given, ${expected}, does not match the value received, ${computed}`,
        );
      }
      hashes[name] = computed;
    }
    return { md5: digests.get('md5') ?? '', hashes, transferChecksum: await this.#transferChecksum?.() };
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
