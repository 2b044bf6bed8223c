import { createHash } from 'node:crypto';
import { BucketError } from '../../errors.js';
import { BUCKET_LIMITS } from '../../limits.js';
import type { StoredPart } from './upload-codec.js';

/** A part as the caller of complete() names it. */
export interface NamedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/**
 * The parts that make up the object, in the order of their numbers. Rejects, in this order, with 10001 (a duplicate number), 10025 (a missing part, or another
 * etag) and 10011 (a part other than the last is too small). Then with 10048 (parts of different sizes) and 100100 (the object is too large).
 */
export function checkParts(
  named: readonly NamedPart[],
  uploaded: ReadonlyMap<number, StoredPart>,
  minPartBytes: number,
): StoredPart[] {
  const numbers = new Set<number>();
  for (const { partNumber } of named) {
    if (numbers.has(partNumber)) throw failure(10001, `part ${partNumber} is named twice`);
    numbers.add(partNumber);
  }
  const chosen = named.map(({ partNumber, etag }) => {
    const stored = uploaded.get(partNumber);
    if (stored === undefined) throw failure(10025, `part ${partNumber} was not uploaded`);
    if (stored.part.etag !== etag) {
      throw failure(
        10025,
        `part ${partNumber} has the etag ${stored.part.etag}, not ${JSON.stringify(etag.slice(0, 100))}`,
      );
    }
    return stored;
  });
  chosen.sort((a, b) => a.part.partNumber - b.part.partNumber);
  for (const { part } of chosen.slice(0, -1)) {
    if (part.size < minPartBytes) {
      throw failure(
        10011,
        `part ${part.partNumber} has ${part.size} bytes, every part but the last needs ${minPartBytes}`,
      );
    }
  }
  checkSizes(chosen);
  return chosen;
}

function checkSizes(chosen: readonly StoredPart[]): void {
  const first = chosen[0]?.part;
  if (first === undefined) return;
  let total = 0;
  for (const [index, { part }] of chosen.entries()) {
    total += part.size;
    const isLast = index === chosen.length - 1;
    if (isLast ? part.size > first.size : part.size !== first.size) {
      throw failure(
        10048,
        `${isLast ? 'the last part' : 'part'} ${part.partNumber} has ${part.size} bytes, part ${first.partNumber} has ${first.size}: all but the last must be equal, and the last not larger`,
      );
    }
  }
  if (total > BUCKET_LIMITS.objectBytes) {
    throw failure(100100, `the object would have ${total} bytes, the limit is ${BUCKET_LIMITS.objectBytes}`);
  }
}

/** The MD5 of the binary MD5s of the parts in their order, and the number of parts. */
export function multipartEtag(parts: readonly { readonly etag: string }[]): string {
  // One update, because each of ten thousand costs a microsecond.
  const hash = createHash('md5').update(parts.map(({ etag }) => etag).join(''), 'hex');
  return `${hash.digest('hex')}-${parts.length}`;
}

function failure(code: 10001 | 10011 | 10025 | 10048 | 100100, text: string): BucketError {
  return new BucketError('completeMultipartUpload', code, text);
}
