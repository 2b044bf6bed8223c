import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { PartRecord, TransferChecksum } from '../../bindings/bucket/engine.js';
import { type CrcName, combineCrcs, crc32c, crc64nvme } from './crc.js';
import { parseBase64 } from './encoding.js';

/** The checksums of the S3 API: https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html */

export type ChecksumAlgorithm = TransferChecksum['algorithm'];
export type ChecksumType = TransferChecksum['type'];

interface AlgorithmFacts {
  readonly header: string;
  /** Element of XML bodies. */
  readonly element: string;
  readonly bytes: number;
  /** The type for an upload in parts that does not name one. */
  readonly defaultType: ChecksumType;
}

export const CHECKSUMS: Readonly<Record<ChecksumAlgorithm, AlgorithmFacts>> = {
  CRC32: { header: 'x-amz-checksum-crc32', element: 'ChecksumCRC32', bytes: 4, defaultType: 'COMPOSITE' },
  CRC32C: { header: 'x-amz-checksum-crc32c', element: 'ChecksumCRC32C', bytes: 4, defaultType: 'COMPOSITE' },
  CRC64NVME: { header: 'x-amz-checksum-crc64nvme', element: 'ChecksumCRC64NVME', bytes: 8, defaultType: 'FULL_OBJECT' },
  SHA1: { header: 'x-amz-checksum-sha1', element: 'ChecksumSHA1', bytes: 20, defaultType: 'COMPOSITE' },
  SHA256: { header: 'x-amz-checksum-sha256', element: 'ChecksumSHA256', bytes: 32, defaultType: 'COMPOSITE' },
};

export const CHECKSUM_ALGORITHMS: readonly ChecksumAlgorithm[] = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'];

export function parseAlgorithm(text: string): ChecksumAlgorithm | undefined {
  return CHECKSUM_ALGORITHMS.find(algorithm => algorithm === text.toUpperCase());
}

export function algorithmOfHeader(header: string): ChecksumAlgorithm | undefined {
  return CHECKSUM_ALGORITHMS.find(algorithm => CHECKSUMS[algorithm].header === header);
}

/** A checksum in the making. */
export interface Checksum {
  update(bytes: Uint8Array): void;
  /** Once, at the end. */
  digest(): Buffer;
}

export function createChecksum(algorithm: ChecksumAlgorithm): Checksum {
  switch (algorithm) {
    case 'CRC32':
      return createCrc(crc32);
    case 'CRC32C':
      return createCrc(crc32c);
    case 'CRC64NVME': {
      let crc = { low: 0, high: 0 };
      return {
        update: bytes => {
          crc = crc64nvme(bytes, crc);
        },
        digest: () => {
          const out = Buffer.alloc(8);
          out.writeUInt32BE(crc.high, 0);
          out.writeUInt32BE(crc.low, 4);
          return out;
        },
      };
    }
    case 'SHA1':
    case 'SHA256': {
      const hash = createHash(algorithm.toLowerCase());
      return { update: bytes => hash.update(bytes), digest: () => hash.digest() };
    }
  }
}

/** The checksum of an object from its parts' checksums, in order. undefined when a part has no checksum of this algorithm. */
export function checksumOfParts(
  algorithm: ChecksumAlgorithm,
  type: ChecksumType,
  parts: readonly Pick<PartRecord, 'size' | 'transferChecksum'>[],
): TransferChecksum | undefined {
  const { bytes } = CHECKSUMS[algorithm];
  const values: { readonly digest: Buffer; readonly length: number }[] = [];
  for (const { size, transferChecksum } of parts) {
    if (transferChecksum?.algorithm !== algorithm) return undefined;
    const digest = parseBase64(transferChecksum.value, bytes);
    if (digest === undefined) return undefined;
    values.push({ digest, length: size });
  }
  if (type === 'COMPOSITE') {
    const whole = createChecksum(algorithm);
    for (const { digest } of values) whole.update(digest);
    return { algorithm, type, value: `${whole.digest().toString('base64')}-${values.length}` };
  }
  if (!isCrc(algorithm)) return undefined;
  const crc = combineCrcs(
    algorithm,
    values.map(({ digest, length }) => ({ crc: BigInt(`0x${digest.toString('hex')}`), length })),
  );
  const value = Buffer.from(crc.toString(16).padStart(bytes * 2, '0'), 'hex').toString('base64');
  return { algorithm, type, value };
}

/** A full-object checksum of an upload in parts is only available for CRCs. */
export function isCrc(algorithm: ChecksumAlgorithm): algorithm is CrcName {
  return algorithm !== 'SHA1' && algorithm !== 'SHA256';
}

function createCrc(step: (bytes: Uint8Array, crc: number) => number): Checksum {
  let crc = 0;
  return {
    update: bytes => {
      crc = step(bytes, crc);
    },
    digest: () => {
      const out = Buffer.alloc(4);
      out.writeUInt32BE(crc);
      return out;
    },
  };
}
