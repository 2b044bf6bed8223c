import type { TransferChecksum } from '../../bindings/bucket/engine.js';
import { CHECKSUM_ALGORITHMS, CHECKSUMS, type ChecksumAlgorithm, parseAlgorithm } from '../wire/checksum.js';
import { invalidArgument } from '../wire/errors.js';

/** The element of an XML answer that carries a checksum; none for none. */
export function checksumElements(checksum: TransferChecksum | undefined): Record<string, string> {
  return checksum === undefined ? {} : { [CHECKSUMS[checksum.algorithm].element]: checksum.value };
}

/** The value of `x-amz-checksum-algorithm`; undefined: none was asked for. Throws S3Error InvalidArgument. */
export function readAlgorithm(text: string | undefined): ChecksumAlgorithm | undefined {
  if (text === undefined) return undefined;
  const algorithm = parseAlgorithm(text);
  if (algorithm === undefined) throw invalidArgument('x-amz-checksum-algorithm', text, CHECKSUM_ALGORITHMS.join(', '));
  return algorithm;
}
