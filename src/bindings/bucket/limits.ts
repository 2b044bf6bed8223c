import { LIMITS } from '../../quotas/limits.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';

/** The figures of buckets that no plan changes. Sizes in bytes. */
export const BUCKET_LIMITS = {
  /** Of a key, in UTF-8. */
  keyBytes: 1024,
  /** Keys and values of the custom metadata together, in UTF-8. */
  customMetadataBytes: 8192,
  /** One put or one part: 5 GiB less 5 MiB. */
  uploadBytes: 5 * 2 ** 30 - 5 * 2 ** 20,
  /** A whole object: 5 TiB less 5 GiB. */
  objectBytes: 5 * 2 ** 40 - 5 * 2 ** 30,
  partNumber: 10_000,
  /** Every part but the last. */
  minPartBytes: 5 * 2 ** 20,
  deleteKeys: 1000,
  /** A page ends early when the metadata asked for is more than this. */
  listMetadataBytes: 256 * 1024,
  /** An upload that is over is remembered for so long, so that a late call learns what became of it. */
  uploadMemoryMs: LIMITS.multipartUploadMs.values.standard,
  /** The six HTTP metadata fields together. A bound of this store. */
  httpMetadataBytes: 8192,
} as const;

/** The figures of buckets that are limits of the account or the function, and can be overridden. */
export type BucketPlanLimits = Pick<ResolvedLimits, 'listEntries' | 'multipartUploadMs'>;

export const DEFAULT_PLAN_LIMITS: BucketPlanLimits = {
  listEntries: LIMITS.listEntries.values.standard,
  multipartUploadMs: LIMITS.multipartUploadMs.values.standard,
};

/** Values up to this many bytes are kept in the record of their object: one read, but in the way of listings. */
export const EMBEDDED_BYTES = 2048;
/** Values up to this many bytes are kept in LevelDB, larger ones in files. */
export const INLINE_BYTES = 64 * 1024;
/**
 * The listings by "/" that are indexed: those whose prefix has fewer slashes than this, and up to the last of them no more
 * characters (UTF-16 units). Others seek from group to group. A new key writes a small record for each listing it changes.
 */
export const INDEXED = { depths: 8, prefixCharacters: 256 } as const;
