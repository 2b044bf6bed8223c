/** Checks an object against the limits of a bucket: its key, its metadata and the ranges that can be read of it. */
import type { ByteRange, PutOptions } from '../engine.js';
import { BucketError, type BucketMethod } from '../errors.js';
import { BUCKET_LIMITS } from '../limits.js';
import { normalKey } from '../normal-key.js';

/** The key in the form in which it is compared. Throws 10020 when it is too long. */
export function checkKey(method: BucketMethod, key: string): string {
  const normal = normalKey(key);
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (normal.length * 3 > BUCKET_LIMITS.keyBytes) {
    const bytes = Math.max(Buffer.byteLength(normal), Buffer.byteLength(key));
    if (bytes > BUCKET_LIMITS.keyBytes) {
      throw new BucketError(
        method,
        10020,
        `the key has ${bytes} bytes of UTF-8, the limit is ${BUCKET_LIMITS.keyBytes}`,
      );
    }
  }
  return normal;
}

export function checkMetadata(
  method: BucketMethod,
  options: Pick<PutOptions, 'customMetadata' | 'httpMetadata'>,
): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(options.customMetadata ?? {})) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  checkBytes(method, 'customMetadata', bytes, BUCKET_LIMITS.customMetadataBytes);
  bytes = 0;
  for (const value of Object.values(options.httpMetadata ?? {})) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value);
  }
  checkBytes(method, 'httpMetadata', bytes, BUCKET_LIMITS.httpMetadataBytes);
}

function checkBytes(method: BucketMethod, name: string, bytes: number, most: number): void {
  if (bytes > most) throw new BucketError(method, 10012, `${name} has ${bytes} bytes of UTF-8, the limit is ${most}`);
}

export function unsatisfiable(range: ByteRange | undefined, size: number): BucketError {
  const asked =
    range?.kind === 'suffix'
      ? `suffix ${range.suffix}`
      : `offset ${range?.offset}, length ${range?.length ?? 'to the end'}`;
  return new BucketError('get', 10039, `the range (${asked}) has no byte of an object of ${size} bytes`);
}
